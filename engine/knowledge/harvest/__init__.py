"""The harvest: moves knowledge from conversations to category files before the conversations are deleted."""
