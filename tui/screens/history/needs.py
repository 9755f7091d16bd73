"""What the history screen's commands depend on."""

from __future__ import annotations

from dataclasses import dataclass

from tui.kit.command import Need, Situation
from tui.screens.history.shown import View


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySituation(Situation):
    commit: str = ""
    """The revision of the selected commit; empty if none."""
    chosen: str = ""
    """The path of the file shown; empty if none."""
    conversation: str = ""
    """The path of the conversation it came from."""
    view: View = "diff"
    ready: bool = False
    """The planned undo can be applied."""
    busy: str = ""
    """What keeps the repository from committing; empty if nothing does."""


A_COMMIT: Need[HistorySituation] = Need(lambda here: here.commit, "no commit is selected")
A_FILE: Need[HistorySituation] = Need(lambda here: here.chosen, "the commit changed no file")
_BLOCKERS = {
    "detached": "HEAD is detached; run: git switch main",
    "no-identity": "git has no identity; set user.name and user.email",
    "locked": "another git process is running, or a stale .git/index.lock was left behind",
    "conflicts": "there are merge conflicts; resolve them with git",
}


def _not_blocked(kind: str, reason: str) -> Need[HistorySituation]:
    return Need(lambda here: here.busy != kind, reason)


CAN_COMMIT: tuple[Need[HistorySituation], ...] = (
    *(_not_blocked(kind, reason) for kind, reason in _BLOCKERS.items()),
    Need(lambda here: not here.busy, "a git operation is in progress; finish or abort it"),
)
