"""Building blocks of screens: commands, frame, panels, rows, prompt, background work."""
