"""The part of the workbench that other screens may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from textual.app import App
from textual.message import Message

from engine.context.views import StatusView
from engine.live.feed import FeedEntry
from tui.kit.conductor import Conductor
from tui.kit.questions import Clock, Questions
from tui.kit.rows import RowList
from tui.render.shown import Shown

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.playbooks.past import Replay
    from engine.recall.backtest import Backtest
    from tui.screens.harvest.run import HarvestRun


@dataclass(frozen=True, slots=True)
class Played:
    """A finished backtest, which outlives its screen."""

    found: Backtest
    trial: Backtest | None = None
    """With another setting."""
    changes: str = ""
    """This setting, ``name=value``."""


class Bench(Protocol):
    """The workbench as seen by the screens above it."""

    engine: Engine
    clock: Clock
    conductor: Conductor
    questions: Questions
    status: StatusView | None
    shown: Shown
    """The message shown."""
    followers: list[Callable[[], None]]
    """Called when the message shown changes, or more is known about it."""
    searched: str
    """The last search query."""
    harvesting: HarvestRun | None
    """The running harvest, or a finished one whose result was not seen yet."""

    backtest: Played | None
    """The last backtest."""
    replays: Mapping[str, Replay] | None
    """What each topic would have done in the past, as last played."""

    @property
    def app(self) -> App[int]: ...

    @property
    def feed(self) -> RowList[FeedEntry]: ...

    @property
    def selected_topic(self) -> str:
        """Empty if none is selected."""
        ...

    @property
    def selected_sha256(self) -> str:
        """The ledger's SHA-256 of the selected conversation; empty if none is selected."""
        ...

    def key_of(self, name: str) -> str:
        """The displayed key of a workbench command."""
        ...

    def show_bars(self) -> None:
        """Updates the header, here and on the screens above."""
        ...

    def refetch(self) -> None:
        """Traces and compiles the message shown again."""
        ...

    def show_output(self, line: str) -> None:
        """Runs a command and opens a page for its output."""
        ...

    def say(self, text: str, *, error: bool = False) -> None:
        """Shows a notification."""
        ...

    def post_message(self, message: Message) -> bool:
        """Posts a message; thread-safe."""
        ...
