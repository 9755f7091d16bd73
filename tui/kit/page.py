"""A page over a screen: help, a full explanation, a command's output."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from tui.kit import clipboard
from tui.kit.overlay import Overlay
from tui.kit.panel import KEYS_OF, LinesPanel, Motion
from tui.render.draw import Row
from tui.render.roles import Roles

Builder = Callable[[int, Roles], list[Row]]

KEYS = "esc closes · j k move · Y copies"
ACCEPT = "a"
CLOSING = ("escape", "q", "enter", "question_mark")


class Offer(NamedTuple):
    """An action a page offers after its preview."""

    words: str
    """The label behind the key, such as ``writes it``."""
    do: Callable[[], object]
    is_ready: Callable[[], bool] = lambda: True
    """Whether it can be meant: a page may open just when its key is pressed for something else."""


class PagePanel(LinesPanel):
    name_of = "feed"

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


class PageScreen(Overlay[None]):
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
