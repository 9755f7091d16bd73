"""The screen of caches: what can be done there, one method for each command."""

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
from tui.screens.cache.settings import CONFIG, said
from tui.screens.cache.state import Verb

if TYPE_CHECKING:
    from engine.discussions.ending import Ending
    from engine.discussions.overview import DiscussionCache
    from engine.settings.editing import Configuration
    from tui.kit.bench import Bench

NAME = 60
"""Characters of a discussion's name in a question or a word in passing."""
BY_HAND = "given up by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSituation(Situation):
    """What the commands of this screen depend on."""

    cached: bool = False
    """It has a cache now."""
    caching: bool = False
    """It may have one."""
    discussion: str = ""
    """The selected discussion's id; empty where none is."""


A_DISCUSSION: Need[CacheSituation] = Need(lambda here: here.discussion, "no discussion is selected")


@dataclass(frozen=True, slots=True)
class CacheChange:
    """A discussion, and what is to become of its cache."""

    discussion_id: str
    name: str
    """What the discussion is called."""
    verb: Verb

    def make(self, ending: Ending) -> str:
        """Makes the change, which may take seconds, and says what came of it."""
        match self.verb:
            case "invalidate":
                after = ending.invalidate(self.discussion_id, BY_HAND)
                done = "its cache is given up; the next call begins another one"
                return f"{self.name}: {done if after.why == BY_HAND else after.why or done}"
            case "disable":
                ending.disable(self.discussion_id)
                return f"{self.name}: no caches are asked for any more"
            case "enable":
                ending.enable(self.discussion_id)
                return f"{self.name}: caches are asked for again"


def set_value(configuration: Configuration, name: str, value: object) -> str:
    """Writes a setting and says what became of it: before and after, where, and its commit."""
    change = configuration.change(name, value)
    values = f"{said(change.name, change.before)} → {said(change.name, change.after)}"
    place = f"{CONFIG}:{change.line}" if change.line else CONFIG
    return f"{change.name}: {values} · {place} · {committed(change.commit, change.why)}"


