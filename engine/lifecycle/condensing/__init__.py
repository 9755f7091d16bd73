"""Condenses days into journals, weeks into MEMORY.md, months into proposals (spec 8.4)."""
