"""The jobs that there are."""
