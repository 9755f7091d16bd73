"""Costs of model calls: log and budgets."""
