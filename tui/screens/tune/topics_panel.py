"""Panel 1 of the tune screen: the topics with how well each does."""

from __future__ import annotations

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from tui.kit.panel import Motion, Panel
from tui.render.activation import Drawn
from tui.render.draw import joined_within
from tui.render.figures import count
from tui.screens.tune.topics import SORTED_BY, TopicList, draw_topics


class TopicsPanel(Panel):
    """The topics in order, with their sum below; it lays itself out for its whole size."""

    name_of = "topics"
    number = "1"
    words = "topics"
    signs = (
        ("◂▸", "a cut of this topic is moved and not applied"),
        (".99", "dimmed: fewer than 20 labels, so the figures say little"),
        ("–", "nothing to judge: no labels, or nothing would be active"),
    )

    class Chosen(Message):
        """A topic was chosen with the mouse."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = TopicList()
        self.standing = ""
        self._top = 0
        self._drawn: Drawn | None = None

    @property
    def row_count(self) -> int:
        """Topics in the list."""
        return len(self.view.names)

    def show(self, view: TopicList, standing: str = "") -> None:
        """Shows another state; ``standing`` is where the cuts are, if no other panel shows it."""
        if (view, standing) == (self.view, self.standing):
            return
        self.view, self.standing = view, standing
        self._changed()

    def target(self, motion: Motion) -> int:
        """The row that a movement leads to, -1 in an empty list; the screen chooses its topic at once."""
        half = max(1, self.size.height // 2)
        at, last = self.view.selected, len(self.view.names) - 1
        index = {
            Motion.UP: at - 1,
            Motion.DOWN: at + 1,
            Motion.FIRST: 0,
            Motion.LAST: last,
            Motion.HALF_UP: at - half,
            Motion.HALF_DOWN: at + half,
        }[motion]
        return min(max(index, 0), last)

    def selected_text(self) -> str:
        """The whole list."""
        drawn = draw_topics(self.view, 0, 100, len(self.view.names) + 8, self.roles, focused=False)
        return "\n".join(line.text.rstrip() for line in drawn.lines)

    def _changed(self) -> None:
        before, self._drawn = self._drawn, None
        self._frame_it()
        if before is None:
            self.refresh()
            return
        after = self.drawn()
        self.refresh_different(before.lines, after.lines)
        for y in {before.chosen, after.chosen} - {-1}:
            self.refresh(Region(0, y, self.size.width, 1))

    def _frame_it(self) -> None:
        view = self.view
        beside = SORTED_BY[view.sorting] if view.names else ""
        if view.query:
            beside = f"{count(len(view.names))} of {count(len(view.figures))}"
        keys = f"/{view.query}" if view.query else "s sort · / filter" if view.figures else ""
        below = [part for part in (self.standing, keys) if part]
        self.set_frame(beside, joined_within(below, self.size.width - 2))

    def drawn(self) -> Drawn:
        """The layout for the present size."""
        if self._drawn is None:
            size = self.size
            self._drawn = draw_topics(
                self.view, self._top, size.width, size.height, self.roles, focused=self.has_focus
            )
            self._top = self._drawn.top
        return self._drawn

    def on_resize(self) -> None:
        """A new size needs a new layout."""
        self._drawn = None
        self._frame_it()
        self.refresh()

    def notify_style_update(self) -> None:
        """A theme or the focus changed."""
        super().notify_style_update()
        self._drawn = None

    def on_click(self, event: events.Click) -> None:
        """A click chooses the topic on that line."""
        offset = event.get_content_offset(self)
        drawn = self._drawn
        if offset is not None and drawn is not None and drawn.first <= offset.y < drawn.first + drawn.count:
            self.post_message(self.Chosen(drawn.top + offset.y - drawn.first))

    def render_line(self, y: int) -> Strip:
        """One line of the layout."""
        drawn, width = self.drawn(), self.size.width
        if y >= len(drawn.lines):
            return Strip.blank(width, self.under)
        under = self.under + self.roles.selection if y == drawn.chosen else self.under
        return drawn.lines[y].strip(width, under)
