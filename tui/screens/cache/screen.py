"""The screen of caches: what can be done there, one method for each command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from tui.kit import clipboard
from tui.kit.command import Need, Situation, command
from tui.kit.commands import ROWS, WRITABLE
from tui.kit.editor import file_of
from tui.render.caches import LastMiss
from tui.render.figures import count
from tui.render.safe import visible
from tui.screens.cache.changes import CacheChange, Verb, set_value
from tui.screens.cache.discussions import draw_details, name_of, provider_of
from tui.screens.cache.layout import CacheLayout
from tui.screens.cache.misses import draw_culprit
from tui.screens.cache.settings import CONFIG

if TYPE_CHECKING:
    from engine.discussions.overview import DiscussionCache
    from tui.kit.bench import Bench

NAME = 60
"""Characters of a discussion's name in a question or a word in passing."""


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


class CacheScreen(CacheLayout, panels=("providers", "discussions", "settings", "misses"), lines=()):
    """The screen of caches, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._changes = self.lane(
            self._make, lambda _changes, _none: None, merge=lambda waiting, new: waiting + new, finish=True
        )
        self._values = self.lane(
            self._write, lambda _values, _none: None, merge=lambda waiting, new: waiting + new, finish=True
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
            self._changes.ask((change,))
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
            self._values.ask(((item.name, item.next),))
            self.show()

    @command("p", title="Sums of another period", footer="period", rank=10)
    def period(self) -> None:
        """Sum the providers up over another period: today, the last 7 days, the last 30."""
        self.state.next_period()
        self.look()
        if "providers" not in self.in_view():
            days = self.state.days
            self.say("sums of today" if days == 1 else f"sums of {days} days")

    def rescan(self) -> None:
        """Look at every file again, and at the caches."""
        super().rescan()
        self.look()

    # Panels

    @command("1", title="Go to the providers", footer="panel", rank=24)
    def focus_providers(self) -> None:
        """Go to the providers: what each was sent, what its caches served, when the last of them goes."""
        self.go_to("providers")

    @command("2", title="Go to the discussions", footer="panel", rank=24)
    def focus_discussions(self) -> None:
        """Go to the discussions: which have a cache, with whom, until when."""
        self.go_to("discussions")

    @command("3", title="Go to the settings", footer="panel", rank=24)
    def focus_settings(self) -> None:
        """Go to the settings of caches, which are those of the whole workspace."""
        self.go_to("settings")

    @command("4", title="Go to the misses", footer="panel", rank=24)
    def focus_misses(self) -> None:
        """Go to the misses: why the last one happened, and what broke prefixes how often at what price."""
        self.go_to("misses")

    # What the keys depend on, and what comes in

    @property
    def situation(self) -> CacheSituation:
        """What the keys depend on."""
        item = self.discussions.selected
        selected = self.discussion()
        return self.situated(
            CacheSituation,
            file=self.file(),
            discussion=selected.state.discussion_id if selected is not None else "",
            cached=item is not None and item.state.is_cached(self.bench.clock.now()),
            caching=item is not None and item.state.enabled,
        )

    def _make(self, changes: tuple[CacheChange, ...]) -> None:
        """Makes one after the other, off the screen's thread; one that is refused holds up none behind it."""
        for change in changes:
            try:
                self.tell(change.make(self.bench.engine.discussions.ending))
            except (AutopoiesisError, OSError) as error:
                self.tell(str(error), trouble=True)
            self.later(self._made, change.discussion_id)

    def _made(self, discussion_id: str) -> None:
        self.state.ended(discussion_id)
        self.show()
        self.look()

    def _write(self, values: tuple[tuple[str, object], ...]) -> None:
        """Writes one setting after the other, off the screen's thread."""
        for name, value in values:
            done = False
            try:
                self.tell(set_value(self.bench.engine.configuration, name, value))
                done = True
            except (AutopoiesisError, OSError) as error:
                self.tell(str(error), trouble=True)
            self.later(self._written, name, value, done)

    def _written(self, name: str, value: object, done: bool) -> None:
        self.state.changed(name, value, done=done)
        self.show()
        self.look()
