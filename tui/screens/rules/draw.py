"""How rules, their evidence and the screen's pages are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style

from engine.rules.rulebook import is_unlikely
from tui.kit.overlays import Builder
from tui.kit.rows import FACT, KeyedRows, SelectablePage
from tui.render.draw import Row, clip, clip_start, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line, visible_lines
from tui.screens.context.draw import diff_lines

if TYPE_CHECKING:
    from engine.rules.agent_files import Export
    from engine.rules.learning import Occurrence
    from engine.rules.rulebook import Rule
    from engine.rules.watch import Watcher

Standing = Literal["in force", "accepted", "again", "waiting", "resting", "turned down", "replaced", "ended"]
SIGNS: dict[Standing, tuple[str, str, str]] = {
    "in force": ("●", "in force", "in force: agents are told it"),
    "accepted": ("✓", "accepted", "in force: agents are told it, and you accepted it"),
    "again": ("!", "said again", "in force and accepted, but you said it again since"),
    "waiting": ("?", "waits for you", "waits for you: not told to anyone"),
    "resting": ("○", "resting", "resting until you say it again or accept it"),
    "turned down": ("✗", "turned down", "turned down: not told to anyone"),
    "replaced": ("↷", "replaced", "replaced or ended by what you said later"),
    "ended": ("↷", "ended", ""),
}
"""The sign, label and meaning of each standing."""
MARKED = "+"
DONE, SAID, LATER = "→", "←", "↷"
"""Signs for what the agent had done, what the person said, and what they said later against it."""
WATCHED = "◉"
EVERYWHERE = "everywhere"
LESS_LIKELY = "u"
"""The key that shows and hides the rules that are less likely to be any."""
NAMED = 40
"""Cells of a rule shown in a notification."""
WIDE = 100
"""Minimum width for the year, and for the standing as a word."""
_WHERE = 14
_INDENT = 4


@dataclass(frozen=True, slots=True)
class RuleItem:
    rule: Rule
    marked: bool = False
    """Marked for merging."""
    folded: int = 0
    """The rules that this row stands for, of which ``rule`` is the first; 0 if it is that rule's own."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One time at which a rule was said, replaced or ended."""

    occurrence: Occurrence
    before: str
    """What the agent had done; empty if unknown."""
    by: str = ""
    """Who said it, in a shared memory; empty if unknown."""


@dataclass(frozen=True, slots=True)
class WhyView:
    """A rule and its evidence."""

    rule: Rule
    by: str = ""
    """The text of the rule that replaced it."""
    mentions: tuple[Mention, ...] | None = None
    """The latest ones, newest first; ``None`` while loading."""
    more: int = 0
    """Number of further ones."""
    problem: str = ""
    """Why they cannot be loaded."""
    sees: tuple[str, ...] = ()
    """What in an agent's text or commands would violate it."""
    watched: bool = False
    """A topic watches for violations."""


def standing(rule: Rule) -> Standing:
    """A rule's state; if in force, also whether the person accepted it, and said it again since."""
    if rule.ended and rule.state == "replaced":
        return "ended"
    if rule.state != "in force" or not rule.accepted:
        return rule.state
    return "again" if rule.is_said_again else "accepted"


def style_of(rule: Rule, roles: Roles) -> Style:
    if rule.state == "waiting":
        return roles.gate
    if rule.state == "in force":
        return roles.error if rule.is_said_again else roles.active
    return roles.dropped


def named(rule: Rule) -> str:
    return clip(first_line(rule.text), NAMED)


def headline(rules: Sequence[Rule]) -> str:
    """How many rules are in force, and how many wait."""
    told = sum(rule.counts for rule in rules)
    waiting = sum(rule.state == "waiting" and not is_unlikely(rule) for rule in rules)
    wait = f" · {count(waiting)} {'waits' if waiting == 1 else 'wait'} for you" if waiting else ""
    return f"{count(told)} in force{wait}" if told or waiting else ""


