"""Keeps a user's machines in sync through a git remote."""

JOURNAL = "scratch/sync-journal.json"
"""The journal of a merge whose files are being written."""
