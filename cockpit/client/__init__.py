"""Reads the engine's files and drops commands into its inboxes; never imports the engine."""
