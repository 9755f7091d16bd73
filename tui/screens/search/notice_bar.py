"""The line that says what to know about the search index."""

from __future__ import annotations

from tui.kit.bars import Bar
from tui.render.draw import Row, clip


class NoticeBar(Bar):
    """One line, there only while there is something to say."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.words = ""
        self.urgent = False

    def show(self, words: str, *, urgent: bool) -> None:
        """Says something else; ``urgent`` where the results suffer from it."""
        if (words, urgent) != (self.words, self.urgent):
            self.words, self.urgent = words, urgent
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        """One line."""
        roles = self.roles
        sign, tone = ("! ", roles.gate) if self.urgent else ("· ", roles.muted)
        return [Row((sign, tone), (clip(self.words, width - 2), tone))]
