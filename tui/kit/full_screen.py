"""Screens above the workbench: opening, closing and background work; a list and its selected item."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.timer import Timer

from tui.kit.commands import Commanded
from tui.kit.lanes import Lane
from tui.kit.messages import Burst, EventBridge, EventsArrived, Notice, Part
from tui.kit.prompt import Mode, PromptLine
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.roles import Roles

if TYPE_CHECKING:
    from tui.kit.bench import Bench

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")

LEAVE_S = 0.2
"""Maximum wait for each lane when a screen is closed."""
COMMIT = 7
"""Characters shown of a commit hash."""
LOW = 20
"""Below this many lines, one panel is shown at a time."""


def committed(commit: str, why: str) -> str:
    """The commit of a change, or why there is none."""
    return f"commit {commit[:COMMIT]}" if commit else why or "not committed"


@dataclass
class Deliver(Message):
    """Background work has a result; ``take`` passes it to the screen."""

    take: Callable[[], object]

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Deliver) and self.take == message.take


class FullScreen(Commanded):
    """A screen with background work and engine events.

    Blocking work runs in lanes, which a screen creates with ``lane`` in its constructor; keys never wait.

    Args:
        used: The panel focused first; the first one by default.
    """

    burst_s: ClassVar[float] = 0.2
    """Seconds to collect events before the screen handles them."""
    line_passes = True

    def __init__(self, bench: Bench, used: str = "") -> None:
        super().__init__(bench, used or self.catalog.panels[0])
        self.bridge = EventBridge(lambda: self._post(EventsArrived()))
        self._unsubscribe: Callable[[], None] | None = None
        self._burst: Timer | None = None
        self._lanes: list[Lane[Any, Any]] = []
        self._stopped_on_close: list[Lane[Any, Any]] = []

    # Defined by screens

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen as the workbench opens it, with the workbench's selection if it uses that."""
        return cls(bench)

    def begin(self) -> None:
        """Called once the screen is open."""

    def end(self) -> None:
        """Called when the screen is closed, before its lanes stop."""

    def handle_events(self, burst: Burst) -> None:
        """Handles engine events."""

    def patience(self) -> float:
        """Seconds to collect events from now on."""
        return self.burst_s

    # Background work

    def lane(
        self,
        work: Callable[[Ask], Answer],
        then: Callable[[Ask, Answer], object],
        refused: Callable[[Ask, str], object] | None = None,
        *,
        merge: Callable[[Ask, Ask], Ask] | None = None,
        in_turn: bool = False,
        finish: bool = False,
    ) -> Lane[Ask, Answer]:
        """Creates a lane for one kind of work.

        Args:
            then: Receives request and result, on the screen's thread.
            refused: Receives request and error; by default, the error is shown as a notification.
            merge: Combines a waiting and a new request; by default, the newer one replaces the waiting one.
            in_turn: Process every request, in order.
            finish: Complete waiting requests even after the screen is closed; for writes.
        """

        def failed(asked: Ask, problem: str) -> None:
            if refused is not None and (self.listening or not finish):
                self.later(refused, asked, problem)
            else:
                self.tell(problem, error=True)

        lane: Lane[Ask, Answer] = Lane(work, partial(self.later, then), failed, merge, in_turn=in_turn)
        self._lanes.append(lane)
        if not finish:
            self._stopped_on_close.append(lane)
        return lane

    def plain_lane(
        self,
        work: Callable[[], Answer],
        then: Callable[[Answer], object],
        refused: Callable[[str], object] | None = None,
        *,
        finish: bool = False,
    ) -> Lane[None, Answer]:
        """Creates a lane for work that needs no request; ``ask(None)`` starts it. Otherwise like ``lane``."""
        failed = None if refused is None else lambda _none, problem: refused(problem)
        return self.lane(lambda _none: work(), lambda _none, answer: then(answer), failed, finish=finish)

    def later(self, take: Callable[..., object], *values: object) -> None:
        """Calls something on the screen's thread, unless the screen was closed; thread-safe.

        Without values, repeated pending calls are merged into one.
        """
        self._post(Deliver(partial(take, *values) if values else take))

    def tell(self, text: str, *, error: bool = False) -> None:
        """Shows a notification, on the workbench if the screen was closed; thread-safe."""
        if self.listening:
            self._post(Notice(text, error=error))
        else:
            self.bench.conductor.tell(text, error=error)

    def _post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the screen is gone
            self.post_message(message)

    @on(Deliver)
    def _delivered(self, message: Deliver) -> None:
        message.take()

    @on(Notice)
    def _noticed(self, notice: Notice) -> None:
        self.say(notice.text, error=notice.error)

    # Opening and closing

    def on_mount(self) -> None:
        if self.line_passes:
            self.prompt.display = False
        self.lay_out()
        self.bench.show_bars()
        self.bench.questions.show()
        self.show()
        self._unsubscribe = self.bench.engine.subscribe(self.bridge.handle)
        self.begin()

    def on_unmount(self) -> None:
        """Stops listening and reading; pending writes are completed."""
        self.end()
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for lane in self._stopped_on_close:
            lane.stop(LEAVE_S)
        self.bench.conductor.writes.leave(each for each in self._lanes if each not in self._stopped_on_close)

    @property
    def listening(self) -> bool:
        """Whether the screen is open and receives events."""
        return self._unsubscribe is not None

    @property
    def waiting(self) -> bool:
        """Whether pending work will change the screen."""
        return self._burst is not None or any(lane.busy for lane in self._lanes)

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        if self._burst is None:
            self._burst = self.set_timer(self.patience(), self._take_burst)

    def _take_burst(self) -> None:
        self._burst = None
        self.handle_events(self.bridge.take())


