"""The rules screen: what a person has told their agents, and why each is a rule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from engine.lifecycle.rules.watched import watcher_path
from engine.rules.rulebook import Rule, Rulebook, most_told
from engine.rules.seen import what_breaks
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.rows import RowList
from tui.render.draw import Row, clip
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.rules.rows import RuleItem, RulesPanel, draw_none, headline, standing
from tui.screens.rules.why import MOST, Saying, WhyPanel, WhyView

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.lifecycle.rules.rules import Rules
    from tui.kit.bench import Bench

BROAD = 150
"""Columns from which the rule stands beside the rules."""
NAMED = 40
"""Cells of a rule in a word in passing."""
Kept = Literal["all", "waiting", "in force"]
KEPT: tuple[Kept, ...] = ("all", "waiting", "in force")
"""What the list may keep to, in the order in which the key goes through them."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rules as they were read."""

    book: Rulebook = field(default_factory=Rulebook)
    rules: tuple[Rule, ...] = ()
    """Those of the book, in the order of the list."""
    problem: str = ""
    loading: bool = False


def read_table(rules: Rules) -> Table:
    """Reads the rules and puts them in order."""
    book = rules.book()
    return Table(book, tuple(most_told(book.rules)))


def look_up(engine: Engine, rule: Rule) -> WhyView:
    """Looks up when a rule was said, what the agent had done each time, and what came of it since."""
    told = engine.rules.told(rule)[::-1]
    by = engine.kept_rules.said_by(told[:MOST])
    said = zip(told[:MOST], by, strict=True)
    sayings = tuple(Saying(each, engine.rules.before(each), name) for each, name in said)
    since = engine.kept_rules.since().get(rule.id) if standing(rule) == "told again" else None
    return WhyView(
        rule,
        since.words if since else "",
        sayings=sayings,
        more=len(told) - len(sayings),
        sees=what_breaks(rule.text)[1],
        watched=(engine.workspace.root / watcher_path(rule)).is_file(),
    )


def _heard(rule: Rule) -> tuple[object, ...]:
    """What decides when a rule was said, and what came of it."""
    return rule.text, rule.told, rule.last, rule.also, rule.accepted


def named(rule: Rule) -> str:
    """A rule in a word in passing."""
    return clip(first_line(rule.text), NAMED)


class RulesLayout(ListDetail):
    """The screen on the person's standing rules."""

    AUTO_FOCUS = "#rules"
    CSS_PATH: ClassVar[CSSPathType | None] = "rules.tcss"
    area = "standing"
    line = "words"
    news = frozenset({"status"})

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "rules")
        rules = bench.engine.rules
        self.table = Table(loading=True)
        self.kept: Kept = "all"
        self.query_text = ""
        self.marked = ""
        """The id of the rule that is to be merged."""
        self.wanted = ""
        """The id of the rule to select when the rules were read again; empty for what is selected."""
        self.reading = ""
        """How far the reading of sessions is."""
        self.known: dict[str, WhyView] = {}
        """What was looked up of the rule that was selected last, by its id."""
        self._reads: Lane[None, Table] = self.lane(
            lambda _none: read_table(rules),
            lambda _none, table: self._take(table),
            lambda _none, problem: self._take(Table(problem=problem)),
        )
        self._whys: Lane[Rule, WhyView] = self.lane(
            lambda rule: look_up(bench.engine, rule),
            lambda rule, view: self._take_why(view),
            lambda rule, problem: self._take_why(WhyView(rule, problem=problem)),
        )

    def body(self) -> ComposeResult:
        self.rules = RulesPanel(id="rules")
        self.why = WhyPanel(id="why")
        with Container(id="standing"):
            yield self.rules
            yield self.why

    def look(self) -> None:
        self._reads.ask(None)

    # What is on the screen

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        """The rule stands beside the rules where there is room."""
        return {**super().shape(shown), "-broad": self.app.size.width >= BROAD}

    def listed(self) -> list[RuleItem]:
        """The rules that the list keeps to."""
        states = {"waiting": ("said",), "in force": ("in force",)}.get(self.kept)
        kept = [rule for rule in self.table.rules if states is None or rule.state in states]
        return [RuleItem(rule, rule.id == self.marked) for rule in kept]

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        table = self.table
        merging = "m on the rule whose words stay, esc leaves it" if self.marked else ""
        below = merging or self.reading or ("" if self.kept == "all" else f"only {self.kept}")
        self.rules.show_rules(
            self.listed(), self._note, (table, self.kept, self.query_text),
            head=headline(len(table.book.again), len(table.book.waiting)), below=below,
        )  # fmt: skip
        self.rules.filter(self.query_text)
        self.show_rule()

    def show_rule(self) -> None:
        """Shows the selected rule, and looks up when it was said."""
        rule = self.selected()
        if rule is None:
            self.why.show_view(None)
        else:
            view = self.known.get(rule.id)
            if view is None or _heard(view.rule) != _heard(rule):
                view = self.known[rule.id] = WhyView(rule)
                self._whys.ask(rule)
            by = next((each.text for each in self.table.rules if each.id == rule.by), "")
            self.why.show_view(replace(view, rule=rule, by=by))
        self.update_footer()

    def selected(self) -> Rule | None:
        """The rule that the keys are about."""
        item = self.rules.selected
        return item.rule if item is not None else None

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no rows."""
        table = self.table
        if table.loading:
            return [Row(("reading …", roles.faint))]
        if table.problem:
            return unreadable("the rules", table.problem, width, roles)
        if self.query_text:
            return [Row(("no rule holds these words; esc shows all", roles.muted))]
        if table.rules:
            return [Row((f"none is {self.kept}; s shows all", roles.muted))]
        return draw_none(width, roles)

    # What comes in

    def _take(self, table: Table) -> None:
        self.table = table
        self.show()
        if self.wanted:
            self.rules.select_key(self.wanted)
            self.wanted = ""

    def _take_why(self, view: WhyView) -> None:
        self.known = {view.rule.id: view}
        self.show_rule()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.rules:
            self.show_rule()
        else:
            self.update_footer()