def draw_rule(
    item: RuleItem, items: Sequence[RuleItem], width: int, roles: Roles, *, chosen: bool, query: str = ""
) -> Row:
    """A row: sign, number of sessions, last day, scope, the standing as a word if wide, and the text."""
    rule = item.rule
    if item.folded:
        note = f"▸  {count(item.folded)} less likely · "
        return Row((note, roles.muted), (LESS_LIKELY, roles.accent), (" shows them", roles.muted)).cut(width)
    (sign, label, _), tone = SIGNS[standing(rule)], style_of(rule, roles)
    row = Row((f"{MARKED} ", roles.accent) if item.marked else (f"{sign} ", tone))
    quiet = roles.normal if rule.counts else roles.dropped
    often = roles.strong if rule.told > 1 and rule.counts else roles.muted
    row.fit(_times(rule), max(cell_len(_times(each.rule)) for each in items), often, "right").gap(2)
    is_wide = width >= WIDE
    row.fit(first_line(rule.last if is_wide else rule.last[:7]), 10 if is_wide else 7, roles.muted).gap(2)
    where = min(_WHERE, max(cell_len(first_line(each.rule.where) or EVERYWHERE) for each in items))
    row.fit(first_line(rule.where) or EVERYWHERE, where, roles.muted if rule.where else roles.faint)
    if is_wide:
        row.gap(2).fit(label, max(cell_len(SIGNS[standing(each.rule)][1]) for each in items), tone)
    text = clip(first_line(rule.text), width - row.cells - 2)
    row.gap(2)
    row.add_found(text, query, roles.strong if chosen else quiet, roles.accent)
    return row.cut(width)


def _times(rule: Rule) -> str:
    """The number of sessions it was said in: ``13×``; a dash for none."""
    return f"{count(rule.told)}×" if rule.told else "–"


def draw_none(width: int, roles: Roles) -> list[Row]:
    """Explains how to get rules if there are none."""
    return [
        Row(("no rules yet", roles.strong)),
        Row(("l", roles.accent), (" learns rules from what you told agents in your sessions", roles.muted)),
        Row(("i", roles.accent), (" adds a rule of your own", roles.muted)),
    ]


