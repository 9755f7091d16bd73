"""A harvest, step by step."""
