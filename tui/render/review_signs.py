"""What the signs of the review screen mean, for the help."""

from __future__ import annotations

from tui.commands.command import PanelName

WAITS, ACCEPTED, REJECTED, SETTLING = "?", "✓", "✗", "…"

REVIEW_SIGNS: dict[PanelName, list[tuple[str, str]]] = {
    "queue": [
        (WAITS, "waits for you"),
        (ACCEPTED, "accepted: it stands in its file"),
        (REJECTED, "rejected: it never comes back"),
        (SETTLING, "is being settled"),
    ],
    "item": [("▸", "the line of the conversation that says it")],
}
"""Sign and meaning, by panel."""
