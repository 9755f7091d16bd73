"""What stands beside the lists: two texts, what there is to say of both, what a merge changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style

from tui.kit.panel import LinesPanel
from tui.render.conflict_words import explained
from tui.render.draw import Row, clip, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import visible
from tui.screens.context.lists import sign_style
from tui.screens.context.text import parts_of
from tui.screens.history.commits import minute

if TYPE_CHECKING:
    from engine.history.model import FileDiff
    from engine.lifecycle.reconstruction.comparison import Comparison, Recall
    from engine.lifecycle.reconstruction.merging import Merge

Draw = Callable[[int, Roles], list[Row]]
Names = tuple[str, str]
SIDES_FROM = 84
"""Cells from which two texts have room beside each other."""
MOST = 4_000
"""Lines of a file that are looked at."""
_BETWEEN = " │ "
_MOST_TURNED = 100
_INDENT = 2


class Pair(NamedTuple):
    """Two lines beside each other."""

    left: str | None
    right: str | None
    differ: bool = False


class TextPanel(LinesPanel):
    """Shows whatever is drawn for it."""

    name_of = "text"
    number = "3"
    _draw: Draw | None = None
    _about: object = None

    def show_page(self, draw: Draw, title: str, about: object) -> None:
        """Shows another page, from its top; the same about the same stays where it is."""
        if about != self._about:
            self._about, self._draw = about, draw
            self.changed()
            self.scroll_to(y=0, animate=False, force=True)
        self.set_frame(title)

    def draw(self, width: int, height: int) -> list[Row]:
        return self._draw(width, self.roles) if self._draw is not None else []


def _pairs(diff: FileDiff) -> list[Pair]:
    """The lines of both texts that stand beside each other; ``None`` where one has none."""
    found: list[Pair] = []
    gone: list[str] = []
    come: list[str] = []
    for line in (*(diff.text.split("\n")[:-1] if diff.text else ()), "@"):
        if line[:1] in "-+":
            (gone if line[0] == "-" else come).append(line[1:])
            continue
        found += [Pair(*each, differ=True) for each in zip_longest(gone, come)]
        gone, come = [], []
        if line[:1] == " ":
            found.append(Pair(line[1:], line[1:]))
        elif found and line.startswith("@@"):
            found.append(Pair("⋯", "⋯"))
    return found


def draw_diff(diff: FileDiff, names: Names, whole: bool, width: int, roles: Roles) -> list[Row]:
    """How a file differs: both texts beside each other where there is room, else one below the other.

    Args:
        whole: Also the lines far from any change.
    """
    pairs = _pairs(diff)
    if diff.binary or not pairs:
        return [Row(("a binary file" if diff.binary else "the same content", roles.muted))]
    draw, near = (_beside, 3) if width >= SIDES_FROM else (_below, 1)  # lines around a change that are shown
    rows = draw([], names, width, roles)
    groups = [list(run) for _differ, run in groupby(pairs[:MOST], key=lambda each: each.differ)]
    for at, group in enumerate(groups):
        before, after = near * bool(at), near * (at + 1 < len(groups))
        skipped = 0 if whole or group[0].differ else len(group) - before - after
        if skipped > 1:
            rows += draw(group[:before], None, width, roles)
            rows.append(Row((f"⋯ {count(skipped)} lines the same", roles.tier2)))
            group = group[len(group) - after :]
        rows += draw(group, None, width, roles)
    if diff.cut or len(pairs) > MOST:
        told = f"{count(min(len(pairs), MOST))} lines looked at; in all {count(diff.added)} added"
        rows.append(Row((f"{told}, {count(diff.removed)} removed", roles.gate)))
    return rows


def _beside(pairs: Sequence[Pair], names: Names | None, width: int, roles: Roles) -> list[Row]:
    """Lines in two columns; below the names, where there are any."""
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
    """Lines of the left text, then those of the right one, where they differ."""
    if names is not None:
        pairs = [Pair(*names, differ=True)]
    lefts, rights = [each.left for each in pairs], [each.right for each in pairs]
    differ = bool(pairs) and pairs[0].differ
    rows: list[Row] = []
    for sign, lines in (("−", lefts), ("+", rights)) if differ else ((" ", lefts),):
        rows += [row for text in lines for row in _broken(text, sign, width, roles)]
    return rows


def _broken(text: str | None, sign: str, width: int, roles: Roles) -> list[Row]:
    """A line of a file behind its sign, in as many rows as it takes; none where there is no line."""
    shown = [visible(text)] if text is not None else []
    return [
        Row((f"{' ' if start else sign} {shown[0][start:end]}", _style(sign, roles)))
        for _, start, end in parts_of(shown, width - 2)
    ]


def _style(sign: str, roles: Roles) -> Style:
    return sign_style("+", roles) if sign == "+" else sign_style("-", roles) if sign == "−" else roles.muted


def draw_overview(
    compared: Comparison, recall: Recall | None, names: Names, width: int, roles: Roles
) -> list[Row]:
    """Which commits they are, how many lines of each kind they have, and what the probes find in each."""
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
    if recall is None:
        return [*rows, Row(), Row(("p", roles.accent), (" runs your probes against both", roles.muted))]
    left, right = recall.left, recall.right
    if not left.results:
        return [*rows, Row(), Row(("There are no probes: autopoiesis probe add", roles.muted))]
    found = [f"{each.found}/{each.expectations}" for each in (left, right)]
    rows += [Row(), _columns("recall", f"{left.recall:.0%}", f"{right.recall:.0%}", "", roles.strong)]
    rows.append(_columns("found", found[0], found[1], "", roles.muted))
    for sign, turned in (("−", recall.lost), ("+", recall.gained)):
        for one in turned[:_MOST_TURNED]:
            rows += wrap([(f"{sign} {one.id}  {one.expect}", _style(sign, roles))], width, indent=2)
    return rows


def _columns(name: str, left: str, right: str, more: str, style: Style) -> Row:
    row = Row().fit(name, 14, style)
    for text, cells in ((left, 7), (right, 8), (more, 8)):
        row.fit(text, cells, style, "right")
    return row


def draw_merge(merge: Merge, key: str, width: int, roles: Roles) -> list[Row]:
    """What a merge would change here, or why there can be none, file by file."""
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
    files = f"{plural(len(merge.diffs), 'file')} change here, +{count(added)} −{count(removed)}; "
    what = "all of it is here already; " if merge.is_merged else files
    rows = wrap([(what, roles.normal), ("nothing is done yet: ", roles.muted), (key, roles.accent),
                 (" asks for your word", roles.muted)], width)  # fmt: skip
    rows += [row for note in merge.notes for row in wrap([(note, roles.gate)], width, indent=2)]
    for diff in merge.diffs:
        rows += [Row(), Row((diff.path, roles.strong)).cut(width)]
        rows += draw_diff(diff, ("now", "merged"), False, width, roles)
    return rows