def draw_why(view: WhyView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws a rule: rows, each with the number of the mention it is about, or ``FACT``."""
    rule = view.rule
    facts = (
        rule.where or EVERYWHERE,
        f"said in {plural(rule.told, 'session')}" if rule.told else "not said in any session",
        f"{plural(len(rule.also), 'other')} merged into it" if rule.also else "",
        f"also in {rule.known}" if rule.known else "",
    )
    states = [
        (f"{SIGNS[standing(rule)][0]} {_meaning(view)}", style_of(rule, roles)),
        ("".join(f" · {first_line(each)}" for each in facts if each), roles.muted),
    ]
    head = [
        *wrap([(first_line(rule.text), roles.strong)], width),
        *wrap(states, width, indent=2),
        *_watching(view, width, roles),
        Row(),
    ]
    if view.problem:
        head += wrap([(view.problem, roles.error)], width)
    elif view.mentions is None:
        head.append(Row(("loading …", roles.faint)))
    elif not view.mentions:
        head.append(Row(("not found in the sessions read so far; l reads new ones", roles.muted)))
    rows = [(row, FACT) for row in head]
    mentions = view.mentions or ()
    for number, mention in enumerate(mentions):
        rows += [(row, number) for row in _mention(rule, mention, width, roles)]
    if view.more:
        note = f"latest {len(mentions)} of {count(len(mentions) + view.more)} shown"
        rows.append((Row((note, roles.muted)), FACT))
    return rows


def _meaning(view: WhyView) -> str:
    rule = view.rule
    if standing(rule) == "ended":
        return f"ended on {first_line(rule.ended)}: you said that it no longer holds"
    if rule.state == "replaced":
        return f"replaced by: {first_line(view.by) or first_line(rule.by) or 'another'}"
    meaning = SIGNS[standing(rule)][2]
    return meaning.replace("accepted", f"accepted {first_line(rule.accepted)}") if rule.counts else meaning


def _watching(view: WhyView, width: int, roles: Roles) -> list[Row]:
    seen = f" for: {', '.join(view.sees)}" if view.sees else ""
    if view.watched:
        return wrap([(f"{WATCHED} agents are watched{seen}", roles.active)], width, indent=2)
    if not seen or not view.rule.counts:
        return []
    return wrap([("t", roles.accent), (f" watches agents{seen}", roles.muted)], width, indent=2)


def _mention(rule: Rule, mention: Mention, width: int, roles: Roles) -> list[Row]:
    said, session = mention.occurrence.said, mention.occurrence.session
    row = Row((said.day or "–", roles.normal))
    for part in (mention.by, session.agent, session.project):
        if part:
            row.gap(2).add(clip(first_line(part), width // 5), roles.muted)
    row.gap(2).add(clip_start(f"{session.path}:{said.line}", max(8, width - row.cells)), roles.faint)
    rows = [row]
    if mention.before:
        before = first_line(mention.before)
        rows.append(Row().gap(2).add(f"{DONE} ", roles.faint).add(before, roles.muted).cut(width))
    effect = mention.occurrence.effect_on(rule)
    sign, lead = (SAID, "") if effect == "said" else (LATER, f"{effect} it: ")
    words = [(lead, roles.gate), (said.text, roles.normal)]
    first, *rest = wrap(words, width, indent=_INDENT, first=_INDENT)
    return [*rows, Row().gap(2).add(f"{sign} ", roles.accent).extend(first), *rest]


def export_page(export: Export) -> Builder:
    """The diff an export makes to a file."""
    signs, lines = diff_lines(export.diff.split("\n")[2:])

    def build(width: int, roles: Roles) -> list[Row]:
        head = f"{plural(len(export.rules), 'rule')} in its section" if export.diff else "no changes"
        rows = [Row((head, roles.strong))]
        for place in export.known:
            known = f"already on line {place.line}: {first_line(place.text)}"
            rows += wrap([(known, roles.muted)], width, indent=2)
        rows.append(Row())
        for sign, line in zip(signs, lines, strict=True):
            style = {"+": roles.active, "-": roles.error}.get(sign, roles.muted)
            lead = f"{sign if sign in '+-' else ' '} "
            rows += wrap([(lead, style), (line, style)], width, indent=2)
        return rows

    return build


def watcher_page(watcher: Watcher, seen: str) -> Builder:
    """What is watched for (``seen``, in words or as a regular expression), and the topic that does it."""

    def build(width: int, roles: Roles) -> list[Row]:
        does = "If an agent writes or runs it, the next prompt asks the agent to correct it."
        watches = [("watches for ", roles.muted), (first_line(seen), roles.strong)]
        rows = [*wrap(watches, width), *wrap([(does, roles.muted)], width), Row()]
        rows.append(Row((watcher.path, roles.accent)))
        for line in visible_lines(watcher.text):
            text = line.lstrip(" ")
            indent = min(len(line) - len(text), width // 2)
            rows += [Row().gap(indent).extend(row) for row in wrap([(text, roles.normal)], width - indent)]
        return rows

    return build


class RulesPanel(KeyedRows[RuleItem], panel="rules", number="1"):
    """One rule per row: those in force, those that wait, and the others."""

    always_lit = True
    aligned = True
    signs = (
        *((sign, meaning) for sign, _, meaning in SIGNS.values() if meaning),
        (MARKED, "marked for merging"),
    )

    def key(self, item: RuleItem) -> str:
        return "" if item.folded else item.rule.id

    def next_waiting(self) -> str:
        """The id of the next rule after the selected one that waits; empty if there is none."""
        after = (self.item_at(at) for at in range(self.cursor + 1, self.row_count))
        return next((each.rule.id for each in after if each.rule.state == "waiting" and not each.folded), "")

    def row(self, item: RuleItem, width: int, chosen: bool) -> Row:
        return draw_rule(item, self.items, width, self.roles, chosen=chosen, query=self.query_text)

    def searchable(self, item: RuleItem) -> Sequence[str]:
        rule = item.rule
        return rule.text, rule.where or EVERYWHERE, SIGNS[standing(rule)][1], rule.last

    def selected_text(self) -> str:
        item = self.selected
        return item.rule.text if item is not None and not item.folded else ""


class WhyPanel(SelectablePage[WhyView], panel="why", number="2"):
    signs = (
        (DONE, "what the agent had done"),
        (SAID, "what you then said"),
        (LATER, "what you said later, which replaced or ended it"),
    )
    nothing = "no rule is selected"

    def subject(self, view: WhyView) -> str:
        return view.rule.id

    def draw_view(self, view: WhyView, width: int) -> list[tuple[Row, int]]:
        return draw_why(view, width, self.roles)

    @property
    def occurrence(self) -> Occurrence | None:
        """The selected mention, or the latest one."""
        mentions = self.view.mentions if self.view is not None else None
        return mentions[max(0, self.line)].occurrence if mentions else None

    def summarise(self) -> None:
        self.set_frame(self.view.rule.id if self.view is not None else "")
