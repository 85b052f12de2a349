"""Keeps state in files: append-only journals, snapshots, inboxes, summaries, one lock."""
