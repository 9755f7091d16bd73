"""Where a person types: a message of several lines to try, or a line: words to filter by, a command."""

from __future__ import annotations

from typing import Literal, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from tui.kit.composer import Composer, LineInput
from tui.render.safe import visible

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
    "days",
]

HISTORY = 200


class _Words(NamedTuple):
    """What a mode says: in the frame, before the input, in an empty input, and below while typed in."""

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
        "command line", ":", "trace TEXT · topics check · doctor · search QUERY", "enter runs it · esc leaves"
    ),
    "write": _Words("write", "▸", "a file below scratch/", "enter writes it · esc leaves"),
    "search": _Words(
        "search", "/", "words, names, numbers or whole sentences", "enter goes to the results · esc leaves"
    ),
    "preset": _Words(
        "add to preset", "+", "its name; a new name makes a new preset", "enter adds it · esc leaves"
    ),
    "number": _Words(
        "type the number", "#", "how many conversations go to the trash", "enter moves them · esc keeps them"
    ),
    "when": _Words(
        "when was it learned:", "?", "a name, a number, a few words as they stood",
        "enter goes to the commit and line · esc leaves",
    ),
    "snapshot": _Words(
        "snapshot of", "⚑", "its name; before/NAME for one before a great change",
        "enter names it for good · esc leaves",
    ),
    "reword": _Words(
        "accept as you word it:", "▸", "one line, as it is to stand in the file",
        "enter accepts it so · esc leaves it waiting",
    ),
    "wording": _Words(
        "the rule in your words:", "▸", "one line, as it is to stand in prompts",
        "enter puts it in force · esc leaves all as it is",
    ),
    "often": _Words(
        "accept what you said in so many sessions or more:", "≥", "a number",
        "enter accepts them · esc leaves all as it is",
    ),
    "export": _Words(
        "export accepted rules to:", "▸", "CLAUDE.md or AGENTS.md of a project, or ~/.claude/CLAUDE.md",
        "enter shows what changes in it · esc leaves",
    ),
    "where": _Words(
        "where alone the rule holds:", "▸", "project=gauges agent=codex tool=Bash path=tests/,*.tsx",
        "enter has it hold there · nothing typed means everywhere · esc leaves",
    ),
    "pattern": _Words(
        "what breaks it:", "▸", "a regular expression, such as \\bTODO\\b",
        "enter shows what watches for it · esc leaves",
    ),
    "days": _Words(
        "rules that nobody needed for so many days:", "▸", "a number", "enter shows them · esc leaves"
    ),
}  # fmt: skip


class PromptLine(Horizontal):
    """The line, in one of its modes. What was typed in a mode is there again when it comes back."""

    class Edited(Message):
        """The text changed."""

        def __init__(self, mode: Mode, value: str) -> None:
            super().__init__()
            self.mode = mode
            self.value = value

    class Entered(Message):
        """Enter was pressed."""

        def __init__(self, mode: Mode, value: str) -> None:
            super().__init__()
            self.mode = mode
            self.value = value

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mode: Mode = "try"
        self._history: dict[Mode, list[str]] = {mode: [] for mode in _MODES}
        self._at = 0
        self._unsent = ""
        self._reminder: Content | None = None

    def compose(self) -> ComposeResult:
        """A sign, and an input for several lines and one for one; a mode uses one of them."""
        yield Static(id="prompt-sign", markup=False)
        yield Composer(id="prompt-composer", compact=True, highlight_cursor_line=False)
        yield LineInput(id="prompt-input", compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        """Shows the mode it starts in."""
        self.enter_mode("try")

    @property
    def input(self) -> Composer | LineInput:
        """The input of the mode."""
        return self.query_one(Composer) if self.mode == "try" else self.line

    @property
    def line(self) -> LineInput:
        """The input of one line."""
        return self.query_one(LineInput)

    def enter_mode(self, mode: Mode, *, value: str = "", about: str = "") -> None:
        """Becomes a line of another kind.

        Args:
            about: What it is about, e.g. the panel that is filtered.
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
        """Says in the frame what the line is about."""
        self.border_title = Content(f"{_MODES[self.mode].title} {visible(about)}".rstrip())

    def remind(self, reminder: str, key: str) -> None:
        """Says at its lower edge, while nobody types, what else there is to do, and by which key; empty for
        nothing.
        """
        pieces = ((f"{key} ", "$accent"), (visible(reminder), "$muted"))
        found = Content.assemble(*pieces) if reminder else None
        if found != self._reminder:
            self._reminder = found
            self._hint()

    def _hint(self) -> None:
        has_focus = self.input.has_focus
        self.border_subtitle = Content(_MODES[self.mode].below) if has_focus else self._reminder

    def on_descendant_focus(self) -> None:
        """Says what enter and esc do."""
        self._hint()

    def on_descendant_blur(self) -> None:
        """Is quiet again."""
        self._hint()

    def on_key(self, event: Key) -> None:
        """Up and down in a line go through what was entered before."""
        if event.key in ("up", "down") and self.input is self.line:
            event.stop()
            self._recall(-1 if event.key == "up" else 1)

    @on(Composer.Beyond)
    def _beyond(self, beyond: Composer.Beyond) -> None:
        """So do they at the ends of a message."""
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
        """Keeps what was entered for the keys that go through it."""
        history = self._history[self.mode]
        if value.strip() and (not history or history[-1] != value):
            history.append(value)
            del history[:-HISTORY]
        self._at = len(history)
