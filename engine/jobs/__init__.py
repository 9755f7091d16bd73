"""The table of scheduled jobs."""
