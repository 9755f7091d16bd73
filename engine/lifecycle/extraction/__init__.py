"""Extracts knowledge from sessions into the files in ``knowledge/`` (spec 8.3)."""
