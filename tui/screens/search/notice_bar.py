"""The line that says what to know about the search index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.kit.bars import Bar
from tui.render.draw import Row, clip
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.search.reports import IndexStatus


class NoticeBar(Bar):
    """One line, there only while there is something to say."""

    words, urgent = "", False

    def show(self, status: IndexStatus | None, *, read_only: bool) -> None:
        """Says what there is to say about the index."""
        said = notice(status, read_only=read_only)
        if said != (self.words, self.urgent):
            self.words, self.urgent = said
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        roles = self.roles
        sign, tone = ("! ", roles.gate) if self.urgent else ("· ", roles.muted)
        return [Row((sign, tone), (clip(self.words, width - 2), tone))]


def notice(status: IndexStatus | None, *, read_only: bool = False) -> tuple[str, bool]:
    """What to know about the index, and whether the results suffer from it; empty where all is well."""
    if status is None:
        return "", False
    if status.state != "ready":
        why = first_line(status.why) or "the search index cannot be used"
        if status.error:
            return f"{why}, and cannot be made anew: {first_line(status.error)} · files are searched", True
        coming = " until it is back" if not read_only else ""
        return f"{why}: the files themselves are searched{coming}, by words alone", True
    if status.without_vectors:
        return f"by words alone: {first_line(status.without_vectors)}", False
    if status.vectors_coming:
        return f"by meaning in part: {first_line(status.vectors_coming)}", False
    return "", False
