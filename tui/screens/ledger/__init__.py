"""What became of every conversation."""
