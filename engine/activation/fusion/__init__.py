"""Tier 2 as one calibrated probability, fused from several local signals (spec 4.2, design 4)."""
