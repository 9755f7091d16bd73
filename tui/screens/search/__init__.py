"""Search over everything remembered."""
