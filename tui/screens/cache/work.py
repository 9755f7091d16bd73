"""What the cache screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual.message import Message

from engine.errors import AutopoiesisError
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.messages import Said
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork
from tui.screens.cache.settings import CONFIG, SettingLines, said

if TYPE_CHECKING:
    from engine.discussions.overview import CacheOverview
    from engine.settings.editing import SettingChange

Ending = Literal["invalidate", "disable", "enable"]
BY_HAND = "given up by hand"
GROUP = "cache."
"""How the names of these settings begin."""


@dataclass(frozen=True, slots=True)
class EndingWish:
    """What is to be done with a discussion's cache; ``name`` is what the discussion is called."""

    discussion_id: str
    name: str
    do: Ending


@dataclass(frozen=True, slots=True)
class SettingWish:
    """A setting and what it is to be."""

    name: str
    value: object


@dataclass
class OverviewRead(Message):
    """The caches were looked at, or could not be, which ``problem`` says."""

    days: int
    overview: CacheOverview | None = None
    where: SettingLines | None = None
    problem: str = ""


@dataclass
class Ended(Message):
    """Something was done with a discussion's cache, or could not be."""

    wish: EndingWish


@dataclass
class SettingWritten(Message):
    """A setting was written, or could not be."""

    wish: SettingWish
    done: bool


class CacheWork(ScreenWork):
    """The lanes of one cache screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._looks: Lane[int, tuple[CacheOverview, SettingLines]] = self.lane(
            lambda days: (engine.discussions.overview(days), self._where()),
            lambda days, found: OverviewRead(days, *found),
            lambda days, problem: OverviewRead(days, problem=problem),
        )
        self._endings: Lane[tuple[EndingWish, ...], None] = self.lane(
            self._end, lambda _wishes, _none: None, merge=lambda waiting, new: waiting + new, finish=True
        )
        self._settings: Lane[tuple[SettingWish, ...], None] = self.lane(
            self._write, lambda _wishes, _none: None, merge=lambda waiting, new: waiting + new, finish=True
        )

    def look(self, days: int) -> None:
        """Looks at the caches, the newest wish first: ``OverviewRead``."""
        self._looks.ask(days)

    def end(self, wish: EndingWish) -> None:
        """Does something with a discussion's cache, then says so: ``Ended``. It may take seconds."""
        self._endings.ask((wish,))

    def write(self, wish: SettingWish) -> None:
        """Writes a setting, then says so: ``SettingWritten``."""
        self._settings.ask((wish,))

    def _end(self, wishes: tuple[EndingWish, ...]) -> None:
        """Does one after the other; one that is refused holds up none behind it."""
        for wish in wishes:
            try:
                self._post(Said(self._ended(wish)))
            except (AutopoiesisError, OSError) as error:
                self._post(Said(str(error), trouble=True))
            self._post(Ended(wish))

    def _ended(self, wish: EndingWish) -> str:
        ending = self._engine.discussions.ending
        match wish.do:
            case "invalidate":
                after = ending.invalidate(wish.discussion_id, BY_HAND)
                done = "its cache is given up; the next call begins another one"
                return f"{wish.name}: {done if after.why == BY_HAND else after.why or done}"
            case "disable":
                ending.disable(wish.discussion_id)
                return f"{wish.name}: no caches are asked for any more"
            case "enable":
                ending.enable(wish.discussion_id)
                return f"{wish.name}: caches are asked for again"

    def _write(self, wishes: tuple[SettingWish, ...]) -> None:
        for wish in wishes:
            try:
                change = self._engine.configuration.change(wish.name, wish.value)
            except (AutopoiesisError, OSError) as error:
                self._post(Said(str(error), trouble=True))
                self._post(SettingWritten(wish, done=False))
            else:
                self._post(Said(_changed(change)))
                self._post(SettingWritten(wish, done=True))

    def _where(self) -> SettingLines:
        """Where the settings of caches stand in their file."""
        try:
            found = self._engine.configuration.settings()
        except (AutopoiesisError, OSError) as error:
            return SettingLines(problem=str(error))
        return SettingLines(
            {each.name: each.line for each in found if each.name.startswith(GROUP) and each.line}
        )


def _changed(change: SettingChange) -> str:
    """What became of a setting: before and after, where, and its commit."""
    values = f"{said(change.name, change.before)} → {said(change.name, change.after)}"
    place = f"{CONFIG}:{change.line}" if change.line else CONFIG
    return f"{change.name}: {values} · {place} · {committed(change.commit, change.why)}"
