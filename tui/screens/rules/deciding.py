"""What a person decides on the rules: which hold, and where; every decision can be taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
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
"""Sessions from which what was said may well be meant: offered where that holds for any."""
PLACES = ("project", "agent", "tool", "path")
"""What a rule can be narrowed to, by the names that its line in the file has for them."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A decision on the rules, and the words for it."""

    do: Callable[[Rules], Change]
    what: str


class DecidingCommands(ElsewhereCommands):
    """The commands for it."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        rules = bench.engine.rules
        self._placed = ""
        """The id of the rule that the places typed into the line are for."""
        self._wishes: Lane[Wish, Change] = self.lane(
            lambda wish: wish.do(rules), self.changed, in_turn=True, finish=True
        )
        self._last: Lane[None, Commit] = self.lane(
            lambda _none: rules.last_change(), lambda _none, commit: self._ask_undo(commit)
        )

    def wish(self, do: Callable[[Rules], Change], what: str) -> None:
        """Has the rules changed, after what was wished before."""
        self._wishes.ask(Wish(do, what))

    def _decide(self, do: Callable[[Rules, Rule], Change], what: str) -> None:
        """Decides on the selected rule, and goes on to the next that waits."""
        rule = self.selected()
        if rule is not None:
            after = self.rules.next_waiting()
            self.wish(lambda rules: do(rules, rule), what)
            if after:
                self.rules.select_key(after)

    @command(
        "a", title="Accept the rule", footer="accept", rank=0,
        needs=[A_RULE, NOT_ACCEPTED, WRITABLE],
    )  # fmt: skip
    def accept(self) -> None:
        """Put the selected rule in force, also one that was turned down, replaced, or rests."""
        self._decide(lambda rules, rule: rules.accept([rule.id]), "accepted")

    @command(
        "A", title="Accept all that you said often", footer="accept often", rank=2,
        needs=[Need(lambda here: here.acceptable, "all that is in prompts is accepted"), WRITABLE],
    )  # fmt: skip
    def accept_often(self) -> None:
        """Accept all that you said in so many sessions or more: type how many; how many rules that is stands
        above.
        """
        often = next((least for least in (OFTEN, 2) if self.acceptable(least)), 1)
        self.open_line("words", "often", str(often), self.how_many(str(often)))

    def acceptable(self, least: int) -> int:
        return len(self.table.book.acceptable(least))

    def how_many(self, typed: str) -> str:
        least = number(typed)
        return f"{plural(self.acceptable(least), 'rule')}" if least else "type a number"

    def accept_told(self, typed: str) -> None:
        """Accepts what was said in as many sessions as were typed."""
        least = number(typed)
        if not least:
            self.say("that is no number; nothing is changed")
        elif not self.acceptable(least):
            self.say("nothing that waits was said so often")
        else:
            self.wish(lambda rules: rules.accept(told=least), "accepted")

    @command(
        "x", "delete", title="Turn the rule down", footer="turn down", rank=4,
        needs=[A_RULE, Need(lambda here: here.standing != "turned down", "it is turned down"), WRITABLE],
    )  # fmt: skip
    def turn_down(self) -> None:
        """Take the selected rule out of prompts for good; it stays in the file, and a puts it in force."""
        self._decide(lambda rules, rule: rules.turn_down([rule.id]), "turned down")

    @command(
        "r", title="Let the rule rest",
        needs=[A_RULE, Need(lambda here: here.standing != "resting", "it rests already"), WRITABLE],
    )  # fmt: skip
    def rest(self) -> None:
        """Take the selected rule out of prompts until you say it again, or accept it."""
        self._decide(lambda rules, rule: rules.rest([rule.id]), "rests")

    @command(
        "p", title="Only in its project, or everywhere", footer="project", rank=20,
        needs=[
            A_RULE,
            Need(lambda here: here.project, "it is not known in which project you said it"),
            WRITABLE,
        ],
    )  # fmt: skip
    def narrow_rule(self) -> None:
        """Have the rule hold only in the project of the selected saying, or of most; once more everywhere."""
        rule = self.selected()
        if rule is not None:
            project = "" if rule.project else self.project_of(rule)
            self.wish(
                lambda rules: rules.narrow(rule.id, project=project),
                f"holds in {first_line(project)} only" if project else "holds everywhere",
            )

    def project_of(self, rule: Rule) -> str:
        """The project in which a rule holds; otherwise of the selected saying, else of most."""
        view, told = self.why.view, self.why.told
        if rule.project or view is None or view.rule.id != rule.id:
            return rule.project
        if told is not None and self.panel_in_use == "why" and told.session.project:
            return told.session.project
        found = Counter(filter(None, (each.told.session.project for each in view.sayings or ())))
        return next((project for project, _ in found.most_common(1)), "")

    @command("P", title="Where alone the rule holds", needs=[A_RULE, WRITABLE])
    def say_where(self) -> None:
        """Type where alone the selected rule holds: a project, an agent, a tool and files, such as
        tool=Bash path=tests/,*.tsx; nothing typed means everywhere.
        """
        rule = self.selected()
        if rule is not None:
            self._placed = rule.id
            said = " ".join(f"{place}={value}" for place in PLACES if (value := getattr(rule, place)))
            self.open_line("words", "where", said, self.placing(said))

    def placing(self, typed: str) -> str:
        """Where a rule would hold, or what is wrong with what is typed so far."""
        try:
            return " ".join(filter(None, _places(typed).values())) or EVERYWHERE
        except ValueError as error:
            return str(error)

    def place(self, typed: str) -> None:
        """Has the rule hold where it was typed."""
        try:
            places = _places(typed)
        except ValueError as error:
            self.say(f"{error}; nothing is changed", error=True)
        else:
            name, where = self._placed, self.placing(typed)
            what = f"holds only for {where}" if any(places.values()) else f"holds {EVERYWHERE}"
            self.wish(lambda rules: rules.narrow(name, **places), what)

    @command("m", title="Merge the rule with another", footer="merge", rank=21, needs=[A_RULE, WRITABLE])
    def merge(self) -> None:
        """Mark the rule; m on another makes them one, in the words of that other; m on itself lets it be."""
        rule, mark = self.selected(), self.marked
        if rule is None:
            return
        self.marked = "" if mark else rule.id
        if mark and mark != rule.id:
            self.wish(lambda rules: rules.merge(mark, rule.id), "merged")
        self.show()

    @command("z", title="Undo the last change", footer="undo", rank=10, needs=[WRITABLE])
    def undo(self) -> None:
        """Take the last change of the rules back, from git; again: the one before it. Asks first."""
        self._last.ask(None)

    def _ask_undo(self, commit: Commit) -> None:
        gone = "\nWhat is new in it goes, and is not learned again." if "learned" in commit.subject else ""
        question = f"{first_line(commit.subject)}\nThe rules become what they were before.{gone}"
        self.ask(
            "undo the last change",
            question,
            "Undo",
            lambda: self.wish(lambda rules: rules.undo(), "as before"),
        )

    def changed(self, wish: Wish, change: Change) -> None:
        after = committed(change.commit.revision, change.commit.why)
        rules = change.rules
        # Of a merge the first is the one that stays.
        what = named(rules[0]) if rules and (len(rules) == 1 or wish.what == "merged") else ""
        self.wanted = rules[0].id if what and wish.what in ("in force", "merged") else ""
        self.say(f"{wish.what}: {what or plural(len(rules), 'rule')} · {after}")
        self.look()


def _places(typed: str) -> dict[str, str]:
    """What each of ``PLACES`` is, empty where it is not named.

    Raises:
        ValueError: Something else is named.
    """
    found = dict.fromkeys(PLACES, "")
    for word in typed.split():
        name, sign, value = word.partition("=")
        if name not in found or not sign:
            raise ValueError(f"{word}: give project=…, agent=…, tool=… or path=…")
        found[name] = value
    return found
