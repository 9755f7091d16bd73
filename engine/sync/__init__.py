"""Keeps the memories of one person's machines equal, by way of a git remote."""
