"""The cache screen: one method per command."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tui.kit import clipboard
from tui.kit.command import Need, Situation, command
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.render.caches import LastMiss
from tui.render.figures import count
from tui.render.safe import visible
from tui.screens.cache.discussions import draw_details, name_of, provider_of
from tui.screens.cache.layout import CacheLayout
from tui.screens.cache.misses import draw_culprit
from tui.screens.cache.settings import CONFIG, setting_text
from tui.screens.cache.state import CacheAction

if TYPE_CHECKING:
    from engine.discussions.named import Ending
    from engine.discussions.overview import DiscussionCache
    from engine.settings.editing import Configuration
    from tui.kit.bench import Bench

NAME = 60
"""Maximum characters of a discussion's name in a question or notification."""
BY_HAND = "invalidated by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSituation(Situation):
    cached: bool = False
    """The selected discussion has a cache now."""
    caching: bool = False
    """Caching is enabled for the selected discussion."""
    discussion: str = ""
    """The selected discussion's id, if any."""


A_DISCUSSION: Need[CacheSituation] = Need(lambda here: here.discussion, "no discussion is selected")


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


class CacheScreen(CacheLayout, panels=("providers", "discussions", "settings", "misses")):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        engine = bench.engine
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

    # Navigation

    def back(self) -> None:
        """Back out one level: show all panels, or return to the workbench."""
        if self.zoomed is not None:
            self.unzoom()
        else:
            self.dismiss(None)

    # The selection

    def discussion(self) -> DiscussionCache | None:
        """The discussion that commands apply to."""
        if self.panel_in_use == "misses":
            miss = self.misses.selected
            return miss.entry if isinstance(miss, LastMiss) else None
        item = self.discussions.selected
        return item.entry if item is not None and self.panel_in_use == "discussions" else None

    def file(self) -> str:
        """The file behind the selection; empty for none, or if it no longer exists."""
        return file_of(self.bench.engine.workspace.root, self._path())

    def _path(self) -> str:
        if self.panel_in_use == "settings":
            return CONFIG
        miss = self.misses.selected
        if self.panel_in_use == "misses" and miss is not None and not isinstance(miss, LastMiss):
            return miss.source
        entry = self.discussion()
        return entry.path if entry is not None else ""

    @command(
        "enter", "o",
        title="Show details", panels=["discussions", "misses"], footer="details", rank=0, needs=[ROWS],
    )  # fmt: skip
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

    @command(
        "e",
        title="Edit the file", footer="edit", rank=8,
        needs=[Need(lambda here: here.file, "the selection has no file, or it no longer exists")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the file that broke the prefix, the transcript or the settings in $VISUAL or $EDITOR."""
        line, where, item = 0, self.state.where, self.settings.selected
        if self.panel_in_use == "settings" and where is not None and item is not None:
            line = where.lines.get(item.name, 0)
        self.edit_file(self.file(), line)
        self.look()

    @command(
        "y",
        title="Copy the session id", panels=["discussions", "misses"], footer="copy id", rank=12,
        needs=[A_DISCUSSION],
    )  # fmt: skip
    def copy_id(self) -> None:
        """Copy the session id of the selected discussion, for example for autopoiesis cache show ID."""
        entry = self.discussion()
        if entry is not None:
            clipboard.copy(self.bench.app, entry.state.discussion_id)
            self.say(f"copied {entry.state.discussion_id}")

    # Caches

    @command(
        "i",
        title="Invalidate the discussion's cache", panels=["discussions"], footer="invalidate", rank=2,
        needs=[
            A_DISCUSSION, Need(lambda here: here.cached, "this discussion has no cache"), WRITABLE,
        ],
    )  # fmt: skip
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

    @command(
        "d",
        title="Disable caching for the discussion", panels=["discussions"], footer="disable", rank=4,
        needs=[
            A_DISCUSSION,
            Need(lambda here: here.caching, "caching is already disabled for this discussion"), WRITABLE,
        ],
    )  # fmt: skip
    def disable(self) -> None:
        """Disable caching for the selected discussion and invalidate its cache."""
        self._change(self.discussion(), "disable")

    @command(
        "a",
        title="Enable caching for the discussion", panels=["discussions"], footer="enable", rank=4,
        needs=[
            A_DISCUSSION,
            Need(lambda here: not here.caching, "caching is already enabled for this discussion"), WRITABLE,
        ],
    )  # fmt: skip
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

    @command(
        "space", "enter",
        title="Change the selected setting", panels=["settings"], footer="change", rank=0,
        needs=[ROWS, WRITABLE],
    )  # fmt: skip
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

    @command("p", title="Change the period", footer="period", rank=10)
    def period(self) -> None:
        """Change the period of the provider totals: today, the last 7 days or the last 30 days."""
        self.state.next_period()
        self.look()
        if "providers" not in self.in_view():
            days = self.state.days
            self.say("totals for today" if days == 1 else f"totals for {days} days")

    # Panels

    focus_providers = goes_to(
        "providers", "1", "the providers",
        ": tokens sent, tokens served from caches, and time left", rank=24,
    )  # fmt: skip
    focus_discussions = goes_to(
        "discussions", "2", "the discussions", ": which are cached, by which provider, until when", rank=24
    )
    focus_settings = goes_to("settings", "3", "the settings", " of caches for the whole workspace", rank=24)
    focus_misses = goes_to(
        "misses", "4", "the misses",
        ": the reason for the last one, and what broke prefixes, how often and at what cost", rank=24,
    )  # fmt: skip

    @property
    def situation(self) -> CacheSituation:
        item = self.discussions.selected
        selected = self.discussion()
        return self.situated(
            CacheSituation,
            file=self.file(),
            discussion=selected.state.discussion_id if selected is not None else "",
            cached=item is not None and item.state.is_cached(self.bench.clock.now()),
            caching=item is not None and item.state.enabled,
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
