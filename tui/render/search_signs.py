"""What the signs of the search screen's panels mean, for the help."""

from __future__ import annotations

BACK = "░"
"""What a part of the score that counts against the result is drawn with."""
