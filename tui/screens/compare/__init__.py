"""The compare screen: two branches or snapshots side by side."""
