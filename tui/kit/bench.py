"""What a screen may ask of the workbench that it lies over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from textual.app import App
from textual.message import Message

from engine.context.views import StatusView
from engine.live.feed import FeedEntry
from tui.kit.clock import Clock
from tui.kit.conductor import Conductor
from tui.kit.questions import Questions
from tui.kit.rows import RowList
from tui.render.shown import Shown

if TYPE_CHECKING:
    from engine.engine import Engine
    from tui.screens.harvest.run import HarvestRun


class Bench(Protocol):
    """The workbench, as far as the screens over it know it."""

    engine: Engine
    clock: Clock
    conductor: Conductor
    questions: Questions
    status: StatusView | None
    shown: Shown
    """The message in view."""
    followers: list[Callable[[], None]]
    """Called when another message is shown, or more about it."""
    searched: str
    """What was searched for last."""
    harvesting: HarvestRun | None
    """The harvest that is under way, or whose end has not been seen yet."""

    @property
    def app(self) -> App[int]:
        """The application."""
        ...

    @property
    def feed(self) -> RowList[FeedEntry]:
        """What came in."""
        ...

    @property
    def selected_topic(self) -> str:
        """The topic that is selected; empty where none is."""
        ...

    @property
    def selected_sha256(self) -> str:
        """The SHA-256 by which the ledger knows the selected conversation; empty where none is."""
        ...

    def key_of(self, name: str) -> str:
        """The key of one of its commands, as a person reads it."""
        ...

    def show_bars(self) -> None:
        """Draws the header, here and on the screens over it."""
        ...

    def say(self, text: str, *, error: bool = False) -> None:
        """Tells the person something in passing."""
        ...

    def post_message(self, message: Message) -> bool:
        """Takes a message, from any thread."""
        ...
