"""The rules screen's commands, one method each. Every decision can be undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on

from tui.kit.command import Need, Situation, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.page import Offer
from tui.kit.prompt import PromptLine
from tui.render.figures import count, home, plural
from tui.render.safe import first_line
from tui.screens.rules.draw import EVERYWHERE, export_page, known_page, named, standing, watcher_page
from tui.screens.rules.layout import KEPT, RulesLayout

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.rules.agent_files import Elsewhere, Export
    from engine.rules.rulebook import Rule
    from engine.rules.rules import Change, Learning, Rules
    from engine.rules.watch import Watcher
    from engine.store.repository import Commit
    from tui.kit.bench import Bench

OFTEN = 3
"""The suggested minimum number of sessions for accepting rules in bulk."""
PLACES = ("project", "agent", "tool", "path")
"""What a rule can be limited to, as named in the rules file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesSituation(Situation):
    """What the rules screen's commands depend on."""

    rule: str = ""
    """The id of the selected rule; empty if none."""
    standing: str = ""
    project: str = ""
    """The project it is or would be limited to."""
    waiting: int = 0
    """Number of rules that wait for the person."""
    reading: bool = False
    """Sessions are being read."""
    watched: bool = False
    """A topic watches for violations of the selected rule."""


A_RULE: Need[RulesSituation] = Need(lambda here: here.rule, "no rule is selected")


@dataclass(frozen=True, slots=True)
class RulesChange:
    """A change to the rules, and a word for it."""

    do: Callable[[Rules], Change]
    what: str
    at: str = ""
    """The id of the rule that was selected."""


