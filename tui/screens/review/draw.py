"""How the review queue and an item of it are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import place_of
from engine.knowledge.file_changes import diff
from engine.knowledge.proposed import BY_AGENT, GROUPS
from engine.lifecycle.proposals import proposer
from tui.kit.panel import LinesPanel
from tui.kit.rows import KeyedRows
from tui.render.draw import Row, clip, labelled, wrap
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.knowledge.item import Category
    from engine.knowledge.review import PendingItem
    from engine.store.files import Files

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
AROUND = 4
"""Context lines shown before and after the item's line in its conversation."""
LOW_AROUND = 2
"""Context lines on low screens."""
HIGH = 18
"""Minimum height for the full context."""
_LABEL = 9
_UNKNOWN_SOURCE = "the source conversation is unknown"
_LONG = 4
"""Maximum screen lines for the item's own line."""
_VOICES = {
    "person": "the person",
    "agent": "the agent",
    "tool": "a tool's output",
    "": "no one in these words",
}


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


class QueuePanel(KeyedRows[ReviewItem], panel="queue", number="1", words="review"):
    """One item per row; the tally is in the frame."""

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
        row.add_found(text, self.query_text, plain, roles.accent)
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

    def text_of(self, item: ReviewItem) -> str:
        return text_of(item.waiting)


@dataclass(frozen=True, slots=True)
class SourceLines:
    """The context of an item's line in its conversation, or the diff of a change."""

    first: int = 0
    """The number of the first of ``lines``, from 1."""
    lines: tuple[str, ...] = ()
    problem: str = ""
    same: bool = True
    """Whether the line is unchanged since the item was queued."""


def source_lines(files: Files, each: PendingItem) -> SourceLines:
    """Reads the context of an item's line in its conversation, or the diff of a change of files."""
    if each.change is not None:
        return _changes(files, each)
    if not each.source:
        return SourceLines(problem=_UNKNOWN_SOURCE)
    try:
        data = files.read(each.source)
    except FileNotFoundError:
        return SourceLines(problem="the conversation no longer exists")
    except (AutopoiesisError, OSError) as error:
        return SourceLines(problem=str(error))
    return lines_around(data.decode("utf-8", "replace"), each)


def _changes(files: Files, each: PendingItem) -> SourceLines:
    assert each.change is not None
    if each.verdict:
        return SourceLines(lines=each.change.about)
    try:
        return SourceLines(lines=(*each.change.about, *diff(files, each.change)))
    except (AutopoiesisError, OSError) as error:
        return SourceLines(lines=each.change.about, problem=str(error))


def lines_around(text: str, each: PendingItem) -> SourceLines:
    lines = text.replace("\r\n", "\n").split("\n")
    if each.line < 1:
        return SourceLines(problem="no line of it says this verbatim")
    if each.line > len(lines):
        return SourceLines(problem="the conversation is shorter than before")
    start = max(0, each.line - 1 - AROUND)
    same = each.said.strip("… \t") in lines[each.line - 1]
    return SourceLines(start + 1, tuple(lines[start : each.line + AROUND]), same=same)


def draw_whole(
    item: ReviewItem, source: SourceLines | None, width: int, height: int, roles: Roles
) -> list[Row]:
    """Draws an item with its source, more compactly if ``height`` is low.

    Args:
        source: ``None`` while it is being read.
    """
    each, low = item.waiting, height < HIGH
    rows = wrap([(each.item.text, roles.strong)], width)
    if each.text and each.text != each.item.text:
        rows += [Row(("accepted as", roles.muted)), *wrap([(each.text, roles.normal)], width)]
    rows += [] if low else [Row()]
    rows += _line("why", why_of(each) or "unknown", width, roles.gate, roles)
    if each.read:
        rows += _line("had read", " · ".join(map(first_line, each.read)), width, roles.normal, roles)
    file, section = place_of(each.item.category)
    target = each.item.path or (f"{file.path}, {section}" if section else file.path)
    kind = f"{kind_of(each)} → {target}"
    if each.change is None:
        rows += _line("said by", f"{_VOICES[each.item.voice]} · {kind}", width, roles.normal, roles)
    else:
        model = "worded by a model · " if each.item.voice else ""
        by = f"{proposer(each.origin.name)} · {model}{kind}"
        rows += _line("by", by, width, roles.normal, roles)
    pending = f"pending for {item.age}" if item.age else "pending"
    state = "saving" if item.sign == SAVING else each.verdict or pending
    origin = " · ".join(part for part in (each.origin.name, each.origin.day, state) if part)
    rows += _line("from", origin, width, roles.normal, roles)
    rows += [] if low else [Row()]
    return [*rows, *_source(each, source, LOW_AROUND if low else AROUND, width, roles)]


