"""What the commands of the history screen depend on, and what they cannot be done without."""

from __future__ import annotations

from dataclasses import dataclass

from tui.kit.command import Need, Situation
from tui.screens.history.shown import View


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySituation(Situation):
    """What the commands of this screen depend on."""

    commit: str = ""
    """The revision of the selected commit; empty where none is."""
    chosen: str = ""
    """The path of the file that is shown; empty where none is."""
    talk: str = ""
    """The path of the conversation that taught it."""
    view: View = "diff"
    ready: bool = False
    """The planned undo can be done."""
    busy: str = ""
    """What keeps the repository from taking a commit: its kind; empty where nothing does."""


A_COMMIT: Need[HistorySituation] = Need(lambda here: here.commit, "there is no commit")
A_FILE: Need[HistorySituation] = Need(lambda here: here.chosen, "the commit changed no file")
_KEEPS = {
    "detached": "HEAD is on no branch; run: git switch main",
    "no-identity": "git does not know who you are; set user.name and user.email",
    "locked": "another git is at work, or died and left .git/index.lock",
    "conflicts": "there are conflicts; settle them with git",
}


def _is_not(kind: str, why: str) -> Need[HistorySituation]:
    return Need(lambda here: here.busy != kind, why)


TAKES_COMMITS: tuple[Need[HistorySituation], ...] = (
    *(_is_not(kind, why) for kind, why in _KEEPS.items()),
    Need(lambda here: not here.busy, "git is in the middle of something; finish or abort it with git"),
)
