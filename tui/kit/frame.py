"""A screen whose keys, footer, help and palette come from one catalogue of commands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.events import DescendantFocus, Resize
from textual.screen import Screen

from tui.kit.bars import Footer, Header, QuestionBar, TooSmall
from tui.kit.command import Catalog, Command, Situation
from tui.kit.panel import Panel
from tui.kit.prompt import Mode, PromptLine
from tui.render.safe import visible

if TYPE_CHECKING:
    from tui.kit.bench import Bench

AnySituation = TypeVar("AnySituation", bound=Situation)

LETTERS_S = 1.0
"""Seconds, at most, that a key waits for the letters typed before it."""
SMALLEST = (60, 16)
"""Columns and lines below which a screen only says what size it needs."""


class Frame(Screen[None], inherit_bindings=False):
    """What the workbench and the screens over it have in common.

    A screen says in ``body`` what stands on it, in ``in_view`` which panels can be seen, in ``lay_out`` and
    ``show`` where they are and what is in them, in ``line`` what its line is called, and in ``situation``
    what its commands need to know. What its commands do is in its ``actions``.

    Args:
        used: What has the keys to begin with.
    """

    area: ClassVar[str]
    """The id of what holds the panels."""
    line_passes: ClassVar[bool] = False
    """Whether the line is there only while it is typed in."""
    bench: Bench
    """The workbench; its own is itself."""
    catalog: ClassVar[Catalog]
    """What can be done here."""
    prompt: PromptLine
    """The line to type in."""

    def __init__(self, bench: Bench, used: str) -> None:
        super().__init__()
        self.bench = bench
        self.panel_in_use = used
        self.panel_before = used
        self.zoomed: str | None = None

    # What a screen says of itself

    def body(self) -> ComposeResult:
        """What stands between header and gate's question; the line as well, where it has its place there."""
        raise AssertionError(f"{type(self).__name__} has no panels")

    def below(self) -> ComposeResult:
        """What stands between the gate's question and the footer."""
        yield from ()

    @property
    def panels(self) -> tuple[str, ...]:
        """The panels in the order of their numbers; the line is none of them."""
        return self.catalog.panels

    @property
    def line(self) -> str:
        """The name that the line has while it is typed in."""
        raise AssertionError(f"{type(self).__name__} has no line")

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        return self.panels if self.zoomed is None else (self.zoomed,)

    def home(self) -> str:
        """The panel that gets the keys when the one that had them is out of view."""
        return self.in_view()[0]

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        raise AssertionError(f"{type(self).__name__} has no layout")

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""

    def panel_changed(self) -> None:
        """Another panel has the keys."""

    @property
    def glance(self) -> Situation:
        """As much of the situation as decides whether a key means anything; it is asked for at every key."""
        return Situation(panel=self.panel_in_use, question=bool(self.bench.questions.open))

    @property
    def situation(self) -> Situation:
        """What the keys depend on; a screen whose commands need to know more gives its own kind."""
        return self.situated(Situation)

    def situated(self, kind: type[AnySituation], **fields: Any) -> AnySituation:
        """A situation of a kind: what every screen knows, and fields of its own."""
        status = self.bench.status
        known: dict[str, Any] = {
            "panel": self.panel_in_use,
            "question": bool(self.bench.questions.open),
            "zoomed": self.zoomed is not None,
            "read_only": status is not None and status.read_only,
            "rows": 0 if self.in_line else self.panel_named(self.panel_in_use).row_count,
            "problems": len(status.problems) if status is not None else 0,
        }
        return kind(**known, **fields)

    # What is on it

    def compose(self) -> ComposeResult:
        """Header, panels, the gate's question, footer."""
        self.prompt = PromptLine(id="prompt")
        yield Header(self.bench.engine.workspace.root, id="header")
        yield from self.body()
        yield QuestionBar(id="question")
        yield from self.below()
        yield Footer(id="footer")
        yield TooSmall(id="too-small")

    @property
    def gone(self) -> bool:
        """Whether it was left, or is being taken down; what comes in after that is ignored."""
        return self not in self.app.screen_stack or not self.query(Footer)

    def lay_out_frame(self, classes: Mapping[str, bool], *others: str) -> None:
        """Sets the classes for the present size. Where it is too small nothing is left but a note.

        Args:
            classes: Those of the screen, and whether each applies.
            others: What else gives way to the note beside header, panels and footer.
        """
        size = self.app.size
        small = size.width < SMALLEST[0] or size.height < SMALLEST[1]
        for name, wanted in classes.items():
            self.set_class(wanted, name)
        self.query_one(TooSmall).display = small
        for name in ("#header", f"#{self.area}", *others, "#footer"):
            self.query_one(name).display = not small

    def on_resize(self, _event: Resize) -> None:
        """Another size may have room for more, or less."""
        self.lay_out()
        self.show()
        self.call_after_refresh(self.keep_focus)

    def keep_focus(self) -> None:
        """Gives the keys to a panel that can be seen."""
        if not self.query_one(f"#{self.area}").display:
            return
        lost = not self.in_line and self.panel_in_use not in self.in_view()
        if lost or self.focused is None:
            self.focus_panel(self.home() if lost else self.panel_in_use)

    def panel_named(self, name: str) -> Panel:
        """A panel by its name."""
        return self.query_one(f"#{name}", Panel)

    def update_footer(self) -> None:
        """Shows the keys that matter now."""
        if self.is_mounted and not self.gone:
            situation = self.situation
            self.query_one(Footer).show(self.catalog.footer(situation))
            self.query_one(QuestionBar).answer_by(letters=self.catalog.answers_by_letter(situation))

    def say(self, text: str, *, error: bool = False) -> None:
        """Tells the person something in passing."""
        self.notify(visible(text, 400), severity="error" if error else "information", markup=False)

    # What has the keys

    @property
    def in_line(self) -> bool:
        """Whether the line has the keys."""
        return self.panel_in_use in self.catalog.lines

    def focus_panel(self, name: str) -> None:
        """Gives a panel the keys, at once: the next key typed may be there already."""
        self._use(name)
        self.set_focus(self.prompt.input if self.in_line else self.panel_named(name))
        self.update_footer()

    def _use(self, name: str) -> None:
        if name != self.panel_in_use:
            self.panel_in_use = name
            self.panel_changed()

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        # The event may be older than the focus is: keys come faster than it does.
        holder = self.focused
        if isinstance(holder, Panel):
            self._use(next((name for name in self.panels if name == holder.name_of), self.panel_in_use))
        elif holder is not None:
            self._use(self.line)
        self.update_footer()

    def open_line(self, name: str, mode: Mode, value: str = "", about: str = "") -> None:
        """Gives the line the keys, and a place where it had none.

        Args:
            name: What the line is called meanwhile.
            value: What stands in it to begin with.
        """
        if not self.in_line:
            self.panel_before = self.panel_in_use
        self.prompt.enter_mode(mode, value=value, about=about)
        if self.line_passes:
            self.prompt.display = True
            self.lay_out()
        self.focus_panel(name)

    def leave_line(self) -> None:
        """Gives the keys back to where they came from."""
        self.focus_panel(self.panel_before)
        if self.line_passes:
            self.prompt.display = False
            self.lay_out()

    # What a person does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key means something here; if not it goes to the line that is being typed.

        Keys are looked at before any widget gets them. So what is typed fast after the key that opens the
        line lands in the line, and never acts on the panel that had the keys a moment ago.
        """
        if action != "press":
            return super().check_action(action, parameters)
        return self.catalog.means(str(parameters[0]), self.glance)

    async def action_press(self, key: str) -> None:
        """A key of the catalogue was pressed: does what it means here, or says why not."""
        if self.in_line:
            await self._letters_arrived()
        situation = self.situation
        command = self.catalog.resolve(key, situation)
        if command is not None:
            self.perform(command, situation)

    async def _letters_arrived(self) -> None:
        """Waits until the line has what was typed before: a letter goes to its queue, a key is acted on."""
        there = asyncio.Event()
        if self.prompt.input.call_later(there.set):
            with contextlib.suppress(TimeoutError):  # of a line that is taken down meanwhile
                await asyncio.wait_for(there.wait(), LETTERS_S)

    def key_of(self, name: str) -> str:
        """The key of one of its commands, as a person reads it."""
        return self.catalog[name].shown_keys[0]

    def perform(self, command: Command, situation: Situation) -> None:
        """Does what a command says, or says why not."""
        refusal = command.refusal(situation)
        if refusal:
            self.say(refusal)
        else:
            getattr(self, command.name)()

    def do(self, command: Command) -> None:
        """Does a command that was chosen by name."""
        if self.in_line and not command.applies(self.situation):
            self.leave_line()
        situation = self.situation
        if command.applies(situation):
            self.perform(command, situation)
        else:
            self.say("this belongs to another panel: " + ", ".join(sorted(command.panels)))
