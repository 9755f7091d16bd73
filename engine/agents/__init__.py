"""Integration with coding agents: their hooks and settings."""
