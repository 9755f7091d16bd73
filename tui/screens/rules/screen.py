"""The rules screen: what can be done there, one method for each command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on

from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.render.figures import count, plural
from tui.render.safe import first_line
from tui.screens.rules.elsewhere import ElsewhereCommands
from tui.screens.rules.layout import KEPT, named
from tui.screens.rules.needs import A_RULE, NOT_ACCEPTED, RulesSituation
from tui.screens.rules.rows import standing

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.lifecycle.rules.rules import Change, Learning, Rules
    from engine.rules.rulebook import Rule
    from engine.store.repository import Commit
    from tui.kit.bench import Bench

OFTEN = 3
"""Sessions from which what was said may well be meant: offered where that holds for any."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A decision on the rules, and the words for it."""

    do: Callable[[Rules], Change]
    what: str


class RulesScreen(ElsewhereCommands, panels=("rules", "why"), lines=("words",)):
    """The rules screen, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        rules = bench.engine.rules
        self._about = ""
        """The id of the rule that is worded anew in the line; empty for one that is added."""
        self._wishes: Lane[Wish, Change] = self.lane(
            lambda wish: wish.do(rules), self._changed, in_turn=True, finish=True
        )
        self._worded: Lane[Wish, Change] = self.lane(lambda wish: wish.do(rules), self._changed)
        self._last: Lane[None, Commit] = self.lane(
            lambda _none: rules.last_change(), lambda _none, commit: self._ask_undo(commit)
        )
        self._learning: Lane[None, Learning] = self.lane(
            lambda _none: self._learn(bench.engine),
            lambda _none, done: self._learned(done),
            lambda _none, problem: self._learned(None, problem),
        )

    # Moving about

    @command("enter", "o", title="Show why over the whole area", footer="why", rank=18, needs=[A_RULE])
    def enlarge_why(self) -> None:
        """Show the selected rule over the whole area; once more shows both panels again."""
        if self.zoomed == "why":
            self.enlarge(None)
            self.focus_panel("rules")
        else:
            self.enlarge("why")
            self.focus_panel("why")

    def back(self) -> None:
        """Back out one level: leave the line, let a merge be, show both panels, drop the filter, return."""
        if self.in_line:
            if self.prompt.mode == "filter":
                self.narrow("")
            self.leave_line()
        elif self.marked:
            self.marked = ""
            self.show()
        elif self.zoomed is not None:
            self.unzoom()
        elif self.query_text:
            self.narrow("")
        elif self.panel_in_use == "why":
            self.focus_panel("rules")
        else:
            self.dismiss(None)

    focus_rules = goes_to("rules", "1", "the rules", rank=26)
    focus_why = goes_to(
        "why", "2", "the selected rule", ": each time that you said it, and what the agent had done", rank=26
    )

    @command("s", title="Only what waits, only what is in force, or all", footer="waiting/all", rank=15)
    def show_others(self) -> None:
        """List only what waits for your word; once more only what is in force; once more all."""
        self.kept = KEPT[(KEPT.index(self.kept) + 1) % len(KEPT)]
        self.show()

    @command("slash", title="Filter the list", footer="filter", rank=22)
    def filter(self) -> None:
        """Narrow the list to the rules that hold what is typed, while it is typed."""
        self.open_line("words", "filter", self.query_text, "rules")

    def narrow(self, query: str) -> None:
        """Narrows the list while it is typed."""
        self.query_text = query
        self.show()

    # Deciding

    def _wish(self, do: Callable[[Rules], Change], what: str) -> None:
        """Has the rules changed, after what was wished before."""
        self._wishes.ask(Wish(do, what))

    def _decide(self, do: Callable[[Rules, Rule], Change], what: str) -> None:
        """Decides on the selected rule, and goes on to the next that waits."""
        rule = self.selected()
        if rule is not None:
            after = self.rules.next_waiting()
            self._wish(lambda rules: do(rules, rule), what)
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
        often = next((least for least in (OFTEN, 2) if self._acceptable(least)), 1)
        self.open_line("words", "often", str(often), self._how_many(str(often)))

    def _acceptable(self, least: int) -> int:
        return len(self.table.book.acceptable(least))

    def _how_many(self, typed: str) -> str:
        least = _number(typed)
        return f"{plural(self._acceptable(least), 'rule')}" if least else "type a number"

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

    @command("E", title="Word the rule anew", footer="reword", rank=6, needs=[A_RULE, WRITABLE])
    def reword(self) -> None:
        """Edit the rule's words in the line; enter puts it in force so."""
        rule = self.selected()
        if rule is not None:
            self._about = rule.id
            self.open_line("words", "wording", rule.text)

    @command(
        "w", title="Have a model word what waits",
        needs=[
            Need(lambda here: here.model, "no model is set; autopoiesis config set rules.provider …"),
            WRITABLE,
        ],
    )  # fmt: skip
    def word(self) -> None:
        """Have the model of rules.provider word the rules that you did not decide on; what it calls no rule
        rests.
        """
        self.say("the model is asked …")
        self._worded.ask(Wish(lambda rules: rules.word(), "worded"))

    @command("i", title="Add a rule", needs=[WRITABLE])
    def add(self) -> None:
        """Type a rule of your own; enter puts it in force."""
        self._about = ""
        self.open_line("words", "wording")

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
            project = "" if rule.project else self._project(rule)
            self._wish(
                lambda rules: rules.narrow(rule.id, project=project),
                f"holds in {first_line(project)} only" if project else "holds everywhere",
            )

    def _project(self, rule: Rule) -> str:
        """The project in which a rule holds; otherwise of the selected saying, else of most."""
        view, told = self.why.view, self.why.told
        if rule.project or view is None or view.rule.id != rule.id:
            return rule.project
        if told is not None and self.panel_in_use == "why" and told.session.project:
            return told.session.project
        found = Counter(filter(None, (each.told.session.project for each in view.sayings or ())))
        return next((project for project, _ in found.most_common(1)), "")

    @command("m", title="Merge the rule with another", footer="merge", rank=21, needs=[A_RULE, WRITABLE])
    def merge(self) -> None:
        """Mark the rule; m on another makes them one, in the words of that other; m on itself lets it be."""
        rule, mark = self.selected(), self.marked
        if rule is None:
            return
        self.marked = "" if mark else rule.id
        if mark and mark != rule.id:
            self._wish(lambda rules: rules.merge(mark, rule.id), "merged")
        self.show()

    @on(PromptLine.Edited)
    def _typed(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "often":
            self.prompt.tell(self._how_many(edited.value))

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        text, least, about = entered.value.strip(), _number(entered.value), self._about
        self.leave_line()
        if entered.mode == "often" and not self._acceptable(least or 1):
            self.say("nothing that waits was said so often")
        elif entered.mode == "often" and least:
            self._wish(lambda rules: rules.accept(told=least), "accepted")
        elif entered.mode == "wording" and text and about:
            self._wish(lambda rules: rules.reword(about, text), "in force")
        elif entered.mode == "wording" and text:
            self._wish(lambda rules: rules.add(text), "in force")
        elif entered.mode == "export" and text:
            self.show_export(text)
        elif entered.mode != "filter":
            self.say("nothing was typed; nothing is changed")

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
            lambda: self._wish(lambda rules: rules.undo(), "as before"),
        )

    def _changed(self, wish: Wish, change: Change) -> None:
        after = committed(change.commit.revision, change.commit.why)
        rules = change.rules
        # Of a merge the first is the one that stays.
        what = named(rules[0]) if rules and (len(rules) == 1 or wish.what == "merged") else ""
        self.wanted = rules[0].id if what and wish.what in ("in force", "merged") else ""
        self.say(f"{wish.what}: {what or plural(len(rules), 'rule')} · {after}")
        self.look()

    # Learning

    @command(
        "l", title="Learn from new sessions", footer="learn", rank=17,
        needs=[Need(lambda here: not here.reading, "sessions are being read"), WRITABLE],
    )  # fmt: skip
    def learn(self) -> None:
        """Read the sessions that were not read yet for what you said about how to work, and mark what agents'
        own files say already.
        """
        self.reading = "reading …"
        self._learning.ask(None)
        self.show()

    def _learn(self, engine: Engine) -> Learning:
        done = engine.rules.learn(lambda read: self.later(self._read, read))
        engine.kept_rules.known_elsewhere()
        return done

    def _read(self, number: int) -> None:
        self.reading = f"{plural(number, 'session')} read …"
        self.show()

    def _learned(self, done: Learning | None, problem: str = "") -> None:
        self.reading = ""
        if done is None:
            self.say(problem, trouble=True)
        else:
            found = done.learned
            parts = (
                f"{plural(done.sessions, 'session')} read",
                f"{plural(len(found.new), 'rule')} learned",
                f"{count(len(found.replaced))} replaced" if found.replaced else "",
                f"{count(len(found.again))} told again" if found.again else "",
            )
            self.say(", ".join(filter(None, parts)))
        self.known = {}
        self.look()
        self.show()

    # The transcript

    @command(
        "e", title="Open the transcript where you said it", footer="transcript", rank=8,
        needs=[A_RULE, Need(lambda here: here.file, "no transcript of it is here")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the transcript of the selected saying, else of the last one, in $VISUAL or $EDITOR."""
        told = self.why.told
        if told is not None:
            self.edit_file(self._file(), told.said.line)

    def _file(self) -> str:
        told = self.why.told
        return file_of(self.bench.engine.workspace.root, told.session.path) if told is not None else ""

    @command("y", title="Copy the rule", needs=[A_RULE])
    def copy_rule(self) -> None:
        """Copy the words of the selected rule (OSC 52, also over SSH)."""
        self.copy_text(self.rules.selected_text())

    def rescan(self) -> None:
        """Look at every file again."""
        super().rescan()
        self.look()

    # What the keys depend on

    @property
    def situation(self) -> RulesSituation:
        rule, view = self.selected(), self.why.view
        return self.situated(
            RulesSituation,
            filtered=bool(self.query_text),
            file=self._file(),
            rule=rule.id if rule is not None else "",
            standing=standing(rule) if rule is not None else "",
            project=self._project(rule) if rule is not None else "",
            acceptable=self._acceptable(1),
            model=self.bench.engine.config.rules.provider != "none",
            reading=bool(self.reading),
            seen=view is not None and bool(view.sees),
            watched=view is not None and view.watched,
        )


def _number(typed: str) -> int:
    """A number from 1; 0 for anything else."""
    return int(typed) if typed.strip().isdecimal() and len(typed) < 10 else 0
