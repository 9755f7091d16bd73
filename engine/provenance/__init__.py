"""Whose words a text rests on: the person's, the agent's, or those of somebody outside (robustness M3)."""
