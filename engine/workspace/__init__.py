"""A workspace as a whole: creating, checking and cleaning it."""
