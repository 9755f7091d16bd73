"""The rules as a list, most frequent first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style

from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row, clip, found, marked
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.rules.rulebook import Rule

Standing = Literal["accepted", "repeated", "in force", "said", "resting", "turned down", "replaced"]
SIGNS: dict[Standing, tuple[str, str]] = {
    "said": ("?", "pending"),
    "in force": ("●", "in force"),
    "accepted": ("✓", "accepted"),
    "repeated": ("!", "repeated"),
    "resting": ("○", "resting"),
    "turned down": ("✗", "turned down"),
    "replaced": ("↷", "replaced"),
}
"""The sign and label of each standing."""
MARKED = "+"
EVERYWHERE = "everywhere"
WIDE = 100
"""Minimum width for the year, and for the standing as a word."""
_WHERE = 14


@dataclass(frozen=True, slots=True)
class RuleItem:
    rule: Rule
    marked: bool = False
    """Marked for merging."""


def standing(rule: Rule) -> Standing:
    """A rule's state; if in force, also whether the user accepted it, and had to repeat it since."""
    if rule.state != "in force" or not rule.accepted:
        return rule.state
    return "repeated" if rule.last > rule.accepted else "accepted"


def style_of(rule: Rule, roles: Roles) -> Style:
    if rule.state == "said":
        return roles.gate
    if standing(rule) == "repeated":
        return roles.error
    return roles.active if rule.state == "in force" else roles.dropped


def times(rule: Rule) -> str:
    """The number of sessions it was said in: ``13×``; a dash for none."""
    return f"{count(rule.told)}×" if rule.told else "–"


def draw_rule(
    item: RuleItem, items: Sequence[RuleItem], width: int, roles: Roles, *, chosen: bool, query: str = ""
) -> Row:
    """A row: sign, count, last day, scope, the standing as a word if wide, and the text."""
    rule = item.rule
    sign, tone = SIGNS[standing(rule)][0], style_of(rule, roles)
    row = Row((f"{MARKED} ", roles.accent) if item.marked else (f"{sign} ", tone))
    quiet = roles.normal if rule.counts else roles.dropped
    often = roles.strong if rule.told > 1 and rule.counts else roles.muted
    row.fit(times(rule), max(cell_len(times(each.rule)) for each in items), often, "right").gap(2)
    is_wide = width >= WIDE
    row.fit(first_line(rule.last if is_wide else rule.last[5:]), 10 if is_wide else 5, roles.muted).gap(2)
    where = min(_WHERE, max(cell_len(first_line(each.rule.where) or EVERYWHERE) for each in items))
    row.fit(first_line(rule.where) or EVERYWHERE, where, roles.muted if rule.where else roles.faint)
    if is_wide:
        word = max(cell_len(SIGNS[standing(each.rule)][1]) for each in items)
        row.gap(2).fit(SIGNS[standing(rule)][1], word, tone)
    text = clip(first_line(rule.text), width - row.cells - 2)
    row.gap(2)
    for piece, style in marked(text, found(text, query), roles.strong if chosen else quiet, roles.accent):
        row.add(piece, style)
    return row.cut(width)


def draw_none(width: int, roles: Roles) -> list[Row]:
    """Explains how to get rules if there are none."""
    return [
        Row(("no rules yet", roles.strong)),
        Row(("l", roles.accent), (" learns rules from what you told agents in your sessions", roles.muted)),
        Row(("i", roles.accent), (" adds a rule of your own", roles.muted)),
    ]


class RulesPanel(KeyedRows[RuleItem]):
    """One rule per row; the frame says how many were stated more than once."""

    name_of = "rules"
    number = "1"
    words = "rules"
    always_lit = True
    aligned = True
    signs = (
        (SIGNS["said"][0], "pending your decision; placed last in prompts"),
        (SIGNS["in force"][0], "in force: you stated it as a rule"),
        (SIGNS["accepted"][0], "in force: you accepted it"),
        (SIGNS["repeated"][0], "accepted, but you had to repeat it since"),
        (SIGNS["resting"][0], "resting: not in prompts until you state it again or accept it"),
        (SIGNS["turned down"][0], "turned down: not in prompts"),
        (SIGNS["replaced"][0], "replaced by another rule"),
        (MARKED, "marked for merging"),
    )
    head = below = ""

    def key(self, item: RuleItem) -> str:
        return item.rule.id

    def show_rules(
        self, items: Sequence[RuleItem], note: Note, about: object, *, head: str, below: str
    ) -> None:
        """Shows rules, with ``head`` next to the title and ``below`` at the lower edge."""
        self.head, self.below = head, below
        self.show_items(items, note, about)
        self.summarise()

    def next_pending(self) -> str:
        """The id of the next pending rule after the selected one; empty if there is none."""
        after = (self.item_at(at).rule for at in range(self.cursor + 1, self.row_count))
        return next((rule.id for rule in after if rule.state == "said"), "")

    def row(self, item: RuleItem, width: int, chosen: bool) -> Row:
        return draw_rule(item, self.items, width, self.roles, chosen=chosen, query=self.query_text)

    def searchable(self, item: RuleItem) -> Sequence[str]:
        rule = item.rule
        return rule.text, rule.where or EVERYWHERE, SIGNS[standing(rule)][1], rule.last

    def summarise(self) -> None:
        self.set_frame(self.head, " · ".join(filter(None, (self.below, self.filter_label))))

    def selected_text(self) -> str:
        return self.selected.rule.text if self.selected is not None else ""


def headline(again: int, waiting: int) -> str:
    if not again:
        return ""
    pending = f", {count(waiting)} of them pending" if waiting else ""
    return f"you told your agents {plural(again, 'thing')} more than once{pending}"
