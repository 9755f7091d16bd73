"""The list of ledger entries, and the note if there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style

from engine.store.paths import transcript_name
from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row, clip, found, marked, wrap
from tui.render.figures import count, day_of
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry, Status


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


@dataclass(frozen=True, slots=True)
class RecordItem:
    sha256: str
    """SHA-256 of the conversation."""
    entry: LedgerEntry = field(hash=False)
    lost: bool = False
    """Verification could not find its conversation anywhere."""


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
    for piece, style in marked(text, found(text, query), words, roles.accent + Style(underline=True)):
        row.add(piece, style)
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


class EntriesPanel(KeyedRows[RecordItem]):
    """One entry per row; the lower edge has the selected one's error, or the result of verification."""

    name_of = "entries"
    number = "1"
    words = "entries"
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

    def show_entries(
        self, items: Sequence[RecordItem], note: Note, about: object, *, only: str, total: int, below: str
    ) -> None:
        """Shows entries.

        Args:
            only: The status the rows are filtered by.
            total: The number of entries without filters.
            below: Text for the lower edge, in place of the selected entry's error.
        """
        self.only, self.total, self.below = only, total, below
        self.show_items(items, note, about)
        self.summarise()

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
        item = self.selected
        error = first_line(item.entry.error) if item is not None else ""
        self.set_frame(
            " · ".join(filter(None, parts)) if self.total else "", self.below or error,
            error=bool(error) and not self.below,
        )  # fmt: skip

    def selected_text(self) -> str:
        item = self.selected
        if item is None:
            return ""
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
