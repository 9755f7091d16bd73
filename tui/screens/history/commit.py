"""One commit: its message, its moment, the conversations that it names, and the files that it touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style

from tui.kit.drawn_rows import FACT, DrawnRows
from tui.render.draw import Row, clip_start, labelled, wrap
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.render.safe import visible_lines
from tui.screens.history.commits import FLAG, TimeRow, kind_style, minute

if TYPE_CHECKING:
    from engine.history.model import ChangedFile

CHOSEN = "▸"
MOST_FILES = 2_000
"""Files that are listed."""
_LABEL = 9
_TALKS = -2
"""The number of the row of the first conversation; that of the next one is one less."""
_MOST_TALKS = 20
_MOST_LINES = 500
_TOLD = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "T": "another kind of file"}


@dataclass(frozen=True, slots=True)
class CommitView:
    """The selected commit."""

    item: TimeRow
    files: tuple[ChangedFile, ...] | None
    """``None`` while they are looked up."""
    chosen: str
    """The path of the file that is shown beside it."""
    problem: str = ""


def letter_style(letter: str, roles: Roles) -> Style:
    """The colour of what became of a file."""
    return {"A": roles.active, "D": roles.error}.get(letter, roles.gate)


def draw_commit(view: CommitView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws a commit: rows, each with the number of the file or conversation it stands for, or ``FACT``."""
    entry, kind = view.item.entry, view.item.entry.kind
    head = [(kind, kind_style(kind, roles)), ("  ", roles.normal)] if kind != "other" else []
    rows = [(row, FACT) for row in wrap([*head, (entry.title or "(no subject)", roles.strong)], width)]
    at = f"{minute(entry.at)}  {entry.author}"
    rows += [(row, FACT) for row in labelled("at", at, width, _LABEL, roles.normal, tone=roles.muted)]
    rows.append((Row().fit("commit", _LABEL, roles.muted).add(entry.revision, roles.normal).cut(width), FACT))
    for tag in view.item.tags:
        rows.append((Row().fit("snapshot", _LABEL, roles.muted).add(f"{FLAG} {tag}", roles.gate), FACT))
    for number, path in enumerate(entry.sessions[:_MOST_TALKS]):
        label = "" if number else "from"
        talk = clip_start(path, max(8, width - _LABEL))
        rows.append((Row().fit(label, _LABEL, roles.muted).add(talk, roles.tier2), _TALKS - number))
    if len(entry.sessions) > _MOST_TALKS:
        more = f"and {plural(len(entry.sessions) - _MOST_TALKS, 'other')}"
        rows.append((Row().gap(_LABEL).add(more, roles.muted), FACT))
    rows += [(Row(), FACT), *_files(view, width, roles)]
    lines = visible_lines(entry.body)
    if lines:
        rows += [(Row(), FACT), (Row(("message", roles.muted)), FACT)]
        rows += [(row, FACT) for line in lines[:_MOST_LINES] for row in wrap([(line, roles.normal)], width)]
        if len(lines) > _MOST_LINES:
            told = f"{_MOST_LINES} of {len(lines):,} lines shown"
            rows.append((Row((told, roles.gate)), FACT))
    return rows


def _files(view: CommitView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    if view.problem:
        return [(row, FACT) for row in wrap([("! ", roles.error), (view.problem, roles.normal)], width)]
    if view.files is None:
        return [(Row(("looking at its files …", roles.faint)), FACT)]
    if not view.files:
        what = "a merge that brought nothing of its own" if len(view.item.entry.parents) > 1 else "no files"
        return [(Row((what, roles.muted)), FACT)]
    rows = [(Row((plural(len(view.files), "file"), roles.muted)), FACT)]
    for number, file in enumerate(view.files[:MOST_FILES]):
        here = file.path == view.chosen
        row = Row((f"{CHOSEN} " if here else "  ", roles.accent))
        row.add(f"{file.letter}  ", letter_style(file.letter, roles))
        name = f"{file.earlier} → {file.path}" if file.earlier else file.path
        row.add(clip_start(name, max(8, width - row.cells)), roles.strong if here else roles.normal)
        rows.append((row, number))
    if len(view.files) > MOST_FILES:
        rows.append((Row((f"{MOST_FILES:,} of {len(view.files):,} files shown", roles.gate)), FACT))
    return rows


class CommitPanel(DrawnRows):
    """Message, moment, conversations and files; the selected file is shown beside it."""

    name_of = "commit"
    number = "2"
    words = "commit"
    always_lit = True
    signs = tuple((letter, words) for letter, words in _TOLD.items())
    view: CommitView | None = None

    def show_view(self, view: CommitView | None) -> None:
        """Shows another commit, or more about the same."""
        if view == self.view:
            return
        before, self.view = self.view, view
        same = before is not None and view is not None and before.item.revision == view.item.revision
        self.redraw(other=not same or (before is not None and before.files is None))

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        return draw_commit(self.view, width, self.roles) if self.view is not None else []

    def begins_with(self) -> int:
        """The row of the chosen file."""
        view = self.view
        files = view.files if view is not None else None
        at = next((at for at, file in enumerate(files or ()) if view and file.path == view.chosen), -1)
        return next((row for row, each in enumerate(self.items) if at >= 0 and each.line == at), 0)

    @property
    def file(self) -> ChangedFile | None:
        """The selected file."""
        files = self.view.files if self.view is not None else None
        return files[self.line] if files and 0 <= self.line < len(files) else None

    @property
    def talk(self) -> str:
        """The path of the selected conversation; otherwise that of the first one."""
        sessions = self.view.item.entry.sessions if self.view is not None else ()
        at = _TALKS - self.line
        return sessions[at] if 0 <= at < len(sessions) else sessions[0] if sessions else ""

    @property
    def on_talk(self) -> bool:
        """Whether a conversation is selected."""
        return self.line <= _TALKS

    def empty(self, width: int) -> list[Row]:
        return [Row(("no commit is selected", self.roles.faint))]

    def summarise(self) -> None:
        """The commit's name, and where the selection is longer than its row, all of it."""
        self.set_frame(self.view.item.revision[:8] if self.view is not None else "")
