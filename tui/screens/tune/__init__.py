"""Topics, their cuts, and what moving these changes."""
