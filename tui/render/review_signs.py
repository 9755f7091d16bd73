"""What the signs of the review screen mean, for the help."""

from __future__ import annotations

WAITS, ACCEPTED, REJECTED, SETTLING = "?", "✓", "✗", "…"
