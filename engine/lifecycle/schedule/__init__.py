"""What runs by the clock: jobs, when each is due, and what became of it."""
