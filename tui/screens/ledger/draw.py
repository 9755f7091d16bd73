"""How the entries of the ledger, and one in full, are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style

from engine.knowledge.item import NAMES
from engine.store.paths import transcript_name
from tui.kit.rows import FACT, KeyedRows, SelectablePage
from tui.render.draw import Row, clip, labelled, wrap
from tui.render.figures import count, day_of, dollars, local, plural, sizes
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry, Status
    from engine.knowledge.verify import CheckedEntry, CheckedLine, LineState, SourceState

SIGNS: dict[Status, tuple[str, str]] = {
    "harvested": ("✓", "harvested"),
    "harvest-failed": ("!", "failed"),
    "deleted-unharvested": ("⌫", "discarded"),
    "too-large": ("–", "too large"),
}
"""A sign and a label for each status; the workbench's panel uses the same signs."""
LOST = "✗"
WORDED = 56
"""Minimum width for the status as a word."""
_WORD, _WHERE, _ITEMS = 9, 9, 5
_NAME, _ERROR = 16, 14
"""Minimum cells for a name, and for an error shown in the row."""
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
class RecordItem:
    sha256: str
    """SHA-256 of the conversation."""
    entry: LedgerEntry = field(hash=False)
    lost: bool = False
    """Verification could not find its conversation anywhere."""


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one entry against the files; without values while it is running."""

    entry: CheckedEntry | None = None
    waiting: int | None = None
    """Number of its items still pending review; ``None`` if unknown."""
    problem: str = ""


def newest_first(found: Mapping[str, LedgerEntry], lost: frozenset[str] = frozenset()) -> list[RecordItem]:
    ordered = sorted(found.items(), key=lambda each: (each[1].at, each[0]), reverse=True)
    return [RecordItem(name, entry, name in lost) for name, entry in ordered]


def where_of(entry: LedgerEntry) -> str:
    """``restored`` or ``reclaimed``; empty if the conversation was never moved."""
    return "restored" if entry.restored else "reclaimed" if entry.deleted else ""


def record_style(item: RecordItem, roles: Roles) -> Style:
    if item.lost or item.entry.status == "harvest-failed":
        return roles.error
    return {"harvested": roles.active, "too-large": roles.gate}.get(item.entry.status, roles.dropped)


def name_of(item: RecordItem) -> str:
    """The conversation's file name, of a transcript only the slug; or the start of its hash."""
    return transcript_name(first_line(item.entry.name))[1] or item.sha256[:12]


