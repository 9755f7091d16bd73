"""Whose words a text rests on: the person's, the agent's, or an outsider's (robustness M3)."""
