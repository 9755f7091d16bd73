"""Blame: the commit, day and conversation behind each line of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.kit.keyed_rows import KeyedRows
from tui.render.draw import Row, clip
from tui.render.figures import count, local
from tui.render.safe import visible
from tui.screens.history.commits import conversation_name

if TYPE_CHECKING:
    from engine.history.model import Blame, BlamedLine, Entry

NAMED = 70
"""Minimum width for a conversation column."""
_CONVERSATION = 24


@dataclass(frozen=True, slots=True)
class BlameRow:
    """A line and the commit it comes from."""

    line: BlamedLine = field(hash=False)
    entry: Entry | None = field(hash=False)
    """``None`` if the line is not committed yet."""
    number: int
    first: bool
    """The previous line is from another commit."""

    @property
    def conversation(self) -> str:
        """The path of the conversation the line came from, or its name if the path is unknown."""
        return next((each.path or each.name for each in self.line.taught), "")


def blame_rows(blame: Blame) -> tuple[BlameRow, ...]:
    by_name = {each.revision: each for each in blame.commits}
    before = [""] + [each.revision for each in blame.lines]
    return tuple(
        BlameRow(line, by_name.get(line.revision), line.number, at == 0 or line.revision != before[at])
        for at, line in enumerate(blame.lines)
    )


class BlamePanel(KeyedRows[BlameRow]):
    """A row for each line; values repeated from the row above are left blank."""

    name_of = "blame"
    number = "3"
    words = "blame"
    path, banner = "", ""

    def show_blame(self, rows: tuple[BlameRow, ...], path: str, banner: str) -> None:
        other = (path, banner) != (self.path, self.banner)
        self.path, self.banner = path, banner
        self._cache.clear()
        self.show_items(rows, from_top=other)
        self.summarise()

    def key(self, item: BlameRow) -> int:
        return item.number

    def row(self, item: BlameRow, width: int, chosen: bool) -> Row:
        roles, entry = self.roles, item.entry
        row = Row().fit(item.line.revision[:7] if item.first else "", 7, roles.accent).gap()
        day = local(entry.at).strftime("%Y-%m-%d") if entry is not None else "not yet"
        row.fit(day if item.first else "", 10, roles.muted).gap()
        if width >= NAMED:
            row.fit(conversation_name(item.conversation), min(_CONVERSATION, width // 4), roles.tier2).gap()
        row.fit(str(item.number), len(str(len(self.items))), roles.faint, "right").gap()
        return row.add(clip(item.line.text, max(4, width - row.cells)), roles.normal)

    def summarise(self) -> None:
        item = self.selected
        total = f"{count(self.cursor + 1)} of {count(len(self.items))}" if item is not None else ""
        taught = conversation_name(item.conversation) if item is not None else ""
        self.set_frame(" · ".join(filter(None, (self.path, self.banner))), "  ".join(
            filter(None, (clip(taught, max(8, self.size.width - 20)), total))
        ))  # fmt: skip

    def selected_text(self) -> str:
        return visible(self.selected.line.text) if self.selected is not None else ""
