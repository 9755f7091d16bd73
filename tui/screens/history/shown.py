"""Texts shown next to a commit: a diff, a file at that commit, a conversation, an undo plan."""

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

View = Literal["diff", "file", "blame", "conversation", "undo"]
MAX_DIFF_LINES = 2_000
"""Lines shown of a diff, and of each file of an undo."""
MAX_FILE_LINES = 20_000
_BLOCKED = 4
"""Obstacles to an undo, and files it leaves alone, that are listed."""
_BINARY_CHECK = 8_000
"""Bytes searched for a NUL, which marks a binary file."""
Pieces = Callable[[Roles], Sequence[Sequence[Piece]]]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text and the heading above it."""

    page: TextPage
    head: Pieces
    """Paragraphs."""
    line: int = 0
    """The line to scroll to, from 0."""


class ShownPanel(TextPanel):
    """A text below a fixed heading."""

    number = "3"
    words = ""

    def show_text(self, text: Text | None, title: str) -> None:
        if text is None:
            self.show(TextPage(()), None, title)
            return

        def head(width: int, roles: Roles) -> list[Row]:
            rows = [row for pieces in text.head(roles) for row in wrap(pieces, width, indent=2)]
            return [*rows, Row(("─" * width, roles.line))] if rows else []

        self.show(text.page, head, title, line=max(0, text.line - 2))


def problem_text(problem: str) -> Text:
    return Text(TextPage(()), lambda roles: [[("! ", roles.error), (problem, roles.normal)]])


def note_text(note: str) -> Text:
    return Text(TextPage(()), lambda roles: [[(note, roles.muted)]])


def counts_of(added: int, removed: int, roles: Roles) -> list[Piece]:
    """``+3 −1``."""
    return [(f"+{count(added)} ", roles.active if added else roles.faint),
            (f"−{count(removed)}", roles.error if removed else roles.faint)]  # fmt: skip


def _shown_of(shown: int, total: int, roles: Roles) -> list[Piece]:
    return [(f"  {count(shown)} of {count(total)} lines shown", roles.gate)] if shown < total else []


def diff_text(letter: str, diff: FileDiff) -> Text:
    lines = diff.text.split("\n")[:-1] if diff.text else []
    signs, texts = diff_lines(lines[:MAX_DIFF_LINES])
    name = f"{diff.earlier} → {diff.path}" if diff.earlier else diff.path

    def head(roles: Roles) -> list[list[Piece]]:
        if diff.binary:
            detail: list[Piece] = [("binary file", roles.muted)]
        elif not lines:
            detail = [("no changes in content", roles.muted)]
        else:
            detail = [*counts_of(diff.added, diff.removed, roles), *_shown_of(len(texts), len(lines), roles)]
        return [[(f"{letter}  ", roles.gate), (name, roles.strong), ("  ", roles.normal), *detail]]

    return Text(TextPage(texts, signs=signs), head)


def file_text(entry: Entry, path: str, data: bytes, today: bytes | None, learned: Learned | None) -> Text:
    """A file at a commit.

    Args:
        today: Its current content; ``None`` if it no longer exists.
        learned: The search that led here, if any.
    """
    binary = b"\0" in data[:_BINARY_CHECK]
    lines = [] if binary else visible_lines(data.decode("utf-8", "surrogateescape"))
    texts = tuple(lines[:MAX_FILE_LINES])
    now = "deleted since" if today is None else "unchanged since" if today == data else "changed since"
    hit = learned.first if learned is not None else None
    line = hit.line if hit is not None and hit.path == path else 0

    def head(roles: Roles) -> list[list[Piece]]:
        banner: list[Piece] = [
            (f"as of {minute(entry.at)}", roles.gate + Style(bold=True, reverse=True)),
            (f"  {entry.revision[:8]}  ", roles.gate), (path, roles.strong), (f"  {now}", roles.muted),
        ]  # fmt: skip
        if binary:
            banner.append((f", binary file, {sizes(len(data))}", roles.muted))
        rows = [[*banner, *_shown_of(len(texts), len(lines), roles)]]
        return [*rows, *learned_pieces(learned, roles)] if learned is not None else rows

    lit = (line - 1, line) if line else (0, 0)
    numbers, marks = tuple(range(1, len(texts) + 1)), frozenset({line - 1} if line else ())
    return Text(TextPage(texts, numbers, markers=marks, lit=lit), head, line=max(0, line - 1))


def learned_pieces(learned: Learned, roles: Roles) -> list[list[Piece]]:
    """When something was learned, from which conversation, and whether it is still there."""
    first, removed = learned.first, learned.went
    what = "learned" if learned.where == "knowledge" else "said, but never stored,"
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
        rows.append([("still in ", roles.muted), (f"{place.path}:{place.line}{more}", roles.normal)])
    elif removed is not None:
        entry = removed.entry
        rows.append([("no longer there: ", roles.error),
                     (f"removed {minute(entry.at)} by {entry.revision[:8]} {entry.title}",
                      roles.normal)])  # fmt: skip
    else:
        rows.append([("no longer there", roles.error), (", not committed yet", roles.normal)])
    if learned.shallow:
        rows.append([("shallow clone: it may be older", roles.gate)])
    return rows


def conversation_text(path: str, data: bytes) -> Text:
    lines = visible_lines(data.decode("utf-8", "surrogateescape"))
    texts = tuple(lines[:MAX_FILE_LINES])

    def head(roles: Roles) -> list[list[Piece]]:
        return [[(path, roles.tier2), *_shown_of(len(texts), len(lines), roles)]]

    return Text(TextPage(texts), head)


def plan_text(plan: UndoPlan, key: str) -> Text:
    """What an undo would do.

    Args:
        key: The key that asks for confirmation.
    """
    lines: list[str] = []
    for file in plan.files:
        what = "deleted" if file.after is None else "keeps later changes" if file.merged else "restored"
        body = file.diff.text.split("\n")[:-1] if file.diff.text else []
        lines += [f"@@ {visible(file.path)}: {what}", *body[:MAX_DIFF_LINES]]
        if len(body) > MAX_DIFF_LINES:
            lines.append(f"@@ {MAX_DIFF_LINES:,} of {len(body):,} lines shown")
    signs, texts = diff_lines(lines)

    def head(roles: Roles) -> list[list[Piece]]:
        entry = plan.entry
        rows: list[list[Piece]] = [
            [(f"undo {entry.revision[:8]}  ", roles.gate),
             (entry.subject, roles.strong)]
        ]  # fmt: skip
        added, removed = (sum(getattr(each.diff, way) for each in plan.files) for way in ("added", "removed"))
        totals = [(f"{plural(len(plan.files), 'file')}  ", roles.muted), *counts_of(added, removed, roles)]
        if plan.can_apply:
            note = "  nothing is changed yet; "
            rows.append([*totals, (note, roles.muted), (key, roles.accent), (" to confirm", roles.muted)])
        elif not plan.blocked:
            rows.append([("nothing left to undo", roles.gate)])
        for each in plan.blocked[:_BLOCKED]:
            where = f"{each.path} " if each.path else ""
            hint = f"; {each.hint}" if each.hint else ""
            rows.append([("! ", roles.error), (f"cannot be undone: {where}{each.why}{hint}", roles.normal)])
        for kept in plan.kept[:_BLOCKED]:
            rows.append([(f"{kept.path} unchanged: {kept.why}", roles.muted)])
        more = max(0, len(plan.blocked) - _BLOCKED) + max(0, len(plan.kept) - _BLOCKED)
        return [*rows, [(f"and {plural(more, 'more file')}", roles.muted)]] if more else rows

    return Text(TextPage(texts, signs=signs), head)
