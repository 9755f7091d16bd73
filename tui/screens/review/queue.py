"""The items that were held for review: a line each, and what stands where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len

from engine.knowledge.proposed import group_of
from tui.kit.keyed_rows import KeyedRows
from tui.render.draw import Row, clip, found, marked, wrap
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.knowledge.item import Category
    from engine.knowledge.review import Waiting


WAITS, ACCEPTED, REJECTED, REPLACED, SETTLING = "?", "✓", "✗", "↻", "…"
"""What stands before an item."""
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
"""What one item of a category is called."""
_KIND = max(map(cell_len, KINDS.values()))
_AGE = 6
WIDE = 84
"""Cells from which a row has room for the reason and the conversation."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An item as the list shows it just now."""

    waiting: Waiting
    sign: str
    """What stands before it."""
    age: str
    """How long ago it was put up."""

    @property
    def waits(self) -> bool:
        """Whether it can still be settled."""
        return self.sign == WAITS


def item_of(waiting: Waiting, now: datetime, *, settling: bool = False) -> ReviewItem:
    """An item at some time."""
    signs = {"": WAITS, "accepted": ACCEPTED, "rejected": REJECTED, "replaced": REPLACED}
    return ReviewItem(waiting, SETTLING if settling else signs[waiting.verdict], age(waiting.at, now))


def age(at: str, now: datetime) -> str:
    """How long ago an ISO 8601 time was: ``4 min``, ``3 h``, ``12 d``; empty where it is none."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return ""
    seconds = (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()
    minutes = max(0, int(seconds // 60))
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} d"


def text_of(waiting: Waiting) -> str:
    """What the item says: as it was accepted, where that was edited."""
    return waiting.text or waiting.item.text


def why_of(waiting: Waiting) -> str:
    """Why the item waits, and how often it was said where that was more than once."""
    often = ""
    if waiting.times > 1:
        often = f"{plural(waiting.times, 'time')}"
    if waiting.places > 1:
        often += f" in {plural(waiting.places, 'conversation')}"
    return f"{often}: {waiting.why}" if often else waiting.why


def tally(items: Sequence[ReviewItem]) -> str:
    """``4 wait · 2 accepted · 1 rejected``."""
    counts = {
        "wait": sum(item.sign in (WAITS, SETTLING) for item in items),
        "accepted": sum(item.sign == ACCEPTED for item in items),
        "rejected": sum(item.sign == REJECTED for item in items),
    }
    return " · ".join(f"{number:,} {words}" for words, number in counts.items() if number)


def draw_none(settled: int, width: int, roles: Roles) -> list[Row]:
    """Draws what this is, where nothing waits."""
    about = (
        "A harvest puts here what it does not write by itself: what may be an outsider's, what reads like an "
        "order to the agent, and without a model your corrections, plans you approved and commands that "
        "succeeded."
    )
    rows = [Row(("nothing waits", roles.strong)), *wrap([(about, roles.muted)], width)]
    if settled:
        words = f" shows the {settled:,} settled before" if settled > 1 else " shows the one settled before"
        rows.append(Row(("s", roles.accent), (words, roles.muted)))
    return rows


class QueuePanel(KeyedRows[ReviewItem]):
    """A line for each item; the tally stands in the frame."""

    name_of = "queue"
    number = "1"
    words = "review"
    always_lit = True
    signs = (
        (WAITS, "waits for you"),
        (ACCEPTED, "accepted: it stands in its file"),
        (REJECTED, "rejected: it never comes back"),
        (REPLACED, "a newer change took its place"),
        (SETTLING, "is being settled"),
    )

    def key(self, item: ReviewItem) -> str:
        return item.waiting.id

    def next_waiting(self, past: frozenset[str]) -> str:
        """The id of the item that is next after the selected one and waits, else of the nearest before it.

        Args:
            past: Items that do not count.
        """
        rows = [*range(self.cursor + 1, self.row_count), *range(self.cursor - 1, -1, -1)]
        waiting = (self.item_at(at) for at in rows)
        return next((each.waiting.id for each in waiting if each.waits and each.waiting.id not in past), "")

    def row(self, item: ReviewItem, width: int, chosen: bool) -> Row:
        """Sign, kind, text; where there is room why it was held and its conversation; its age."""
        roles = self.roles
        each = item.waiting
        tone = (roles.error if group_of(each.why) == "risky" else roles.gate) if item.waits else roles.muted
        row = Row((f"{item.sign} ", tone)).fit(KINDS[each.item.category], _KIND, roles.muted).gap(2)
        room = max(8, width - row.cells - _AGE - 2)
        reason = name = 0
        if width >= WIDE:
            reason, name = room // 4, room // 5
            room -= reason + name + 4
        plain = roles.strong if chosen else roles.normal if item.waits else roles.muted
        text = clip(first_line(text_of(each)), room)
        for piece, style in marked(text, found(text, self.query_text), plain, roles.accent):
            row.add(piece, style)
        row.gap(room - cell_len(text))
        if reason:
            row.gap(2).fit(first_line(why_of(each)), reason, roles.muted)
            row.gap(2).fit(first_line(each.origin.name), name, roles.muted)
        return row.gap(2).fit(item.age, _AGE, roles.muted, "right").cut(width)

    def finds(self, item: ReviewItem, query: str) -> bool:
        each = item.waiting
        held = (
            text_of(each),
            each.item.path,
            KINDS[each.item.category],
            each.why,
            each.origin.name,
            each.source,
        )
        return any(query.casefold() in text.casefold() for text in held)

    def summarise(self) -> None:
        """How many wait; below, what the list is narrowed to."""
        below = f"/{self.query_text}  {self.row_count:,} of {len(self.items):,}" if self.query_text else ""
        self.set_frame(tally(self.items), below)

    def selected_text(self) -> str:
        item = self.selected
        return text_of(item.waiting) if item is not None else ""
