"""The base of pages and dialogs: a panel over a screen, which leaves the gate's question in view."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, ScreenResultType

from tui.kit.bars import QuestionBar
from tui.kit.frame import Frame
from tui.kit.panel import LinesPanel
from tui.kit.questions import Questions


class Overlay(ModalScreen[ScreenResultType], inherit_bindings=False):
    """Shows a panel until it is closed. The gate may ask meanwhile, and is answered as on other screens."""

    letters: ClassVar[bool] = True
    """Whether plain letters answer the gate, or only ctrl with the letter."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+y", "answer_gate(True)", show=False, priority=True),
        Binding("ctrl+n", "answer_gate(False)", show=False, priority=True),
    ]

    panel: LinesPanel

    def compose(self) -> ComposeResult:
        yield self.panel
        yield QuestionBar(id="question")

    @property
    def questions(self) -> Questions | None:
        """The gate's open questions; ``None`` if there is no workbench below."""
        frames = (each for each in self.app.screen_stack if isinstance(each, Frame))
        return next((frame.bench.questions for frame in frames), None)

    def on_mount(self) -> None:
        self.query_one(QuestionBar).answer_by(letters=self.letters)
        if self.questions is not None:
            self.questions.show()

    def action_answer_gate(self, yes: bool) -> None:
        if self.questions is not None:
            self.questions.answer(yes)
