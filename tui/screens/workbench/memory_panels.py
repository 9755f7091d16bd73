"""Panels 3 and 5, and the panel that folds 3 to 5 into a line each where there is no room for them."""

from __future__ import annotations

from engine.context.compiled import Compiled
from engine.context.views import DigestView, LedgerView
from tui.kit.panel import LinesPanel
from tui.render.budget import budget_lines, budget_state
from tui.render.digest import digest_lines, digest_state
from tui.render.draw import Row
from tui.screens.workbench.folded import memory_lines


class DigestPanel(LinesPanel):
    """Panel 3: the digest that every prompt gets, or that it is off."""

    name_of = "digest"
    number = "3"
    words = "digest"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: DigestView | None = None

    def show(self, view: DigestView) -> None:
        """Shows another state of the digest."""
        self.view = view
        state, trouble = digest_state(view)
        self.set_frame(below=state, trouble=trouble)
        self.changed()

    @property
    def row_count(self) -> int:
        """Whether there is a digest to see."""
        return 1 if self.view is not None and self.view.on else 0

    def draw(self, width: int, height: int) -> list[Row]:
        """The digest, wrapped."""
        return digest_lines(self.view, width, self.roles, spaced=height >= 16)


class BudgetPanel(LinesPanel):
    """Panel 5: what takes how much of the prompt."""

    name_of = "budget"
    number = "5"
    words = "budget"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.compiled: Compiled | None = None

    def show(self, compiled: Compiled | None) -> None:
        """Shows another prompt."""
        if compiled is not None and compiled is self.compiled:
            return
        self.compiled = compiled
        self.set_frame(below=budget_state(compiled))
        self.changed()

    @property
    def row_count(self) -> int:
        """Whether there is a prompt to see."""
        return 1 if self.compiled is not None else 0

    def draw(self, width: int, height: int) -> list[Row]:
        """The gauges."""
        return budget_lines(self.compiled, width, height, self.roles, coloured=self.coloured)


class MemoryPanel(LinesPanel, can_focus=False):
    """Panels 3 to 5 folded: one line each. It has no keys of its own."""

    name_of = "digest"
    words = "memory"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.digest: DigestView | None = None
        self.ledger: LedgerView | None = None
        self.compiled: Compiled | None = None

    def first_frame(self) -> None:
        """Says how to open them."""
        self.set_frame(below="3 4 5 opens one")

    def show(
        self,
        digest: DigestView | None,
        ledger: LedgerView | None,
        compiled: Compiled | None,
    ) -> None:
        """Shows the three at once."""
        if (digest, ledger) != (self.digest, self.ledger) or compiled is not self.compiled:
            self.digest, self.ledger, self.compiled = digest, ledger, compiled
            self.changed()

    def draw(self, width: int, height: int) -> list[Row]:
        """Three lines."""
        return memory_lines(self.digest, self.ledger, self.compiled, width, self.roles)