def draw_record(
    item: RecordItem, items: Sequence[RecordItem], width: int, roles: Roles, *, query: str, chosen: bool
) -> Row:
    """A row: sign and status, day, items, whether reclaimed or restored, name, error."""
    entry, tone = item.entry, record_style(item, roles)
    sign, word = (LOST, "lost") if item.lost else SIGNS[entry.status]
    row = Row((f"{sign} ", tone))
    if width >= WORDED:
        row.fit(word, _WORD, tone).gap(2)
    row.fit(day_of(entry.at), 5, roles.muted).gap()
    row.fit(count(entry.total) if entry.status == "harvested" else "", _ITEMS, roles.normal, "right").gap(2)
    if width >= WORDED:
        row.fit(where_of(entry), _WHERE, roles.muted).gap(2)
    room = max(4, width - row.cells)
    error = first_line(entry.error)
    longest = max((cell_len(name_of(each)) for each in items[:200]), default=_NAME)
    name = min(max(longest, _NAME), room)
    if any(each.entry.error for each in items[:200]) and room - _NAME - 2 >= _ERROR:
        name = min(name, max(_NAME, room * 3 // 5))
    if not error:
        name = room
    words = roles.strong if chosen else roles.normal if entry.status == "harvested" else roles.muted
    text, before = clip(name_of(item), name), row.cells
    row.add_found(text, query, words, roles.accent + Style(underline=True))
    rest = room - name - 2
    if error and rest >= _ERROR:
        row.to(before + name + 2).add(clip(error, rest), roles.muted)
    return row.cut(width)


def draw_none(
    phase: Literal["loading", "error", "found"],
    problem: str,
    *,
    broken: bool,
    narrowed: str,
    width: int,
    roles: Roles,
) -> list[Row]:
    """Explains why there are no rows.

    Args:
        problem: Why the ledger could not be read.
        broken: The ledger is damaged or missing.
        narrowed: The filters; empty without any.
    """
    if phase == "loading":
        return [Row(("reading …", roles.faint))]
    if phase == "error":
        rows = wrap([("! ", roles.error), (problem, roles.error)], width, indent=2)
        if broken:
            rebuilds = " rebuilds it from the git history and what is still readable."
            rows += [Row(), *wrap([("R", roles.accent), (rebuilds, roles.normal)], width)]
            paused = "Until then, harvesting and reclaiming are disabled."
            return [*rows, *wrap([(paused, roles.muted)], width)]
        return [*rows, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
    if narrowed:
        return wrap([(f"no entry {narrowed}; esc shows all", roles.muted)], width)
    return [
        Row(("Nothing has been harvested yet.", roles.normal)),
        Row(),
        *wrap(
            [("H", roles.accent), (" shows what can be harvested and what it would cost.", roles.normal)],
            width,
        ),
        *wrap([("Every harvested conversation gets an entry here.", roles.muted)], width),
    ]


class EntriesPanel(KeyedRows[RecordItem], panel="entries", number="1"):
    """One entry per row; the lower edge has the result of verification."""

    always_lit = True
    signs = (
        ("✓", "harvested: its knowledge is in the category files"),
        ("!", "harvest failed; the conversation is kept, f retries"),
        ("⌫", "discarded by you without harvesting"),
        ("–", "too large to harvest; kept"),
        ("✗", "lost: not found in its file, the trash or the history"),
    )
    aligned = True
    only = ""
    below = ""
    total = 0

    def key(self, item: RecordItem) -> str:
        return item.sha256

    def row(self, item: RecordItem, width: int, chosen: bool) -> Row:
        return draw_record(item, self.items, width, self.roles, query=self.query_text, chosen=chosen)

    def searchable(self, item: RecordItem) -> Iterator[str]:
        entry = item.entry
        yield from (entry.path, entry.error, item.sha256, entry.status, entry.provider, entry.model)
        yield from (line.text for line in entry.lines)

    def summarise(self) -> None:
        parts = [count(self.row_count)] if self.row_count == self.total else []
        if not parts and self.total:
            parts.append(f"{count(self.row_count)} of {count(self.total)}")
        parts += [self.only, f"/{self.query_text}" if self.query_text else ""]
        self.set_frame(" · ".join(filter(None, parts)) if self.total else "", self.below)

    def text_of(self, item: RecordItem) -> str:
        entry = item.entry
        parts = (
            item.sha256,
            entry.status,
            entry.at,
            str(entry.total),
            where_of(entry),
            entry.path,
            entry.error,
        )
        return " ".join(filter(None, parts))


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
        *fact("sha256", clip(item.sha256, width - _LABEL), roles.normal, width, roles),
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


class RecordPage(SelectablePage[RecordView], panel="record", number="2", words="entry"):
    """Facts, then the lines harvested from the conversation; long lines are wrapped."""

    signs = (
        ("✓", "there: the line is unchanged, at the place shown"),
        ("~", "edited: a reworded line from the same conversation"),
        ("✗", "gone: the line no longer exists, which is not an error"),
    )

    nothing = "no entry is selected"

    def subject(self, view: RecordView) -> str:
        return view.item.sha256

    def draw_view(self, view: RecordView, width: int) -> list[tuple[Row, int]]:
        return draw_record_page(view, width, self.roles)

    def summarise(self) -> None:
        view = self.view
        if view is None:
            self.set_frame()
            return
        checked = line_of(view, self.line)
        below = f"{checked.path}:{checked.number}" if checked is not None and checked.number else ""
        self.set_frame(view.item.sha256[:12], below)
