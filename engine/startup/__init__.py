"""Means of making a process start quickly: a hook is a new process for every prompt."""