def place(each: PendingItem) -> str:
    """``conversations/x.md:12``."""
    return f"{each.source}:{each.line}" if each.line else each.source


def _line(label: str, value: str, width: int, style: Style, roles: Roles) -> list[Row]:
    return labelled(label, first_line(value) or "–", width, _LABEL, style, tone=roles.muted)


def _source(
    each: PendingItem, source: SourceLines | None, around: int, width: int, roles: Roles
) -> list[Row]:
    if each.change is not None:
        return _difference(source, width, roles)
    if not each.source:
        by_agent = each.origin.name.startswith(BY_AGENT)
        return [Row(("proposed by the agent during its work" if by_agent else _UNKNOWN_SOURCE, roles.muted))]
    rows = wrap([(place(each), roles.accent)], width)
    if source is None:
        return [*rows, Row(("reading …", roles.faint))]
    if source.problem:
        rows += wrap([(source.problem, roles.muted)], width)
    elif not source.same:
        rows += wrap([("the conversation has changed; the line now reads", roles.gate)], width)
    digits = len(str(source.first + len(source.lines)))
    for number, line in enumerate(source.lines, source.first):
        if abs(number - each.line) > around:
            continue
        rows += _numbered(number, line, digits, width, roles, chosen=number == each.line)
    if each.said and (source.problem or not source.same):
        rows += [
            Row(("the line when the item was queued", roles.muted)),
            *wrap([(each.said, roles.normal)], width),
        ]
    return rows


def _difference(source: SourceLines | None, width: int, roles: Roles) -> list[Row]:
    if source is None:
        return [Row(("reading …", roles.faint))]
    rows = wrap([(source.problem, roles.gate)], width) if source.problem else []
    styles = {"+": roles.active, "-": roles.error, "@": roles.faint}
    for line in source.lines:
        rows += wrap([(line or " ", styles.get(line[:1], roles.normal))], width)
    return rows


def _numbered(number: int, line: str, digits: int, width: int, roles: Roles, *, chosen: bool) -> list[Row]:
    """A line of the conversation; the chosen one is wrapped, up to ``_LONG`` rows."""
    lead = Row(("▸" if chosen else " ", roles.accent), (f"{number:>{digits}} ", roles.faint))
    room = max(8, width - lead.cells)
    if not chosen:
        return [lead.add(clip(line, room), roles.muted)]
    first, *rest = wrap([(line, roles.normal)], room)[:_LONG] or [Row()]
    return [lead.extend(first), *(Row().gap(digits + 2).extend(row) for row in rest)]


class ItemPanel(LinesPanel, panel="item", number="2"):
    signs = (("▸", "the line the item comes from"),)
    item: ReviewItem | None = None
    source: SourceLines | None = None

    @property
    def row_count(self) -> int:
        return int(self.item is not None)

    def show(self, item: ReviewItem | None, source: SourceLines | None) -> None:
        """Shows an item; keeps the scroll position while it is the same one."""
        if item == self.item and source == self.source:
            return
        before, after = self.item, item
        same = before is not None and after is not None and before.waiting.id == after.waiting.id
        self.item, self.source = item, source
        self.set_frame(item.waiting.id if item is not None else "")
        self.changed()
        if not same:
            self.scroll_to(y=0, animate=False, force=True)

    def draw(self, width: int, height: int) -> list[Row]:
        if self.item is None:
            return [Row(("no item is selected", self.roles.faint))]
        return draw_whole(self.item, self.source, width, height, self.roles)
