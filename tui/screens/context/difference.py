"""Displays how two prompts differ, section by section (see ``engine.context.difference``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.context.compiled import LAYERS, Compiled
from engine.context.difference import ChangeKind, Difference, PrefixChange, SectionChange
from engine.context.difference import compare as difference_of
from tui.render.budget import place as place_of
from tui.render.draw import Piece, Row, labelled
from tui.render.figures import count
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.context.head import add_parts
from tui.screens.context.lists import HeadItem, ListItem, SectionItem, Sign, kind_of, matches, sign_style
from tui.screens.context.text import diff_lines

if TYPE_CHECKING:
    from engine.engine import Engine

SIGNS: dict[ChangeKind, Sign] = {"came": "+", "went": "-", "changed": "~", "moved": ">"}
_NAMES: dict[ChangeKind, str] = {"came": "added", "went": "removed", "changed": "changed", "moved": "moved"}


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    difference: Difference
    before: Compiled
    after: Compiled
    tried: bool = False
    """The later prompt was tried by hand; the earlier one is that of the feed's message."""

    def text(self, index: int) -> str:
        """The unified diff of one change; all lines of an added or removed section."""
        change = self.difference.sections[index]
        if change.diff:
            return "\n".join(change.diff)
        side, compiled = (change.after, self.after) if change.after.place else (change.before, self.before)
        sign = {"came": "+", "went": "-"}.get(change.kind, " ")
        return "\n".join(f"{sign}{line}" for line in compiled.sections[side.place - 1].text.split("\n"))

    def lines(self, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The diff as ``diff_lines`` returns it."""
        return diff_lines(self.text(index).split("\n"))


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonRequest:
    """A prompt to compare with an earlier one."""

    compiled: Compiled
    key: str
    """The feed key of the message."""
    tried: bool = False
    """It was tried by hand: compare with this message's prompt instead of the previous one."""


def compare_with_earlier(engine: Engine, request: ComparisonRequest) -> Comparison | None:
    """Compares a prompt with an earlier one; ``None`` if there is none."""
    before = engine.compile_of(request.key) if request.tried else engine.compile_before(request.key)
    return compare(before, request.compiled, tried=request.tried) if before is not None else None


def compare(before: Compiled, after: Compiled, *, tried: bool = False) -> Comparison:
    """Compares two prompts; slow enough to run on a background thread."""
    return Comparison(difference_of(before, after), before, after, tried)


def difference_items(comparison: Comparison, query: str = "") -> list[ListItem]:
    """The changed sections, by layer."""
    items: list[ListItem] = []
    layer = 0
    for index, change in enumerate(comparison.difference.sections):
        row = _row(change, index, comparison.after.budget)
        if not matches(row, query):
            continue
        if change.layer != layer:
            layer = change.layer
            items.append(HeadItem(LAYERS.get(layer, ""), layer))
        items.append(row)
    return items


def _row(change: SectionChange, index: int, budget: int) -> SectionItem:
    side = change.after if change.after.place else change.before
    place = place_of(side.source, side.lines) or first_line(change.label)
    share = side.tokens / budget if budget else 0.0
    why = first_line((change.before if change.kind == "came" else change.after).why)
    kind, sign = kind_of(change.label), SIGNS[change.kind]
    return SectionItem(index, change.priority, kind, place, side.tokens, share, side.score, why, sign)


def difference_summary(comparison: Comparison, width: int, roles: Roles) -> tuple[Piece, ...]:
    """``+3 added  -2 removed  ~4 changed · stable prefix …``, as long as fits in ``width`` cells."""
    since = "against the feed's message  " if comparison.tried else "since the previous message  "
    counts = [
        (sign, _NAMES[kind], sum(change.kind == kind for change in comparison.difference.sections))
        for kind, sign in SIGNS.items()
    ]
    prefix = comparison.difference.prefix
    tone = roles.active if prefix.equal else roles.error
    for lead, worded, short in ((since, True, False), ("", True, False), ("", True, True), ("", False, True)):
        pieces: list[Piece] = [(lead, roles.muted)] if lead else []
        for sign, word, number in counts:
            if number or word != "moved":
                words = f"{sign}{count(number)} {word}  " if worded else f"{sign}{count(number)} "
                pieces.append((words, sign_style(sign, roles) if number else roles.faint))
        pieces += [("· ", roles.faint), (prefix_words(prefix, short=short), tone)]
        if sum(len(text) for text, _style in pieces) <= width:
            break
    return tuple(pieces)


def prefix_words(prefix: PrefixChange, *, short: bool = False) -> str:
    """Whether the stable prefix is unchanged, or where it first differs."""
    name = "prefix" if short else "stable prefix"
    if prefix.equal:
        return f"{name} unchanged, byte for byte"
    if short:
        return f"! prefix broken: byte {count(prefix.byte)}, layer {prefix.layer}, {first_line(prefix.label)}"
    layer = f"layer {prefix.layer} {LAYERS.get(prefix.layer, '')}"
    position = f"{layer}, {first_line(prefix.label)}" if prefix.layer else "its end"
    return f"! {name} broken: {position}, byte {count(prefix.byte)}"


def change_head(change: SectionChange, width: int, roles: Roles) -> list[Row]:
    """The lines above a diff: sizes before and after, and the reasons on both sides."""
    sign = SIGNS[change.kind]
    first = Row((f"{sign} {_NAMES[change.kind]}", sign_style(sign, roles)))
    sizes = " ▸ ".join(count(side.tokens) for side in (change.before, change.after) if side.place)
    first.add(f" · {sizes} tok", roles.strong)
    parts = [(f"P{change.priority} {change.slot}", roles.slot(change.priority))]
    parts.append((f"layer {change.layer} {LAYERS.get(change.layer, '')}", roles.muted))
    add_parts(first, parts, width, roles)
    rows = [first]
    before, after = first_line(change.before.why), first_line(change.after.why)
    reasons = [("why", after, True)] if before == after else [("before", before, False), ("now", after, True)]
    for word, why, strong in reasons:
        indent = 4 if len(reasons) == 1 else 7
        style = roles.normal if strong else roles.muted
        rows += labelled(word, why, width, indent, style, tone=roles.faint)
    return [*rows, Row(("─" * width, roles.line))]
