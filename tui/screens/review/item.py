"""One pending item in full: its text, why it needs review, and its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import place_of
from engine.knowledge.file_changes import diff
from engine.knowledge.proposed import BY_AGENT
from engine.lifecycle.proposals import proposer
from tui.kit.panel import LinesPanel
from tui.render.draw import Row, clip, labelled, wrap
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.review.queue import SAVING, ReviewItem, kind_of, why_of

if TYPE_CHECKING:
    from engine.knowledge.review import PendingItem
    from engine.store.files import Files


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


class ItemPanel(LinesPanel):
    name_of = "item"
    number = "2"
    words = "item"
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
