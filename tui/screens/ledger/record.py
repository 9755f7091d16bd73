"""One ledger entry in full, and the current place of each line harvested from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.style import Style

from engine.knowledge.item import NAMES
from tui.kit.selectable_page import FACT, SelectablePage
from tui.render.draw import Row, labelled, wrap
from tui.render.figures import count, dollars, local, plural, sizes
from tui.render.roles import Roles
from tui.screens.ledger.entries import LOST, SIGNS, RecordItem, record_style
from tui.screens.ledger.state import Check

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.verify import CheckedLine, LineState, SourceState


STATES: dict[LineState, str] = {"there": "✓", "edited": "~", "gone": "✗"}
_PLACES: dict[SourceState, str] = {
    "there": "in place",
    "changed": "changed since; the harvested version is lost",
    "in trash": "in the trash; r restores it",
    "in history": "in the history; r restores it",
    "lost": "lost: not found in its file, the trash or the history",
}
_LABEL = 14


@dataclass(frozen=True, slots=True)
class RecordView:
    item: RecordItem
    check: Check
    review_key: str = ""
    """The key that opens the review screen; empty if there is none."""


def draw_record_page(view: RecordView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws an entry: rows, each with the number of the line it is about, or ``FACT``."""
    item, entry = view.item, view.item.entry
    sign, word = (LOST, "lost") if item.lost else SIGNS[entry.status]
    head = wrap([(f"{sign} {word}", record_style(item, roles)), ("  ", roles.normal),
                 (entry.path, roles.strong)], width, indent=2)  # fmt: skip
    facts = [
        *fact("conversation", _place(view), _place_tone(view, roles), width, roles),
        *fact("error", entry.error, roles.error, width, roles),
        *fact("at", timestamp(entry.at), roles.normal, width, roles),
        *fact("sha256", item.sha256, roles.normal, width, roles),
        *fact("items", items_text(entry), roles.normal, width, roles),
        *fact("for review", _for_review(view), roles.gate, width, roles),
        *fact("read", coverage(entry), roles.normal, width, roles),
        *fact("model", model_text(entry), roles.normal, width, roles),
        *fact("check", view.check.problem, roles.error, width, roles),
    ]
    rows = [(row, FACT) for row in (*head, *facts)]
    if entry.lines:
        rows += [(Row(), FACT), (_heading(view, roles).cut(width), FACT)]
        for at in range(len(entry.lines)):
            rows += [(row, at) for row in _line(view, at, width, roles)]
    return rows


def fact(label: str, value: str, tone: Style, width: int, roles: Roles, labels: int = _LABEL) -> list[Row]:
    """Draws a label, ``labels`` cells wide, and its value; nothing if the value is empty."""
    return labelled(label, value, width, labels, tone, tone=roles.muted) if value else []


def _place(view: RecordView) -> str:
    entry, checked = view.item.entry, view.check.entry
    if checked is None:
        return "" if view.check.problem else "checking …"
    if checked.source == "lost" and entry.status == "deleted-unharvested":
        return "deleted by a person"
    restored = "; restored by a person, who keeps it" if entry.restored else ""
    return _PLACES[checked.source] + restored


def _place_tone(view: RecordView, roles: Roles) -> Style:
    checked = view.check.entry
    if checked is None:
        return roles.faint
    return roles.normal if checked.sound and checked.source != "changed" else roles.error


def items_text(entry: LedgerEntry) -> str:
    """``17: 3 facts · 2 decisions; 2 already known``; empty if it was not harvested."""
    if entry.status != "harvested":
        return ""
    each = by_category(entry.items)
    known = f"; {count(entry.known)} already known" if entry.known else ""
    return f"{count(entry.total)}{f': {each}' if each else ''}{known}"


def by_category(items: Mapping[str, int]) -> str:
    """``3 facts · 1 decision``, most frequent first."""
    ordered = sorted(items.items(), key=lambda item: (-item[1], item[0]))
    return " · ".join(
        plural(number, *NAMES.get(name, (name.replace("_", " "),))) for name, number in ordered if number
    )


