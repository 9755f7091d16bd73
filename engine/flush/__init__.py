"""What is noted of turns before they leave the window (spec 6.4)."""
