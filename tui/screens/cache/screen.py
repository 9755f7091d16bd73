"""The cache screen: what providers cache, until when, and the misses (``cache-friendly-context.md`` 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.timer import Timer

from tui.kit.command import Need, command
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.full_screen import ListDetail, committed
from tui.kit.lanes import Lane
from tui.kit.messages import Burst
from tui.render.draw import Row
from tui.render.figures import count
from tui.render.roles import Roles
from tui.render.safe import visible
from tui.render.words import LastMiss
from tui.screens.cache.figures import (
    CONFIG,
    ProvidersPanel,
    SettingItem,
    SettingLines,
    SettingsPanel,
    setting_items,
    setting_lines,
    setting_text,
)
from tui.screens.cache.lists import (
    DiscussionItem,
    DiscussionsPanel,
    MissesPanel,
    MissItem,
    draw_culprit,
    draw_details,
    draw_empty,
    draw_error,
    item_of,
    miss_items,
    name_of,
    provider_of,
)

if TYPE_CHECKING:
    from engine.discussions.named import Ending
    from engine.discussions.overview import CacheOverview, DiscussionCache
    from engine.settings.editing import Configuration
    from tui.kit.bench import Bench

CacheAction = Literal["invalidate", "disable", "enable"]
PERIODS = (1, 7, 30)
"""Lengths of the totals' period in days, in the order that the key cycles through them."""
PROGRESS_TEXT: dict[CacheAction, str] = {
    "invalidate": "invalidating …",
    "disable": "disabling …",
    "enable": "enabling …",
}
Phase = Literal["loading", "error", "empty", "found"]
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
NAME = 60
"""Maximum characters of a discussion's name in a question or notification."""
BY_HAND = "invalidated by hand"


class CacheState:
    def __init__(self) -> None:
        self.overview: CacheOverview | None = None
        self.where: SettingLines | None = None
        self.problem = ""
        self.days = PERIODS[-1]
        self.shown_days = self.days
        self._doing: dict[str, CacheAction] = {}
        self._changing: dict[str, object] = {}
        self._written: set[str] = set()

    @property
    def phase(self) -> Phase:
        if self.overview is None:
            return "error" if self.problem else "loading"
        return "found" if self.overview.discussions else "empty"

    def next_period(self) -> None:
        self.days = PERIODS[(PERIODS.index(self.days) + 1) % len(PERIODS)]

    def take(self, days: int, found: tuple[CacheOverview, SettingLines] | None, problem: str = "") -> bool:
        """Stores a new overview; ``False`` if reading it failed and an older one is still shown."""
        if found is None:
            self.problem = problem
            return self.overview is None
        self.problem, self.shown_days = "", days
        self.overview, self.where = found
        for name in self._written:  # the new overview includes these
            self._changing.pop(name, None)
        self._written.clear()
        return True

    def items(self, now: datetime) -> list[DiscussionItem]:
        """The discussions as of ``now``."""
        if self.overview is None:
            return []
        return [
            item_of(each, now, PROGRESS_TEXT[doing] if doing is not None else "")
            for each in self.overview.discussions
            for doing in (self._doing.get(each.state.discussion_id),)
        ]

    def misses(self) -> Sequence[MissItem]:
        return miss_items(self.overview) if self.overview is not None else []

    def settings(self) -> list[SettingItem]:
        if self.overview is None:
            return []
        return setting_items(self.overview.settings, self._changing, self._written)

    def running(self, now: datetime) -> bool:
        """Whether any cache is counting down."""
        if self.overview is None:
            return False
        states = (each.state for each in self.overview.discussions)
        return any(state.expires_at is not None and state.is_cached(now) for state in states)

    def begin(self, discussion_id: str, verb: CacheAction) -> bool:
        """Marks a discussion's cache as being changed; ``False`` if it already is."""
        if discussion_id in self._doing:
            return False
        self._doing[discussion_id] = verb
        return True

    def ended(self, discussion_id: str) -> None:
        """Ends a change, successful or not."""
        self._doing.pop(discussion_id, None)

    def change(self, name: str, value: object) -> None:
        """Marks a setting as being written."""
        self._changing[name] = value
        self._written.discard(name)

    def changed(self, name: str, value: object, *, done: bool) -> None:
        """Ends the write of a setting, unless another value has been chosen since."""
        if self._changing.get(name) != value:
            return
        if done:
            self._written.add(name)
        else:
            self._changing.pop(name)


