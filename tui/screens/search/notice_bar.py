"""A one-line notice about the state of the search index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.kit.bars import Bar
from tui.render.draw import Row, clip
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.search.reports import IndexStatus


class NoticeBar(Bar):
    """One line, hidden when there is nothing to report."""

    words, urgent = "", False

    def show(self, status: IndexStatus | None, *, read_only: bool) -> None:
        content = notice(status, read_only=read_only)
        if content != (self.words, self.urgent):
            self.words, self.urgent = content
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        roles = self.roles
        sign, tone = ("! ", roles.gate) if self.urgent else ("· ", roles.muted)
        return [Row((sign, tone), (clip(self.words, width - 2), tone))]


def notice(status: IndexStatus | None, *, read_only: bool = False) -> tuple[str, bool]:
    """The notice text and whether results are affected; empty if the index is fine."""
    if status is None:
        return "", False
    if status.state != "ready":
        reason = first_line(status.why) or "the search index cannot be used"
        if status.error:
            return f"{reason}, and rebuilding failed: {first_line(status.error)} · searching files", True
        period = "" if read_only else " until it is ready"
        return f"{reason}: searching files by keyword{period}", True
    if status.without_vectors:
        return f"keyword search only: {first_line(status.without_vectors)}", False
    if status.vectors_coming:
        return f"semantic search is incomplete: {first_line(status.vectors_coming)}", False
    return "", False
