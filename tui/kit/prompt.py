"""Text inputs of the prompt: a single line, and a multi-line message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static, TextArea

from tui.render.safe import visible

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HISTORY = 200


def pasted_text(text: str) -> str:
    """Pasted text with normalised line ends and without control characters other than tabs."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


class LineInput(Input):
    """A single line, without a blinking cursor, so that an idle screen draws nothing."""

    def on_mount(self) -> None:
        self.cursor_blink = False

    def put(self, text: str) -> None:
        """Replaces the text and puts the cursor at its end."""
        self.value = text
        self.cursor_position = len(text)

    def _on_paste(self, event: events.Paste) -> None:
        """Joins pasted lines into one."""
        event.prevent_default()
        event.stop()
        self.replace(" ".join(pasted_text(event.text).split()), *self.selection)


class Composer(TextArea):
    """A multi-line message. Enter submits it; a command inserts a newline."""

    class Entered(Message):
        """Enter was pressed."""

    class Beyond(Message):
        """The cursor would leave the text upwards (-1) or downwards (1)."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def on_mount(self) -> None:
        self.cursor_blink = False

    @property
    def value(self) -> str:
        return self.text

    @value.setter
    def value(self, text: str) -> None:
        self.text = text

    def put(self, text: str) -> None:
        """Replaces the text and puts the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def break_line(self) -> None:
        self._replace_via_keyboard("\n", *self.selection)

    def render_line(self, y: int) -> Strip:
        """Draws a line to its full width, as other widgets do."""
        return super().render_line(y).extend_cell_length(self.size.width, self.rich_style)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Entered())

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        if result := self._replace_via_keyboard(pasted_text(event.text), *self.selection):
            self.move_cursor(result.end_location)

    def action_cursor_up(self, select: bool = False) -> None:
        if select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        else:
            self.post_message(self.Beyond(-1))

    def action_cursor_down(self, select: bool = False) -> None:
        if select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        else:
            self.post_message(self.Beyond(1))


Mode = Literal[
    "try",
    "filter",
    "command",
    "write",
    "search",
    "preset",
    "reword",
    "number",
    "when",
    "snapshot",
    "wording",
    "often",
    "export",
    "where",
    "pattern",
    "setting",
]


class _Words(NamedTuple):
    """A mode's texts: frame title, sign before the input, placeholder, and keys while focused."""

    title: str
    sign: str
    hint: str
    below: str


_MODES: dict[Mode, _Words] = {
    "try": _Words(
        "try a message", "▸", "i, then type a message to see what would fire",
        "enter keeps it · ctrl+j new line · ctrl+s sends it · esc follows the feed again",
    ),
    "filter": _Words("filter", "/", "words to look for", "enter keeps it · esc shows all"),
    "command": _Words(
        "command line", ":", "trace TEXT · topics check · doctor · search QUERY",
        "tab completes it · enter runs it · esc cancels",
    ),
    "write": _Words("write", "▸", "a file in scratch/", "enter writes it · esc cancels"),
    "search": _Words(
        "search", "/", "words, names, numbers or whole sentences", "enter goes to the results · esc cancels"
    ),
    "preset": _Words(
        "add to preset", "+", "its name; a new name creates a preset", "enter adds it · esc cancels"
    ),
    "number": _Words(
        "type", "#", "the number of conversations", "enter moves them · esc keeps them"
    ),
    "when": _Words(
        "find when this was learned:", "?", "a name, a number, or a few words",
        "enter goes to the commit and line · esc cancels",
    ),
    "snapshot": _Words(
        "snapshot of", "⚑", "its name; before/NAME for one before a major change",
        "enter creates it · esc cancels",
    ),
    "reword": _Words(
        "accept with your wording:", "▸", "one line, as it will appear in the file",
        "enter accepts it · esc leaves it pending",
    ),
    "wording": _Words(
        "your rule:", "▸", "one line, as agents will be told it",
        "enter puts it in force · esc cancels",
    ),
    "often": _Words(
        "accept what you said in at least this many sessions:", "≥", "a number",
        "enter accepts them · esc cancels",
    ),
    "export": _Words(
        "export accepted rules to:", "▸", "a project's CLAUDE.md or AGENTS.md, or ~/.claude/CLAUDE.md",
        "enter shows a preview · esc cancels",
    ),
    "where": _Words(
        "where the rule applies:", "▸", "project=gauges agent=codex tool=Bash path=tests/,*.tsx",
        "enter saves it · empty means everywhere · esc cancels",
    ),
    "setting": _Words(
        "try a setting:", "▸", "hooks.past_sessions=off",
        "enter plays the past with it · empty: as it is · esc cancels",
    ),
    "pattern": _Words(
        "pattern of a violation:", "▸", "a regular expression, such as \\bTODO\\b",
        "enter shows a preview · esc cancels",
    ),
}  # fmt: skip


