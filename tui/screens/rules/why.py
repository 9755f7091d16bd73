"""One rule: its standing, and every mention of it with what the agent had done before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.kit.selectable_page import FACT, SelectablePage
from tui.render.draw import Row, clip, clip_start, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.rules.rows import EVERYWHERE, SIGNS, standing, style_of

if TYPE_CHECKING:
    from engine.lifecycle.rules.grouping import Occurrence

    from engine.rules.rulebook import Rule

DONE, SAID = "→", "←"
"""Signs for what the agent had done and what the person said, as in the feed."""
WATCHED = "◉"
_INDENT = 4
MOST = 50
"""The latest mentions shown."""
_MEANINGS = {
    "said": "pending your decision; placed last in prompts",
    "in force": "in force: you stated it as a rule",
    "accepted": "accepted {day}",
    "repeated": "accepted {day}, but {since}",
    "resting": "resting{reason}",
    "turned down": "turned down: not in prompts",
    "replaced": "replaced by: {by}",
}


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention of a rule."""

    occurrence: Occurrence
    before: str
    """What the agent had done; empty if unknown."""
    by: str = ""
    """Who said it, in a shared memory; empty if unknown."""


@dataclass(frozen=True, slots=True)
class WhyView:
    rule: Rule
    since: str = ""
    """What happened since it was accepted; empty if it was not repeated."""
    by: str = ""
    """The text of the rule that replaced it."""
    mentions: tuple[Mention, ...] | None = None
    """The latest mentions, newest first; ``None`` while loading."""
    more: int = 0
    """Number of further mentions."""
    problem: str = ""
    """Why the mentions cannot be loaded."""
    sees: tuple[str, ...] = ()
    """What in an agent's text or commands would violate it."""
    watched: bool = False
    """A topic watches for violations."""


def draw_why(view: WhyView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws a rule: rows, each with the number of the mention it is about, or ``FACT``."""
    rule = view.rule
    sign = SIGNS[standing(rule)][0]
    reason = ": others were stated more clearly" if rule.crowded else " until you state it again"
    reason = ": a model considers it a one-off request" if rule.worded else reason
    by, since = first_line(view.by) or rule.by, view.since or "repeated since"
    meaning = _MEANINGS[standing(rule)].format(day=rule.accepted, by=by, since=since, reason=reason)
    facts = "".join(f" · {each}" for each in (rule.where or EVERYWHERE, *_facts(rule)) if each)
    head = [
        *wrap([(first_line(rule.text), roles.strong)], width),
        *wrap([(f"{sign} {meaning}", style_of(rule, roles)), (facts, roles.muted)], width, indent=2),
        *_watching(view, width, roles),
        Row(),
    ]
    rows = [(row, FACT) for row in head]
    if view.problem:
        return [*rows, *((row, FACT) for row in wrap([(view.problem, roles.error)], width))]
    if view.mentions is None:
        return [*rows, (Row(("loading …", roles.faint)), FACT)]
    if not view.mentions:
        return [
            *rows,
            (Row(("not found in the sessions read so far; l reads new ones", roles.muted)), FACT),
        ]
    for number, mention in enumerate(view.mentions):
        rows += [(row, number) for row in _mention(mention, width, roles)]
    if view.more:
        note = f"latest {len(view.mentions)} of {count(len(view.mentions) + view.more)} shown"
        rows.append((Row((note, roles.muted)), FACT))
    return rows


def _watching(view: WhyView, width: int, roles: Roles) -> list[Row]:
    seen = f" for: {', '.join(view.sees)}" if view.sees else ""
    if view.watched:
        return wrap([(f"{WATCHED} agents are watched{seen}", roles.active)], width, indent=2)
    if not seen or not view.rule.counts:
        return []
    return wrap([("t", roles.accent), (f" watches agents{seen}", roles.muted)], width, indent=2)


def _facts(rule: Rule) -> Sequence[str]:
    return (
        plural(rule.told, "session") if rule.told else "not stated in any session",
        f"{plural(len(rule.also), 'other')} merged into it" if rule.also else "",
        "worded by a model" if rule.worded and not rule.own else "",
        f"also in {rule.known}" if rule.known else "",
    )


def _mention(mention: Mention, width: int, roles: Roles) -> list[Row]:
    said, session = mention.occurrence.said, mention.occurrence.session
    row = Row((said.day or "–", roles.normal))
    for part in (mention.by, session.agent, session.project):
        if part:
            row.gap(2).add(clip(first_line(part), width // 5), roles.muted)
    row.gap(2).add(clip_start(f"{session.path}:{said.line}", max(8, width - row.cells)), roles.faint)
    rows = [row]
    if mention.before:
        rows.append(
            Row().gap(2).add(f"{DONE} ", roles.faint).add(first_line(mention.before), roles.muted).cut(width)
        )
    words = "rejected without comment" if said.refused else said.text
    first, *rest = wrap([(words, roles.normal)], width, indent=_INDENT, first=_INDENT)
    return [*rows, Row().gap(2).add(f"{SAID} ", roles.accent).extend(first), *rest]


class WhyPanel(SelectablePage):
    name_of = "why"
    number = "2"
    words = "why"
    signs = ((DONE, "what the agent had done"), (SAID, "what you then said"))
    view: WhyView | None = None

    def show_view(self, view: WhyView | None) -> None:
        if view == self.view:
            return
        before, self.view = self.view, view
        self.redraw(other=before is None or view is None or before.rule.id != view.rule.id)

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        return draw_why(self.view, width, self.roles) if self.view is not None else []

    @property
    def occurrence(self) -> Occurrence | None:
        """The selected mention, or the latest one."""
        mentions = self.view.mentions if self.view is not None else None
        return mentions[max(0, self.line)].occurrence if mentions else None

    def empty(self, width: int) -> list[Row]:
        return [Row(("no rule is selected", self.roles.faint))]

    def summarise(self) -> None:
        self.set_frame(self.view.rule.id if self.view is not None else "")
