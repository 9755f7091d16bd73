"""Panel 2 of the tune screen: the scores with their cuts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len

from tui.kit.panel import LinesPanel
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


class ScoresPanel(LinesPanel):
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

    @property
    def row_count(self) -> int:
        """Whether there is a plot."""
        return int(self.view.plot is not None)

    def show(self, view: Scores) -> None:
        """Shows another state."""
        self.view = view
        self._frame_it()
        self.changed()

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

    def draw(self, width: int, height: int) -> list[Row]:
        """The plot, or why there is none."""
        view = self.view
        if view.plot is None:
            return wrap([(view.note, self.roles.muted)], max(width, 8))
        return draw_plot(view.plot(bins_for(width, view.labelled)), width, height, self.roles)

    def on_resize(self) -> None:
        """Another width has room for other words in the frame."""
        super().on_resize()
        self._frame_it()
