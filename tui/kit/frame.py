"""A screen whose keys, footer, help and palette come from one catalog of commands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.events import DescendantFocus, Key, Resize
from textual.screen import Screen

from tui.kit.bars import Footer, Header, QuestionBar, TooSmall
from tui.kit.command import Catalog, Command
from tui.kit.panel import Panel
from tui.kit.prompt import Mode, PromptLine
from tui.render.safe import visible

if TYPE_CHECKING:
    from engine.errors import Problem
    from tui.kit.bench import Bench

LETTERS_S = 1.0
"""Maximum seconds a key waits for letters typed before it."""
SMALLEST = (60, 16)
"""Minimum columns and lines of the terminal."""
UNSEEN = frozenset({"quit", "back", "suspend"})
"""The commands available while the terminal is too small to show what others act on."""


class Frame(Screen[None], inherit_bindings=False):
    """The base of the workbench and the screens above it.

    A subclass defines its panels in ``body``, which of them are visible in ``in_view``, their places and
    content in ``lay_out`` and ``show``, and the name of its prompt in ``line``. Its commands depend on it.

    Args:
        used: The panel focused first.
    """

    area: ClassVar[str]
    """The id of the panels' container."""
    line_passes: ClassVar[bool] = False
    """Whether the prompt is visible only while focused."""
    bench: Bench
    """The workbench, which may be this screen."""
    catalog: ClassVar[Catalog]
    prompt: PromptLine

    def __init__(self, bench: Bench, used: str) -> None:
        super().__init__()
        self.bench = bench
        self.panel_in_use = used
        self.panel_before = used
        self.zoomed: str | None = None

    # Defined by screens

    def body(self) -> ComposeResult:
        """The widgets between the header and the gate's question."""
        raise NotImplementedError

    def below(self) -> ComposeResult:
        """The widgets between the gate's question and the footer."""
        yield from ()

    @property
    def panels(self) -> tuple[str, ...]:
        """The panels in the order of their numbers."""
        return self.catalog.panels

    @property
    def line(self) -> str:
        """The current name of the focused prompt; by default its only one."""
        return next(iter(self.catalog.lines), "")

    def in_view(self) -> tuple[str, ...]:
        """The visible panels, in order."""
        return self.panels if self.zoomed is None else (self.zoomed,)

    def offered(self) -> tuple[str, ...]:
        """The panels shown now if there is room for all."""
        return self.panels

    def home(self) -> str:
        """The panel that gets the focus when the focused one is hidden."""
        return self.in_view()[0]

    def lay_out(self) -> None:
        """Places the panels for the current size."""
        raise NotImplementedError

    def show(self) -> None:
        """Passes the state to the panels, which redraw only what changed."""

    def panel_changed(self) -> None:
        """The focus moved to another panel."""

    # What commands depend on

    @property
    def question(self) -> bool:
        """Whether the gate is waiting for an answer."""
        return bool(self.bench.questions.open)

    @property
    def read_only(self) -> bool:
        return self.bench.status is not None and self.bench.status.read_only

    @property
    def rows(self) -> int:
        """Rows of the focused list."""
        return 0 if self.in_line else self.panel_named(self.panel_in_use).row_count

    @property
    def found_problems(self) -> Sequence[Problem]:
        """Problems found in files."""
        return self.bench.status.problems if self.bench.status is not None else ()

    @property
    def file(self) -> str:
        """The file that the editor would open, relative to the workspace; empty if there is none."""
        return ""

    # Layout

    def compose(self) -> ComposeResult:
        self.prompt = PromptLine(id="prompt")
        yield Header(self.bench.engine.workspace.root, id="header")
        yield from self.body()
        yield QuestionBar(id="question")
        yield from self.below()
        yield Footer(id="footer")
        yield TooSmall(id="too-small")

    @property
    def gone(self) -> bool:
        """Whether the screen was closed or is being closed; late results are ignored."""
        return self not in self.app.screen_stack or Footer not in map(type, self.children)

    def lay_out_frame(self, classes: Mapping[str, bool], *others: str) -> None:
        """Sets the classes for the current size; if it is too small, shows only a note.

        Args:
            classes: The screen's classes, and whether each applies.
            others: Widgets hidden by the note, besides header, panels and footer.
        """
        small = self.too_small
        self.update_classes(classes)  # all at once: each change restyles the whole screen
        self.query_one(TooSmall).display = small
        for name in ("#header", f"#{self.area}", *others, "#footer"):
            self.query_one(name).display = not small

    @property
    def too_small(self) -> bool:
        """Whether the terminal is too small to show anything but a note."""
        size = self.app.size
        return size.width < SMALLEST[0] or size.height < SMALLEST[1]

    def on_resize(self, _event: Resize) -> None:
        self.lay_out()
        self.show()
        self.call_after_refresh(self.keep_focus)

    def keep_focus(self) -> None:
        """Moves the focus to a visible panel if necessary."""
        if not self.query_one(f"#{self.area}").display:
            return
        lost = not self.in_line and self.panel_in_use not in self.in_view()
        if lost or self.focused is None:
            self.focus_panel(self.home() if lost else self.panel_in_use)

    def panel_named(self, name: str) -> Panel:
        return self.query_one(f"#{name}", Panel)

    def update_footer(self) -> None:
        if self.is_mounted and not self.gone:
            self.query_one(Footer).show(self.catalog.footer(self))
            self.query_one(QuestionBar).answer_by(letters=self.catalog.answers_by_letter(self))

    def say(self, text: str, *, error: bool = False) -> None:
        """Shows a notification."""
        self.notify(visible(text, 400), severity="error" if error else "information", markup=False)

    # Focus

    @property
    def in_line(self) -> bool:
        """Whether the prompt is focused."""
        return self.panel_in_use in self.catalog.lines

    def focus_panel(self, name: str) -> None:
        """Focuses a panel immediately, as the next key may be queued already."""
        self._use(name)
        self.set_focus(self.prompt.input if self.in_line else self.panel_named(name))
        self.update_footer()

    def turn_to(self, name: str) -> None:
        """Focuses the panel of a late result; while the user is typing, only once they leave the prompt."""
        if self.in_line:
            self.panel_before = name
        else:
            self.focus_panel(name)

    def _use(self, name: str) -> None:
        if name != self.panel_in_use:
            self.panel_in_use = name
            self.panel_changed()

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        # The event may be outdated: keys can move the focus before it arrives.
        holder = self.focused
        if isinstance(holder, Panel):
            self._use(next((name for name in self.panels if name == holder.name_of), self.panel_in_use))
        elif holder is not None:
            self._use(self.line)
        self.update_footer()

    def open_line(self, name: str, mode: Mode, value: str = "", about: str = "") -> None:
        """Shows and focuses the prompt under a name.

        Args:
            value: The initial text.
        """
        if not self.in_line:
            self.panel_before = self.panel_in_use
        self.prompt.enter_mode(mode, value=value, about=about)
        if self.line_passes:
            self.prompt.display = True
            self.lay_out()
        self.focus_panel(name)

    def leave_line(self) -> None:
        """Returns the focus to the panel that had it before."""
        self.focus_panel(self.panel_before)
        if self.line_passes:
            self.prompt.display = False
            self.lay_out()

    # Keys and commands

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key is handled here; otherwise it goes to the prompt.

        Keys are checked before any widget gets them, so letters typed quickly after the key that opens the
        prompt go to the prompt, and never act on the previously focused panel.
        """
        if action != "press":
            return super().check_action(action, parameters)
        key = str(parameters[0])
        return self.catalog.means(key, self) or self.elsewhere(key) is not None

    async def action_press(self, key: str) -> None:
        """Performs the command of a key, or says why it is unavailable."""
        if self.in_line:
            await self._letters_arrived()
        command = self.catalog.resolve(key, self)
        if self.too_small and (command is None or command.name not in UNSEEN):
            return
        if command is not None:
            self.perform(command)
        elif other := self.elsewhere(key):
            self.say(self.only_in(other))

    async def _letters_arrived(self) -> None:
        """Waits until the prompt has received the letters typed before this key."""
        arrived = asyncio.Event()
        if self.prompt.input.call_later(arrived.set):
            with contextlib.suppress(TimeoutError):  # if the prompt is removed in the meantime
                await asyncio.wait_for(arrived.wait(), LETTERS_S)

    def on_key(self, event: Key) -> None:
        """Says that a key does nothing; what is typed goes to the prompt, which takes it."""
        if event.is_printable and not self.in_line and not self.too_small:
            event.stop()
            self.say(f"{event.character} does nothing here · ? shows the keys")

    def elsewhere(self, key: str) -> Command | None:
        """What a key does in another panel."""
        if self.in_line:
            return None
        offered = self.offered()
        return next(
            (
                each
                for each in self.catalog
                if key in each.keys and each.when is None and not each.panels.isdisjoint(offered)
            ),
            None,
        )

    def only_in(self, command: Command) -> str:
        """Which panels a command is for."""
        found = [self.panel_named(name) for name in self.offered() if name in command.panels]
        titles = dict.fromkeys(f"{each.number} {each.words or each.name_of}".strip() for each in found)
        return "only available in: " + ", ".join(titles or sorted(command.panels))

    def key_of(self, name: str) -> str:
        """The displayed key of a command."""
        return self.catalog[name].shown_keys[0]

    def perform(self, command: Command) -> None:
        """Performs a command, or says why it is unavailable."""
        refusal = command.refusal(self)
        if refusal:
            self.say(refusal)
        else:
            getattr(self, command.name)()

    def do(self, command: Command) -> None:
        """Performs a command chosen in the palette."""
        if self.in_line and not command.applies(self):
            self.leave_line()
        if command.applies(self):
            self.perform(command)
        else:
            self.say(self.only_in(command))
