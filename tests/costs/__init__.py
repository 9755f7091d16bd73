"""Tests of the cost of model calls."""
