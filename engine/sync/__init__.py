"""Keeps a user's machines in sync through a git remote."""
