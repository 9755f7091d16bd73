"""The review queue as a list, and the note if it is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len

from engine.knowledge.proposed import GROUPS
from tui.kit.keyed_rows import KeyedRows
from tui.render.draw import Row, clip, found, marked, wrap
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.knowledge.item import Category
    from engine.knowledge.review import PendingItem


PENDING, ACCEPTED, REJECTED, REPLACED, SAVING = "?", "✓", "✗", "↻", "…"
"""Signs in front of items."""
KINDS: dict[Category, str] = {
    "facts": "fact",
    "decisions": "decision",
    "tasks_done": "done",
    "tasks_open": "task",
    "questions": "question",
    "playbooks": "playbook",
    "files": "file note",
    "notes": "note",
    "pages": "line",
    "changes": "change",
}
"""The singular name of each category."""
_GROUP = max(map(cell_len, GROUPS))
_AGE = 6
WIDE = 84
"""Minimum width for the reason and the conversation."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A row of the list."""

    waiting: PendingItem
    sign: str
    age: str
    """Time since it was queued."""

    @property
    def is_pending(self) -> bool:
        return self.sign == PENDING


def item_of(waiting: PendingItem, now: datetime, *, saving: bool = False) -> ReviewItem:
    signs = {"": PENDING, "accepted": ACCEPTED, "rejected": REJECTED, "replaced": REPLACED}
    return ReviewItem(waiting, SAVING if saving else signs[waiting.verdict], age(waiting.at, now))


def age(at: str, now: datetime) -> str:
    """The time since an ISO 8601 time: ``4 min``, ``3 h``, ``12 d``; empty if it is not one."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return ""
    seconds = (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()
    minutes = max(0, int(seconds // 60))
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} d"


def kind_of(waiting: PendingItem) -> str:
    """The singular name of what an item is."""
    return "command" if waiting.group == "commands" else KINDS[waiting.item.category]


def text_of(waiting: PendingItem) -> str:
    """The item's text, as edited on acceptance if it was."""
    return waiting.text or waiting.item.text


def why_of(waiting: PendingItem) -> str:
    """Why the item needs review, preceded by how often it was said if more than once."""
    often = ""
    if waiting.times > 1:
        often = f"{plural(waiting.times, 'time')}"
    if waiting.places > 1:
        often += f" in {plural(waiting.places, 'conversation')}"
    return f"{often}: {waiting.why}" if often else waiting.why


def tally(items: Sequence[ReviewItem]) -> str:
    """``4 pending · 2 accepted · 1 rejected``."""
    counts = {
        "pending": sum(item.sign in (PENDING, SAVING) for item in items),
        "accepted": sum(item.sign == ACCEPTED for item in items),
        "rejected": sum(item.sign == REJECTED for item in items),
    }
    return " · ".join(f"{number:,} {words}" for words, number in counts.items() if number)


def draw_none(reviewed: int, width: int, roles: Roles) -> list[Row]:
    """Explains the review queue when it is empty."""
    about = (
        "A harvest queues items here that need your decision: commands that worked again and again, text "
        "that may come from outsiders or reads like an instruction to the agent, and, without a model, all "
        "it finds."
    )
    rows = [Row(("nothing to review", roles.strong)), *wrap([(about, roles.muted)], width)]
    if reviewed:
        shows = f" shows {plural(reviewed, 'reviewed item')}"
        rows.append(Row(("s", roles.accent), (shows, roles.muted)))
    return rows


class QueuePanel(KeyedRows[ReviewItem]):
    """One item per row; the tally is in the frame."""

    name_of = "queue"
    number = "1"
    words = "review"
    always_lit = True
    signs = (
        (PENDING, "pending"),
        (ACCEPTED, "accepted and written to its file"),
        (REJECTED, "rejected; it will not come back"),
        (REPLACED, "replaced by a newer change"),
        (SAVING, "being saved"),
    )

    def key(self, item: ReviewItem) -> str:
        return item.waiting.id

    def next_pending(self, skip: frozenset[str]) -> str:
        """The id of the next pending item after the selected one, or else the nearest before it."""
        rows = [*range(self.cursor + 1, self.row_count), *range(self.cursor - 1, -1, -1)]
        ids = (each.waiting.id for at in rows if (each := self.item_at(at)).is_pending)
        return next((name for name in ids if name not in skip), "")

    def row(self, item: ReviewItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        each = item.waiting
        tone = (roles.error if each.group == "risky" else roles.gate) if item.is_pending else roles.muted
        row = Row((f"{item.sign} ", tone)).fit(each.group, _GROUP, roles.muted).gap(2)
        room = max(8, width - row.cells - _AGE - 2)
        reason = name = 0
        if width >= WIDE:
            reason, name = room // 4, room // 5
            room -= reason + name + 4
        plain = roles.strong if chosen else roles.normal if item.is_pending else roles.muted
        text = clip(first_line(text_of(each)), room)
        for piece, style in marked(text, found(text, self.query_text), plain, roles.accent):
            row.add(piece, style)
        row.gap(room - cell_len(text))
        if reason:
            row.gap(2).fit(first_line(why_of(each)), reason, roles.muted)
            row.gap(2).fit(first_line(each.origin.name), name, roles.muted)
        return row.gap(2).fit(item.age, _AGE, roles.muted, "right").cut(width)

    def searchable(self, item: ReviewItem) -> Sequence[str]:
        each = item.waiting
        kinds = kind_of(each), each.group
        return text_of(each), each.item.path, *kinds, each.why, each.origin.name, each.source

    def summarise(self) -> None:
        self.set_frame(tally(self.items), self.filter_label)

    def selected_text(self) -> str:
        item = self.selected
        return text_of(item.waiting) if item is not None else ""
