"""Commands that decide on rules: whether they apply, and where. Every decision can be undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tui.kit.bench import Bench
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.render.figures import plural
from tui.render.safe import first_line
from tui.screens.rules.elsewhere import ElsewhereCommands, number
from tui.screens.rules.layout import named
from tui.screens.rules.needs import A_RULE, NOT_ACCEPTED
from tui.screens.rules.rows import EVERYWHERE

if TYPE_CHECKING:
    from engine.lifecycle.rules.rules import Change, Rules

    from engine.rules.rulebook import Rule
    from engine.store.repository import Commit

OFTEN = 3
"""The suggested minimum number of sessions for accepting rules in bulk."""
PLACES = ("project", "agent", "tool", "path")
"""What a rule can be limited to, as named in the rules file."""


@dataclass(frozen=True, slots=True)
class RulesChange:
    """A change to the rules, and a word for it."""

    do: Callable[[Rules], Change]
    what: str
    at: str = ""
    """The id of the rule that was selected."""


class DecidingCommands(ElsewhereCommands):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        rules = bench.engine.rules
        self._placed = ""
        """The id of the rule whose scope is being typed."""
        self._changes: Lane[RulesChange, Change] = self.lane(
            lambda change: change.do(rules), self.changed, in_turn=True, finish=True
        )
        self._last: Lane[None, Commit] = self.lane(
            lambda _none: rules.last_change(), lambda _none, commit: self._ask_undo(commit)
        )

    def change_rules(self, do: Callable[[Rules], Change], what: str) -> None:
        """Queues a change to the rules."""
        self._changes.ask(RulesChange(do, what, self.selected_id))

    def _decide(self, do: Callable[[Rules, Rule], Change], what: str) -> None:
        """Decides on the selected rule, and moves to the next pending one."""
        rule = self.selected()
        if rule is not None:
            after = self.rules.next_pending()
            self.change_rules(lambda rules: do(rules, rule), what)
            if after:
                self.rules.select_key(after)

    @command(
        "a", title="Accept the rule", footer="accept", rank=0,
        needs=[A_RULE, NOT_ACCEPTED, WRITABLE],
    )  # fmt: skip
    def accept(self) -> None:
        """Put the selected rule in force, even if it was turned down, replaced or resting."""
        self._decide(lambda rules, rule: rules.accept([rule.id]), "accepted")

    @command(
        "A", title="Accept frequent rules", footer="accept many", rank=2,
        needs=[Need(lambda here: here.acceptable, "all rules in prompts are accepted"), WRITABLE],
    )  # fmt: skip
    def accept_often(self) -> None:
        """Accept all rules you stated in at least a given number of sessions. As you type the number, the
        prompt shows how many rules that is.
        """
        often = next((minimum for minimum in (OFTEN, 2) if self.acceptable(minimum)), 1)
        self.open_line("words", "often", str(often), self.how_many(str(often)))

    def acceptable(self, minimum: int) -> int:
        return len(self.table.book.acceptable(minimum))

    def how_many(self, typed: str) -> str:
        minimum = number(typed)
        return plural(self.acceptable(minimum), "rule") if minimum else "type a number"

    def accept_told(self, typed: str) -> None:
        minimum = number(typed)
        if not minimum:
            self.say("not a number; nothing was changed")
        elif not self.acceptable(minimum):
            self.say("no pending rule was stated that often")
        else:
            self.change_rules(lambda rules: rules.accept(min_sessions=minimum), "accepted")

    @command(
        "x", "delete", title="Turn down the rule", footer="turn down", rank=4,
        needs=[A_RULE, Need(lambda here: here.standing != "turned down", "already turned down"), WRITABLE],
    )  # fmt: skip
    def turn_down(self) -> None:
        """Keep the selected rule out of prompts permanently; it stays in the file, and a accepts it again."""
        self._decide(lambda rules, rule: rules.turn_down([rule.id]), "turned down")

    @command(
        "r", title="Rest the rule",
        needs=[A_RULE, Need(lambda here: here.standing != "resting", "it is already resting"), WRITABLE],
    )  # fmt: skip
    def rest(self) -> None:
        """Leave the selected rule out of prompts until you state it again or accept it."""
        self._decide(lambda rules, rule: rules.rest([rule.id]), "resting")

    @command(
        "p", title="Limit the rule to its project, or lift the limit", footer="project", rank=20,
        needs=[
            A_RULE,
            Need(lambda here: here.project, "it is unknown in which project you said it; P names one"),
            WRITABLE,
        ],
    )  # fmt: skip
    def narrow_rule(self) -> None:
        """Limit the rule to the project of the selected mention, or the most frequent one; press again to
        apply it everywhere.
        """
        rule = self.selected()
        if rule is not None:
            project = "" if rule.project else self.project_of(rule)
            self.change_rules(
                lambda rules: rules.narrow(rule.id, project=project),
                f"limited to {first_line(project)}" if project else "applies everywhere",
            )

    def project_of(self, rule: Rule) -> str:
        """The project a rule is limited to, or that of the selected mention, or the most frequent one."""
        view, selected = self.why.view, self.why.occurrence
        if rule.project or view is None or view.rule.id != rule.id:
            return rule.project
        if selected is not None and self.panel_in_use == "why" and selected.session.project:
            return selected.session.project
        found = Counter(filter(None, (each.occurrence.session.project for each in view.mentions or ())))
        return next((project for project, _ in found.most_common(1)), "")

    @command("P", title="Set where the rule applies", needs=[A_RULE, WRITABLE])
    def say_where(self) -> None:
        """Limit the selected rule to a project, an agent, a tool or files, such as tool=Bash
        path=tests/,*.tsx; leave it empty to apply the rule everywhere.
        """
        rule = self.selected()
        if rule is not None:
            self._placed = rule.id
            scope = " ".join(f"{place}={value}" for place in PLACES if (value := getattr(rule, place)))
            self.open_line("words", "where", scope, self.placing(scope))

    def placing(self, typed: str) -> str:
        """Where the rule would apply, or what is wrong with the input."""
        try:
            return " ".join(filter(None, _places(typed).values())) or EVERYWHERE
        except ValueError as error:
            return str(error)

    def place(self, typed: str) -> None:
        try:
            places = _places(typed)
        except ValueError as error:
            self.say(f"{error}; nothing was changed", error=True)
        else:
            name, where = self._placed, self.placing(typed)
            what = f"limited to {where}" if any(places.values()) else f"applies {EVERYWHERE}"
            self.change_rules(lambda rules: rules.narrow(name, **places), what)

    @command("m", title="Merge the rule with another", footer="merge", rank=21, needs=[A_RULE, WRITABLE])
    def merge(self) -> None:
        """Mark the rule; m on another rule merges them, keeping that one's words; m again cancels."""
        rule, mark = self.selected(), self.marked
        if rule is None:
            return
        self.marked = "" if mark else rule.id
        if mark and mark != rule.id:
            self.change_rules(lambda rules: rules.merge(mark, rule.id), "merged")
        self.show()

    @command("z", title="Undo the last change", footer="undo", rank=10, needs=[WRITABLE])
    def undo(self) -> None:
        """Undo the last change to the rules, using git; press again for the one before. Asks first."""
        self._last.ask(None)

    def _ask_undo(self, commit: Commit) -> None:
        new = "\nRules it added are removed and not learned again." if "learned" in commit.subject else ""
        question = f"{first_line(commit.subject)}\nRestores the rules as they were before this change.{new}"
        undo = partial(self.change_rules, lambda rules: rules.undo(commit.revision), "undone")
        self.ask("undo the last change", question, "Undo", undo)

    def changed(self, request: RulesChange, change: Change) -> None:
        after = committed(change.commit.revision, change.commit.why)
        rules = change.rules
        # After a merge the first rule is the one that remains.
        what = named(rules[0]) if rules and (len(rules) == 1 or request.what == "merged") else ""
        follows = request.what in ("in force", "merged") and self.selected_id == request.at
        self.wanted = rules[0].id if what and follows else ""
        self.say(f"{request.what}: {what or plural(len(rules), 'rule')} · {after}")
        self.look()


def _places(typed: str) -> dict[str, str]:
    """The value of each of ``PLACES``; empty if not given.

    Raises:
        ValueError: Something else is given.
    """
    found = dict.fromkeys(PLACES, "")
    for word in typed.split():
        name, sign, value = word.partition("=")
        if name not in found or not sign:
            raise ValueError(f"{word}: expected project=…, agent=…, tool=… or path=…")
        found[name] = value
    return found
