"""Text inputs of the prompt: a single line, and a multi-line message."""

from __future__ import annotations

import re

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, TextArea

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
