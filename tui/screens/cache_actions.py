"""What the cache screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui import clipboard
from tui.caches import LastMiss
from tui.commands import cache
from tui.commands.command import CachePanel
from tui.editor import file_of
from tui.figures import count
from tui.render.cache_discussions import draw_details, name_of, provider_of
from tui.render.cache_misses import draw_culprit
from tui.render.cache_settings import CONFIG
from tui.safe import visible
from tui.screens.cache_work import Ending, EndingWish, SettingWish
from tui.screens.screen_actions import ScreenActions

if TYPE_CHECKING:
    from engine.discussions.overview import DiscussionCache
    from tui.screens.cache import CacheScreen

NAME = 60
"""Characters of a discussion's name in a question or a word in passing."""


class CacheActions(ScreenActions[CachePanel]):
    """The actions of one cache screen."""

    screen: CacheScreen

    def __init__(self, screen: CacheScreen) -> None:
        super().__init__(screen)
        self.doing |= {
            cache.Leave: self.back,
            cache.FocusProviders: partial(self.go_to, "providers"),
            cache.FocusDiscussions: partial(self.go_to, "discussions"),
            cache.FocusSettings: partial(self.go_to, "settings"),
            cache.FocusMisses: partial(self.go_to, "misses"),
            cache.Details: self.details,
            cache.Step: self.step,
            cache.Invalidate: self.invalidate,
            cache.Disable: partial(self.end, "disable"),
            cache.Enable: partial(self.end, "enable"),
            cache.Period: self.period,
            cache.EditThere: self.edit,
            cache.CopyId: self.copy_id,
            cache.CopyText: self.copy,
        }

    # Moving about

    def stops(self) -> tuple[CachePanel, ...]:
        """The panels, in view or not: where only one has room, tab brings the next."""
        return self.screen.panels if self.screen.zoomed is None else self.screen.in_view()

    def enlarge(self, name: CachePanel | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        super().enlarge(name)
        self.screen.update_footer()

    def back(self) -> None:
        """Leaves the innermost level there is."""
        if self.screen.zoomed is not None:
            self.unzoom()
        else:
            self.screen.dismiss(None)

    # The selection

    def discussion(self) -> DiscussionCache | None:
        """The discussion that the keys are about."""
        screen = self.screen
        if screen.panel_in_use == "misses":
            miss = screen.misses.selected
            return miss.entry if isinstance(miss, LastMiss) else None
        item = screen.discussions.selected
        return item.entry if item is not None and screen.panel_in_use == "discussions" else None

    def file(self) -> str:
        """The file behind the selection; empty where there is none, or it is gone."""
        return file_of(self.screen.bench.engine.workspace.root, self._path())

    def _path(self) -> str:
        screen = self.screen
        if screen.panel_in_use == "settings":
            return CONFIG
        miss = screen.misses.selected
        if screen.panel_in_use == "misses" and miss is not None and not isinstance(miss, LastMiss):
            return miss.culprit.source
        entry = self.discussion()
        return entry.path if entry is not None else ""

    def details(self) -> None:
        """Opens a page on the selected discussion, or on what broke prefixes."""
        screen = self.screen
        overview, entry = screen.state.overview, self.discussion()
        if entry is not None:
            now = screen.bench.clock.now()
            self.page(
                "the cache of a discussion", lambda width, roles: draw_details(entry, now, width, roles)
            )
            return
        miss = screen.misses.selected
        if overview is not None and miss is not None and not isinstance(miss, LastMiss):
            culprit, found = miss.culprit, overview.misses
            self.page("what broke prefixes", lambda width, roles: draw_culprit(culprit, found, width, roles))

    def edit(self) -> None:
        """Opens the file behind the selection, the settings at the selected one's line."""
        screen = self.screen
        line, where, item = 0, screen.state.where, screen.settings.selected
        if screen.panel_in_use == "settings" and where is not None and item is not None:
            line = where.lines.get(item.name, 0)
        self.edit_file(self.file(), line)
        screen.work.look(screen.state.days)

    def copy_id(self) -> None:
        """Copies the session id of the discussion."""
        entry = self.discussion()
        if entry is not None:
            clipboard.copy(self.screen.bench.app, entry.state.discussion_id)
            self.screen.say(f"copied {entry.state.discussion_id}")

    # Caches

    def invalidate(self) -> None:
        """Asks, then gives the discussion's cache up."""
        entry = self.discussion()
        if entry is None:
            return
        state = entry.state
        question = (
            f"{visible(name_of(entry), NAME)}\n"
            f"The {count(state.tokens_cached)} tokens that {provider_of(state)} keeps do not count any more;"
            " the next call sends them anew and begins another cache."
        )
        self.ask("invalidate the cache", question, "Invalidate", lambda: self._end(entry, "invalidate"))

    def end(self, do: Ending) -> None:
        """Switches the discussion's caching off or on."""
        entry = self.discussion()
        if entry is not None:
            self._end(entry, do)

    def _end(self, entry: DiscussionCache, do: Ending) -> None:
        screen = self.screen
        wish = EndingWish(entry.state.discussion_id, visible(name_of(entry), NAME), do)
        if screen.state.begin(wish):
            screen.work.end(wish)
            screen.show()
        else:
            screen.say("its cache is being changed already")

    def step(self) -> None:
        """Changes the selected setting to its next value."""
        screen = self.screen
        item = screen.settings.selected
        if item is not None:
            wish = SettingWish(item.name, item.next)
            screen.app.clear_notifications()  # what was said of the value before
            screen.state.change(wish)
            screen.work.write(wish)
            screen.show()

    def period(self) -> None:
        """Sums up over the next period."""
        screen = self.screen
        screen.work.look(screen.state.next_period())
        if "providers" not in screen.in_view():
            days = screen.state.days
            screen.say("sums of today" if days == 1 else f"sums of {days} days")

    def rescan(self) -> None:
        """Looks at every file again, and at the caches."""
        super().rescan()
        self.screen.work.look(self.screen.state.days)
