"""Panels 3 and 5, and the panel that shows 3 to 5 as one line each on small screens."""

from __future__ import annotations

from engine.context.compiled import Compiled
from engine.context.views import DigestView, LedgerView
from tui.kit.panel import LinesPanel
from tui.render.budget import budget_frame, budget_lines, left_out_line
from tui.render.digest import digest_counts, digest_lines, digest_state
from tui.render.draw import Row, clip
from tui.render.figures import count
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.workbench.ledger import failure, ledger_summary


class DigestPanel(LinesPanel):
    """Panel 3: the digest included in every prompt, or a note that it is off."""

    name_of = "digest"
    number = "3"
    words = "digest"

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


class BudgetPanel(LinesPanel):
    """Panel 5: the tokens that each section of the prompt uses."""

    name_of = "budget"
    number = "5"
    words = "budget"

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


class MemoryPanel(LinesPanel, can_focus=False):
    """Panels 3 to 5 folded to one line each; it has no key bindings."""

    name_of = "digest"
    words = "memory"

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
