"""Harvest: what a conversation taught is moved into category files before the conversation goes."""
