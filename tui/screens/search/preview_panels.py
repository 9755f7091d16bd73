"""Panels 2 and 3 of the search screen: the selected result in its file, and why it ranks there."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from tui.kit.panel import LinesPanel
from tui.render.draw import Row, clip_start, joined_within
from tui.render.figures import score
from tui.render.safe import visible
from tui.render.search_hits import Hit, lines_of
from tui.render.search_why import BACK, draw_why
from tui.screens.search.overview import draw_how
from tui.screens.search.passage import ABOVE, SOURCES, Passage, draw_passage


@dataclass(frozen=True, slots=True)
class Preview:
    """What the preview shows."""

    passage: Passage | None = None
    how: bool = False
    """Say how to search, where there is nothing else to show."""
    meaning: bool = False
    """Whether passages are found by meaning."""


class PreviewPanel(LinesPanel):
    """The selected result where it stands, scrolled to it."""

    name_of = "preview"
    number = "2"
    words = "preview"
    signs = (("▎", "lines of the result; the dimmed ones stand around it in its file"),)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = Preview()
        self._first = 0

    @property
    def row_count(self) -> int:
        """Whether there is something to read."""
        return int(self.view.passage is not None)

    def show(self, view: Preview) -> None:
        """Shows another result, from its first line on; or the same one again, where it was."""
        if view == self.view:
            return
        before, self.view = self.view.passage, view
        now = view.passage
        stays = before is not None and now is not None and before.hit.key == now.hit.key
        self.summarise()
        self.changed()
        if not stays:
            self.to_result()

    def to_result(self) -> None:
        """Scrolls so that the result begins a few lines below the upper edge, or fills the panel."""
        if not self.size.height:
            return
        rows = len(self.lines())
        above = min(ABOVE, max(0, self.size.height - 4)) if self._first else 0
        top = max(0, min(self._first - above, rows - self.size.height))
        self.scroll_to(y=top, animate=False, force=True)

    def draw(self, width: int, height: int) -> list[Row]:
        """The lines of the file."""
        view = self.view
        if view.passage is not None:
            rows, self._first = draw_passage(view.passage, width, self.roles)
            return rows
        self._first = 0
        rows = draw_how(width, self.roles, meaning=view.meaning) if view.how else []
        return rows if len(rows) <= height else [row for row in rows if row.cells]

    def summarise(self) -> None:
        """Where it stands, above; what it is and who found it, below."""
        passage = self.view.passage
        if passage is None:
            self.set_frame()
            return
        result = passage.hit.result
        lines = f":{lines_of(result)}"
        room = self.size.width - cell_len(self.words) - cell_len(lines) - 6
        beside = clip_start(result.path, max(12, room)) + lines
        below = [result.category, result.date, SOURCES[result.source]]
        self.set_frame(beside, joined_within([visible(part) for part in below if part], self.size.width - 10))

    def on_resize(self) -> None:
        """Another size wraps the lines elsewhere."""
        super().on_resize()
        self.summarise()
        self.to_result()

    def selected_text(self) -> str:
        """The lines in view and around it, as plain text."""
        passage = self.view.passage
        return "\n".join(line.text for line in passage.lines) if passage is not None else ""


class WhyPanel(LinesPanel):
    """What the selected result's score is made of; as high as it has to be."""

    name_of = "why"
    number = "3"
    words = "why this rank"
    signs = (
        ("▇", "a part of the score, from where the one before ended; all together are the score"),
        (BACK, "what counts against the result, and leads back to the score"),
        ("✓", "a word of the query that the text, its heading or its file's name holds; ✗ one they lack"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hit: Hit | None = None

    @property
    def row_count(self) -> int:
        """Whether there is something to explain."""
        return int(self.hit is not None)

    def show(self, hit: Hit | None) -> None:
        """Explains another result."""
        if hit != self.hit:
            self.hit = hit
            self.summarise()
            self.changed()
            self.scroll_to(y=0, animate=False, force=True)

    def summarise(self) -> None:
        """Which result it is."""
        hit = self.hit
        self.set_frame(f"{hit.rank} · {score(hit.result.score)}" if hit is not None else "")

    def draw(self, width: int, height: int) -> list[Row]:
        """The reasons."""
        if self.hit is None:
            return [Row(("no result is selected", self.roles.faint))]
        rows = draw_why(self.hit, width, self.roles)
        return (
            rows if len(rows) <= height or not height else draw_why(self.hit, width, self.roles, tight=True)
        )

    def wanted(self, width: int) -> int:
        """Lines that the reasons take in a panel of some width, with the frame."""
        return len(self.draw(max(20, width - 4), 0)) + 2
