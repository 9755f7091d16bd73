"""Moves memory out of the working set and back: caps, decay, the archive (spec 8.5, 8.6)."""
