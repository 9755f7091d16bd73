"""One entry of the ledger: all that is known, and where each line that it gave stands now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.style import Style

from engine.knowledge.item import NAMES
from tui.kit.drawn_rows import FACT, DrawnRows
from tui.render.draw import Row, wrap
from tui.render.figures import count, dollars, local, plural, sizes
from tui.render.roles import Roles
from tui.screens.ledger.entries import LOST, SIGNS, RecordItem, record_style
from tui.screens.ledger.state import Check

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.verify import CheckedLine, LineState, SourceState


STATES: dict[LineState, str] = {"there": "✓", "edited": "~", "gone": "✗"}
_PLACES: dict[SourceState, str] = {
    "there": "where it was",
    "changed": "changed since; the bytes that were harvested are nowhere any more",
    "in trash": "in the trash; r brings it back",
    "in history": "in the history; r brings it back",
    "lost": "lost: neither in its file nor in trash or history",
}
_LABEL = 14


@dataclass(frozen=True, slots=True)
class RecordView:
    """The selected entry."""

    item: RecordItem
    check: Check
    review_key: str = ""
    """The key that leads to the review screen; empty where there is none."""


def draw_record_page(view: RecordView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws an entry: rows, each with the number of the line it belongs to, or ``FACT``."""
    item, entry = view.item, view.item.entry
    sign, word = (LOST, "lost") if item.lost else SIGNS[entry.status]
    head = wrap([(f"{sign} {word}", record_style(item, roles)), ("  ", roles.normal),
                 (entry.path, roles.strong)], width, indent=2)  # fmt: skip
    facts = [
        *fact("conversation", _place(view), _place_tone(view, roles), width, roles),
        *fact("why", entry.error, roles.error, width, roles),
        *fact("at", moment(entry.at), roles.normal, width, roles),
        *fact("sha256", item.sha256, roles.normal, width, roles),
        *fact("items", items_text(entry), roles.normal, width, roles),
        *fact("for review", _held(view), roles.gate, width, roles),
        *fact("looked at", coverage(entry), roles.normal, width, roles),
        *fact("asked", asked(entry), roles.normal, width, roles),
        *fact("error", view.check.problem, roles.error, width, roles),
    ]
    rows = [(row, FACT) for row in (*head, *facts)]
    if entry.lines:
        rows += [(Row(), FACT), (_heading(view, roles).cut(width), FACT)]
        for at in range(len(entry.lines)):
            rows += [(row, at) for row in _line(view, at, width, roles)]
    return rows


def fact(label: str, value: str, tone: Style, width: int, roles: Roles, labels: int = _LABEL) -> list[Row]:
    """Draws a label and its value; nothing where there is none. The labels take ``labels`` cells."""
    if not value:
        return []
    first, *rest = wrap([(value, tone)], width, indent=labels, first=labels)
    return [Row().fit(label, labels, roles.muted).extend(first), *rest]


def _place(view: RecordView) -> str:
    entry, checked = view.item.entry, view.check.entry
    given_up = entry.status == "deleted-unharvested"
    if checked is None:
        return "" if view.check.problem else "looking …"
    if checked.source == "lost" and given_up:
        return "gone, by a person's word"
    restored = "; a person took it back and keeps it" if entry.restored else ""
    return _PLACES[checked.source] + restored


def _place_tone(view: RecordView, roles: Roles) -> Style:
    checked = view.check.entry
    if checked is None:
        return roles.faint
    return roles.normal if checked.sound and checked.source != "changed" else roles.error


def items_text(entry: LedgerEntry) -> str:
    """``17: 3 facts · 2 decisions; 2 stood there already``; empty where nothing was asked."""
    if entry.status != "harvested":
        return ""
    each = by_category(entry.items)
    known = f"; {count(entry.known)} stood there already" if entry.known else ""
    return f"{count(entry.total)}{f': {each}' if each else ''}{known}"


def by_category(items: Mapping[str, int]) -> str:
    """``3 facts · 1 decision``, the most first."""
    ordered = sorted(items.items(), key=lambda item: (-item[1], item[0]))
    return " · ".join(
        plural(number, *NAMES.get(name, (name.replace("_", " "),))) for name, number in ordered if number
    )


def moment(at: str) -> str:
    """A time as written, in the person's time zone; what is none stays as it is."""
    try:
        return f"{local(datetime.fromisoformat(at)):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return at


def _held(view: RecordView) -> str:
    held = len(view.item.entry.held)
    if not held:
        return ""
    if view.check.waiting is None:
        return f"{count(held)} held"
    if not view.check.waiting:
        return f"{count(held)} held, all settled"
    return f"{count(held)} held, {count(view.check.waiting)} still wait; {review_words(view.review_key)}"


def review_words(key: str) -> str:
    """How to get to what waits."""
    return f"{key} in the workbench settles them" if key else "autopoiesis review list"


def coverage(entry: LedgerEntry) -> str:
    """``100% of 14.2 KB``, and whether by summary."""
    if not entry.size:
        return ""
    how = ", by summary" if entry.summarised else ""
    seen = f"{entry.coverage:.0%} of " if entry.status == "harvested" else ""
    return f"{seen}{sizes(entry.size)}{how}"


def asked(entry: LedgerEntry) -> str:
    """``anthropic a-model, 500 + 100 tokens, $0.01``."""
    if not entry.provider:
        return ""
    if entry.provider == "markers":
        return "markers: no model, only what it marks itself"
    tokens = f"{count(entry.input_tokens)} + {count(entry.output_tokens)} tokens"
    cost = "price unknown" if entry.cost_usd is None else dollars(entry.cost_usd)
    return ", ".join((" ".join(filter(None, (entry.provider, entry.model))), tokens, cost))


def _heading(view: RecordView, roles: Roles) -> Row:
    row = Row((f"gave {plural(len(view.item.entry.lines), 'line')}", roles.muted))
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
    """What became of a line; ``None`` while that is looked up, and for what is not a line."""
    checked = view.check.entry
    return checked.lines[at] if checked is not None and 0 <= at < len(checked.lines) else None


class RecordPage(DrawnRows):
    """Facts, then the lines that the conversation gave; a long line takes several rows."""

    name_of = "record"
    number = "2"
    words = "entry"
    signs = (
        ("✓", "there: the line stands word for word, where it says"),
        ("~", "edited: a line of the same conversation stands there with other words"),
        ("✗", "gone: nothing of it that it could be; a person may have deleted it, which is no damage"),
    )

    view: RecordView | None = None

    def show_view(self, view: RecordView | None) -> None:
        """Shows another entry, or more about the same."""
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
        """The selected line's place."""
        view = self.view
        if view is None:
            self.set_frame()
            return
        checked = line_of(view, self.line)
        below = f"{checked.path}:{checked.number}" if checked is not None and checked.number else ""
        self.set_frame(view.item.sha256[:12], below)
