"""Who a text comes from: the person, the agent, or an outsider (robustness M3)."""
