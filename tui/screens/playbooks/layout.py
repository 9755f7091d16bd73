"""The playbooks screen: its panels and what they show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.figures import count
from tui.render.roles import Roles
from tui.screens.playbooks.rows import PastPanel, PlaybookItem, PlaybooksPanel

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.playbooks.past import PastRow, Replay
    from tui.kit.bench import Bench

MOST_MESSAGES = 1_000
"""The newest messages that are played here; the command plays more."""


@dataclass(frozen=True, slots=True)
class Played:
    """The past as played to all playbooks."""

    replays: Mapping[str, Replay] = field(default_factory=dict)
    problem: str = ""


def read_items(engine: Engine) -> tuple[PlaybookItem, ...]:
    """The playbooks, those that agents proposed first."""
    proposed = [PlaybookItem(each.name, each.when, draft=each) for each in engine.playbooks.proposed()]
    return (
        *proposed,
        *(PlaybookItem(each.name, each.description, each.path) for each in engine.library.topics),
    )


class PlaybooksLayout(ListDetail):
    AUTO_FOCUS = "#playbooks"
    CSS_PATH: ClassVar[CSSPathType | None] = "playbooks.tcss"
    area = "playbooks-area"
    news = frozenset({"status"})

    def __init__(self, bench: Bench, name: str = "") -> None:
        super().__init__(bench, "playbooks")
        engine = bench.engine
        self.items: tuple[PlaybookItem, ...] | None = None
        self.problem = ""
        self.played: Played | None = None
        self.progress = ""
        """How far the past has been played."""
        self._wanted = name
        """The playbook to select once it is listed."""
        self._reads: Lane[None, tuple[PlaybookItem, ...]] = self.lane(
            lambda _none: read_items(engine), lambda _none, items: self._take(items), self._unread
        )
        self._plays: Lane[None, Played] = self.lane(
            lambda _none: Played(engine.playbooks.replay_all(self._report, most=MOST_MESSAGES)),
            lambda _none, played: self._take_played(played),
            lambda _none, problem: self._take_played(Played(problem=problem)),
        )

    def body(self) -> ComposeResult:
        self.playbooks = PlaybooksPanel(id="playbooks")
        self.past = PastPanel(id="past")
        with Container(id=self.area):
            yield self.playbooks
            yield self.past

    def look(self) -> None:
        self._reads.ask(None)

    def begin(self) -> None:
        super().begin()
        self.play()

    def play(self) -> None:
        """Plays the past again."""
        self.played, self.progress = None, "playing your past …"
        self._plays.ask(None)

    def handle_events(self, burst: Burst) -> None:
        if burst.parts & self.news:
            self.look()

    def select(self, name: str) -> None:
        """Selects a playbook now, or once it is listed."""
        self._wanted = name
        self.look()

    # Display

    def show(self) -> None:
        replays = self.played.replays if self.played is not None else {}
        items = [
            replace(item, replay=None if item.draft else replays.get(item.name)) for item in self.items or ()
        ]
        self.playbooks.show_playbooks(
            items, self._list_note, (self.problem, self.items is None), self.progress if items else ""
        )
        found = next((at for at, item in enumerate(items) if item.name == self._wanted), -1)
        if found >= 0:
            self.playbooks.select(found, by_hand=False)
            self._wanted = ""
        self.show_past()

    def show_past(self) -> None:
        item = self.playbooks.selected
        name = item.name if item is not None else ""
        self.past.show_replay(
            name, item.replay if item else None, self._past_note, (self.progress, self.played)
        )
        self.update_footer()

    def _list_note(self, width: int, roles: Roles) -> list[Row]:
        if self.problem:
            return unreadable("the playbooks", self.problem, width, roles)
        words = "reading …" if self.items is None else "no playbooks yet: a makes one"
        return [Row((words, roles.faint))]

    def _past_note(self, width: int, roles: Roles) -> list[Row]:
        item, played = self.playbooks.selected, self.played
        if item is not None and item.draft is not None:
            words = "an agent proposed it: o reads it, w writes it, x turns it down"
        elif played is None:
            words = self.progress
        elif played.problem:
            return unreadable("the past", played.problem, width, roles)
        elif item is not None and item.replay is not None and not item.replay.messages:
            words = "there are no past messages: autopoiesis import"
        else:
            words = "it would not have fired on any past message, nor nearly" if item is not None else ""
        return wrap([(words, roles.muted)], width)

    # Results

    def _report(self, done: int, total: int) -> None:
        if done % 25 == 0 and done < total:
            self.progress = f"playing your past: {count(done)} of {count(total)} messages"
            self.later(self.show)

    def _take(self, items: tuple[PlaybookItem, ...]) -> None:
        self.items, self.problem = items, ""
        self.show()

    def _unread(self, _none: None, problem: str) -> None:
        self.items, self.problem = (), problem
        self.show()

    def _take_played(self, played: Played) -> None:
        self.played, self.progress = played, ""
        self.show()

    def relabelled(self, topic: str, row: PastRow, useful: bool | None) -> None:
        """Shows a label at once."""
        if self.played is None or topic not in self.played.replays:
            return
        self.played = Played(
            {**self.played.replays, topic: self.played.replays[topic].labelled_as(row.id, useful)}
        )
        self.show()

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.show_past()
