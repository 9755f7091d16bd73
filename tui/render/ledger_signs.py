"""What the signs of the ledger and harvest screens' panels mean, for the help."""

from __future__ import annotations

from tui.commands.command import PanelName

LEDGER_SIGNS: dict[PanelName, list[tuple[str, str]]] = {
    "entries": [
        ("✓", "harvested: its knowledge stands in the files"),
        ("!", "the harvest failed; the conversation is kept, and f tries again"),
        ("⌫", "discarded without a harvest, by your word"),
        ("–", "too large to be harvested; kept"),
        ("✗", "lost: verified, and its bytes are neither in its file nor in trash or history"),
    ],
    "record": [
        ("✓", "there: the line stands word for word, where it says"),
        ("~", "edited: a line of the same conversation stands there with other words"),
        ("✗", "gone: nothing of it that it could be; a person may have deleted it, which is no damage"),
    ],
    "pick": [
        ("[x]", "chosen; space changes it"),
        ("·", "left alone, for the reason that stands there"),
    ],
    "progress": [
        ("·", "waits"),
        ("…", "under way"),
        ("✓", "harvested"),
        ("⌫", "discarded without a harvest"),
        ("!", "failed, changed meanwhile, or stopped; it is kept"),
        ("→", "in the trash now"),
    ],
}
"""Sign and meaning, by panel."""
