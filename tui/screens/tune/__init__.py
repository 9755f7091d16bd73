"""Topics, their thresholds, and what moving these changes."""
