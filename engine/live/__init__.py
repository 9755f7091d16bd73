"""Background work on an open workspace: following changes, the activity feed, and gate questions."""
