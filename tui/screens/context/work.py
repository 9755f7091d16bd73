"""What the context screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from tui.kit.lanes import Lane
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork
from tui.screens.context.difference import Comparison, compare
from tui.screens.context.prompt import Placed, place

if TYPE_CHECKING:
    from engine.context.compiled import Compiled


@dataclass
class Ready(Message):
    """A prompt can be shown."""

    placed: Placed


@dataclass
class Bare(Message):
    """The prompt without a message was compiled, or could not be."""

    compiled: Compiled | None = None
    problem: str = ""


@dataclass
class Numbered(Message):
    """The lines of its file for each line of a section."""

    placed: Placed
    index: int
    lines: tuple[int, ...]


@dataclass
class Compared(Message):
    """A prompt was compared with the one before it; ``None`` where there is none, or a problem with it."""

    compiled: Compiled
    comparison: Comparison | None = None
    problem: str = ""


@dataclass
class Kept(Message):
    """A prompt was written into a file; ``taken`` where the name is, so that nothing was."""

    path: str
    taken: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NumberWish:
    """The section whose lines are asked for."""

    placed: Placed
    index: int


@dataclass(frozen=True, slots=True)
class CompareWish:
    """What is compared: a prompt with that of the message before ``key``, or with that of ``key`` itself."""

    compiled: Compiled
    key: str
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class KeepWish:
    """The text that is to be written, and where."""

    path: str
    text: str
    replace: bool = False


class ContextWork(ScreenWork):
    """The lanes of one context screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    leave_s = 0.1

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._places: Lane[Compiled, Placed] = self.lane(
            _place,
            lambda _compiled, placed: Ready(placed),
            lambda _compiled, _error: None,  # nothing is read
        )
        self._bare: Lane[None, Compiled] = self.lane(
            lambda _none: engine.try_message("", ask=False)[1],
            lambda _none, compiled: Bare(compiled),
            lambda _none, error: Bare(problem=error),
        )
        self._numbers: Lane[NumberWish, tuple[int, ...]] = self.lane(
            lambda wish: engine.lines_of(wish.placed.compiled.sections[wish.index]),
            lambda wish, lines: Numbered(wish.placed, wish.index, lines),
            lambda wish, _error: Numbered(wish.placed, wish.index, ()),
        )
        self._compares: Lane[CompareWish, Comparison | None] = self.lane(
            self._compare,
            lambda wish, comparison: Compared(wish.compiled, comparison),
            lambda wish, error: Compared(wish.compiled, problem=error),
        )
        self._writes: Lane[KeepWish, bool] = self.lane(
            lambda wish: engine.keep_prompt(wish.path, wish.text, replace=wish.replace),
            lambda wish, done: Kept(wish.path, taken=not done),
            lambda wish, error: Kept(wish.path, problem=error),
            finish=True,
        )

    def place(self, compiled: Compiled) -> None:
        """Makes a prompt ready to be shown, the newest wish first: ``Ready``."""
        self._places.ask(compiled)

    def bare(self) -> None:
        """Compiles the prompt without a message: ``Bare``."""
        self._bare.ask(None)

    def number(self, wish: NumberWish) -> None:
        """Looks up the lines of a section's file, the newest wish first: ``Numbered``."""
        self._numbers.ask(wish)

    def compare(self, wish: CompareWish) -> None:
        """Compares a prompt with an earlier one, the newest wish first: ``Compared``."""
        self._compares.ask(wish)

    def keep(self, wish: KeepWish) -> None:
        """Writes a prompt into a file: ``Kept``."""
        self._writes.ask(wish)

    def _compare(self, wish: CompareWish) -> Comparison | None:
        engine = self._engine
        before = engine.compile_of(wish.key) if wish.with_key else engine.compile_before(wish.key)
        return compare(before, wish.compiled, tried=wish.with_key) if before is not None else None


def _place(compiled: Compiled) -> Placed:
    from engine.context.tokens import count  # noqa: PLC0415 — brings the vocabulary

    return place(compiled, count)
