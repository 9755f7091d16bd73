"""Commits of what people and agents change: when, of what, and what they say (spec 3.2)."""
