"""What the search screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from textual.message import Message

from engine.errors import AutopoiesisError
from engine.search.reports import IndexStatus
from engine.search.sources import all_sources
from engine.store.paths import Workspace
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.messages import Said
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork
from tui.render.search_hits import Hit, hit_of
from tui.render.search_words import Words
from tui.screens.search.overview import Inventory
from tui.screens.search.passage import Passage, read_passage

if TYPE_CHECKING:
    from engine.context.presets import PresetChange

MOST = 500
"""Results that one search brings at most."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to look for: the query, the one category to keep to or none, and how many results."""

    query: str
    only: str = ""
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it.

    Attributes:
        wish: What was looked for.
        hits: Best first.
        more: There are more than these.
        elsewhere: Where nothing was found in one category: how many there are in all.
        elsewhere_more: And whether there are still more.
        status: How the index stood afterwards.
    """

    wish: Wish
    hits: tuple[Hit, ...] = ()
    more: bool = False
    elsewhere: int = 0
    elsewhere_more: bool = False
    status: IndexStatus | None = None


@dataclass
class Answered(Message):
    """A search is done, or failed with ``problem``."""

    wish: Wish
    answer: Answer | None = None
    problem: str = ""


@dataclass
class PassageRead(Message):
    """A result's surroundings were read."""

    passage: Passage


@dataclass
class Looked(Message):
    """What can be searched was looked at."""

    inventory: Inventory


@dataclass(frozen=True, slots=True)
class Addition:
    """Lines of a file that go into a preset."""

    preset: str
    path: str
    lines: str


class SearchWork(ScreenWork):
    """The lanes of one search screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._searches: Lane[Wish, Answer] = self.lane(
            self._search,
            lambda wish, answer: Answered(wish, answer),
            lambda wish, error: Answered(wish, problem=error),
        )
        self._passages: Lane[tuple[Hit, str], Passage] = self.lane(
            lambda wanted: read_passage(wanted[0], Words(wanted[1]), engine.files),
            lambda _wanted, passage: PassageRead(passage),
        )
        self._looks: Lane[Literal["look"], Inventory] = self.lane(
            lambda _look: self._look(), lambda _look, inventory: Looked(inventory)
        )
        self._additions: Lane[tuple[Addition, ...], None] = self.lane(
            self._add, lambda _wishes, _nothing: None, merge=lambda waiting, new: waiting + new, finish=True
        )

    @property
    def searching(self) -> bool:
        """Whether a search is under way."""
        return self._searches.busy

    def start(self) -> None:
        """Listens to the engine and looks at what is there."""
        super().start()
        self.look()

    def search(self, wish: Wish) -> None:
        """Searches, the newest wish first: ``Answered``."""
        self._searches.ask(wish)

    def forget(self) -> None:
        """What waits is not looked for any more."""
        self._searches.drop()

    def read(self, hit: Hit, query: str) -> None:
        """Reads a result's surroundings, the newest wish first: ``PassageRead``."""
        self._passages.ask((hit, query))

    def look(self) -> None:
        """Looks at what can be searched: ``Looked``."""
        self._looks.ask("look")

    def add(self, wish: Addition) -> None:
        """Adds lines to a preset, then says so."""
        self._additions.ask((wish,))

    def _search(self, wish: Wish) -> Answer:
        engine = self._engine
        # One more than is shown tells whether there are more.
        found = engine.search(wish.query, category=wish.only or None, limit=min(wish.limit + 1, MOST))
        words = Words(wish.query)
        shown = found[: wish.limit]
        more = len(found) > wish.limit or len(found) >= MOST
        elsewhere: list[Any] = []
        if not found and wish.only:
            elsewhere = list(engine.search(wish.query, category=None, limit=wish.limit + 1))
        return Answer(
            wish,
            tuple(hit_of(rank, result, words) for rank, result in enumerate(shown, 1)),
            more,
            min(len(elsewhere), wish.limit),
            len(elsewhere) > wish.limit,
            engine.index.status(),
        )

    def _look(self) -> Inventory:
        files = Counter(source.category for source in all_sources(Workspace(self._engine.workspace.root)))
        return Inventory(self._engine.index.status(), dict(files))

    def _add(self, wishes: tuple[Addition, ...]) -> None:
        """Adds one after the other; one that is refused holds up none behind it."""
        for wish in wishes:
            try:
                change = self._engine.presets.add(wish.preset, wish.path, wish.lines)
            except (AutopoiesisError, OSError) as error:
                self._post(Said(str(error), trouble=True))
            else:
                self._post(Said(_added(wish, change)))


def _added(wish: Addition, change: PresetChange) -> str:
    """What came of an addition, and what is still to do for it to reach the prompt."""
    commit = committed(change.commit, change.why)
    use = f"autopoiesis preset use {wish.preset} puts it into every prompt"
    done = f"{wish.path.rpartition('/')[2]}:{wish.lines} is in the preset {wish.preset} · {commit}"
    return done if wish.preset in change.active else f"{done} · {use}"