class CacheScreen(CacheLayout, panels=("providers", "discussions", "settings", "misses")):
    """The screen of caches, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        engine = bench.engine
        self._changes: Lane[CacheChange, str] = self.lane(
            lambda change: change.make(engine.discussions.ending),
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

    # Moving about

    def back(self) -> None:
        """Back out one level: show all panels again, return to the workbench."""
        if self.zoomed is not None:
            self.unzoom()
        else:
            self.dismiss(None)

    # The selection

    def discussion(self) -> DiscussionCache | None:
        """The discussion that the keys are about."""
        if self.panel_in_use == "misses":
            miss = self.misses.selected
            return miss.entry if isinstance(miss, LastMiss) else None
        item = self.discussions.selected
        return item.entry if item is not None and self.panel_in_use == "discussions" else None

    def file(self) -> str:
        """The file behind the selection; empty where there is none, or it is gone."""
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
        title="Show everything known of it", panels=["discussions", "misses"], footer="details", rank=0,
        needs=[ROWS],
    )  # fmt: skip
    def details(self) -> None:
        """Show all that is known of the selected discussion's cache, or of what broke prefixes."""
        overview, entry = self.state.overview, self.discussion()
        if entry is not None:
            now = self.bench.clock.now()
            self.page(
                "the cache of a discussion", lambda width, roles: draw_details(entry, now, width, roles)
            )
            return
        miss = self.misses.selected
        if overview is not None and miss is not None and not isinstance(miss, LastMiss):
            found = overview.misses
            self.page("what broke prefixes", lambda width, roles: draw_culprit(miss, found, width, roles))

    @command(
        "e",
        title="Edit the file", footer="edit", rank=8,
        needs=[Need(lambda here: here.file, "the selection is no file, or it is gone")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open in $VISUAL or $EDITOR the file that broke the prefix, the transcript, or the settings."""
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
        """Copy the session id of the selected discussion, for autopoiesis cache show ID and the like."""
        entry = self.discussion()
        if entry is not None:
            clipboard.copy(self.bench.app, entry.state.discussion_id)
            self.say(f"copied {entry.state.discussion_id}")

    # Caches

    @command(
        "i",
        title="Invalidate the discussion's cache", panels=["discussions"], footer="invalidate", rank=2,
        needs=[
            A_DISCUSSION, Need(lambda here: here.cached, "this discussion has no cache to give up"), WRITABLE,
        ],
    )  # fmt: skip
    def invalidate(self) -> None:
        """Give the selected discussion's cache up, so that the next call begins another one; asks first."""
        entry = self.discussion()
        if entry is None:
            return
        state = entry.state
        question = (
            f"{visible(name_of(entry), NAME)}\n"
            f"The {count(state.tokens_cached)} tokens that {provider_of(state)} keeps do not count any more;"
            " the next call sends them anew and begins another cache."
        )
        self.ask("invalidate the cache", question, "Invalidate", lambda: self._change(entry, "invalidate"))

    @command(
        "d",
        title="Disable caching for the discussion", panels=["discussions"], footer="disable", rank=4,
        needs=[
            A_DISCUSSION,
            Need(lambda here: here.caching, "caching is switched off for this discussion already"), WRITABLE,
        ],
    )  # fmt: skip
    def disable(self) -> None:
        """Ask for no caches in the selected discussion any more, and give up the one there is."""
        self._change(self.discussion(), "disable")

    @command(
        "a",
        title="Enable caching for the discussion again", panels=["discussions"], footer="enable", rank=4,
        needs=[
            A_DISCUSSION, Need(lambda here: not here.caching, "caching is on for this discussion already"),
            WRITABLE,
        ],
    )  # fmt: skip
    def enable(self) -> None:
        """Ask for caches in the selected discussion again, from its next call on."""
        self._change(self.discussion(), "enable")

    def _change(self, entry: DiscussionCache | None, verb: Verb) -> None:
        if entry is None:
            return
        change = CacheChange(entry.state.discussion_id, visible(name_of(entry), NAME), verb)
        if self.state.begin(change.discussion_id, verb):
            self._changes.ask(change)
            self.show()
        else:
            self.say("its cache is being changed already")

    @command(
        "space", "enter",
        title="Change the selected setting", panels=["settings"], footer="change", rank=0,
        needs=[ROWS, WRITABLE],
    )  # fmt: skip
    def step(self) -> None:
        """Switch the selected setting on or off, or go to its next value; it is written and committed at
        once.
        """
        item = self.settings.selected
        if item is not None:
            self.app.clear_notifications()  # what was said of the value before
            self.state.change(item.name, item.next)
            self._values.ask((item.name, item.next))
            self.show()

    @command("p", title="Sums of another period", footer="period", rank=10)
    def period(self) -> None:
        """Sum the providers up over another period: today, the last 7 days, the last 30."""
        self.state.next_period()
        self.look()
        if "providers" not in self.in_view():
            days = self.state.days
            self.say("sums of today" if days == 1 else f"sums of {days} days")

    # Panels

    focus_providers = goes_to(
        "providers", "1", "the providers",
        ": what each was sent, what its caches served, when the last of them goes", rank=24,
    )  # fmt: skip
    focus_discussions = goes_to(
        "discussions", "2", "the discussions", ": which have a cache, with whom, until when", rank=24
    )
    focus_settings = goes_to(
        "settings", "3", "the settings", " of caches, which are those of the whole workspace", rank=24
    )
    focus_misses = goes_to(
        "misses", "4", "the misses",
        ": why the last one happened, and what broke prefixes how often at what price", rank=24,
    )  # fmt: skip

    # What the keys depend on, and what comes in

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

    def _changed(self, change: CacheChange, said: str, *, error: bool = False) -> None:
        self.say(said, error=error)
        self.state.ended(change.discussion_id)
        self.show()
        self.look()

    def _written(self, value: tuple[str, object], said: str, *, done: bool = True) -> None:
        self.say(said, error=not done)
        self.state.changed(*value, done=done)
        self.show()
        self.look()
