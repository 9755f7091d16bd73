"""Recaps: what each session was about, in a few lines of its day's journal (spec 2.2, 8.3)."""
