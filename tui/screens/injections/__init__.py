"""What agents were told."""
