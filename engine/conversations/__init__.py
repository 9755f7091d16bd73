"""The conversations of a workspace: their turns, their sessions, and those of other agents."""
