"""The memory's history: timeline, first learned, blame, changes, snapshots, undo (spec 3)."""

UNDOING = "scratch/undo"
"""Folder for the journal of an undo in progress."""
