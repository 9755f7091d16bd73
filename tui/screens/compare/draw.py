"""How the lists, texts and merge previews of the compare screen are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style

from tui.kit.panel import DrawingPanel
from tui.kit.rows import KeyedRows
from tui.render.draw import Row, clip, clip_start, wrap
from tui.render.figures import count, day, plural
from tui.render.roles import Roles
from tui.render.safe import first_line, visible
from tui.render.words import explained
from tui.screens.context.draw import parts_of
from tui.screens.context.lists import sign_style
from tui.screens.history.draw import counts_of, letter_style, minute

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.history.model import FileDiff
    from engine.lifecycle.reconstruction.comparison import Comparison
    from engine.lifecycle.reconstruction.merging import Merge

LEFT, RIGHT = "◂", "▸"
OVERVIEW = "Σ"
MAX_SNAPSHOTS = 500
SIDES_FROM = 84
"""Minimum width in cells to show two texts side by side."""
MAX_LINES = 4_000
"""Lines of a diff that are shown at most."""
_BETWEEN = " │ "
_INDENT = 2


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


class SidesPanel(KeyedRows[SideItem], panel="sides", number="1", words="compare"):
    """A line for each branch or snapshot that can be compared."""

    always_lit = True
    signs = ((LEFT, "the left side"), (RIGHT, "the right side"))
    head = "branches and snapshots"

    def key(self, item: SideItem) -> str:
        return item.name

    def row(self, item: SideItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        row = Row().fit(item.sides, 3, roles.accent)
        detail = Row((item.detail, roles.muted))
        name = clip(first_line(item.name), max(8, width - row.cells - detail.cells - 1))
        return row.add(name, roles.strong if item.sides else roles.normal).right(detail, width).cut(width)

    def text_of(self, item: SideItem) -> str:
        return f"{item.name} {item.revision}"


class FilesPanel(KeyedRows[FileItem], panel="files", number="2", words="differences"):
    """The overview, then a line for each file that differs."""

    always_lit = True

    def key(self, item: FileItem) -> str:
        return item.path

    def row(self, item: FileItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        if not item.path:
            return Row((f"{OVERVIEW}  ", roles.accent), ("lines", roles.normal)).cut(width)
        right = Row(
            *([("binary", roles.muted)] if item.binary else counts_of(item.added, item.removed, roles))
        )
        row = Row((f"{item.letter}  ", letter_style(item.letter, roles)))
        path = clip_start(item.path, max(8, width - row.cells - right.cells - 1))
        return row.add(path, roles.strong if chosen else roles.normal).right(right, width).cut(width)

    def text_of(self, item: FileItem) -> str:
        return item.path


Names = tuple[str, str]


class Pair(NamedTuple):
    """Two lines side by side; ``None`` if a side has none."""

    left: str | None
    right: str | None
    differ: bool = False


class TextPanel(DrawingPanel, panel="text", number="3", words=""):
    nothing = ""


def _pairs(diff: FileDiff) -> list[Pair]:
    """The lines of both texts, aligned."""
    found: list[Pair] = []
    removed: list[str] = []
    added: list[str] = []
    for line in (*(diff.text.split("\n")[:-1] if diff.text else ()), "@"):
        if line[:1] in "-+":
            (removed if line[0] == "-" else added).append(line[1:])
            continue
        found += [Pair(*each, differ=True) for each in zip_longest(removed, added)]
        removed, added = [], []
        if line[:1] == " ":
            found.append(Pair(line[1:], line[1:]))
        elif found and line.startswith("@@"):
            found.append(Pair("⋯", "⋯"))
    return found


def draw_diff(diff: FileDiff, names: Names, whole: bool, width: int, roles: Roles) -> list[Row]:
    """A file's diff: side by side if both texts fit, else one below the other.

    Args:
        whole: Include lines far from any change.
    """
    pairs = _pairs(diff)
    if diff.binary or not pairs:
        return [Row(("binary file" if diff.binary else "same content", roles.muted))]
    draw, context = (_beside, 3) if width >= SIDES_FROM else (_below, 1)
    rows = draw([], names, width, roles)
    groups = [list(run) for _differ, run in groupby(pairs[:MAX_LINES], key=lambda each: each.differ)]
    for at, group in enumerate(groups):
        before, after = context * bool(at), context * (at + 1 < len(groups))
        skipped = 0 if whole or group[0].differ else len(group) - before - after
        if skipped > 1:
            rows += draw(group[:before], None, width, roles)
            rows.append(Row((f"⋯ {count(skipped)} unchanged lines", roles.tier2)))
            group = group[len(group) - after :]
        rows += draw(group, None, width, roles)
    if diff.cut or len(pairs) > MAX_LINES:
        shown = f"first {count(min(len(pairs), MAX_LINES))} lines shown"
        total = f"{count(diff.added)} added, {count(diff.removed)} removed in total"
        rows.append(Row((f"{shown}; {total}", roles.gate)))
    return rows


def _beside(pairs: Sequence[Pair], names: Names | None, width: int, roles: Roles) -> list[Row]:
    """Lines in two columns; with ``names``, the heading instead."""
    half = (width - len(_BETWEEN)) // 2

    def joined(left: Row, right: Row) -> Row:
        return Row().extend(left).to(half).add(_BETWEEN, roles.line).extend(right)

    if names is not None:
        left, right = (Row((clip(f"  {name}", half), roles.strong)) for name in names)
        return [joined(left, right), Row(("─" * half + "─┼─" + "─" * half, roles.line))]
    rows: list[Row] = []
    for pair in pairs:
        signs = ("−", "+") if pair.differ else (" ", " ")
        sides = [_broken(*each, half, roles) for each in zip((pair.left, pair.right), signs, strict=True)]
        rows += [joined(a or Row(), b or Row()) for a, b in zip_longest(*sides)]
    return rows


def _below(pairs: Sequence[Pair], names: Names | None, width: int, roles: Roles) -> list[Row]:
    """Lines of the left text, followed by those of the right one if they differ."""
    if names is not None:
        pairs = [Pair(*names, differ=True)]
    lefts, rights = [each.left for each in pairs], [each.right for each in pairs]
    differ = bool(pairs) and pairs[0].differ
    rows: list[Row] = []
    for sign, lines in (("−", lefts), ("+", rights)) if differ else ((" ", lefts),):
        rows += [row for text in lines for row in _broken(text, sign, width, roles)]
    return rows


def _broken(text: str | None, sign: str, width: int, roles: Roles) -> list[Row]:
    """Wraps a line after its sign; no rows for ``None``."""
    shown = [visible(text)] if text is not None else []
    return [
        Row((f"{' ' if start else sign} {shown[0][start:end]}", _style(sign, roles)))
        for _, start, end in parts_of(shown, width - 2)
    ]


def _style(sign: str, roles: Roles) -> Style:
    return sign_style("+", roles) if sign == "+" else sign_style("-", roles) if sign == "−" else roles.muted


def draw_overview(compared: Comparison, names: Names, width: int, roles: Roles) -> list[Row]:
    """The commits of both sides, and their line counts by kind."""
    rows: list[Row] = []
    for name, each in zip(names, (compared.left, compared.right), strict=True):
        about = f"  {each.revision[:8]}  {minute(each.at)}  "
        rows += wrap(
            [(name, roles.strong), (about, roles.muted), (each.subject, roles.normal)], width, indent=2
        )
    rows += [Row(), _columns("lines", "left", "right", "", roles.faint)]
    for kind in compared.counts:
        more = f"{kind.right - kind.left:+,}" if kind.right != kind.left else ""
        rows.append(_columns(kind.kind, count(kind.left), count(kind.right), more, roles.normal))
    return rows


def _columns(name: str, left: str, right: str, more: str, style: Style) -> Row:
    row = Row().fit(name, 14, style)
    for text, cells in ((left, 7), (right, 8), (more, 8)):
        row.fit(text, cells, style, "right")
    return row


def draw_merge(merge: Merge, key: str, width: int, roles: Roles) -> list[Row]:
    """The files a merge would change, or its conflicts."""
    rows: list[Row] = []
    for conflict in merge.conflicts:
        first, *rest = explained(conflict)
        rows += wrap([("! ", roles.error), (first, roles.strong)], width, indent=2)
        for line in rest:
            room = width - _INDENT
            rows += [Row().gap(_INDENT).extend(row) for row in wrap([(line, roles.normal)], room, indent=9)]
    if rows:
        return rows
    added, removed = (sum(getattr(each, way) for each in merge.diffs) for way in ("added", "removed"))
    files = f"{plural(len(merge.diffs), 'file')} would change, +{count(added)} −{count(removed)}; "
    summary = "already up to date; " if merge.is_merged else files
    rows = wrap([(summary, roles.normal), ("nothing is merged yet: ", roles.muted), (key, roles.accent),
                 (" asks for confirmation", roles.muted)], width)  # fmt: skip
    rows += [row for note in merge.notes for row in wrap([(note, roles.gate)], width, indent=2)]
    for diff in merge.diffs:
        rows += [Row(), Row((diff.path, roles.strong)).cut(width)]
        rows += draw_diff(diff, ("now", "merged"), False, width, roles)
    return rows
