"""Owns a task's trees, environments, harvest, test runs and decisions."""
