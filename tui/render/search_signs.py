"""What the signs of the search screen's panels mean, for the help."""

from __future__ import annotations

from tui.commands.command import PanelName

BACK = "░"
"""What a part of the score that counts against the result is drawn with."""

SEARCHING: dict[PanelName, list[tuple[str, str]]] = {
    "results": [
        (".82", "the score, of at most 1; words of the query are bold wherever they stand"),
        ("…", "the best lines begin or go on elsewhere"),
    ],
    "preview": [
        ("▎", "lines of the result; the dimmed ones stand around it in its file"),
    ],
    "why": [
        ("▇", "a part of the score, from where the one before ended; all together are the score"),
        (BACK, "what counts against the result, and leads back to the score"),
        ("✓", "a word of the query that the text, its heading or its file's name holds; ✗ one they lack"),
    ],
}
"""Sign and meaning, by panel."""