class RulesScreen(RulesLayout, panels=("rules", "why"), lines=("words",)):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        rules = bench.engine.rules
        self._about = ""
        """The id of the rule that what is typed in the prompt is about; empty for a new one."""
        self._changes: Lane[RulesChange, Change] = self.lane(
            lambda change: change.do(rules), self._changed, in_turn=True, finish=True
        )
        self._last: Lane[None, Commit] = self.lane(
            lambda _none: rules.last_change(), lambda _none, commit: self._ask_undo(commit)
        )
        self._learning: Lane[None, Learning] = self.lane(
            lambda _none: self._learn(bench.engine),
            lambda _none, done: self._learned(done),
            lambda _none, problem: self._learned(None, problem),
        )
        self._knowns: Lane[None, Elsewhere] = self.lane(
            lambda _none: rules.known_elsewhere(), lambda _none, found: self._show_known(found)
        )
        self._exports: Lane[Path, Export] = self.lane(lambda path: rules.export((), path), self._show_export)
        self._watches: Lane[tuple[str, str], Watcher] = self.lane(
            lambda request: rules.watch(*request), self._show_watcher
        )
        self._writes: Lane[Callable[[], str], str] = self.lane(
            lambda write: write(), lambda _write, message: self._written(message), in_turn=True, finish=True
        )

    # Navigation

    @command("enter", "o", title="Enlarge the evidence", footer="why", rank=18, needs=[A_RULE])
    def enlarge_why(self) -> None:
        """Show the selected rule over the whole area; press again to show both panels."""
        if self.zoomed == "why":
            self.enlarge(None)
            self.focus_panel("rules")
        else:
            self.enlarge("why")
            self.focus_panel("why")

    def back(self) -> None:
        """Go back one level: leave the prompt, cancel a merge, show both panels, clear the filter, return."""
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
        "why", "2", "the selected rule", ": each time you said it, and what the agent had done", rank=26
    )

    @command("s", title="Show those that wait, in force, or all", footer="waiting/all", rank=15)
    def show_others(self) -> None:
        """List only rules that wait for you; press again for rules in force, and again for all."""
        kinds = list(KEPT)
        self.kept = kinds[(kinds.index(self.kept) + 1) % len(kinds)]
        self.show()

    @command("slash", title="Filter the list", footer="filter", rank=22)
    def filter(self) -> None:
        """Filter the list as you type."""
        self.open_line("words", "filter", self.query_text, "rules")

    def narrow(self, query: str) -> None:
        self.query_text = query
        self.show()

    # Decisions

    def _change(self, do: Callable[[Rules], Change], what: str) -> None:
        self._changes.ask(RulesChange(do, what, self.selected_id))

    def _decide(self, do: Callable[[Rules, Rule], Change], what: str) -> None:
        """Decides on the selected rule, and moves to the next one that waits."""
        rule = self.selected()
        if rule is not None:
            after = self.rules.next_waiting()
            self._change(lambda rules: do(rules, rule), what)
            if after:
                self.rules.select_key(after)

    @command(
        "a", title="Accept the rule", footer="accept", rank=0,
        needs=[
            A_RULE,
            Need(lambda here: here.standing not in ("accepted", "again"), "the rule is already accepted"),
            WRITABLE,
        ],
    )  # fmt: skip
    def accept(self) -> None:
        """Put the selected rule in force, even if it was turned down, replaced or resting."""
        self._decide(lambda rules, rule: rules.accept([rule.id]), "accepted")

    @command(
        "A", title="Accept frequent rules", footer="accept many", rank=2,
        needs=[Need(lambda here: here.waiting, "no rule waits for you"), WRITABLE],
    )  # fmt: skip
    def accept_often(self) -> None:
        """Accept all waiting rules that you said in at least a given number of sessions. As you type the
        number, the prompt shows how many rules that is.
        """
        often = next((minimum for minimum in (OFTEN, 2) if self._acceptable(minimum)), 1)
        self.open_line("words", "often", str(often), self._how_many(str(often)))

    def _acceptable(self, minimum: int) -> int:
        return len(self.table.book.acceptable(minimum))

    def _how_many(self, typed: str) -> str:
        minimum = _number(typed)
        return plural(self._acceptable(minimum), "rule") if minimum else "type a number"

    def _accept_told(self, typed: str) -> None:
        minimum = _number(typed)
        if not minimum:
            self.say("not a number; nothing was changed")
        elif not self._acceptable(minimum):
            self.say("no rule waits that you said that often")
        else:
            self._change(lambda rules: rules.accept(min_sessions=minimum), "accepted")

    @command(
        "x", "delete", title="Turn down the rule", footer="turn down", rank=4,
        needs=[A_RULE, Need(lambda here: here.standing != "turned down", "already turned down"), WRITABLE],
    )  # fmt: skip
    def turn_down(self) -> None:
        """Never tell the selected rule to agents; it stays in the file, and a accepts it again."""
        self._decide(lambda rules, rule: rules.turn_down([rule.id]), "turned down")

    @command(
        "r", title="Rest the rule",
        needs=[A_RULE, Need(lambda here: here.standing != "resting", "it is already resting"), WRITABLE],
    )  # fmt: skip
    def rest(self) -> None:
        """Leave the selected rule out of prompts until you say it again or accept it."""
        self._decide(lambda rules, rule: rules.rest([rule.id]), "resting")

    @command("m", title="Merge the rule with another", footer="merge", rank=21, needs=[A_RULE, WRITABLE])
    def merge(self) -> None:
        """Mark the rule; m on another rule merges them, keeping that one's words; m again cancels."""
        rule, mark = self.selected(), self.marked
        if rule is None:
            return
        self.marked = "" if mark else rule.id
        if mark and mark != rule.id:
            self._change(lambda rules: rules.merge(mark, rule.id), "merged")
        self.show()

    @command("z", title="Undo the last change", footer="undo", rank=10, needs=[WRITABLE])
    def undo(self) -> None:
        """Undo the last change to the rules, using git; press again for the one before. Asks first."""
        self._last.ask(None)

    def _ask_undo(self, commit: Commit) -> None:
        new = "\nRules it added are removed and not learned again." if "learned" in commit.subject else ""
        question = f"{first_line(commit.subject)}\nRestores the rules as they were before this change.{new}"
        undo = partial(self._change, lambda rules: rules.undo(commit.revision), "undone")
        self.ask("undo the last change", question, "Undo", undo)

    def _changed(self, request: RulesChange, change: Change) -> None:
        after = committed(change.commit.revision, change.commit.why)
        rules = change.rules
        # After a merge the first rule is the one that remains.
        what = named(rules[0]) if rules and (len(rules) == 1 or request.what == "merged") else ""
        follows = request.what in ("in force", "merged") and self.selected_id == request.at
        self.wanted = rules[0].id if what and follows else ""
        self.say(f"{request.what}: {what or plural(len(rules), 'rule')} · {after}")
        self.look()

    # Scope

    @command(
        "p", title="Limit the rule to its project, or lift the limit", footer="project", rank=20,
        needs=[
            A_RULE,
            Need(lambda here: here.project, "it is unknown in which project you said it; P names one"),
            WRITABLE,
        ],
    )  # fmt: skip
    def narrow_rule(self) -> None:
        """Limit the rule to the project of the selected mention, or the latest one; press again to apply it
        everywhere.
        """
        rule = self.selected()
        if rule is not None:
            project = "" if rule.project else self._project_of(rule)
            self._change(
                lambda rules: rules.narrow(rule.id, project=project),
                f"limited to {first_line(project)}" if project else "applies everywhere",
            )

    def _project_of(self, rule: Rule) -> str:
        """The project a rule is limited to, or that of the selected mention, or the latest one."""
        selected = self.why.occurrence
        return rule.project or (selected.session.project if selected is not None else "")

    @command("P", title="Set where the rule applies", needs=[A_RULE, WRITABLE])
    def say_where(self) -> None:
        """Limit the selected rule to a project, an agent, a tool or files, such as tool=Bash
        path=tests/,*.tsx; leave it empty to apply the rule everywhere.
        """
        rule = self.selected()
        if rule is not None:
            self._about = rule.id
            scope = " ".join(f"{place}={value}" for place in PLACES if (value := getattr(rule, place)))
            self.open_line("words", "where", scope, self._placing(scope))

    def _placing(self, typed: str) -> str:
        """Where the rule would apply, or what is wrong with the input."""
        try:
            return " ".join(filter(None, _places(typed).values())) or EVERYWHERE
        except ValueError as error:
            return str(error)

    def _place(self, typed: str) -> None:
        try:
            places = _places(typed)
        except ValueError as error:
            self.say(f"{error}; nothing was changed", error=True)
        else:
            name, where = self._about, self._placing(typed)
            what = f"limited to {where}" if any(places.values()) else f"applies {EVERYWHERE}"
            self._change(lambda rules: rules.narrow(name, **places), what)

    # Wording

    @command("E", title="Reword the rule", footer="reword", rank=6, needs=[A_RULE, WRITABLE])
    def reword(self) -> None:
        """Edit the rule's text in the prompt; enter puts it in force."""
        rule = self.selected()
        if rule is not None:
            self._about = rule.id
            self.open_line("words", "wording", rule.text)

    @command("i", title="Add a rule", needs=[WRITABLE])
    def add(self) -> None:
        """Type a rule of your own; enter puts it in force."""
        self._about = ""
        self.open_line("words", "wording")

    def _word(self, text: str) -> None:
        about = self._about
        self._change(lambda rules: rules.reword(about, text) if about else rules.add(text), "in force")

    @on(PromptLine.Edited)
    def _typed(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "often":
            self.prompt.tell(self._how_many(edited.value))
        elif edited.mode == "where":
            self.prompt.tell(self._placing(edited.value))

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        text = entered.value.strip()
        self.leave_line()
        if entered.mode == "filter":
            return
        if not text and entered.mode != "where":
            self.say("no input; nothing was changed")
            return
        {
            "often": self._accept_told, "where": self._place, "wording": self._word,
            "pattern": self._watch_for, "export": self._show_export_to,
        }[entered.mode](text)  # fmt: skip

    # Learning

    @command(
        "l", title="Learn from new sessions", footer="learn", rank=17,
        needs=[Need(lambda here: not here.reading, "already reading sessions"), WRITABLE],
    )  # fmt: skip
    def learn(self) -> None:
        """Learn rules from what you told agents in new sessions, and mark those that agents' own files
        already contain.
        """
        self.reading = "reading …"
        self._learning.ask(None)
        self.show()

    def _learn(self, engine: Engine) -> Learning:
        done = engine.rules.learn(lambda read: self.later(self._read, read))
        engine.rules.known_elsewhere()
        return done

    def _read(self, number: int) -> None:
        self.reading = f"{plural(number, 'session')} read …"
        self.show()

    def _learned(self, done: Learning | None, problem: str = "") -> None:
        self.reading = ""
        if done is None:
            self.say(problem, error=True)
        else:
            found = done.learned
            parts = (
                f"{plural(done.sessions, 'session')} read",
                f"{plural(len(found.new), 'rule')} learned",
                f"{count(len(found.replaced))} replaced" if found.replaced else "",
                f"{count(len(found.again))} said again" if found.again else "",
            )
            self.say(", ".join(filter(None, parts)))
        self._look_again()
        self.show()

    def _look_again(self) -> None:
        self.evidence = None
        self.look()

    # Beyond the rules file

    @command("K", title="Find rules that agents' files already contain", needs=[WRITABLE])
    def known_elsewhere(self) -> None:
        """Find and mark rules that CLAUDE.md, AGENTS.md and similar files in your sessions' folders already
        contain, and show each with its line there.
        """
        self._knowns.ask(None)

    def _show_known(self, found: Elsewhere) -> None:
        texts = {rule.id: rule.text for rule in self.table.rules}
        self.page("rules in agents' files", known_page(found, texts), full=True)
        self.look()

    @command("X", title="Export accepted rules to CLAUDE.md or AGENTS.md", needs=[WRITABLE])
    def export(self) -> None:
        """Export the accepted rules that a file does not contain yet to a section of it. Shows a preview;
        press a there to write it.
        """
        self.open_line("words", "export")

    def _show_export_to(self, path: str) -> None:
        self._exports.ask(Path(path).expanduser().absolute())

    def _show_export(self, path: Path, export: Export) -> None:
        rules = self.bench.engine.rules

        def write() -> str:
            done = rules.export((), path, apply=True, expected=export.diff)
            after = committed(done.commit.revision, done.commit.why)
            return f"wrote {plural(len(done.rules), 'rule')} to {home(path)} · {after}"

        offer = Offer("writes it", partial(self._writes.ask, write)) if export.diff else None
        self.page(f"export to {home(path)}", export_page(export), full=True, offer=offer)

    @command(
        "t", title="Watch agents for violations",
        needs=[A_RULE, Need(lambda here: not here.watched, "agents are already watched for it"), WRITABLE],
    )  # fmt: skip
    def watch_rule(self) -> None:
        """Show the topic that would watch what agents write and run for violations of the selected rule;
        press a there to turn it on. After a violation, the next prompt asks the agent to correct it. If its
        text does not say what a violation looks like, type a regular expression.
        """
        rule, view = self.selected(), self.why.view
        if rule is None:
            return
        self._about = rule.id
        if view is not None and view.sees:
            self._watches.ask((rule.id, ""))
        else:
            self.open_line("words", "pattern", about=named(rule))

    def _watch_for(self, pattern: str) -> None:
        self._watches.ask((self._about, pattern))

    def _show_watcher(self, request: tuple[str, str], watcher: Watcher) -> None:
        rules, (name, pattern) = self.bench.engine.rules, request
        seen = ", ".join(watcher.sees) or pattern

        def write() -> str:
            done = rules.watch(name, pattern, apply=True)
            return f"watching for {seen} · {committed(done.commit.revision, done.commit.why)}"

        offer = Offer("turns it on", partial(self._writes.ask, write))
        self.page(f"watch for rule {name}", watcher_page(watcher, seen), full=True, offer=offer)

    def _written(self, message: str) -> None:
        self.say(message)
        self._look_again()

    # The transcript

    @command(
        "e", title="Open the transcript at this mention", footer="transcript", rank=8,
        needs=[A_RULE, Need(lambda here: here.file, "its transcript is not on this machine")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the transcript of the selected mention, or the latest one, in $VISUAL or $EDITOR."""
        selected = self.why.occurrence
        if selected is not None:
            self.edit_file(self._file(), selected.said.line)

    def _file(self) -> str:
        selected = self.why.occurrence
        if selected is None:
            return ""
        return file_of(self.bench.engine.workspace.root, selected.session.path)

    @command("y", title="Copy the rule", needs=[A_RULE])
    def copy_rule(self) -> None:
        """Copy the text of the selected rule."""
        self.copy_text(self.rules.selected_text())

    @property
    def situation(self) -> RulesSituation:
        rule, view = self.selected(), self.why.view
        return self.situated(
            RulesSituation,
            filtered=bool(self.query_text),
            file=self._file(),
            rule=rule.id if rule is not None else "",
            standing=standing(rule) if rule is not None else "",
            project=self._project_of(rule) if rule is not None else "",
            waiting=self._acceptable(1),
            reading=bool(self.reading),
            watched=view is not None and view.watched,
        )


def _number(typed: str) -> int:
    """A positive number; 0 for any other input."""
    return int(typed) if typed.strip().isdecimal() and len(typed) < 10 else 0


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
