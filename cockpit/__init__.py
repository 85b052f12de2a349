"""Cockpit runs a local model on real repositories and lets one operator decide what ships."""

__version__ = "0.1.0"
