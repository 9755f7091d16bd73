"""Fake playbooks: fixed past messages for each topic, and one that an agent proposed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.errors import TopicError
from engine.playbooks.draft import Draft, drafted
from engine.playbooks.past import MOST_MESSAGES, PastRow, Progress, Replay, silent
from engine.playbooks.playbooks import Made, Playbooks, Quote, Utterances
from engine.store.change import ChangeCommit

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine

WAYS = ("load the 2027 tables", "new constants?")
PROPOSED = drafted("Tide tables", "New tide tables are loaded.", "1. Compare with last year.", WAYS)


def past_row(number: int, message: str, score: float, fired: bool, useful: bool | None = None) -> PastRow:
    """A past message of the afternoon of 2026-06-10."""
    path = f"raw/conversations/2026/06/10/15{number:02}-ses_0000000{number}-talk.md"
    hits = ("review",) if fired and number % 2 else ()
    return PastRow(
        f"{number:02}f9c21ab77be012", f"{path}#0", path, 12, "2026-06-10", message, score, 0.27, fired, hits,
        useful,
    )  # fmt: skip


ROWS = (
    past_row(1, "review what we did this week", 0.29, True),
    past_row(2, "is the branch any good?", 0.55, True),
    past_row(3, "can you review Kim's PR before lunch", 0.97, True),
    past_row(4, "what do you think of the plan", 0.24, False),
    past_row(5, "Please look over this diff before I merge it.", 0.99, True, True),
)


class FakePlaybooks(Playbooks):
    """Fixed playbooks; calls are recorded."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.waiting = [PROPOSED]
        self.past: dict[str, tuple[PastRow, ...]] = {"code-review": ROWS}
        self.form: Draft | None = None
        self.price: Quote | None = None

    def proposed(self) -> list[Draft]:
        """Records the call."""
        self._engine.record("proposed")
        return self.waiting

    def replay_all(
        self, progress: Progress = silent, topics: Iterable[str] = (), *, most: int = MOST_MESSAGES
    ) -> dict[str, Replay]:
        """Reports progress at half; blocks there while ``blocked["replay_all"]`` is not set."""
        progress(100, 200)
        self._engine.record("replay_all", most)
        names = [topic.name for topic in self._engine.library.topics]
        return {name: Replay(name, 200, 40, self.past.get(name, ())) for name in names}

    def label_row(self, topic: str, row: PastRow, useful: bool | None) -> None:
        """Records the call."""
        self._engine.record("label_row", topic, row.id, useful)

    def open_form(self, draft: Draft | None = None) -> str:
        """Records the call."""
        self._engine.record("open_form", draft)
        self.form = draft or self.form
        return "scratch/new-playbook.md"

    def read_form(self) -> Draft:
        """The form, if a test has filled it in."""
        if self.form is None:
            raise TopicError(
                "a playbook needs a title", hint="what you wrote is kept in scratch/new-playbook.md"
            )
        return self.form

    def quote(self, draft: Draft) -> Quote | None:
        """The price set by a test."""
        return self.price

    def utterances(self, draft: Draft) -> Utterances:
        """Two fixed ways to ask."""
        self._engine.record("utterances", draft.name)
        return Utterances(("tag it", "cut the version"), "claude-haiku-4-5", 0.001)

    def create(self, draft: Draft, *, from_form: bool = False) -> Made:
        """Records the call."""
        self._engine.record("create", draft, from_form)
        return Made(draft.name, f"topics/{draft.name}.md", ChangeCommit("a81f2c0d"))

    def accept(self, name: str) -> Made:
        """Removes the proposal."""
        self._engine.record("accept", name)
        self.waiting = []
        return Made(name, f"topics/{name}.md", ChangeCommit("a81f2c0d"))

    def reject(self, name: str) -> Made:
        """Removes the proposal."""
        self._engine.record("reject", name)
        self.waiting = []
        return Made(name, f"topics/.proposed/{name}.md", ChangeCommit("a81f2c0d"))
