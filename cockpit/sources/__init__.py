"""Knows where tasks come from: a path, a git URL, an issue text."""
