"""How agents and other programs reach an engine."""
