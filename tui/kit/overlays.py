"""Pages and dialogs: a panel over a screen, which leaves the gate's question in view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, ScreenResultType
from textual.strip import Strip

from engine.errors import Problem
from tui.kit import clipboard
from tui.kit.bars import QuestionBar
from tui.kit.frame import Frame
from tui.kit.panel import KEYS_OF, LinesPanel, Motion, moved
from tui.kit.questions import Questions
from tui.render.draw import Row, wrap
from tui.render.roles import Roles

KEYS = "esc closes · j k move · Y copies"
ACCEPT = "a"
CLOSING = ("escape", "q", "enter", "question_mark")
CHOICES = "← → choose · enter · esc cancels"
PINNED = 2
"""The last lines, which stay in view: an empty one and the answers."""


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


Builder = Callable[[int, Roles], list[Row]]


class Offer(NamedTuple):
    """An action a page offers after its preview."""

    words: str
    """The label behind the key, such as ``writes it``."""
    do: Callable[[], object]
    is_ready: Callable[[], bool] = lambda: True
    """Whether it can be meant: a page may open just when its key is pressed for something else."""


class PagePanel(LinesPanel, panel="feed", words=""):
    def __init__(self, title: str, build: Builder, keys: str = KEYS) -> None:
        super().__init__(id="page")
        self._title = title
        self._build = build
        self._keys = keys

    def first_frame(self) -> None:
        self.set_frame(self._title, self._keys)

    def turn_to(self, title: str, build: Builder, keys: str = KEYS) -> None:
        self._title, self._build, self._keys = title, build, keys
        self.set_frame(title, keys)
        self.changed()
        self.scroll_to(y=0, animate=False)

    def draw(self, width: int, height: int) -> list[Row]:
        return self._build(width, self.roles)


class PageScreen(Overlay[Any]):
    """Shows lines until it is closed.

    Args:
        full: Use nearly the whole screen instead of fitting the text.
        keys: Key hints for the frame.
        offer: An action with its own key, which also closes the page.
    """

    panel: PagePanel
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"move('{motion.name}')", show=False, priority=True)
            for motion, keys in KEYS_OF.items()
            for key in keys
        ),
        *(Binding(key, "close", show=False, priority=True) for key in CLOSING),
        Binding("y", "answer_gate(True)", show=False, priority=True),
        Binding("n", "answer_gate(False)", show=False, priority=True),
        Binding("Y", "copy", show=False, priority=True),
        Binding(ACCEPT, "accept", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        build: Builder,
        *,
        full: bool = False,
        keys: str = KEYS,
        offer: Offer | None = None,
    ) -> None:
        super().__init__(classes="-full" if full else None)
        self.panel = PagePanel(title, build, f"{ACCEPT} {offer.words} · {keys}" if offer else keys)
        self.offer = offer

    def action_move(self, motion: str) -> None:
        self.panel.move(Motion[motion])

    def action_close(self) -> None:
        self.dismiss(None)

    def action_accept(self) -> None:
        if self.offer is not None and self.offer.is_ready():
            self.dismiss(None)
            self.offer.do()

    def action_copy(self) -> None:
        self.notify(clipboard.copied(self.app, self.panel.selected_text()), markup=False)


class ProblemsPanel(PagePanel):
    """Problems, one of them selected."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("problems", self._rows, "enter opens its file · j k move · esc closes · Y copies")
        self._problems = problems
        self._at = 0

    @property
    def selected(self) -> Problem:
        return self._problems[self._at]

    def move(self, motion: Motion) -> None:
        last = len(self._problems) - 1
        self._at = max(0, min(moved(motion, self._at, last, max(1, self.size.height // 4)), last))
        self.changed()
        height = self.size.height
        self.scroll_to(y=max(0, self.lit - height // 2) if height else 0, animate=False, force=True)

    def _rows(self, width: int, roles: Roles) -> list[Row]:
        rows: list[Row] = []
        for at, problem in enumerate(self._problems):
            if at == self._at:
                self.lit = len(rows)
            words = roles.strong if at == self._at else roles.normal
            rows += wrap([("! ", roles.error), (str(problem), words)], width, indent=2)
        return rows


class ProblemsScreen(PageScreen):
    """Lists problems, of which there is at least one; returns the one to open, if the user chose one."""

    panel: ProblemsPanel
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, "open", show=False, priority=True) for key in ("enter", "e")
    ]

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("problems", lambda _width, _roles: [])
        self.panel = ProblemsPanel(problems)

    def action_open(self) -> None:
        self.dismiss(self.panel.selected)


class QuestionPanel(LinesPanel, panel="feed", words=""):
    """The question with its two answers, one of them selected. A long question scrolls above the answers."""

    def __init__(self, title: str, question: str, answer: str) -> None:
        super().__init__(id="confirm")
        self._title = title
        self._question = question
        self._answer = answer
        self.yes = False

    def first_frame(self) -> None:
        self.set_frame(self._title, CHOICES)

    def summarise(self) -> None:
        """Names the keys that scroll if the question does not fit."""
        is_long = self.virtual_size.height > self.size.height
        self.set_frame(self._title, "pgdn reads on · ← → · enter · esc cancels" if is_long else CHOICES)

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
