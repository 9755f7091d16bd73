"""The caches of discussions."""
