"""One commit: message, time, the conversations it came from, and the files it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style

from tui.kit.selectable_page import FACT, SelectablePage
from tui.render.draw import Row, clip_start, labelled, wrap
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.render.safe import visible_lines
from tui.screens.history.commits import FLAG, CommitRow, kind_style, minute

if TYPE_CHECKING:
    from engine.history.model import ChangedFile

CHOSEN = "▸"
MAX_FILES = 2_000
"""Files listed per commit."""
_LABEL = 9
_CONVERSATIONS = -2
"""Row number of the first conversation; later ones count downwards."""
_MAX_CONVERSATIONS = 20
_MAX_LINES = 500
_CHANGES = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "T": "type changed"}


@dataclass(frozen=True, slots=True)
class CommitView:
    item: CommitRow
    files: tuple[ChangedFile, ...] | None
    """``None`` while loading."""
    chosen: str
    """The path of the file shown next to the commit."""
    problem: str = ""


def letter_style(letter: str, roles: Roles) -> Style:
    return {"A": roles.active, "D": roles.error}.get(letter, roles.gate)


def draw_commit(view: CommitView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws a commit: rows, each with the number of the file or conversation it is about, or ``FACT``."""
    entry, kind = view.item.entry, view.item.entry.kind
    head = [(kind, kind_style(kind, roles)), ("  ", roles.normal)] if kind != "other" else []
    rows = [(row, FACT) for row in wrap([*head, (entry.title or "(no subject)", roles.strong)], width)]
    at = f"{minute(entry.at)}  {entry.author}"
    rows += [(row, FACT) for row in labelled("at", at, width, _LABEL, roles.normal, tone=roles.muted)]
    rows.append((Row().fit("commit", _LABEL, roles.muted).add(entry.revision, roles.normal).cut(width), FACT))
    for tag in view.item.tags:
        rows.append((Row().fit("snapshot", _LABEL, roles.muted).add(f"{FLAG} {tag}", roles.gate), FACT))
    for number, path in enumerate(entry.sessions[:_MAX_CONVERSATIONS]):
        label = "" if number else "from"
        name = clip_start(path, max(8, width - _LABEL))
        rows.append((Row().fit(label, _LABEL, roles.muted).add(name, roles.tier2), _CONVERSATIONS - number))
    if len(entry.sessions) > _MAX_CONVERSATIONS:
        more = f"and {plural(len(entry.sessions) - _MAX_CONVERSATIONS, 'other')}"
        rows.append((Row().gap(_LABEL).add(more, roles.muted), FACT))
    rows += [(Row(), FACT), *_files(view, width, roles)]
    lines = visible_lines(entry.body)
    if lines:
        rows += [(Row(), FACT), (Row(("message", roles.muted)), FACT)]
        rows += [(row, FACT) for line in lines[:_MAX_LINES] for row in wrap([(line, roles.normal)], width)]
        if len(lines) > _MAX_LINES:
            rows.append((Row((f"{_MAX_LINES} of {len(lines):,} lines shown", roles.gate)), FACT))
    return rows


def _files(view: CommitView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    if view.problem:
        return [(row, FACT) for row in wrap([("! ", roles.error), (view.problem, roles.normal)], width)]
    if view.files is None:
        return [(Row(("loading files …", roles.faint)), FACT)]
    if not view.files:
        note = "a merge without changes of its own" if len(view.item.entry.parents) > 1 else "no files"
        return [(Row((note, roles.muted)), FACT)]
    rows = [(Row((plural(len(view.files), "file"), roles.muted)), FACT)]
    for number, file in enumerate(view.files[:MAX_FILES]):
        chosen = file.path == view.chosen
        row = Row((f"{CHOSEN} " if chosen else "  ", roles.accent))
        row.add(f"{file.letter}  ", letter_style(file.letter, roles))
        name = f"{file.earlier} → {file.path}" if file.earlier else file.path
        row.add(clip_start(name, max(8, width - row.cells)), roles.strong if chosen else roles.normal)
        rows.append((row, number))
    if len(view.files) > MAX_FILES:
        rows.append((Row((f"{MAX_FILES:,} of {len(view.files):,} files shown", roles.gate)), FACT))
    return rows


class CommitPanel(SelectablePage):
    """Message, time, conversations and files; the selected file is shown next to it."""

    name_of = "commit"
    number = "2"
    words = "commit"
    always_lit = True
    signs = tuple((letter, words) for letter, words in _CHANGES.items())
    view: CommitView | None = None

    def show_view(self, view: CommitView | None) -> None:
        """Shows another commit, or more of the same one."""
        if view == self.view:
            return
        before, self.view = self.view, view
        same = before is not None and view is not None and before.item.revision == view.item.revision
        self.redraw(other=not same or (before is not None and before.files is None))

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        return draw_commit(self.view, width, self.roles) if self.view is not None else []

    def initial_row(self) -> int:
        view = self.view
        files = view.files if view is not None else None
        at = next((at for at, file in enumerate(files or ()) if view and file.path == view.chosen), -1)
        return next((row for row, each in enumerate(self.items) if at >= 0 and each.line == at), 0)

    @property
    def file(self) -> ChangedFile | None:
        files = self.view.files if self.view is not None else None
        return files[self.line] if files and 0 <= self.line < len(files) else None

    @property
    def conversation(self) -> str:
        """The path of the selected conversation, or of the first one."""
        sessions = self.view.item.entry.sessions if self.view is not None else ()
        at = _CONVERSATIONS - self.line
        return sessions[at] if 0 <= at < len(sessions) else sessions[0] if sessions else ""

    @property
    def on_conversation(self) -> bool:
        return self.line <= _CONVERSATIONS

    def empty(self, width: int) -> list[Row]:
        return [Row(("no commit is selected", self.roles.faint))]

    def summarise(self) -> None:
        self.set_frame(self.view.item.revision[:8] if self.view is not None else "")
