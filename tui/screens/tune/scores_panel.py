"""Panel 2 of the tune screen: the scores with their cuts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len
from textual.strip import Strip

from tui.kit.panel import Panel
from tui.render.draw import Row, clip, joined_within, wrap
from tui.render.figures import count, plural
from tui.render.safe import first_line
from tui.screens.tune.plot import FEW, Plot, bins_for, draw_plot

Binned = Callable[[int], Plot]
"""Makes the plot for a number of bins."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What the panel says."""

    topic: str = ""
    """Empty while none is chosen."""
    labelled: int = 0
    """Its labelled decisions that cuts decide about."""
    plot: Binned | None = None
    """``None`` where there is nothing to draw."""
    note: str = "reading the decision log …"
    """What to say then."""
    keys: tuple[str, ...] = ()


class ScoresPanel(Panel):
    """The plot, drawn for the panel's whole size."""

    name_of = "scores"
    number = "2"
    words = "scores"
    signs = (
        ("┃", "the cut that the keys move; │ the other one; ┊ where a moved one stands today"),
        ("█", "above the axis what was useful, below it noise, by score"),
        ("━", "both at the same score: no cut keeps these apart"),
        ("√", "bars are as tall as the square root of their number, because a few tower above the others"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = Scores()
        self._lines: list[Row] | None = None

    @property
    def row_count(self) -> int:
        """Whether there is a plot."""
        return int(self.view.plot is not None)

    def show(self, view: Scores) -> None:
        """Shows another state; draws only the lines that are different."""
        self.view = view
        self._frame_it()
        before, self._lines = self._lines, None
        if before is None or not self.size.width:
            self.refresh()
        else:
            self.refresh_different(before, self.lines())

    def _frame_it(self) -> None:
        view = self.view
        beside = ""
        if view.topic:
            thin = " · few" if view.plot is not None and 0 < view.labelled < FEW else ""
            name = first_line(view.topic)
            room = max(8, self.size.width - 12)
            words = (
                f"{plural(view.labelled, 'labelled decision')}{thin}",
                f"{count(view.labelled)} labelled{thin}",
            )
            beside = next(
                (text for word in words if cell_len(text := f"{name} · {word}") <= room), clip(name, room)
            )
        self.set_frame(beside, joined_within(view.keys, self.size.width - 2))

    def lines(self) -> list[Row]:
        """The lines for the present size."""
        if self._lines is None:
            width, height = self.size
            view = self.view
            if view.plot is None:
                self._lines = wrap([(view.note, self.roles.muted)], max(width, 8))
            else:
                plot = view.plot(bins_for(width, view.labelled))
                self._lines = draw_plot(plot, width, height, self.roles)
        return self._lines

    def selected_text(self) -> str:
        """The plot as text."""
        return "\n".join(row.text.rstrip() for row in self.lines())

    def on_resize(self) -> None:
        """A new size needs a new plot."""
        self._lines = None
        self._frame_it()
        self.refresh()

    def notify_style_update(self) -> None:
        """A theme or the focus changed."""
        super().notify_style_update()
        self._lines = None

    def render_line(self, y: int) -> Strip:
        """One line of the plot."""
        lines, width = self.lines(), self.size.width
        return lines[y].strip(width, self.under) if y < len(lines) else Strip.blank(width, self.under)
