"""Panel 1 of the search screen: the results, best first, each in two or three lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui.kit.panel import Motion, Panel
from tui.render.draw import Row, joined_within
from tui.render.figures import count
from tui.render.roles import Roles
from tui.render.search_hits import Hit, hit_rows
from tui.render.table import MARK
from tui.screens.search.overview import KINDS, counted

CACHED = 512
"""Results whose lines are kept."""
ROOMY = 21
"""Lines of the panel from which a result may take three."""
BROAD = 100
"""Cells from which its place has room beside its title."""
Body = Callable[[int, int, Roles], list[Row]]


@dataclass(frozen=True, slots=True)
class Results:
    """What the panel shows."""

    hits: Sequence[Hit] = ()
    more: bool = False
    """There are more."""
    can_more: bool = False
    """And they can be brought."""
    found_for: tuple[str, str] = ("", "")
    """Query and category that they were found for."""
    only: str = ""
    """The category the search keeps to; empty for all."""
    slow: bool = False
    """The answer to what was asked last is still to come."""
    body: Body | None = field(default=None, compare=False)
    """Draws what stands there when there are none."""
    about: object = None
    """What ``body`` depends on, so that it is drawn again when that changes."""
    count: bool = False
    """Whether to say how many there are."""
    trouble: bool = False
    """Whether ``body`` is about a failure."""


class ResultsPanel(Panel):
    """The list over the Line API: only the results in view are ever drawn, and drawn once."""

    name_of = "results"
    number = "1"
    words = "results"
    signs = (
        (".82", "the score, of at most 1; words of the query are bold wherever they stand"),
        ("…", "the best lines begin or go on elsewhere"),
    )

    class Moved(Message):
        """Another result is selected, or none."""

    class PastTheEnd(Message):
        """A key went beyond the last result."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = Results()
        self.cursor = -1
        self.drawn = 0
        self._cache: LRUCache[tuple[int, bool], list[Strip]] = LRUCache(CACHED)
        self._body: list[Row] | None = None

    @property
    def tall(self) -> int:
        """Lines that a result takes."""
        return 3 if self.size.width < BROAD and self.size.height >= ROOMY else 2

    @property
    def row_count(self) -> int:
        """Results that are listed."""
        return len(self.view.hits)

    @property
    def selected(self) -> Hit | None:
        """The selected result."""
        return self.view.hits[self.cursor] if 0 <= self.cursor < self.row_count else None

    def show(self, view: Results) -> None:
        """Shows another state; of the same query the same result stays selected while it is listed."""
        if view == self.view:
            return
        before, selected = self.view, self.selected
        self.view = view
        if view.hits is before.hits or view.hits == before.hits:
            if not view.hits:
                self._body = None
                self.refresh()
            self.summarise()
            return
        self._cache.clear()
        self._body = None
        same = view.found_for == before.found_for and selected is not None
        self.cursor = self._index_of(selected) if same else 0 if view.hits else -1
        self._fit()
        if not same:
            self.scroll_to(y=0, animate=False, force=True)
        self.reveal()
        self.refresh()
        self.summarise()
        if self.selected != selected:
            self.post_message(self.Moved())

    def _index_of(self, hit: Hit | None) -> int:
        """Where a result is now; the same row where it is gone."""
        hits = self.view.hits
        if hit is None or not hits:
            return len(hits) and 0
        at = next((at for at, each in enumerate(hits) if each.key == hit.key), -1)
        return at if at >= 0 else min(max(self.cursor, 0), len(hits) - 1)

    def select(self, index: int) -> None:
        """Selects a result and brings it into view; beyond the last one, tells so."""
        last = self.row_count - 1
        if index > last:
            self.post_message(self.PastTheEnd())
        index = max(0, min(index, last)) if self.row_count else -1
        before, self.cursor = self.cursor, index
        self.reveal()
        if before != index:
            for row in (before, index):
                for line in range(self.tall):
                    self.refresh_line(row * self.tall + line)
            self.summarise()
            self.post_message(self.Moved())

    def move(self, motion: Motion) -> None:
        """Moves the selection."""
        half = max(1, self.size.height // self.tall // 2)
        at, last = self.cursor, self.row_count - 1
        to_last = last + 1 if at == last else last
        target = {
            Motion.UP: at - 1,
            Motion.DOWN: at + 1,
            Motion.FIRST: 0,
            Motion.LAST: to_last,
            Motion.HALF_UP: at - half,
            Motion.HALF_DOWN: at + half,
        }[motion]
        self.select(target)

    def reveal(self) -> None:
        """Brings the selection into view."""
        height, tall = self.size.height, self.tall
        if not height or self.cursor < 0:
            return
        top, bottom = self.cursor * tall, (self.cursor + 1) * tall
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)
        elif bottom > self.scroll_offset.y + height:
            self.scroll_to(y=-(-(bottom - height) // tall) * tall, animate=False, force=True)

    def summarise(self) -> None:
        """How many there are and what they keep to; below, which one it is."""
        view, room = self.view, self.size.width
        kind = f"only {KINDS.get(view.only, view.only)}" if view.only else ""
        found = counted(len(view.hits), view.more) if view.count else ""
        beside = " · ".join(part for part in (found, kind, "searching …" if view.slow else "") if part)
        below: list[str] = []
        if self.row_count:
            below.append(f"{count(self.cursor + 1)} of {count(self.row_count)}")
            if view.more:
                below.append("m brings more" if view.can_more else "a search brings no more; add a word")
        self.set_frame(beside, joined_within(below, room - 2), trouble=view.trouble)

    def selected_text(self) -> str:
        """The selected result's whole text."""
        return self.selected.result.text if self.selected is not None else ""

    def _fit(self) -> None:
        # One screen more than a whole number of results, so that the last one can stand at the lower edge.
        self.virtual_size = Size(self.size.width, self.row_count * self.tall + self.size.height % self.tall)

    def on_resize(self) -> None:
        """Another size needs other lines; it must still show the selection."""
        self._cache.clear()
        self._body = None
        self._fit()
        self.reveal()
        self.summarise()
        self.refresh()

    def notify_style_update(self) -> None:
        """A theme or the focus changed."""
        super().notify_style_update()
        self._cache.clear()
        self._body = None

    def on_click(self, event: events.Click) -> None:
        """A click selects, where there is a mouse."""
        offset = event.get_content_offset(self)
        if offset is not None:
            row = (offset.y + self.scroll_offset.y) // self.tall
            if row < self.row_count:
                self.select(row)

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        width, tall = self.size.width, self.tall
        row, line = divmod(y + self.scroll_offset.y, tall)
        if not self.row_count:
            body = self.body()
            return body[y].strip(width, self.under) if y < len(body) else Strip.blank(width, self.under)
        if row >= self.row_count:
            return Strip.blank(width, self.under)
        chosen = row == self.cursor
        strips = self._cache.get((row, chosen))
        if strips is None:
            self.drawn += 1
            strips = self._draw(self.view.hits[row], width, tall, chosen)
            self._cache.set((row, chosen), strips)
        return strips[line]

    def body(self) -> list[Row]:
        """What stands there when there are no results."""
        if self._body is None:
            draw = self.view.body
            self._body = (
                draw(max(8, self.size.width), self.size.height, self.roles) if draw is not None else []
            )
        return self._body

    def _draw(self, hit: Hit, width: int, tall: int, chosen: bool) -> list[Strip]:
        roles = self.roles
        under = self.under + (roles.selection if chosen else Style())
        strips = []
        for row in hit_rows(hit, width - 1, tall, roles, chosen=chosen):
            line = Row((MARK if chosen else " ", roles.accent if self.has_focus else roles.faint)).extend(row)
            strips.append(line.strip(width, under))
        return strips
