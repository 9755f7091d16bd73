"""The rules screen: a person's standing rules for agents, and the evidence for each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from engine.lifecycle.rules.watched import watcher_path
from engine.rules.seen import what_breaks
from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from engine.rules.rulebook import Rule, Rulebook, most_told
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.rows import RowList
from tui.render.draw import Row, clip
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.rules.rows import RuleItem, RulesPanel, draw_none, headline, standing
from tui.screens.rules.why import MOST, Mention, WhyPanel, WhyView

if TYPE_CHECKING:
    from engine.lifecycle.rules.rules import Rules

    from engine.engine import Engine
    from tui.kit.bench import Bench

BROAD = 150
"""Minimum columns for the rule next to the list."""
NAMED = 40
"""Cells of a rule shown in a notification."""
Kept = Literal["all", "waiting", "in force"]
KEPT: dict[Kept, str] = {"all": "", "waiting": "pending", "in force": "in force"}
"""What the list can show, in the order the key cycles through."""


@dataclass(frozen=True, slots=True)
class Table:
    book: Rulebook = field(default_factory=Rulebook)
    rules: tuple[Rule, ...] = ()
    """The book's rules in the order of the list."""
    problem: str = ""
    loading: bool = False


def read_table(rules: Rules) -> Table:
    book = rules.book()
    return Table(book, tuple(most_told(book.rules)))


def look_up(engine: Engine, rule: Rule) -> WhyView:
    """Finds each mention of a rule, what the agent had done before, and repetitions since acceptance."""
    occurrences = engine.rules.occurrences(rule)[::-1]
    by = engine.kept_rules.authors_of(occurrences[:MOST])
    mentions = tuple(
        Mention(each, engine.rules.before(each), name)
        for each, name in zip(occurrences[:MOST], by, strict=True)
    )
    since = engine.kept_rules.since().get(rule.id) if standing(rule) == "repeated" else None
    return WhyView(
        rule,
        since.words if since else "",
        mentions=mentions,
        more=len(occurrences) - len(mentions),
        sees=what_breaks(rule.text)[1],
        watched=(engine.workspace.root / watcher_path(rule)).is_file(),
    )


def _evidence_key(rule: Rule) -> tuple[object, ...]:
    """Changes if the result of ``look_up`` may change."""
    return rule.text, rule.told, rule.last, rule.also, rule.accepted


def named(rule: Rule) -> str:
    return clip(first_line(rule.text), NAMED)


class RulesLayout(ListDetail):
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
        """The id of the rule marked for merging."""
        self.wanted = ""
        """The id of the rule to select after the next read; empty to keep the selection."""
        self.reading = ""
        """Progress of reading sessions."""
        self.known: dict[str, WhyView] = {}
        """The evidence for the rule selected last, by id."""
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

    # Display

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {**super().shape(shown), "-broad": self.app.size.width >= BROAD}

    def listed(self) -> list[RuleItem]:
        states = {"waiting": ("said",), "in force": ("in force",)}.get(self.kept)
        kept = [rule for rule in self.table.rules if states is None or rule.state in states]
        return [RuleItem(rule, rule.id == self.marked) for rule in kept]

    def show(self) -> None:
        table = self.table
        merging = "m on the rule whose words to keep, esc cancels" if self.marked else ""
        below = merging or self.reading or ("" if self.kept == "all" else f"only {KEPT[self.kept]}")
        self.rules.show_rules(
            self.listed(), self._note, (table, self.kept, self.query_text),
            head=headline(len(table.book.again), len(table.book.waiting)), below=below,
        )  # fmt: skip
        self.rules.filter(self.query_text)
        self.show_rule()

    def show_rule(self) -> None:
        """Shows the selected rule, and looks up its evidence."""
        rule = self.selected()
        if rule is None:
            self.why.show_view(None)
        else:
            view = self.known.get(rule.id)
            if view is None or _evidence_key(view.rule) != _evidence_key(rule):
                view = self.known[rule.id] = WhyView(rule)
                self._whys.ask(rule)
            by = next((each.text for each in self.table.rules if each.id == rule.by), "")
            self.why.show_view(replace(view, rule=rule, by=by))
        self.update_footer()

    def selected(self) -> Rule | None:
        item = self.rules.selected
        return item.rule if item is not None else None

    @property
    def selected_id(self) -> str:
        """The id of the selected rule; empty for none."""
        rule = self.selected()
        return rule.id if rule is not None else ""

    def _note(self, width: int, roles: Roles) -> list[Row]:
        table = self.table
        if table.loading:
            return [Row(("reading …", roles.faint))]
        if table.problem:
            return unreadable("the rules", table.problem, width, roles)
        if self.query_text:
            return [Row(("no rule matches; esc shows all", roles.muted))]
        if table.rules:
            return [Row((f"no rules {KEPT[self.kept]}; s shows all", roles.muted))]
        return draw_none(width, roles)

    # Results

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
            if moved.by_hand:
                self.wanted = ""
            self.show_rule()
        else:
            self.update_footer()
