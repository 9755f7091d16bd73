"""How two prompts differ, section by section, as it is shown (``engine.context.difference``)."""

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
from tui.screens.context.lists import HeadItem, ListItem, SectionItem, Sign, holds, kind_of, sign_style
from tui.screens.context.text import diff_lines

if TYPE_CHECKING:
    from engine.engine import Engine

SIGNS: dict[ChangeKind, Sign] = {"came": "+", "went": "-", "changed": "~", "moved": ">"}


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two prompts compared."""

    difference: Difference
    before: Compiled
    after: Compiled
    tried: bool = False
    """The later one was tried by hand, and the earlier one is that of the feed's message."""

    def text(self, index: int) -> str:
        """The unified difference of one change; all lines of what came or went."""
        change = self.difference.sections[index]
        if change.diff:
            return "\n".join(change.diff)
        side, compiled = (change.after, self.after) if change.after.place else (change.before, self.before)
        sign = {"came": "+", "went": "-"}.get(change.kind, " ")
        return "\n".join(f"{sign}{line}" for line in compiled.sections[side.place - 1].text.split("\n"))

    def lines(self, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The same as the signs of the lines, ``@`` for a place, and the lines without them, safe to show."""
        return diff_lines(self.text(index).split("\n"))


@dataclass(frozen=True, slots=True, eq=False)
class Comparing:
    """A prompt, and what it is to be compared with."""

    compiled: Compiled
    key: str
    """The feed's message that it answers."""
    tried: bool = False
    """It was tried by hand: it is compared with the prompt of that message, else with the one before."""


def compare_with_earlier(engine: Engine, asked: Comparing) -> Comparison | None:
    """Compares a prompt with an earlier one; ``None`` where there is none."""
    before = engine.compile_of(asked.key) if asked.tried else engine.compile_before(asked.key)
    return compare(before, asked.compiled, tried=asked.tried) if before is not None else None


def compare(before: Compiled, after: Compiled, *, tried: bool = False) -> Comparison:
    """Compares two prompts; reads both as a whole, so it is done off the screen's thread."""
    return Comparison(difference_of(before, after), before, after, tried)


def difference_items(comparison: Comparison, query: str = "") -> list[ListItem]:
    """What is not the same, by layer."""
    items: list[ListItem] = []
    layer = 0
    for index, change in enumerate(comparison.difference.sections):
        row = _row(change, index, comparison.after.budget)
        if not holds(row, query):
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
    """``+3 came  -2 went  ~4 changed · stable prefix …``: as many words as ``width`` cells take."""
    since = "against the feed's message  " if comparison.tried else "since the message before  "
    counts = [
        (sign, word, sum(1 for change in comparison.difference.sections if change.kind == word))
        for word, sign in SIGNS.items()
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
    """Whether the stable prefix is the same, and else where it first differs."""
    name = "prefix" if short else "stable prefix"
    if prefix.equal:
        return f"{name} the same, byte for byte"
    if short:
        return f"! prefix broken: byte {count(prefix.byte)}, layer {prefix.layer}, {first_line(prefix.label)}"
    layer = f"layer {prefix.layer} {LAYERS.get(prefix.layer, '')}"
    where = f"{layer}, {first_line(prefix.label)}" if prefix.layer else "its end"
    return f"! {name} broken: {where}, byte {count(prefix.byte)}"


def change_head(change: SectionChange, width: int, roles: Roles) -> list[Row]:
    """What is said above a difference: sizes before and after, and the reasons on both sides."""
    sign = SIGNS[change.kind]
    first = Row((f"{sign} {change.kind}", sign_style(sign, roles)))
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
