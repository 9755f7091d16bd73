"""Tier 2 of the ``calibrated`` preset: one logistic regression for the topics of a workspace (spec 4.2)."""
