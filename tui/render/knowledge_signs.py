"""What the signs of the knowledge screen mean, for the help."""

from __future__ import annotations

INSIDE, LEFT_OUT, REPLACED, DONE, UNCLEAR, AWAY, BROKEN = "●", "○", "×", "✓", "?", "–", "!"
