"""The time line: a line for each commit, the newest first, and what stands where there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style
from textual.message import Message

from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row, clip, found, marked, wrap
from tui.render.figures import count, local
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engine.history.model import Entry, Kind


FLAG = "⚑"
TALK = "“"
WORDED, NAMED = 74, 100
"""Cells from which the type has room as a word, and the conversation as a name."""
NEAR = 60
"""Rows before the last one at which older commits are fetched."""
_SHORT: dict[Kind, str] = {
    "conversation": "conv", "memory": "mem", "identity": "ident", "maintenance": "maint",
    "explore": "expl", "extract": "extr", "other": "–",
}  # fmt: skip
_WORD, _ABBREVIATED = 12, 5
_TALK, _TAG = 30, 26
Phase = Literal["loading", "error", "found"]


@dataclass(frozen=True, slots=True)
class TimeRow:
    """A commit as the list shows it."""

    entry: Entry = field(hash=False)
    revision: str
    tags: tuple[str, ...] = ()
    """Snapshots of it, without what stands before their kind."""


def kind_style(kind: Kind, roles: Roles) -> Style:
    """The colour of a type; its word stands beside it."""
    return {
        "conversation": roles.tier2, "memory": roles.active, "identity": roles.gate,
        "explore": roles.tier1, "extract": roles.accent,
    }.get(kind, roles.muted)  # fmt: skip


def minute(at: datetime) -> str:
    """A moment to the minute, as the person's clocks show it."""
    return local(at).strftime("%Y-%m-%d %H:%M")


def short_moment(at: datetime, year: int) -> str:
    """The same in eleven cells: of another year the day alone."""
    return local(at).strftime("%m-%d %H:%M" if local(at).year == year else "%Y-%m-%d ")


def talk_of(path: str) -> str:
    """What a conversation is called for short: its file's name, or that of its folder."""
    name = path.rstrip("/").rpartition("/")[2]
    return first_line(name.rpartition(".")[0] or name)


def draw_time_row(item: TimeRow, width: int, roles: Roles, *, year: int, query: str, chosen: bool) -> Row:
    """A row: day and time, type, marks of snapshot and conversation, subject, and the conversation's name.

    Args:
        year: The present one.
    """
    entry, kind = item.entry, item.entry.kind
    worded = width >= WORDED
    row = Row((minute(entry.at) if worded else short_moment(entry.at, year), roles.muted))
    row.gap(2 if worded else 1)
    word, room = (kind, _WORD) if worded else (_SHORT[kind], _ABBREVIATED)
    row.fit(word, room, kind_style(kind, roles)).gap()
    named = width >= NAMED
    row.add(FLAG if item.tags else " ", roles.gate)
    if not named:
        row.add(TALK if entry.sessions else " ", roles.faint)
    row.gap()
    right = Row()
    if worded and item.tags:
        right.add(clip(", ".join(item.tags), _TAG), roles.gate).gap(2 if named else 0)
    if named:
        right.fit(talk_of(entry.sessions[0]) if entry.sessions else "", _TALK, roles.faint)
    text = first_line(entry.title) or "(no subject)"
    text = clip(text, max(4, width - row.cells - (right.cells + 2 if right.cells else 0)))
    words = roles.strong if chosen else roles.normal if entry.title.strip() else roles.faint
    for piece, style in marked(text, found(text, query), words, roles.accent + Style(underline=True)):
        row.add(piece, style)
    return row.right(right, width).cut(width)


def draw_none(phase: Phase, problem: str, narrowed: str, more: bool, width: int, roles: Roles) -> list[Row]:
    """Draws why there are no rows.

    Args:
        problem: Why the history cannot be read.
        narrowed: What the list is narrowed to; empty where it is not.
        more: Older commits were not looked at.
    """
    if phase == "loading":
        return [Row(("reading …", roles.faint))]
    if phase == "error":
        rows = wrap([("! ", roles.error), (problem, roles.normal)], width, indent=2)
        return [*rows, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
    rest = "; enter in the filter looks through the older ones" if more else "; esc shows all"
    return wrap([(f"no commit {narrowed}{rest}", roles.muted)], width)


class CommitsPanel(KeyedRows[TimeRow]):
    """A line for each commit; older ones come as one goes down."""

    name_of = "commits"
    number = "1"
    words = "history"
    always_lit = True
    signs = (
        (FLAG, "a snapshot: this state has a name"),
        (TALK, "a conversation taught it; c shows it"),
    )

    class NearEnd(Message):
        """Little is left below what is in view."""

    whole = ""
    year = 0
    """The present one."""

    def key(self, item: TimeRow) -> str:
        return item.revision

    def show_commits(self, items: Sequence[TimeRow], note: Note, about: object, *, whole: str) -> None:
        """Shows another state.

        Args:
            whole: What the rows are kept to, and whether there are more.
        """
        self.whole = whole
        self.show_items(items, note, about)
        self.summarise()

    def row(self, item: TimeRow, width: int, chosen: bool) -> Row:
        return draw_time_row(item, width, self.roles, year=self.year, query=self.query_text, chosen=chosen)

    def finds(self, item: TimeRow, query: str) -> bool:
        held = (item.entry.subject, item.revision[: max(4, len(query))], *item.entry.sessions, *item.tags)
        return any(query.casefold() in text.casefold() for text in held)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Asks for older commits before the last one comes into view."""
        super().watch_scroll_y(old_value, new_value)
        if self.scroll_offset.y + self.size.height + NEAR >= self.row_count:
            self.post_message(self.NearEnd())

    def summarise(self) -> None:
        """How many are in view and what they are narrowed to; below, the selected one's conversation."""
        parts = [self.whole, f"/{self.query_text} {count(self.row_count)}" if self.query_text else ""]
        item = self.selected
        below = ""
        if item is not None and self.size.width < NAMED:
            below = ", ".join((*item.tags, *map(talk_of, item.entry.sessions[:1])))
            below = clip(below, max(8, self.size.width - 6)) if cell_len(below) else ""
        self.set_frame(" · ".join(filter(None, parts)), below)

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.revision} {item.entry.subject}" if item is not None else ""
