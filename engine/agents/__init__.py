"""How a coding agent and the memory speak with each other: the agent's hooks, and its settings."""
