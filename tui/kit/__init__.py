"""What screens are built from: commands, the frame, panels, rows, the line to type in, background work."""
