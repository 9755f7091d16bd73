"""Panels 3 to 5: digest, ledger and budget; and the panel that shows them folded on small screens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from rich.style import Style

from engine.context.compiled import Compiled
from engine.context.views import DigestView, LedgerRow, LedgerView
from engine.store.paths import transcript_name
from tui.kit.panel import LinesPanel
from tui.kit.rows import KeyedRows
from tui.render.budget import budget_frame, budget_lines, left_out_line
from tui.render.digest import digest_counts, digest_lines, digest_state
from tui.render.draw import Row, clip, wrap
from tui.render.figures import count, day_of
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.ledger.draw import SIGNS, by_category

if TYPE_CHECKING:
    from engine.knowledge.ledger import Status

WIDE = 60
"""Minimum width in cells for rows to include the items found or the error."""

_DATED = re.compile(r"^\d{4}-\d{2}-\d{2}[-_ ]")
"""The date that names start with; the row already shows it."""


def state_of(row: LedgerRow) -> tuple[str, str]:
    """The sign and word for an entry's status."""
    return SIGNS.get(cast("Status", row.status), ("?", first_line(row.status) or "unknown"))


def ledger_row(row: LedgerRow, width: int, roles: Roles, query: str = "", chosen: bool = False) -> Row:
    sign, word = state_of(row)
    style = _style(row, roles)
    fact = count(row.items_total) if row.status == "harvested" else word
    words = roles.strong if chosen else roles.normal if row.status == "harvested" else roles.muted
    line = Row((f"{sign} ", style), (f"{day_of(row.at)}  ", roles.muted))
    label = (
        _DATED.sub("", transcript_name(first_line(row.name))[1]) or first_line(row.name) or row.sha256[:12]
    )
    name = clip(label, max(4, width - line.cells - len(fact) - 1))
    about = (first_line(row.error) or by_category(row.items)) if width >= WIDE else ""
    if about:
        name = clip(name, width * 2 // 5)
    line.add_found(name, query, words, roles.accent + Style(underline=True))
    if about:
        line.to(width * 2 // 5 + 10)
        line.add(clip(about, width - line.cells - len(fact) - 2), roles.muted)
    fact_style = roles.muted if row.status == "harvested" else style
    return line.right(Row((fact, fact_style)), width)


def matches(row: LedgerRow, query: str) -> bool:
    """Whether an entry's name, error, hash or status contains the filter text."""
    query = query.casefold()
    return any(query in text.casefold() for text in (row.name, row.error, row.sha256, *state_of(row)))


def ledger_summary(view: LedgerView) -> list[tuple[str, int, str]]:
    """Sign, number and word of every status present, successes first."""
    numbers: dict[tuple[str, str], int] = {}
    for row in view.entries:
        state = state_of(row)
        numbers[state] = numbers.get(state, 0) + 1
    order = [*SIGNS.values()]
    ranked = sorted(
        numbers.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)
    )
    return [(sign, number, word) for (sign, word), number in ranked]


def ledger_note(view: LedgerView, roles: Roles, width: int) -> list[Row]:
    """The note shown when there are no entries."""
    if view.problem:
        return wrap([("! ", roles.error), (view.problem, roles.error)], width, indent=2)
    return [
        Row(("nothing harvested yet", roles.normal)),
        Row(),
        *wrap([("Each transcript gets an entry here when it is harvested.", roles.muted)], width),
    ]


def failed(view: LedgerView) -> int:
    return sum(1 for row in view.entries if row.status == "harvest-failed")


def ledger_line(view: LedgerView) -> str:
    """The counts in the border: ``214, 1 failed``."""
    failures = failed(view)
    return count(len(view.entries)) + (f", {count(failures)} failed" if failures else "")


def failure(view: LedgerView) -> str:
    """The newest failure's name and error; empty without failures."""
    row = next((row for row in view.entries if row.status == "harvest-failed"), None)
    return "" if row is None else f"{first_line(row.name)}: {first_line(row.error) or 'failed'}"


def _style(row: LedgerRow, roles: Roles) -> Style:
    if row.status == "harvested":
        return roles.active
    return roles.error if row.status == "harvest-failed" else roles.dropped


class LedgerPanel(KeyedRows[LedgerRow], panel="ledger", number="4"):
    """The ledger, newest entry first; the lower border shows the selected entry's items or error."""

    view: LedgerView | None = None

    def show_view(self, view: LedgerView) -> None:
        self.view = view
        self.show_items(view.entries, about=view)

    def key(self, item: LedgerRow) -> str:
        return item.sha256

    def row(self, item: LedgerRow, width: int, chosen: bool) -> Row:
        return ledger_row(item, width, self.roles, self.query_text, chosen)

    def finds(self, item: LedgerRow, query: str) -> bool:
        return matches(item, query)

    def empty(self, width: int) -> list[Row]:
        if self.view is None:
            return [Row(("reading …", self.roles.faint))]
        if self.query_text and self.view.entries:
            return [Row(("no matches", self.roles.muted))]
        return ledger_note(self.view, self.roles, width)

    def summarise(self) -> None:
        """Shows totals beside the title and the selected entry's items or error below."""
        if self.view is None:
            return
        if self.query_text:
            beside = f"{count(self.row_count)} of {count(len(self.items))}"
        else:
            beside = ledger_line(self.view) if self.view.entries else ""
        row = self.selected
        if row is None:
            self.set_frame(beside, f"/{self.query_text}" if self.query_text else "")
            return
        below = first_line(row.error) or by_category(row.items) or state_of(row)[1]
        self.set_frame(beside, below, error=row.status == "harvest-failed")

    def selected_text(self) -> str:
        row = self.selected
        if row is None:
            return ""
        return " ".join(part for part in (row.name, row.sha256, row.status, row.error) if part)


class DigestPanel(LinesPanel, panel="digest", number="3"):
    """Panel 3: the digest included in every prompt, or a note that it is off."""

    view: DigestView | None = None

    def show(self, view: DigestView) -> None:
        self.view = view
        state, error = digest_state(view)
        self.set_frame(below=state, error=error)
        self.changed()

    @property
    def row_count(self) -> int:
        return 1 if self.view is not None and self.view.on else 0

    def draw(self, width: int, height: int) -> list[Row]:
        return digest_lines(self.view, width, self.roles, spaced=height >= 16)


class BudgetPanel(LinesPanel, panel="budget", number="5"):
    """Panel 5: the tokens that each section of the prompt uses."""

    compiled: Compiled | None = None

    def show(self, compiled: Compiled | None) -> None:
        if compiled is not None and compiled is self.compiled:
            return
        self.compiled = compiled
        self.set_frame(below=budget_frame(compiled))
        self.changed()

    @property
    def row_count(self) -> int:
        return 1 if self.compiled is not None else 0

    def draw(self, width: int, height: int) -> list[Row]:
        return budget_lines(self.compiled, width, height, self.roles, coloured=self.coloured)


class MemoryPanel(LinesPanel, can_focus=False, panel="digest", words="memory"):
    """Panels 3 to 5 folded to one line each; it has no key bindings."""

    digest: DigestView | None = None
    ledger: LedgerView | None = None
    compiled: Compiled | None = None

    def first_frame(self) -> None:
        self.set_frame(below="3 4 5 open")

    def show(self, digest: DigestView | None, ledger: LedgerView | None, compiled: Compiled | None) -> None:
        if (digest, ledger) != (self.digest, self.ledger) or compiled is not self.compiled:
            self.digest, self.ledger, self.compiled = digest, ledger, compiled
            self.changed()

    def draw(self, width: int, height: int) -> list[Row]:
        return memory_lines(self.digest, self.ledger, self.compiled, width, self.roles)


def memory_lines(
    digest: DigestView | None, ledger: LedgerView | None, compiled: Compiled | None, width: int, roles: Roles
) -> list[Row]:
    return [
        _digest_line(digest, width, roles),
        _ledger_line(ledger, width, roles),
        _budget_line(compiled, width, roles),
    ]


def _lead(key: str, name: str, roles: Roles) -> Row:
    return Row((f"{key} ", roles.accent)).fit(name, 9, roles.muted)


def _digest_line(view: DigestView | None, width: int, roles: Roles) -> Row:
    row = _lead("3", "digest", roles)
    if view is None:
        return row.add("reading …", roles.faint)
    state, error = digest_state(view)
    row.add(state, roles.error if error else roles.normal)
    if view.on:
        row.gap(3).add(clip(digest_counts(view), width - row.cells), roles.muted)
    return row


def _ledger_line(view: LedgerView | None, width: int, roles: Roles) -> Row:
    row = _lead("4", "ledger", roles)
    if view is None:
        return row.add("reading …", roles.faint)
    if view.problem:
        return row.add(clip(f"! {first_line(view.problem)}", width - row.cells), roles.error)
    if not view.entries:
        return row.add("nothing harvested yet", roles.muted)
    others = 0
    for sign, number, word in ledger_summary(view):
        if sign in "✓!":
            row.add(f"{sign} {count(number)} {word}", roles.active if sign == "✓" else roles.error).gap(3)
        else:
            others += number
    if others:
        row.add(f"– {count(others)} not harvested", roles.muted).gap(3)
    reason = failure(view)
    if width - row.cells < min(len(reason), 32):
        reason = reason.partition(":")[0]
    return row.add(clip(reason, width - row.cells), roles.muted) if width - row.cells >= 8 else row


def _budget_line(compiled: Compiled | None, width: int, roles: Roles) -> Row:
    row = _lead("5", "budget", roles)
    if compiled is None:
        return row.add("no prompt", roles.muted)
    used: dict[int, int] = {}
    for slot in compiled.slots:
        used[slot.priority] = used.get(slot.priority, 0) + slot.used
    for priority, tokens in sorted(used.items()):
        if tokens:
            row.add(f"P{priority} ", roles.slot(priority)).add(count(tokens), roles.normal).gap(2)
    left = left_out_line(compiled)
    for words in (left, left.partition(" · ")[0]):
        if row.cells + len(words) <= width:
            return row.add(words, roles.gate)
    return row
