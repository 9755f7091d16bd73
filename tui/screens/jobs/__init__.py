"""What is done by the clock."""
