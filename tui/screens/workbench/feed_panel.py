"""Panel 1: what came in and what happened, newest last, followed until a person looks at something else."""

from __future__ import annotations

from collections.abc import Sequence

from engine.live.feed import FeedEntry
from tui.kit.panel import Motion
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.figures import count, day
from tui.render.shown import MESSAGES
from tui.screens.workbench.feed import GLYPHS, MEANINGS, feed_row, matches


class FeedPanel(RowList[FeedEntry]):
    """The feed. While ``following`` the selection is the newest message and the tail is in view."""

    name_of = "feed"
    number = "1"
    words = "feed"
    always_lit = True
    signs = tuple((GLYPHS[kind], MEANINGS[kind]) for kind in GLYPHS)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.following = True
        self.loaded = False
        self.today = ""

    def row(self, item: FeedEntry, width: int, chosen: bool) -> Row:
        """A feed row."""
        return feed_row(item, width, self.roles, self.query_text, chosen, self.today)

    def finds(self, item: FeedEntry, query: str) -> bool:
        """By text and note."""
        return matches(item, query)

    def empty(self, width: int) -> list[Row]:
        """How things get here."""
        roles = self.roles
        if not self.loaded:
            return [Row(("reading …", roles.faint))]
        if self.query_text:
            return [Row(("nothing holds these words", roles.muted))]
        return [
            Row(("nothing yet", roles.normal)),
            Row(),
            *wrap([("Turns appear here as agents write them.", roles.muted)], width),
            Row(),
            *wrap([(":import claude-code", roles.accent), (" brings old sessions.", roles.muted)], width),
        ]

    def summarise(self) -> None:
        """Counts beside the title, the state of following below."""
        total, rows = len(self.items), self.row_count
        beside = f"{count(rows)} of {count(total)}" if self.query_text else ""
        if self.query_text:
            below = f"/{self.query_text}"
        elif self.following or not rows:
            below = "following" if rows else ""
        else:
            below = f"{count(self.cursor + 1)} of {count(total)} · G follows"
        self.set_frame(beside, below)

    def show(self, items: Sequence[FeedEntry]) -> None:
        """Replaces the content; when following, goes to the newest message."""
        self.loaded = True
        today = day(max(item.at for item in items)) if items else ""
        if today != self.today:
            self.today = today
            self.forget_drawn()
        super().show(items)
        if self.following:
            self.follow()

    def filter(self, query: str) -> None:
        """Keeps only the rows that hold the words; following goes on among them."""
        super().filter(query)
        if self.following:
            self.follow()

    def follow(self) -> None:
        """Selects the newest message and brings the tail into view."""
        self.following = True
        newest = next(
            (at for at in range(self.row_count - 1, -1, -1) if self._item(at).kind in MESSAGES),
            self.row_count - 1,
        )
        self.select(newest, by_hand=False)
        self.summarise()

    def select(self, index: int, *, by_hand: bool = True) -> None:
        """Moves the selection; a hand on it ends the following."""
        if by_hand:
            self.following = False
        super().select(index, by_hand=by_hand)

    def move(self, motion: Motion) -> None:
        """Moves the selection; to the last line means to follow again."""
        if motion is Motion.LAST and not self.query_text:
            self.follow()
        else:
            super().move(motion)

    def reveal(self) -> None:
        """Brings the selection into view; while following, the tail as well."""
        super().reveal()
        if self.following and self.row_count:
            tail = max(0, self.row_count - self.size.height)
            self.scroll_to(y=min(tail, max(self.cursor, 0)), animate=False, force=True)

    def on_mouse_scroll_up(self) -> None:
        """Who scrolls back wants to stay there."""
        self.following = False
        self.summarise()

    def selected_text(self) -> str:
        """The whole text of the row."""
        return self.selected.text if self.selected is not None else ""