def unreadable(what: str, problem: str, width: int, roles: Roles) -> list[Row]:
    """Shown in place of a list that cannot be read."""
    return [
        *wrap([(f"cannot read {what}", roles.error)], width),
        *wrap([(problem, roles.normal)], width),
        Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
    ]


class ListDetail(FullScreen):
    """Places the panels of such a screen."""

    news: ClassVar[frozenset[Part]] = frozenset()
    """The parts whose changes make it read again."""
    above: ClassVar[tuple[str, ...]] = ()
    """Widgets hidden, besides the panels, if the terminal is too small."""
    broad: ClassVar[int] = 0
    """Minimum columns for the class ``-broad``, which puts the item beside the list; 0 if there is none."""
    outer: ClassVar[Mapping[str, str]] = {}
    """Where ``back`` leads from a panel if not to the first: to another one, or out if it is itself."""

    @property
    def listed(self) -> RowList[Any]:
        """The list that a filter narrows: the first panel."""
        return self.query_one(f"#{self.panels[0]}", RowList)

    @property
    def query_text(self) -> str:
        """What that list is filtered by."""
        return self.listed.query_text

    def back(self) -> None:
        """Go back one level: leave the prompt, show all panels, undo what narrows the view, go to the panel
        that decides what this one shows, close the screen.
        """
        outer = self.outer.get(self.panel_in_use, self.panels[0])
        if self.in_line:
            if self.prompt.mode == "filter":
                self.narrow("")
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif self.step_back():
            pass
        elif self.query_text:
            self.narrow("")
        elif outer != self.panel_in_use:
            self.focus_panel(outer)
        else:
            self.close()

    def step_back(self) -> bool:
        """Goes back one level of those that only this screen has; ``False`` if there is none."""
        return False

    def close(self) -> None:
        self.dismiss(None)

    def begin(self) -> None:
        self.look()

    def look(self) -> None:
        """Reads what the screen shows."""

    def rescan(self) -> None:
        super().rescan()
        self.look()

    def handle_events(self, burst: Burst) -> None:
        if burst.parts & self.news:
            self.look()

    def narrow(self, query: str) -> None:
        """Filters the list while the user types."""
        self.listed.filter(query)
        self.show()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.narrow(edited.value)

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        self.entered(entered.mode, entered.value.strip())

    def entered(self, mode: Mode, text: str) -> None:
        """The user pressed enter in the prompt."""
        self.leave_line()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        self.row_moved(moved)

    def row_moved(self, moved: RowList.Moved) -> None:
        """The selection of a panel moved; the first one decides what the others show."""
        if moved.panel.name_of == self.panels[0]:
            self.show_selected()
        else:
            self.update_footer()

    def show_selected(self) -> None:
        """Shows the selected item in full, and updates the footer."""
        self.update_footer()

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        """The style classes for the current size."""
        classes = {"-alone": len(shown) == 1, "-low": self.alone}
        return {**classes, "-broad": self.app.size.width >= self.broad} if self.broad else classes

    def below(self) -> ComposeResult:
        if self.catalog.lines:
            yield self.prompt

    @property
    def alone(self) -> bool:
        """Whether only one panel fits."""
        return self.app.size.height < LOW

    def in_view(self) -> tuple[str, ...]:
        if self.zoomed is not None:
            return (self.zoomed,)
        names = self.offered()
        if not self.alone:
            return names
        used = self.panel_before if self.in_line else self.panel_in_use
        return (used if used in names else names[0],)

    def lay_out(self) -> None:
        shown = self.in_view()
        self.lay_out_frame(self.shape(shown), *self.above)
        for name in self.panels:
            self.panel_named(name).display = name in shown

    def focus_panel(self, name: str) -> None:
        super().focus_panel(name)
        if self.alone and self.zoomed is None and not self.in_line and not self.panel_named(name).display:
            self.lay_out()

    def panel_changed(self) -> None:
        if self.alone:
            self.lay_out()

    def stops(self) -> tuple[str, ...]:
        """All panels, visible or not: if only one fits, tab shows the next."""
        return self.offered() if self.zoomed is None else self.in_view()

    def enlarge(self, name: str | None) -> None:
        super().enlarge(name)
        self.update_footer()

    def enlarge_in_turn(self, name: str) -> None:
        """Enlarges a panel, or shows all again and returns to the list."""
        is_whole = self.zoomed == name
        self.enlarge(None if is_whole else name)
        self.focus_panel(self.panels[0] if is_whole else name)
