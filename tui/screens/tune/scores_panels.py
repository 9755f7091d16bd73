"""Panel 2 of the tune screen, the scores with their cuts, and what moving these changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len
from textual.strip import Strip

from tui.kit.panel import LinesPanel, Panel
from tui.render.draw import Row, clip, joined_within, wrap
from tui.render.figures import count, plural
from tui.render.safe import first_line
from tui.screens.tune.changes import FIGURES, ROOMY, Changes, draw_changes, notes
from tui.screens.tune.plot import FEW, Plot, bins_for, draw_plot

Binned = Callable[[int], Plot]
"""Makes the plot for a number of bins."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What the panel says.

    Attributes:
        topic: The topic; empty while none is chosen.
        labelled: Its labelled decisions that cuts decide about.
        decisions: All of its decisions.
        plot: Makes the plot for a number of bins; ``None`` where there is nothing to draw.
        note: What to say where there is none.
        keys: The keys that matter, for the lower edge.
    """

    topic: str = ""
    labelled: int = 0
    decisions: int = 0
    plot: Binned | None = None
    note: str = "reading the decision log …"
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
        self.set_frame(beside, self._keys())

    def _keys(self) -> str:
        """As many of the keys as the lower edge has room for."""
        return joined_within(self.view.keys, self.size.width - 2)

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


class ChangesPanel(LinesPanel, can_focus=False):
    """Today's figures beside those of the moved cuts; as high as it has to be."""

    name_of = "scores"
    words = "what changes"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: Changes | None = None

    def show(self, view: Changes | None, hint: str) -> None:
        """Shows another comparison."""
        beside = "today ▸ now" if view is not None and view.after is not None else "today"
        self.set_frame(beside if view is not None else "", hint)
        if view != self.view:
            self.view = view
            self.changed()
            self.fit_height()

    def fit_height(self) -> None:
        """Takes the lines it needs, four at least."""
        lines = FIGURES
        if self.view is not None:
            lines += len(notes(self.view, self.size.width or ROOMY, self.roles))
        if self.styles.height is None or self.styles.height.value != lines + 2:
            self.styles.height = lines + 2

    def draw(self, width: int, height: int) -> list[Row]:
        """The comparison."""
        return draw_changes(self.view, width, self.roles) if self.view is not None else []

    def on_resize(self) -> None:
        """Another width breaks the notes otherwise."""
        super().on_resize()
        self.fit_height()
