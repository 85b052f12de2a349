"""Finds the place to look at before the first token is asked for."""
