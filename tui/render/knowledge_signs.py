"""What the signs of the knowledge screen mean, for the help."""

from __future__ import annotations

from tui.commands.command import PanelName

INSIDE, LEFT_OUT, REPLACED, DONE, UNCLEAR, AWAY, BROKEN = "●", "○", "×", "✓", "?", "–", "!"

KNOWLEDGE_SIGNS: dict[PanelName, list[tuple[str, str]]] = {
    "groups": [
        (UNCLEAR, "notes whose file is gone, or may be another"),
        (BROKEN, "something is wrong there, or it cannot be read"),
    ],
    "pieces": [
        (INSIDE, "in the digest now, so every prompt holds it"),
        (LEFT_OUT, "left out of the digest; it is found by search"),
        (REPLACED, "a decision that a later one replaces"),
        (DONE, "a task that is done; the digest holds open ones"),
        (UNCLEAR, "notes whose file is gone, or may be another"),
        (AWAY, "notes of a file that is not on this machine"),
        (BROKEN, "an entry with something wrong"),
    ],
    "reading": [("▸", "the candidate that b binds the notes to; space marks the next")],
}
"""Sign and meaning, by panel."""