A_DISCUSSION = Need(lambda here: here.discussion(), "no discussion is selected")


@dataclass(frozen=True, slots=True)
class CacheChange:
    """A change to a discussion's cache."""

    discussion_id: str
    name: str
    """The discussion's name."""
    verb: CacheAction

    def apply(self, ending: Ending) -> str:
        """Makes the change, which may take seconds, and returns a message."""
        match self.verb:
            case "invalidate":
                after = ending.invalidate(self.discussion_id, BY_HAND)
                done = "cache invalidated; the next call creates a new one"
                return f"{self.name}: {done if after.why == BY_HAND else after.why or done}"
            case "disable":
                ending.disable(self.discussion_id)
                return f"{self.name}: caching disabled"
            case "enable":
                ending.enable(self.discussion_id)
                return f"{self.name}: caching enabled"


def set_value(configuration: Configuration, name: str, value: object) -> str:
    """Writes a setting and returns a message: old and new value, location and commit."""
    change = configuration.change(name, value)
    values = f"{setting_text(change.name, change.before)} → {setting_text(change.name, change.after)}"
    place = f"{CONFIG}:{change.line}" if change.line else CONFIG
    return f"{change.name}: {values} · {place} · {committed(change.commit, change.why)}"


class CacheScreen(ListDetail, panels=("providers", "discussions", "settings", "misses")):
    AUTO_FOCUS = "#discussions"
    area = "caches"
    outer = MappingProxyType({name: name for name in ("discussions", "settings", "misses")})
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
        self._changes: Lane[CacheChange, str] = self.lane(
            lambda change: change.apply(engine.discussions.ending),
            self._changed,
            partial(self._changed, error=True),
            in_turn=True,
            finish=True,
        )
        self._values: Lane[tuple[str, object], str] = self.lane(
            lambda value: set_value(engine.configuration, *value),
            self._written,
            partial(self._written, done=False),
            in_turn=True,
            finish=True,
        )

    def body(self) -> ComposeResult:
        """Providers and discussions, with settings and misses below."""
        self.providers = ProvidersPanel(id="providers")
        self.discussions = DiscussionsPanel(id="discussions")
        self.misses = MissesPanel(id="misses")
        self.settings = SettingsPanel(id="settings")
        lower = Horizontal(self.settings, self.misses, id="cache-lower")
        yield Container(self.providers, self.discussions, lower, id="caches")

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

    # Navigation

    # The selection

    @property
    def cached(self) -> bool:
        """Whether the selected discussion has a cache now."""
        item = self.discussions.selected
        return item is not None and item.state.is_cached(self.bench.clock.now())

    @property
    def caching(self) -> bool:
        """Whether caching is enabled for it."""
        item = self.discussions.selected
        return item is not None and item.state.enabled

    def discussion(self) -> DiscussionCache | None:
        """The discussion that commands apply to."""
        if self.panel_in_use == "misses":
            miss = self.misses.selected
            return miss.entry if isinstance(miss, LastMiss) else None
        item = self.discussions.selected
        return item.entry if item is not None and self.panel_in_use == "discussions" else None

    @property
    def file(self) -> str:
        """The file behind the selection; empty for none, or if it no longer exists."""
        return self.existing(self._path())

    def _path(self) -> str:
        if self.panel_in_use == "settings":
            return CONFIG
        miss = self.misses.selected
        if self.panel_in_use == "misses" and miss is not None and not isinstance(miss, LastMiss):
            return miss.source
        entry = self.discussion()
        return entry.path if entry is not None else ""

    @command("enter o", "Show details", "details", 0, panels=["discussions", "misses"], needs=[ROWS])
    def details(self) -> None:
        """Show the details of the selected discussion's cache, or of what broke prefixes."""
        overview, entry = self.state.overview, self.discussion()
        if entry is not None:
            now = self.bench.clock.now()
            self.page("discussion cache", lambda width, roles: draw_details(entry, now, width, roles))
            return
        miss = self.misses.selected
        if overview is not None and miss is not None and not isinstance(miss, LastMiss):
            found = overview.misses
            self.page("what broke prefixes", lambda width, roles: draw_culprit(miss, found, width, roles))

    @command("e", "Edit the file", "edit", 8,
             needs=[Need(lambda here: here.file,
                         "the selection has no file, or it no longer exists")])  # fmt: skip
    def edit(self) -> None:
        """Open the file that broke the prefix, the transcript or the settings in $VISUAL or $EDITOR."""
        line, where, item = 0, self.state.where, self.settings.selected
        if self.panel_in_use == "settings" and where is not None and item is not None:
            line = where.lines.get(item.name, 0)
        self.edit_file(self.file, line)
        self.look()

    @command("y", "Copy the session id", "copy id", 12, panels=["discussions", "misses"],
             needs=[A_DISCUSSION])  # fmt: skip
    def copy_id(self) -> None:
        """Copy the session id of the selected discussion, for example for autopoiesis cache show ID."""
        entry = self.discussion()
        if entry is not None:
            self.copy_name(entry.state.discussion_id)

    # Caches

    @command("i", "Invalidate the discussion's cache", "invalidate", 2, panels=["discussions"],
             needs=[A_DISCUSSION, Need(lambda here: here.cached, "this discussion has no cache"),
                    WRITABLE])  # fmt: skip
    def invalidate(self) -> None:
        """Invalidate the selected discussion's cache, so that the next call creates a new one. Asks first."""
        entry = self.discussion()
        if entry is None:
            return
        state = entry.state
        question = (
            f"{visible(name_of(entry), NAME)}\n"
            f"The {count(state.tokens_cached)} tokens cached by {provider_of(state)} will no longer be used;"
            " the next call sends them again and creates a new cache."
        )
        self.ask("invalidate the cache", question, "Invalidate", lambda: self._change(entry, "invalidate"))

    @command("d", "Disable caching for the discussion", "disable", 4, panels=["discussions"],
             needs=[A_DISCUSSION,
                    Need(lambda here: here.caching, "caching is already disabled for this discussion"),
                    WRITABLE])  # fmt: skip
    def disable(self) -> None:
        """Disable caching for the selected discussion and invalidate its cache."""
        self._change(self.discussion(), "disable")

    @command("a", "Enable caching for the discussion", "enable", 4, panels=["discussions"],
             needs=[A_DISCUSSION,
                    Need(lambda here: not here.caching, "caching is already enabled for this discussion"),
                    WRITABLE])  # fmt: skip
    def enable(self) -> None:
        """Enable caching for the selected discussion again, starting with its next call."""
        self._change(self.discussion(), "enable")

    def _change(self, entry: DiscussionCache | None, verb: CacheAction) -> None:
        if entry is None:
            return
        change = CacheChange(entry.state.discussion_id, visible(name_of(entry), NAME), verb)
        if self.state.begin(change.discussion_id, verb):
            self._changes.ask(change)
            self.show()
        else:
            self.say("the cache is already being changed")

    @command("space enter", "Change the selected setting", "change", 0, panels=["settings"],
             needs=[ROWS, WRITABLE])  # fmt: skip
    def step(self) -> None:
        """Toggle the selected setting or go to its next value. The change is written and committed
        immediately.
        """
        item = self.settings.selected
        if item is not None:
            self.app.clear_notifications()  # those about the previous value
            self.state.change(item.name, item.next)
            self._values.ask((item.name, item.next))
            self.show()

    @command("p", "Change the period", "period", 10)
    def period(self) -> None:
        """Change the period of the provider totals: today, the last 7 days or the last 30 days."""
        self.state.next_period()
        self.look()
        if "providers" not in self.in_view():
            days = self.state.days
            self.say("totals for today" if days == 1 else f"totals for {days} days")

    # Panels

    focus_providers = goes_to("providers", "1", "the providers",
                              ": tokens sent, tokens served from caches, and time left")  # fmt: skip
    focus_discussions = goes_to("discussions", "2", "the discussions",
                                ": which are cached, by which provider, until when")  # fmt: skip
    focus_settings = goes_to("settings", "3", "the settings", " of caches for the whole workspace")
    focus_misses = goes_to(
        "misses",
        "4",
        "the misses",
        ": the reason for the last one, and what broke prefixes, how often and at what cost",
    )

    def _changed(self, change: CacheChange, message: str, *, error: bool = False) -> None:
        self.say(message, error=error)
        self.state.ended(change.discussion_id)
        self.show()
        self.look()

    def _written(self, value: tuple[str, object], message: str, *, done: bool = True) -> None:
        self.say(message, error=not done)
        self.state.changed(*value, done=done)
        self.show()
        self.look()
