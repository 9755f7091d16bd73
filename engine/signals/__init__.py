"""Schedules that came due and webhooks that arrived: what they bring is handed to agents, each once."""
