"""The timeline: one row per commit, newest first, and the note if there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style
from textual.message import Message

from engine.store.paths import transcript_name
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
CONVERSATION = "“"
WORDED, NAMED = 74, 100
"""Minimum widths for the type as a word, and for the conversation's name."""
NEAR = 60
"""Older commits are fetched this many rows before the last one."""
_SHORT: dict[Kind, str] = {
    "conversation": "conv", "memory": "mem", "identity": "ident", "maintenance": "maint",
    "explore": "expl", "extract": "extr", "other": "–",
}  # fmt: skip
_WORD, _ABBREVIATED = 12, 5
_CONVERSATION, _TAG = 30, 26
Phase = Literal["loading", "error", "found"]


@dataclass(frozen=True, slots=True)
class CommitRow:
    entry: Entry = field(hash=False)
    revision: str
    tags: tuple[str, ...] = ()
    """Its snapshots, without the ``memory/`` prefix."""


def kind_style(kind: Kind, roles: Roles) -> Style:
    """The colour of a commit type."""
    return {
        "conversation": roles.tier2, "memory": roles.active, "identity": roles.gate,
        "explore": roles.tier1, "extract": roles.accent,
    }.get(kind, roles.muted)  # fmt: skip


def minute(at: datetime) -> str:
    """Local time to the minute."""
    return local(at).strftime("%Y-%m-%d %H:%M")


def short_time(at: datetime, year: int) -> str:
    """Local time in eleven cells; only the date for other years."""
    return local(at).strftime("%m-%d %H:%M" if local(at).year == year else "%Y-%m-%d ")


def conversation_name(path: str) -> str:
    """A conversation's short name: its file or folder name; of a transcript, the slug."""
    name = path.rstrip("/").rpartition("/")[2]
    return transcript_name(first_line(name.rpartition(".")[0] or name))[1]


def draw_commit_row(item: CommitRow, width: int, roles: Roles, *, year: int, query: str, chosen: bool) -> Row:
    """A row: time, type, snapshot and conversation marks, subject, and the conversation's name.

    Args:
        year: The current year.
    """
    entry, kind = item.entry, item.entry.kind
    worded = width >= WORDED
    row = Row((minute(entry.at) if worded else short_time(entry.at, year), roles.muted))
    row.gap(2 if worded else 1)
    word, room = (kind, _WORD) if worded else (_SHORT[kind], _ABBREVIATED)
    row.fit(word, room, kind_style(kind, roles)).gap()
    named = width >= NAMED
    row.add(FLAG if item.tags else " ", roles.gate)
    if not named:
        row.add(CONVERSATION if entry.sessions else " ", roles.faint)
    row.gap()
    right = Row()
    if worded and item.tags:
        right.add(clip(", ".join(item.tags), _TAG), roles.gate).gap(2 if named else 0)
    if named:
        right.fit(conversation_name(entry.sessions[0]) if entry.sessions else "", _CONVERSATION, roles.faint)
    text = first_line(entry.title) or "(no subject)"
    text = clip(text, max(4, width - row.cells - (right.cells + 2 if right.cells else 0)))
    words = roles.strong if chosen else roles.normal if entry.title.strip() else roles.faint
    for piece, style in marked(text, found(text, query), words, roles.accent + Style(underline=True)):
        row.add(piece, style)
    return row.right(right, width).cut(width)


def draw_none(phase: Phase, problem: str, narrowed: str, more: bool, width: int, roles: Roles) -> list[Row]:
    """Explains why there are no rows.

    Args:
        problem: Why the history cannot be read.
        narrowed: What the list is filtered by, after "no commit".
        more: There are older commits that were not searched.
    """
    if phase == "loading":
        return [Row(("reading …", roles.faint))]
    if phase == "error":
        rows = wrap([("! ", roles.error), (problem, roles.normal)], width, indent=2)
        return [*rows, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
    rest = "; enter in the filter searches older commits" if more else "; esc shows all"
    return wrap([(f"no commit {narrowed}{rest}", roles.muted)], width)


class CommitsPanel(KeyedRows[CommitRow]):
    """One row per commit; older ones are loaded on scrolling down."""

    name_of = "commits"
    number = "1"
    words = "history"
    always_lit = True
    signs = (
        (FLAG, "snapshot: this state has a name"),
        (CONVERSATION, "learned from a conversation; c shows it"),
    )

    class NearEnd(Message):
        """Few rows are left below the visible ones."""

    heading = ""
    year = 0

    def key(self, item: CommitRow) -> str:
        return item.revision

    def show_commits(self, items: Sequence[CommitRow], note: Note, about: object, *, heading: str) -> None:
        """Shows commits.

        Args:
            heading: The number of commits read and the filters, for the frame.
        """
        self.heading = heading
        self.show_items(items, note, about)
        self.summarise()

    def row(self, item: CommitRow, width: int, chosen: bool) -> Row:
        return draw_commit_row(item, width, self.roles, year=self.year, query=self.query_text, chosen=chosen)

    def searchable(self, item: CommitRow) -> Sequence[str]:
        revision = item.revision[: max(4, len(self.query_text))]
        return item.entry.subject, revision, *item.entry.sessions, *item.tags

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.scroll_offset.y + self.size.height + NEAR >= self.row_count:
            self.post_message(self.NearEnd())

    def summarise(self) -> None:
        parts = [self.heading, f"/{self.query_text} {count(self.row_count)}" if self.query_text else ""]
        item = self.selected
        below = ""
        if item is not None and self.size.width < NAMED:
            below = ", ".join((*item.tags, *map(conversation_name, item.entry.sessions[:1])))
            below = clip(below, max(8, self.size.width - 6)) if cell_len(below) else ""
        self.set_frame(" · ".join(filter(None, parts)), below)

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.revision} {item.entry.subject}" if item is not None else ""
