"""Due schedules and incoming webhooks: each is handed to an agent once."""
