"""The memory's past for people: time line, first learned, blame, what changed, snapshots, undo (spec 3)."""

UNDOING = "scratch/undo"
"""Where an undo that is being written leaves its journal."""
