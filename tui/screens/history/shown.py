"""What stands beside a commit: a file's diff, the file as it was, a conversation, the plan of an undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.style import Style

from tui.render.draw import Piece, Row, wrap
from tui.render.figures import count, plural, sizes
from tui.render.roles import Roles
from tui.render.safe import visible, visible_lines
from tui.screens.context.text import TextPage, TextPanel, diff_lines
from tui.screens.history.commits import minute

if TYPE_CHECKING:
    from engine.history.model import Entry, FileDiff, Learned, UndoPlan

View = Literal["diff", "file", "blame", "talk", "undo"]
MOST = 2_000
"""Lines of a diff that are shown, and of an undo's for each file."""
MOST_OF_FILE = 20_000
"""Lines of a file that are shown."""
_BLOCKED = 4
"""Reasons against an undo, and files that it leaves, that are named."""
_ZEROS_IN = 8_000
Pieces = Callable[[Roles], Sequence[Sequence[Piece]]]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text to be shown, and what is said above it."""

    page: TextPage
    head: Pieces
    """Paragraphs."""
    line: int = 0
    """The line to begin with, from 0."""


class ShownPanel(TextPanel):
    """The text; what is said above it stays."""

    number = "3"
    words = ""

    def show_text(self, text: Text | None, title: str) -> None:
        """Shows a text, which its title names."""
        if text is None:
            self.show(TextPage(()), None, title)
            return

        def head(width: int, roles: Roles) -> list[Row]:
            rows = [row for pieces in text.head(roles) for row in wrap(pieces, width, indent=2)]
            return [*rows, Row(("─" * width, roles.line))] if rows else []

        self.show(text.page, head, title, line=max(0, text.line - 2))


def problem_text(problem: str) -> Text:
    """Why there is nothing to show."""
    return Text(TextPage(()), lambda roles: [[("! ", roles.error), (problem, roles.normal)]])


def note_text(note: str) -> Text:
    """What there is to say where there is nothing to show."""
    return Text(TextPage(()), lambda roles: [[(note, roles.muted)]])


def counts_of(added: int, removed: int, roles: Roles) -> list[Piece]:
    """``+3 −1``."""
    return [(f"+{count(added)} ", roles.active if added else roles.faint),
            (f"−{count(removed)}", roles.error if removed else roles.faint)]  # fmt: skip


def _shown_of(shown: int, total: int, roles: Roles) -> list[Piece]:
    return [(f"  {count(shown)} of {count(total)} lines shown", roles.gate)] if shown < total else []


def diff_text(letter: str, diff: FileDiff) -> Text:
    """The diff of one file, as much of it as is shown."""
    lines = diff.text.split("\n")[:-1] if diff.text else []
    signs, texts = diff_lines(lines[:MOST])
    name = f"{diff.earlier} → {diff.path}" if diff.earlier else diff.path

    def head(roles: Roles) -> list[list[Piece]]:
        if diff.binary:
            told: list[Piece] = [("a binary file", roles.muted)]
        elif not lines:
            told = [("the same content", roles.muted)]
        else:
            told = [*counts_of(diff.added, diff.removed, roles), *_shown_of(len(texts), len(lines), roles)]
        return [[(f"{letter}  ", roles.gate), (name, roles.strong), ("  ", roles.normal), *told]]

    return Text(TextPage(texts, signs=signs), head)


def file_text(entry: Entry, path: str, data: bytes, today: bytes | None, learned: Learned | None) -> Text:
    """A file as it was.

    Args:
        today: What it holds now; ``None`` where it is gone.
        learned: What was looked for, where that led here.
    """
    binary = b"\0" in data[:_ZEROS_IN]
    lines = [] if binary else visible_lines(data.decode("utf-8", "surrogateescape"))
    texts = tuple(lines[:MOST_OF_FILE])
    now = "gone today" if today is None else "the same today" if today == data else "not the same today"
    hit = learned.first if learned is not None else None
    line = hit.line if hit is not None and hit.path == path else 0

    def head(roles: Roles) -> list[list[Piece]]:
        banner: list[Piece] = [
            (f"as of {minute(entry.at)}", roles.gate + Style(bold=True, reverse=True)),
            (f"  {entry.revision[:8]}  ", roles.gate), (path, roles.strong), (f"  {now}", roles.muted),
        ]  # fmt: skip
        if binary:
            banner.append((f", a binary file of {sizes(len(data))}", roles.muted))
        rows = [[*banner, *_shown_of(len(texts), len(lines), roles)]]
        return [*rows, *learned_pieces(learned, roles)] if learned is not None else rows

    lit = (line - 1, line) if line else (0, 0)
    numbers, marks = tuple(range(1, len(texts) + 1)), frozenset({line - 1} if line else ())
    return Text(TextPage(texts, numbers, markers=marks, lit=lit), head, line=max(0, line - 1))


def learned_pieces(learned: Learned, roles: Roles) -> list[list[Piece]]:
    """When something was learned, from which conversation, and whether it stands today."""
    first, went = learned.first, learned.went
    what = "learned" if learned.where == "knowledge" else "said, never kept,"
    rows: list[list[Piece]] = []
    if first is not None:
        line = f":{first.line}" if first.line else ""
        rows.append([(f"“{learned.text}”", roles.strong), (f" {what} here", roles.active),
                     (f" in {first.path}{line}", roles.normal)])  # fmt: skip
        if first.taught:
            rows.append([("from ", roles.muted), (first.taught[0].path or first.taught[0].name, roles.tier2)])
    if learned.now:
        place = learned.now[0]
        more = f" and {plural(len(learned.now) - 1, 'other place')}" if len(learned.now) > 1 else ""
        rows.append(
            [("it stands today in ", roles.muted), (f"{place.path}:{place.line}{more}", roles.normal)]
        )
    elif went is not None:
        rows.append([("gone today: ", roles.error),
                     (f"taken out {minute(went.entry.at)} by {went.entry.revision[:8]} {went.entry.title}",
                      roles.normal)])  # fmt: skip
    else:
        rows.append([("gone today", roles.error), (", in no commit yet", roles.normal)])
    if learned.shallow:
        rows.append([("the clone is shallow: it may be older", roles.gate)])
    return rows


def talk_text(path: str, data: bytes) -> Text:
    """A conversation as it lies there."""
    lines = visible_lines(data.decode("utf-8", "surrogateescape"))
    texts = tuple(lines[:MOST_OF_FILE])

    def head(roles: Roles) -> list[list[Piece]]:
        return [[(path, roles.tier2), *_shown_of(len(texts), len(lines), roles)]]

    return Text(TextPage(texts), head)


def plan_text(plan: UndoPlan, key: str) -> Text:
    """What an undo would do, before it is done.

    Args:
        key: What asks for a person's word.
    """
    lines: list[str] = []
    for file in plan.files:
        what = "goes" if file.after is None else "keeps what came later" if file.merged else "as before"
        body = file.diff.text.split("\n")[:-1] if file.diff.text else []
        lines += [f"@@ {visible(file.path)}: {what}", *body[:MOST]]
        if len(body) > MOST:
            lines.append(f"@@ {MOST:,} of {len(body):,} lines shown")
    signs, texts = diff_lines(lines)

    def head(roles: Roles) -> list[list[Piece]]:
        entry = plan.entry
        rows: list[list[Piece]] = [
            [("undo ", roles.gate), (entry.revision[:8], roles.gate), ("  ", roles.normal),
             (entry.subject, roles.strong)]
        ]  # fmt: skip
        added, removed = (sum(getattr(each.diff, way) for each in plan.files) for way in ("added", "removed"))
        told = [(f"{plural(len(plan.files), 'file')}  ", roles.muted), *counts_of(added, removed, roles)]
        if plan.can_apply:
            said = "  nothing is changed yet: "
            rows.append(
                [*told, (said, roles.muted), (key, roles.accent), (" asks for your word", roles.muted)]
            )
        elif not plan.blocked:
            rows.append([("there is nothing left of it to undo", roles.gate)])
        for each in plan.blocked[:_BLOCKED]:
            where = f"{each.path} " if each.path else ""
            hint = f"; {each.hint}" if each.hint else ""
            rows.append([("! ", roles.error), (f"cannot be undone: {where}{each.why}{hint}", roles.normal)])
        for kept in plan.kept[:_BLOCKED]:
            rows.append([(f"{kept.path} stays: {kept.why}", roles.muted)])
        more = max(0, len(plan.blocked) - _BLOCKED) + max(0, len(plan.kept) - _BLOCKED)
        return [*rows, [(f"and {plural(more, 'more file')}", roles.muted)]] if more else rows

    return Text(TextPage(texts, signs=signs), head)
