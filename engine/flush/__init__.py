"""Flushing: takes notes of turns before they leave the window (spec 6.4)."""
