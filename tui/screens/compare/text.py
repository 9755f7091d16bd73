"""What stands beside the lists: two texts, what there is to say of both, what a merge changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style

from tui.kit.panel import LinesPanel
from tui.render.draw import Piece, Row, clip, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.screens.context.lists import sign_style
from tui.screens.history.commits import minute

if TYPE_CHECKING:
    from engine.history.model import FileDiff
    from engine.lifecycle.reconstruction.comparison import Comparison, Recall
    from engine.lifecycle.reconstruction.merging import Merge
    from engine.sync.model import Conflict

Draw = Callable[[int, Roles], list[Row]]
Names = tuple[str, str]
SIDES_FROM = 84
"""Cells from which two texts have room beside each other."""
MOST = 4_000
"""Lines of a file that are looked at."""
_BETWEEN = " │ "
_MOST_TURNED = 100


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
        left, right = (Row((clip(name, half), roles.strong)) for name in names)
        return [joined(left, right), Row(("─" * half + "─┼─" + "─" * half, roles.line))]
    rows: list[Row] = []
    for pair in pairs:
        styles = (_style("-", roles), _style("+", roles)) if pair.differ else (roles.muted, roles.muted)
        texts = zip((pair.left, pair.right), styles, strict=True)
        sides = [wrap([(text, style)], half) if text is not None else [] for text, style in texts]
        rows += [joined(a or Row(), b or Row()) for a, b in zip_longest(*sides)]
    return rows


def _below(pairs: Sequence[Pair], names: Names | None, width: int, roles: Roles) -> list[Row]:
    """Lines of the left text, then those of the right one, where they differ."""
    if names is not None:
        pairs = [Pair(*names, differ=True)]
    differ = bool(pairs) and pairs[0].differ
    sides = [("−", [each.left for each in pairs]), ("+", [each.right for each in pairs])]
    rows: list[Row] = []
    for sign, lines in sides if differ else [(" ", [each.left for each in pairs])]:
        style = _style(sign, roles)
        for text in lines:
            if text is not None:
                rows += wrap([(f"{sign} ", style), (text, style)], width, indent=2)
    return rows


def _style(sign: str, roles: Roles) -> Style:
    return sign_style("+", roles) if sign == "+" else sign_style("-", roles) if sign in "-−" else roles.muted


def draw_overview(
    compared: Comparison, recall: Recall | None, names: Names, width: int, roles: Roles
) -> list[Row]:
    """Which commits they are, how many lines of each kind they have, and what the probes find in each."""
    rows: list[Row] = []
    for name, commit in zip(names, (compared.left, compared.right), strict=True):
        about = f"  {commit.revision[:8]}  {minute(commit.at)}  "
        rows += wrap(
            [(name, roles.strong), (about, roles.muted), (commit.subject, roles.normal)], width, indent=2
        )
    heads = ("lines", 14), ("left", 7), ("right", 8)
    rows += [Row(), Row()]
    for text, cells in heads:
        rows[-1].fit(text, cells, roles.faint, "left" if text == "lines" else "right")
    for each in compared.counts:
        more = each.right - each.left
        style = roles.active if more > 0 else roles.trouble if more else roles.faint
        row = Row().fit(each.kind, 14, roles.normal).fit(count(each.left), 7, roles.muted, "right")
        row.fit(count(each.right), 8, roles.normal, "right").fit(
            f"{more:+,}" if more else "", 8, style, "right"
        )
        rows.append(row)
    return [*rows, Row(), *_recall(recall, names, width, roles)]


def _recall(recall: Recall | None, names: Names, width: int, roles: Roles) -> list[Row]:
    if recall is None:
        return [Row(("p", roles.accent), (" runs your probes against both", roles.muted))]
    if not recall.left.results:
        return wrap([("There are no probes: ", roles.muted), ("autopoiesis probe add", roles.normal)], width)
    rows = [
        Row().fit(name, 30, roles.strong).fit(f"{run.recall:.0%}", 6, roles.active, "right")
        .add(f"  {run.found} of {run.expectations} found", roles.muted).cut(width)
        for name, run in zip(names, (recall.left, recall.right), strict=True)
    ]  # fmt: skip
    for sign, turned in (("−", recall.lost), ("+", recall.gained)):
        style = _style(sign, roles)
        for each in turned[:_MOST_TURNED]:
            rows += wrap([(f"{sign} ", style), (f"{each.id}  {each.expect}", roles.normal)], width, indent=2)
    return rows


def draw_merge(merge: Merge, key: str, width: int, roles: Roles) -> list[Row]:
    """What a merge would change here, or why there can be none, file by file."""
    if merge.conflicts:
        return [row for each in merge.conflicts for row in _conflict(each, width, roles)]
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


def _conflict(conflict: Conflict, width: int, roles: Roles) -> list[Row]:
    rows = wrap(
        [("! ", roles.trouble), (conflict.path, roles.strong), (f": {conflict.why}", roles.normal)], width
    )
    for name, did in (("here", conflict.ours), ("there", conflict.theirs)):
        rows += wrap([(f"  {name:<6}", roles.muted), (f"{did.what}  {did.revision[:8]}  {did.subject}",
                                                       roles.normal)], width, indent=8)  # fmt: skip
    for piece in conflict.pieces:
        told: tuple[tuple[str, str, Style], ...] = (
            ("before", piece.before, roles.muted),
            ("here", piece.ours, _style("-", roles)),
            ("there", piece.theirs, _style("+", roles)),
        )
        for name, text, style in told:
            for at, line in enumerate(text.splitlines() or ["(nothing)"]):
                pieces: list[Piece] = [(f"  {'' if at else name:<6}", roles.muted), (line, style)]
                rows += wrap(pieces, width, indent=8)
    return [*rows, Row()]
