"""Scheduled jobs: when each is due, and how its runs ended."""
