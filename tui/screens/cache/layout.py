"""The cache screen: what providers cache, until when, and the misses (``cache-friendly-context.md`` 5)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.timer import Timer
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.cache.discussions import DiscussionsPanel, draw_empty, draw_error
from tui.screens.cache.misses import MissesPanel
from tui.screens.cache.providers import ProvidersPanel
from tui.screens.cache.settings import SettingLines, SettingsPanel, setting_lines
from tui.screens.cache.state import CacheState

if TYPE_CHECKING:
    from engine.discussions.overview import CacheOverview
    from tui.kit.bench import Bench

NARROW, LOW = 76, 22
"""Columns and lines below which only one panel at a time is visible."""
HEADED = 24
"""Minimum lines to show a heading above the providers."""
LOWER = 8
"""Height of the lower panels: one line per setting, and the frame."""
TALL = 34
"""Lines from which the lower panels get a quarter of the height."""
READING = "reading …"
UNKNOWN = "unknown"
"""Shown in a panel if reading failed."""


class CacheLayout(ListDetail):
    AUTO_FOCUS = "#discussions"
    CSS_PATH: ClassVar[CSSPathType | None] = "cache.tcss"
    area = "caches"
    line_passes = False
    burst_s = 0.5  # a reply causes several events

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "discussions")
        self.state = CacheState()
        engine = bench.engine
        self._looks: Lane[int, tuple[CacheOverview, SettingLines]] = self.lane(
            lambda days: (engine.discussions.overview(days), setting_lines(engine.configuration)),
            self._take,
            lambda days, problem: self._take(days, None, problem),
        )
        self._countdown: Timer | None = None

    def body(self) -> ComposeResult:
        """Providers and discussions, with settings and misses below."""
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

    def end(self) -> None:
        self._count_down(False)

    def look(self) -> None:
        """Reads the caches and the totals of the period."""
        self._looks.ask(self.state.days)

    def handle_events(self, burst: Burst) -> None:
        """Reads again when files change, a reply arrives or a cache is invalidated."""
        if burst.parts or burst.given_up:
            self.look()

    # What is on the screen

    @property
    def alone(self) -> bool:
        return self.app.size.width < NARROW or self.app.size.height < LOW

    def lay_out(self) -> None:
        super().lay_out()
        lower = self.query_one("#cache-lower")
        lower.display = self.misses.display or self.settings.display
        height = self.app.size.height
        whole = len(self.in_view()) == 1
        self.providers.styles.height = "1fr" if whole else self.providers.wanted - (height < HEADED)
        lower.styles.height = "1fr" if whole else LOWER if height < TALL else max(LOWER, height // 4)

    def show(self) -> None:
        state, now, wanted = self.state, self.bench.clock.now(), self.providers.wanted
        self._show_times(now)
        found = state.overview.misses if state.overview is not None else None
        self.misses.show_misses(state.misses(), found, self._unknown, state.phase)
        self.settings.show_settings(state.settings(), state.where, self._unknown, state.phase)
        if self.providers.wanted != wanted:
            self.lay_out()
        self._count_down(state.running(now))
        self.update_footer()

    def _show_times(self, now: datetime) -> None:
        state = self.state
        self.providers.show(state.overview, now, state.shown_days, self._why_unknown)
        about = (state.phase, state.problem, state.overview)
        self.discussions.show_discussions(state.items(now), self._note, about)

    @property
    def _why_unknown(self) -> str:
        return READING if self.state.phase == "loading" else UNKNOWN

    def _unknown(self, _width: int, roles: Roles) -> list[Row]:
        return [Row((self._why_unknown, roles.faint))]

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """The note shown if there are no discussions."""
        overview = self.state.overview
        if overview is not None:
            return draw_empty(overview, width, roles)
        if self.state.phase == "error":
            return draw_error(self.state.problem, width, roles)
        return [Row((READING, roles.faint))]

    def _count_down(self, wanted: bool) -> None:
        """Starts or stops the timer, so that an idle screen is not redrawn."""
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

    # Events

    def _take(self, days: int, found: tuple[CacheOverview, SettingLines] | None, problem: str = "") -> None:
        before = self.state.phase
        if not self.state.take(days, found, problem):
            self.say(problem, error=True)
        self.show()
        if before == "loading":
            self.call_after_refresh(self.keep_focus)

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.update_footer()
