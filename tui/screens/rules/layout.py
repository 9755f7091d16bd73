"""The rules screen's panels: the rules as a list, and the evidence for the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from engine.rules.rulebook import Rule, Rulebook, most_told
from engine.rules.watch import watcher_path, what_breaks
from tui.kit.keyed_rows import KeyedRows
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.rows import RowList
from tui.kit.selectable_page import SelectablePage
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.rules.draw import (
    DONE,
    EVERYWHERE,
    LATER,
    MARKED,
    SAID,
    SIGNS,
    Mention,
    RuleItem,
    WhyView,
    draw_none,
    draw_rule,
    draw_why,
    headline,
    standing,
)

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.rules.learning import Occurrence
    from tui.kit.bench import Bench

BROAD = 150
"""Minimum columns for the rule next to the list."""
MOST = 50
"""The latest mentions shown."""
Kept = Literal["all", "waiting", "in force"]
KEPT: dict[Kept, str] = {"all": "", "waiting": "that wait for you", "in force": "in force"}
"""What the list can show, in the order the key cycles through."""


@dataclass(frozen=True, slots=True)
class Table:
    book: Rulebook = field(default_factory=Rulebook)
    rules: tuple[Rule, ...] = ()
    """The book's rules in the order of the list."""
    problem: str = ""
    loading: bool = False


def look_up(engine: Engine, rule: Rule) -> WhyView:
    """Finds each time a rule was said, replaced or ended, and what the agent had done before."""
    occurrences = engine.rules.occurrences(rule)[::-1]
    latest = occurrences[:MOST]
    by = engine.rules.authors_of(latest)
    return WhyView(
        rule,
        mentions=tuple(
            Mention(each, engine.rules.before(each), name) for each, name in zip(latest, by, strict=True)
        ),
        more=len(occurrences) - len(latest),
        sees=what_breaks(rule.text)[1],
        watched=(engine.workspace.root / watcher_path(rule)).is_file(),
    )


class RulesPanel(KeyedRows[RuleItem]):
    """One rule per row: those in force, those that wait, and the others."""

    name_of = "rules"
    number = "1"
    words = "rules"
    always_lit = True
    aligned = True
    signs = (
        *((sign, meaning) for sign, _, meaning in SIGNS.values() if meaning),
        (MARKED, "marked for merging"),
    )
    head = below = ""

    def key(self, item: RuleItem) -> str:
        return item.rule.id

    def next_waiting(self) -> str:
        """The id of the next rule after the selected one that waits; empty if there is none."""
        after = (self.item_at(at).rule for at in range(self.cursor + 1, self.row_count))
        return next((rule.id for rule in after if rule.state == "waiting"), "")

    def row(self, item: RuleItem, width: int, chosen: bool) -> Row:
        return draw_rule(item, self.items, width, self.roles, chosen=chosen, query=self.query_text)

    def searchable(self, item: RuleItem) -> Sequence[str]:
        rule = item.rule
        return rule.text, rule.where or EVERYWHERE, SIGNS[standing(rule)][1], rule.last

    def summarise(self) -> None:
        self.set_frame(self.head, " · ".join(filter(None, (self.below, self.filter_label))))

    def selected_text(self) -> str:
        return self.selected.rule.text if self.selected is not None else ""


class WhyPanel(SelectablePage):
    name_of = "why"
    number = "2"
    words = "why"
    signs = (
        (DONE, "what the agent had done"),
        (SAID, "what you then said"),
        (LATER, "what you said later, which replaced or ended it"),
    )
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
        self.evidence: WhyView | None = None
        """That for the rule selected last; ``None`` to look it up again."""
        self._reads: Lane[None, Table] = self.lane(
            lambda _none: self._read_table(rules.book()),
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

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {**super().shape(shown), "-broad": self.app.size.width >= BROAD}

    def show(self) -> None:
        table, panel = self.table, self.rules
        merging = "m on the rule whose words to keep, esc cancels" if self.marked else ""
        panel.head = headline(table.rules)
        panel.below = (
            merging or self.reading or ("" if self.kept == "all" else f"only those {KEPT[self.kept]}")
        )
        panel.show_items(
            [
                RuleItem(rule, rule.id == self.marked)
                for rule in table.rules
                if self.kept in ("all", rule.state)
            ],
            self._note,
            (table, self.kept, self.query_text),
        )
        panel.summarise()
        panel.filter(self.query_text)
        self.show_rule()

    def show_rule(self) -> None:
        """Shows the selected rule, and looks up its evidence."""
        rule = self.selected()
        if rule is None:
            self.why.show_view(None)
        else:
            view = self.evidence
            if view is None or view.rule != rule:
                # What is shown of the same rule stays until there is more to show.
                shown = view or self.why.view
                is_same = shown is not None and shown.rule.id == rule.id
                view = self.evidence = replace(shown, rule=rule) if shown and is_same else WhyView(rule)
                self._whys.ask(rule)
            by = next((each.text for each in self.table.rules if each.id == rule.by), "")
            self.why.show_view(replace(view, by=by))
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

    @staticmethod
    def _read_table(book: Rulebook) -> Table:
        return Table(book, tuple(most_told(book.rules)))

    def _take(self, table: Table) -> None:
        self.table = table
        self.show()
        if self.wanted:
            self.rules.select_key(self.wanted)
            self.wanted = ""

    def _take_why(self, view: WhyView) -> None:
        self.evidence = view
        self.show_rule()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.rules:
            if moved.by_hand:
                self.wanted = ""
            self.show_rule()
        else:
            self.update_footer()
