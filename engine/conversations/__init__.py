"""The conversations of a workspace: turns, sessions, and imports from other agents."""
