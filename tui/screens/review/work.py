"""What the review screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual.message import Message

from engine.errors import AutopoiesisError
from tui.kit.lanes import Lane
from tui.kit.messages import Said
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork, committed
from tui.render.figures import plural
from tui.render.safe import first_line
from tui.screens.review.item import SourceLines, lines_around
from tui.screens.review.queue import text_of

if TYPE_CHECKING:
    from engine.knowledge.review import Waiting
    from engine.knowledge.reviewing import Reviewed

Verb = Literal["accept", "reject"]
NAMED = 40
"""Characters of an item in a word in passing."""


@dataclass(frozen=True, slots=True)
class SettleWish:
    """Items and what is to become of them.

    Attributes:
        items: Them; several are told of in one word.
        verb: What is to be done.
        text: What is accepted in place of the one item's own text.
        sure: Whether the person was shown why it is dangerous, and said yes.
    """

    items: tuple[Waiting, ...]
    verb: Verb
    text: str = ""
    sure: bool = False


@dataclass
class QueueRead(Message):
    """What was ever held was read, or could not be, which ``problem`` says."""

    items: tuple[Waiting, ...] | None = None
    problem: str = ""


@dataclass
class SourceRead(Message):
    """The lines around an item's were read."""

    item: Waiting
    lines: SourceLines


@dataclass
class Settled(Message):
    """An item was settled, or could not be."""

    name: str
    done: bool


@dataclass
class SettlingEnded(Message):
    """All that was to be settled is through."""


class ReviewWork(ScreenWork):
    """The lanes of one review screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._looks: Lane[None, tuple[Waiting, ...]] = self.lane(
            lambda _none: engine.knowledge.review.queue.all(),
            lambda _none, items: QueueRead(items),
            lambda _none, problem: QueueRead(problem=problem),
        )
        self._sources: Lane[Waiting, SourceLines] = self.lane(self._source, SourceRead)
        self._settlings: Lane[tuple[SettleWish, ...], None] = self.lane(
            self._settle,
            lambda _wishes, _none: SettlingEnded(),
            merge=lambda waiting, new: waiting + new,
            finish=True,
        )

    def look(self) -> None:
        """Reads what was ever held: ``QueueRead``."""
        self._looks.ask(None)

    def source(self, item: Waiting) -> None:
        """Reads the lines around an item's, those of the newest wish: ``SourceRead``."""
        self._sources.ask(item)

    def settle(self, wish: SettleWish) -> None:
        """Accepts or rejects, and says what became of it: ``Settled`` for each."""
        self._settlings.ask((wish,))

    def _source(self, item: Waiting) -> SourceLines:
        if not item.source:
            return SourceLines(problem="it is not known which conversation said it")
        try:
            data = self._engine.files.read(item.source)
        except FileNotFoundError:
            return SourceLines(problem="the conversation is not here any more")
        except (AutopoiesisError, OSError) as error:
            return SourceLines(problem=str(error))
        return lines_around(data.decode("utf-8", "replace"), item)

    def _settle(self, wishes: tuple[SettleWish, ...]) -> None:
        """Does one after the other; one that is refused holds up none behind it."""
        for wish in wishes:
            done: list[Reviewed] = []
            for item in wish.items:
                try:
                    done.append(self._one(item, wish))
                except (AutopoiesisError, OSError) as error:
                    words = f"{first_line(item.item.text)[:NAMED]}: {error}"
                    self._post(Said(words, trouble=True))
                    self._post(Settled(item.id, done=False))
                else:
                    self._post(Settled(item.id, done=True))
            if len(done) == 1:
                self._post(Said(_told(done[0], wish.verb)))
            elif done:
                self._post(Said(_told_several(done)))

    def _one(self, item: Waiting, wish: SettleWish) -> Reviewed:
        review = self._engine.knowledge.review
        if wish.verb == "reject":
            return review.reject(item.id)
        return review.accept(item.id, wish.text, sure=wish.sure)


def _told(done: Reviewed, verb: Verb) -> str:
    """What became of one: where it stands now, and its commit."""
    after = committed(done.commit, done.uncommitted)
    if verb == "reject":
        return f"rejected: {first_line(text_of(done.waiting))[:NAMED]} · {after}"
    if done.settled:
        return f"accepted already: {first_line(text_of(done.waiting))[:NAMED]} · {after}"
    place = f"{done.path}:{done.number}" if done.number else done.path
    return f"stood there already: {place} · {after}" if done.known else f"accepted: {place} · {after}"


def _told_several(done: list[Reviewed]) -> str:
    """What became of several: how many lines in which file, and the last commit."""
    paths = dict.fromkeys(each.path for each in done if each.path)
    counts = [f"{path} {sum(each.path == path for each in done)}" for path in paths]
    known = sum(each.known for each in done)
    stood = f"{known:,} stood there already" if known else ""
    last = committed(done[-1].commit, done[-1].uncommitted)
    parts = (f"accepted {plural(len(done), 'item')}", *counts, stood, last)
    return " · ".join(part for part in parts if part)
