"""Costs of model calls: log, budgets and estimates."""
