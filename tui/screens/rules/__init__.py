"""What a person has told their agents more than once, and what is to come of it."""