def timestamp(at: str) -> str:
    """An ISO 8601 time in local time; anything else is returned unchanged."""
    try:
        return f"{local(datetime.fromisoformat(at)):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return at


def _for_review(view: RecordView) -> str:
    held, pending = len(view.item.entry.held), view.check.waiting
    if not held:
        return ""
    if pending is None:
        return f"{count(held)} held"
    if not pending:
        return f"{count(held)} held, all reviewed"
    return f"{count(held)} held, {count(pending)} still pending; {review_hint(view.review_key)}"


def review_hint(key: str) -> str:
    """How to get to the pending items."""
    return f"press {key} in the workbench to review" if key else "autopoiesis review list"


def coverage(entry: LedgerEntry) -> str:
    """``100% of 14.2 KB``, with a note if it was summarised."""
    if not entry.size:
        return ""
    how = ", summarised" if entry.summarised else ""
    seen = f"{entry.coverage:.0%} of " if entry.status == "harvested" else ""
    return f"{seen}{sizes(entry.size)}{how}"


def model_text(entry: LedgerEntry) -> str:
    """``anthropic a-model, 500 + 100 tokens, $0.01``."""
    if not entry.provider:
        return ""
    if entry.provider == "markers":
        return "markers: no model"
    tokens = f"{count(entry.input_tokens)} + {count(entry.output_tokens)} tokens"
    cost = "price unknown" if entry.cost_usd is None else dollars(entry.cost_usd)
    return ", ".join((" ".join(filter(None, (entry.provider, entry.model))), tokens, cost))


def _heading(view: RecordView, roles: Roles) -> Row:
    row = Row((f"{plural(len(view.item.entry.lines), 'line')} written", roles.muted))
    if view.check.entry is not None:
        states = [line.state for line in view.check.entry.lines]
        row.add(": " + ", ".join(f"{states.count(each)} {each}" for each in STATES if each in states),
                roles.muted)  # fmt: skip
    return row


def _line(view: RecordView, at: int, width: int, roles: Roles) -> list[Row]:
    line, checked = view.item.entry.lines[at], line_of(view, at)
    if checked is None:
        return wrap([("… ", roles.faint), (line.path, roles.faint), ("  ", roles.faint),
                     (line.text, roles.normal)], width, indent=2)  # fmt: skip
    tone = {"there": roles.active, "edited": roles.gate}.get(checked.state, roles.dropped)
    place = f"{checked.path}:{checked.number}" if checked.number else f"not in {line.path}"
    return wrap(
        [(f"{STATES[checked.state]} {checked.state}", tone), ("  ", tone), (place, roles.tier1),
         ("  ", roles.normal), (line.text, roles.normal if checked.number else roles.muted)],
        width, indent=2,
    )  # fmt: skip


def line_of(view: RecordView, at: int) -> CheckedLine | None:
    """The check of a line; ``None`` while it is running, and if ``at`` is not a line."""
    checked = view.check.entry
    return checked.lines[at] if checked is not None and 0 <= at < len(checked.lines) else None


class RecordPage(SelectablePage):
    """Facts, then the lines harvested from the conversation; long lines are wrapped."""

    name_of = "record"
    number = "2"
    words = "entry"
    signs = (
        ("✓", "there: the line is unchanged, at the place shown"),
        ("~", "edited: a reworded line from the same conversation"),
        ("✗", "gone: the line no longer exists, which is not an error"),
    )

    view: RecordView | None = None

    def show_view(self, view: RecordView | None) -> None:
        if view == self.view:
            return
        same = view is not None and self.view is not None and view.item.sha256 == self.view.item.sha256
        self.view = view
        self.redraw(other=not same)

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        return draw_record_page(self.view, width, self.roles) if self.view is not None else []

    def empty(self, width: int) -> list[Row]:
        return [Row(("no entry is selected", self.roles.faint))]

    def summarise(self) -> None:
        view = self.view
        if view is None:
            self.set_frame()
            return
        checked = line_of(view, self.line)
        below = f"{checked.path}:{checked.number}" if checked is not None and checked.number else ""
        self.set_frame(view.item.sha256[:12], below)