class PromptLine(Horizontal):
    """The prompt in one of its modes; each mode has its own input history."""

    class _Typed(Message):
        def __init__(self, mode: Mode, value: str) -> None:
            super().__init__()
            self.mode = mode
            self.value = value

    class Edited(_Typed):
        """The text changed."""

    class Entered(_Typed):
        """Enter was pressed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mode: Mode = "try"
        self._history: dict[Mode, list[str]] = {mode: [] for mode in _MODES}
        self._at = 0
        self._unsent = ""
        self._reminder: Content | None = None

    def compose(self) -> ComposeResult:
        """A sign, and a multi-line and a single-line input, of which a mode uses one."""
        yield Static(id="prompt-sign", markup=False)
        yield Composer(id="prompt-composer", compact=True, highlight_cursor_line=False)
        yield LineInput(id="prompt-input", compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        self.enter_mode("try")

    @property
    def input(self) -> Composer | LineInput:
        """The input the current mode uses."""
        return self.query_one(Composer) if self.mode == "try" else self.line

    @property
    def line(self) -> LineInput:
        return self.query_one(LineInput)

    def enter_mode(self, mode: Mode, *, value: str = "", about: str = "") -> None:
        """Switches the mode.

        Args:
            about: What the input applies to, such as the panel being filtered.
        """
        self.mode = mode
        self._at = len(self._history[mode])
        _title, sign, hint, _below = _MODES[mode]
        self.tell(about)
        self.query_one("#prompt-sign", Static).update(sign)
        self.input.placeholder = hint
        with self.prevent(Input.Changed, TextArea.Changed):
            self.input.put(value)
        for each in (self.query_one(Composer), self.line):
            each.display = each is self.input
        self._hint()

    def tell(self, about: str) -> None:
        self.border_title = Content(f"{_MODES[self.mode].title} {visible(about)}".rstrip())

    def remind(self, reminders: Mapping[str, str]) -> None:
        """Shows reminders by their keys at the lower edge while the input is not focused."""
        pieces = [
            Content.assemble((f"{key} ", "$accent"), (visible(text), "$muted"))
            for key, text in reminders.items()
        ]
        found = Content("   ").join(pieces) if pieces else None
        if found != self._reminder:
            self._reminder = found
            self._hint()

    def _hint(self) -> None:
        has_focus = self.input.has_focus
        self.border_subtitle = Content(_MODES[self.mode].below) if has_focus else self._reminder

    def on_descendant_focus(self) -> None:
        self._hint()

    def on_descendant_blur(self) -> None:
        self._hint()

    def on_key(self, event: Key) -> None:
        """Browses the input history with up and down in a single line."""
        if event.key in ("up", "down") and self.input is self.line:
            event.stop()
            self._recall(-1 if event.key == "up" else 1)

    @on(Composer.Beyond)
    def _beyond(self, beyond: Composer.Beyond) -> None:
        beyond.stop()
        self._recall(beyond.step)

    def _recall(self, step: int) -> None:
        history = self._history[self.mode]
        at = max(0, min(len(history), self._at + step))
        if at == self._at:
            return
        if self._at == len(history):
            self._unsent = self.input.value
        self._at = at
        self.input.put(history[at] if at < len(history) else self._unsent)

    @on(Input.Changed)
    def _edited(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Edited(self.mode, event.value))

    @on(TextArea.Changed)
    def _written(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Edited(self.mode, event.text_area.text))

    @on(Input.Submitted)
    @on(Composer.Entered)
    def _entered(self, event: Message) -> None:
        event.stop()
        value = self.input.value
        self.remember(value)
        self.post_message(self.Entered(self.mode, value))

    def remember(self, value: str) -> None:
        """Adds to the input history of the mode."""
        history = self._history[self.mode]
        if value.strip() and (not history or history[-1] != value):
            history.append(value)
            del history[:-HISTORY]
        self._at = len(history)
