"""The cache screen: what providers keep, until when, and what was lost (``cache-friendly-context.md`` 5)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.timer import Timer
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.full_screen import FullScreen
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.cache.discussions import draw_empty, draw_trouble
from tui.screens.cache.discussions_panel import DiscussionsPanel
from tui.screens.cache.misses_panel import MissesPanel
from tui.screens.cache.providers_panel import READING, UNKNOWN, ProvidersPanel
from tui.screens.cache.settings_panel import SettingsPanel
from tui.screens.cache.state import CacheState
from tui.screens.cache.work import CacheWork, Ended, OverviewRead, SettingWritten

if TYPE_CHECKING:
    from tui.kit.bench import Bench

NARROW, LOW = 76, 22
"""Columns and lines below which one panel at a time is in view."""
HEADED = 24
"""Lines from which the providers have a heading."""
LOWER = 8
"""Lines of the lower panels: as many as there are settings, and the frame."""
TALL = 34
"""Lines from which the lower panels get more, a third of them."""


class CacheLayout(FullScreen):
    """The screen on what providers keep of each discussion's stable prefix.

    Args:
        bench: The workbench it was opened from.
    """

    AUTO_FOCUS = "#discussions"
    CSS_PATH: ClassVar[CSSPathType | None] = "cache.tcss"
    area = "caches"
    work: CacheWork
    line_passes = False
    burst_s = 0.5  # what a reply changes comes in several events

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "discussions")
        self.state = CacheState()
        self.work = CacheWork(bench.engine, self.post_message)
        self._countdown: Timer | None = None

    def body(self) -> ComposeResult:
        """Providers, discussions, and below them settings and misses."""
        self.providers = ProvidersPanel(id="providers")
        self.discussions = DiscussionsPanel(id="discussions")
        self.misses = MissesPanel(id="misses")
        self.settings = SettingsPanel(id="settings")
        with Container(id="caches"):
            yield self.providers
            yield self.discussions
            with Horizontal(id="cache-lower"):
                yield self.settings
                yield self.misses

    def begin(self) -> None:
        """Looks at the caches."""
        self.work.look(self.state.days)

    def end(self) -> None:
        """Counts nothing down any more."""
        self._count_down(False)

    # What is on the screen

    @property
    def alone(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.width < NARROW or self.app.size.height < LOW

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        return (self.panel_in_use,) if self.alone else self.panels

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        shown = self.in_view()
        self.lay_out_frame({"-alone": len(shown) == 1})
        for panel in (self.providers, self.discussions, self.misses, self.settings):
            panel.display = panel.name_of in shown
        lower = self.query_one("#cache-lower")
        lower.display = self.misses.display or self.settings.display
        height = self.app.size.height
        whole = len(shown) == 1
        self.providers.styles.height = "1fr" if whole else self.providers.wanted - (height < HEADED)
        lower.styles.height = "1fr" if whole else LOWER if height < TALL else max(LOWER, height // 4)

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        state, now = self.state, self.bench.clock.now()
        overview = state.overview
        wanted = self.providers.wanted
        self._say_unknown(READING if state.phase == "loading" else UNKNOWN)
        self._show_times(now)
        self.misses.show_misses(state.misses(), overview.misses if overview is not None else None)
        self.settings.show_settings(state.settings(), state.where)
        if self.providers.wanted != wanted:
            self.lay_out()
        self._count_down(state.running(now))
        self.update_footer()

    def _say_unknown(self, note: str) -> None:
        """What stands in the panels while nothing is known."""
        for panel in (self.providers, self.settings, self.misses):
            if panel.note != note:
                panel.note = note
                panel.refresh()

    def _show_times(self, now: datetime) -> None:
        """Hands over what depends on the time."""
        state = self.state
        self.providers.show(state.overview, now, state.shown_days)
        self.discussions.show_items(
            state.items(now), self._note, (state.phase, state.problem, state.overview)
        )

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no discussions."""
        overview = self.state.overview
        if overview is not None:
            return draw_empty(overview, width, roles)
        if self.state.phase == "trouble":
            return draw_trouble(self.state.problem, width, roles)
        return [Row((READING, roles.faint))]

    def _count_down(self, wanted: bool) -> None:
        """Ticks while a time runs down, and only then: a line over which nothing changes stays quiet."""
        if wanted and self._countdown is None:
            self._countdown = self.set_interval(1.0, self._tick)
        elif not wanted and self._countdown is not None:
            self._countdown.stop()
            self._countdown = None

    def _tick(self) -> None:
        now = self.bench.clock.now()
        self._show_times(now)
        if not self.state.running(now):
            self._count_down(False)
            self.update_footer()

    def focus_panel(self, name: str) -> None:
        """Gives a panel the keys; where only one has room, the place as well."""
        super().focus_panel(name)
        if self.alone and self.zoomed is None and not self.panel_named(name).display:
            self.lay_out()

    def panel_changed(self) -> None:
        """Where only one panel has room, the one with the keys has it."""
        if self.alone:
            self.lay_out()

    # What comes in

    @on(OverviewRead)
    def _overview_read(self, read: OverviewRead) -> None:
        before = self.state.phase
        if not self.state.take(read):
            self.say(read.problem, trouble=True)
        self.show()
        if before == "loading":
            self.call_after_refresh(self.keep_focus)

    @on(Ended)
    def _ended(self, ended: Ended) -> None:
        self.state.ended(ended.wish)
        self.show()
        self.work.look(self.state.days)

    @on(SettingWritten)
    def _setting_written(self, written: SettingWritten) -> None:
        self.state.changed(written.wish, done=written.done)
        self.show()
        self.work.look(self.state.days)

    def heard(self, burst: Burst) -> None:
        """Files changed, a reply came in or a cache was given up: looks again."""
        if burst.parts or burst.given_up:
            self.work.look(self.state.days)

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.update_footer()
