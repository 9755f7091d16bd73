"""A confirmation dialog; Cancel is selected first."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.strip import Strip

from tui.kit.overlay import Overlay
from tui.kit.panel import LinesPanel, Motion
from tui.render.draw import Row, wrap

KEYS = "← → choose · enter · esc cancels"
PINNED = 2
"""The last lines, which stay in view: an empty one and the answers."""


class QuestionPanel(LinesPanel):
    """The question with its two answers, one of them selected. A long question scrolls above the answers."""

    name_of = "feed"

    def __init__(self, title: str, question: str, answer: str) -> None:
        super().__init__(id="confirm")
        self._title = title
        self._question = question
        self._answer = answer
        self.yes = False

    def first_frame(self) -> None:
        self.set_frame(self._title, KEYS)

    def summarise(self) -> None:
        """Names the keys that scroll if the question does not fit."""
        is_long = self.virtual_size.height > self.size.height
        self.set_frame(self._title, "pgdn reads on · ← → · enter · esc cancels" if is_long else KEYS)

    def choose(self, yes: bool) -> None:
        self.yes = yes
        self.changed()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draws a visible line, the answers always at the end."""
        height, total = self.size.height, len(self.lines())
        if total > height and y >= height - PINNED:
            y += total - height - self.scroll_offset.y
        return super().render_line(y)

    def draw(self, width: int, height: int) -> list[Row]:
        roles = self.roles
        rows = [row for line in self._question.split("\n") for row in wrap([(line, roles.normal)], width)]
        answers = Row()
        for words, chosen in (("Cancel", not self.yes), (self._answer, self.yes)):
            style = roles.accent + roles.selection if chosen else roles.muted
            answers.add(f" ▸ {words} ◂ " if chosen else f"   {words}   ", style).gap(2)
        return [*rows, Row(), answers]


class ConfirmScreen(Overlay[bool]):
    """Asks for confirmation and returns whether the user confirmed.

    Args:
        answer: The label of the confirming button.
    """

    panel: QuestionPanel
    letters = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, "choose(False)", show=False, priority=True) for key in ("left", "h", "up", "k")),
        *(Binding(key, "choose(True)", show=False, priority=True) for key in ("right", "l", "down", "j")),
        *(Binding(key, "other", show=False, priority=True) for key in ("tab", "shift+tab")),
        *(Binding(key, "cancel", show=False, priority=True) for key in ("escape", "q", "n")),
        *(Binding(key, "read(True)", show=False, priority=True) for key in ("pagedown", "ctrl+d")),
        *(Binding(key, "read(False)", show=False, priority=True) for key in ("pageup", "ctrl+u")),
        Binding("enter", "answer", show=False, priority=True),
    ]

    def __init__(self, title: str, question: str, answer: str) -> None:
        super().__init__()
        self.panel = QuestionPanel(title, question, answer)

    def action_choose(self, yes: bool) -> None:
        self.panel.choose(yes)

    def action_read(self, on: bool) -> None:
        self.panel.move(Motion.HALF_DOWN if on else Motion.HALF_UP)

    def action_other(self) -> None:
        self.panel.choose(not self.panel.yes)

    def action_cancel(self) -> None:
        self.dismiss(False)

    def action_answer(self) -> None:
        self.dismiss(self.panel.yes)
