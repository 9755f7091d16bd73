"""Connects activation and compiler: from messages to traces and prompts, and learning from labels."""
