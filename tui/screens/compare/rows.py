"""The lists of the compare screen: branches and snapshots, and the files that differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row, clip, clip_start
from tui.render.figures import count, day, plural
from tui.render.safe import first_line
from tui.screens.history.commit import letter_style
from tui.screens.history.shown import counts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.engine import Engine

LEFT, RIGHT = "◂", "▸"
OVERVIEW = "Σ"
MAX_SNAPSHOTS = 500


@dataclass(frozen=True, slots=True)
class SideItem:
    """A branch or snapshot."""

    name: str
    revision: str
    detail: str = ""
    """Its age, and how many commits it is ahead."""
    branch: bool = False
    """It can be merged."""
    sides: str = ""
    """``◂`` for the left side, ``▸`` for the right side, or both."""
    recall: str = ""
    """The share of expectations that the probes found; empty if they were not run."""


@dataclass(frozen=True, slots=True)
class FileItem:
    """A file that differs; without a path, the overview of all files."""

    path: str = ""
    letter: str = ""
    added: int = 0
    removed: int = 0
    binary: bool = False


def read_sides(engine: Engine) -> tuple[SideItem, ...]:
    """The current branch, then branches and snapshots, newest first."""
    history, now = engine.history, engine.clock()
    head = SideItem(engine.repository.branch() or "HEAD", history.head(), "now")
    branches = (
        SideItem(
            each.name,
            each.revision,
            f"{(now - each.at).days} d +{count(each.ahead)}{' due' if each.due else ''}",
            branch=True,
        )
        for each in history.branches()
    )
    tags = (SideItem(each.tag, each.revision, day(each.at)) for each in history.snapshots()[:MAX_SNAPSHOTS])
    return (head, *branches, *tags)


class SidesPanel(KeyedRows[SideItem]):
    """A line for each branch or snapshot that can be compared."""

    name_of = "sides"
    number = "1"
    words = "compare"
    always_lit = True
    signs = ((LEFT, "the left side"), (RIGHT, "the right side"))

    def key(self, item: SideItem) -> str:
        return item.name

    def show_sides(self, items: Sequence[SideItem], note: Note, about: object) -> None:
        self.show_items(items, note, about)
        self.set_frame("branches and snapshots")

    def row(self, item: SideItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        row = Row().fit(item.sides, 3, roles.accent)
        detail = Row((" ".join(filter(None, (item.recall, item.detail))), roles.muted))
        name = clip(first_line(item.name), max(8, width - row.cells - detail.cells - 1))
        return row.add(name, roles.strong if item.sides else roles.normal).right(detail, width).cut(width)

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.name} {item.revision}" if item is not None else ""


class FilesPanel(KeyedRows[FileItem]):
    """The overview, then a line for each file that differs."""

    name_of = "files"
    number = "2"
    words = "differences"
    always_lit = True

    def key(self, item: FileItem) -> str:
        return item.path

    def show_files(self, items: Sequence[FileItem], note: Note, about: object) -> None:
        self.show_items(items, note, about)
        self.set_frame(plural(len(items) - 1, "file") if items else "")

    def row(self, item: FileItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        if not item.path:
            return Row((f"{OVERVIEW}  ", roles.accent), ("lines, recall", roles.normal)).cut(width)
        right = Row(
            *([("binary", roles.muted)] if item.binary else counts_of(item.added, item.removed, roles))
        )
        row = Row((f"{item.letter}  ", letter_style(item.letter, roles)))
        path = clip_start(item.path, max(8, width - row.cells - right.cells - 1))
        return row.add(path, roles.strong if chosen else roles.normal).right(right, width).cut(width)

    def selected_text(self) -> str:
        return self.selected.path if self.selected is not None else ""
