"""One rule: how it stands, and each time that it was said, with what the agent had done before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.kit.drawn_rows import FACT, DrawnRows
from tui.render.draw import Row, clip, clip_start, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.rules.rows import EVERYWHERE, SIGNS, standing, style_of

if TYPE_CHECKING:
    from engine.lifecycle.rules.grouping import Told
    from engine.rules.rulebook import Rule

DONE, SAID = "→", "←"
"""Before what the agent had done, and what the person said: as in the feed."""
WATCHED = "◉"
_INDENT = 4
MOST = 50
"""Times that are shown, the last ones."""
_MEANS = {
    "said": "waits for your word; stands last in prompts",
    "in force": "in force: you said it as a rule",
    "accepted": "accepted {day}",
    "told again": "accepted {day}, yet {since}",
    "resting": "rests{why}",
    "turned down": "turned down: in no prompt",
    "replaced": "replaced by: {by}",
}


@dataclass(frozen=True, slots=True)
class Saying:
    """One time that a rule was said."""

    told: Told
    before: str
    """What the agent had done; empty where that is not known."""
    by: str = ""
    """Who said it, in a memory that several people share; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class WhyView:
    """The selected rule."""

    rule: Rule
    since: str = ""
    """What came of it since it was accepted; empty where it was not told again."""
    by: str = ""
    """The text of the rule that replaced it."""
    sayings: tuple[Saying, ...] | None = None
    """The last times that it was said, the newest first; ``None`` while they are looked up."""
    more: int = 0
    """How many there are beside them."""
    problem: str = ""
    """Why they cannot be looked up."""
    sees: tuple[str, ...] = ()
    """What in an agent's words or commands would show that it is broken."""
    watched: bool = False
    """A topic watches for that."""


def draw_why(view: WhyView, width: int, roles: Roles) -> list[tuple[Row, int]]:
    """Draws a rule: rows, each with the number of the saying that it stands for, or ``FACT``."""
    rule = view.rule
    sign = SIGNS[standing(rule)][0]
    why = ": others were said more plainly" if rule.crowded else " until you say it again"
    why = ": a model takes it for a request" if rule.worded else why
    by, again = first_line(view.by) or rule.by, view.since or "told again since"
    means = _MEANS[standing(rule)].format(day=rule.accepted, by=by, since=again, why=why)
    facts = "".join(f" · {each}" for each in (rule.where or EVERYWHERE, *_facts(rule)) if each)
    head = [
        *wrap([(first_line(rule.text), roles.strong)], width),
        *wrap([(f"{sign} {means}", style_of(rule, roles)), (facts, roles.muted)], width, indent=2),
        *_watching(view, width, roles),
        Row(),
    ]
    rows = [(row, FACT) for row in head]
    if view.problem:
        return [*rows, *((row, FACT) for row in wrap([(view.problem, roles.error)], width))]
    if view.sayings is None:
        return [*rows, (Row(("looking it up …", roles.faint)), FACT)]
    if not view.sayings:
        return [
            *rows,
            (Row(("no session that was read says it; l reads those that are new", roles.muted)), FACT),
        ]
    for number, saying in enumerate(view.sayings):
        rows += [(row, number) for row in _saying(saying, width, roles)]
    if view.more:
        told = f"{len(view.sayings)} of {count(len(view.sayings) + view.more)} shown, the last ones"
        rows.append((Row((told, roles.muted)), FACT))
    return rows


def _watching(view: WhyView, width: int, roles: Roles) -> list[Row]:
    """What is, or could be, watched for."""
    seen = f" for: {', '.join(view.sees)}" if view.sees else ""
    if view.watched:
        return wrap([(f"{WATCHED} agents are watched{seen}", roles.active)], width, indent=2)
    if not seen or not view.rule.counts:
        return []
    return wrap([("t", roles.accent), (f" has agents watched{seen}", roles.muted)], width, indent=2)


def _facts(rule: Rule) -> Sequence[str]:
    return (
        plural(rule.told, "session") if rule.told else "said in no session",
        f"{plural(len(rule.also), 'other')} merged into it" if rule.also else "",
        "worded by a model" if rule.worded and not rule.own else "",
        f"also in {rule.known}" if rule.known else "",
    )


def _saying(saying: Saying, width: int, roles: Roles) -> list[Row]:
    said, session = saying.told.said, saying.told.session
    row = Row((said.day or "–", roles.normal))
    for part in (saying.by, session.agent, session.project):
        if part:
            row.gap(2).add(clip(first_line(part), width // 5), roles.muted)
    row.gap(2).add(clip_start(f"{session.path}:{said.line}", max(8, width - row.cells)), roles.faint)
    rows = [row]
    if saying.before:
        rows.append(
            Row().gap(2).add(f"{DONE} ", roles.faint).add(first_line(saying.before), roles.muted).cut(width)
        )
    words = "refused without a word" if said.refused else said.text
    first, *rest = wrap([(words, roles.normal)], width, indent=_INDENT, first=_INDENT)
    return [*rows, Row().gap(2).add(f"{SAID} ", roles.accent).extend(first), *rest]


class WhyPanel(DrawnRows):
    """The selected rule in full."""

    name_of = "why"
    number = "2"
    words = "why"
    signs = ((DONE, "what the agent had done"), (SAID, "what you said then"))

    view: WhyView | None = None

    def show_view(self, view: WhyView | None) -> None:
        """Shows another rule, or more about the same."""
        if view == self.view:
            return
        before, self.view = self.view, view
        self.redraw(other=before is None or view is None or before.rule.id != view.rule.id)

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        return draw_why(self.view, width, self.roles) if self.view is not None else []

    @property
    def told(self) -> Told | None:
        """The selected saying; otherwise the newest one."""
        sayings = self.view.sayings if self.view is not None else None
        return sayings[max(0, self.line)].told if sayings else None

    def empty(self, width: int) -> list[Row]:
        return [Row(("no rule is selected", self.roles.faint))]

    def summarise(self) -> None:
        """Which rule it is."""
        self.set_frame(self.view.rule.id if self.view is not None else "")
