"""The memory's past for people: time line, first learned, blame, what changed, snapshots, undo (spec 3)."""
