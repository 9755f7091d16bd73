"""Shared and private knowledge."""
