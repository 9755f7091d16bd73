"""Commits of changes in a workspace: when, of what, and with which message (spec 3.2)."""
