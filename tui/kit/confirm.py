"""A confirmation dialog; Cancel is selected first."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.kit.panel import LinesPanel
from tui.render.draw import Row, wrap


class QuestionPanel(LinesPanel):
    """The question with its two answers, one of them selected."""

    name_of = "feed"

    def __init__(self, title: str, question: str, answer: str) -> None:
        super().__init__(id="confirm")
        self._title = title
        self._question = question
        self._answer = answer
        self.yes = False

    def first_frame(self) -> None:
        self.set_frame(self._title, "← → choose · enter · esc cancels")

    def choose(self, yes: bool) -> None:
        self.yes = yes
        self.changed()

    def draw(self, width: int, height: int) -> list[Row]:
        roles = self.roles
        rows = [row for line in self._question.split("\n") for row in wrap([(line, roles.normal)], width)]
        answers = Row()
        for words, chosen in (("Cancel", not self.yes), (self._answer, self.yes)):
            style = roles.accent + roles.selection if chosen else roles.muted
            answers.add(f" ▸ {words} ◂ " if chosen else f"   {words}   ", style).gap(2)
        return [*rows, Row(), answers]


class ConfirmScreen(ModalScreen[bool], inherit_bindings=False):
    """Asks for confirmation and returns whether the user confirmed.

    Args:
        answer: The label of the confirming button.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, "choose(False)", show=False, priority=True) for key in ("left", "h", "up", "k")),
        *(Binding(key, "choose(True)", show=False, priority=True) for key in ("right", "l", "down", "j")),
        *(Binding(key, "other", show=False, priority=True) for key in ("tab", "shift+tab")),
        *(Binding(key, "cancel", show=False, priority=True) for key in ("escape", "q", "n")),
        Binding("enter", "answer", show=False, priority=True),
    ]

    def __init__(self, title: str, question: str, answer: str) -> None:
        super().__init__()
        self.panel = QuestionPanel(title, question, answer)

    def compose(self) -> ComposeResult:
        yield self.panel

    def action_choose(self, yes: bool) -> None:
        self.panel.choose(yes)

    def action_other(self) -> None:
        self.panel.choose(not self.panel.yes)

    def action_cancel(self) -> None:
        self.dismiss(False)

    def action_answer(self) -> None:
        self.dismiss(self.panel.yes)
