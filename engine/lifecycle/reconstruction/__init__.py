"""Rebuilds knowledge from all sessions on a branch, compares branches and merges them (spec 8.7, 10.4)."""
