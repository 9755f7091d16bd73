"""The rules screen: what you told your agents, as rules. Every decision can be undone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from engine.errors import AutopoiesisError
from engine.rules.rulebook import Rule, Rulebook, is_unlikely, most_told
from engine.rules.watch import watcher_path, what_breaks
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, filters, goes_to
from tui.kit.full_screen import ListDetail, committed, unreadable
from tui.kit.lanes import Lane
from tui.kit.overlays import Offer
from tui.kit.prompt import Mode, PromptLine
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.figures import count, home, plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.rules.draw import (
    EVERYWHERE,
    LESS_LIKELY,
    Mention,
    RuleItem,
    RulesPanel,
    WhyPanel,
    WhyView,
    draw_none,
    export_page,
    headline,
    named,
    standing,
    watcher_page,
)

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.rules.agent_files import Export
    from engine.rules.rules import Change, Learning, Rules
    from engine.rules.watch import Watcher
    from engine.store.repository import Commit
    from tui.kit.bench import Bench

BROAD = 150
"""Minimum columns for the rule next to the list."""
MOST = 50
"""The latest mentions shown."""
Kept = Literal["all", "waiting", "in force"]
KEPT: dict[Kept, str] = {"all": "", "waiting": "that wait for you", "in force": "in force"}
"""What the list can show, in the order the key cycles through."""
OFTEN = 3
"""The suggested minimum number of sessions for accepting rules in bulk."""
PLACES = ("project", "agent", "tool", "path")
"""What a rule can be limited to, as named in the rules file."""


@dataclass(frozen=True, slots=True)
class Table:
    book: Rulebook = field(default_factory=Rulebook)
    rules: tuple[Rule, ...] = ()
    """The book's rules in the order of the list."""
    can_undo: bool = False
    """Whether there is a change of the rules to undo."""
    unlikely: frozenset[str] = frozenset()
    """The ids of those that are less likely to be rules, as the command line leaves them out."""
    problem: str = ""
    loading: bool = False


def read_table(rules: Rules) -> Table:
    book, can_undo = rules.book(), False
    with contextlib.suppress(AutopoiesisError):
        can_undo = bool(rules.last_change())
    unlikely = frozenset(each.id for each in book.rules if is_unlikely(each))
    return Table(book, tuple(most_told(book.rules)), can_undo, unlikely)


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


A_RULE = Need(lambda here: here.selected(), "no rule is selected")
UNLIKELY = Need(lambda here: here.table.unlikely, "every rule listed is likely to be one")


@dataclass(frozen=True, slots=True)
class RulesChange:
    """A change to the rules, and a word for it."""

    do: Callable[[Rules], Change]
    what: str
    at: str = ""
    """The id of the rule that was selected."""
    follow: bool = False
    """Whether that rule stays selected, wherever the list has it after the change."""


class RulesScreen(ListDetail, panels=("rules", "why"), lines=("words",)):
    area = "standing"
    news = frozenset({"status"})
    broad = BROAD

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        rules = bench.engine.rules
        self.table = Table(loading=True)
        self.kept: Kept = "all"
        self.unfolded = False
        """Rules that are less likely to be any are listed."""
        self.marked = ""
        """The id of the rule marked for merging."""
        self.wanted = ""
        """The id of the rule to select after the next read; empty to keep the selection."""
        self.reading = ""
        """Progress of reading sessions."""
        self.evidence: WhyView | None = None
        """That for the rule selected last; ``None`` to look it up again."""
        self._reads = self.plain_lane(
            partial(read_table, rules),
            self._take,
            lambda problem: self._take(Table(problem=problem)),
        )
        self._whys: Lane[Rule, WhyView] = self.lane(
            lambda rule: look_up(bench.engine, rule),
            lambda rule, view: self._take_why(view),
            lambda rule, problem: self._take_why(WhyView(rule, problem=problem)),
        )
        self._about = ""
        """The id of the rule that what is typed in the prompt is about; empty for a new one."""
        self._changes: Lane[RulesChange, Change] = self.lane(
            lambda change: change.do(rules), self._changed, in_turn=True, finish=True
        )
        self._last = self.plain_lane(rules.last_change, self._ask_undo)
        self._learning = self.plain_lane(
            lambda: self._learn(bench.engine), self._learned, lambda problem: self._learned(None, problem)
        )
        self._exports: Lane[Path, Export] = self.lane(lambda path: rules.export((), path), self._show_export)
        self._watches: Lane[tuple[str, str], Watcher] = self.lane(
            lambda request: rules.watch(*request), self._show_watcher
        )
        self._writes: Lane[Callable[[], str], str] = self.lane(
            lambda write: write(), lambda _write, message: self._written(message), in_turn=True, finish=True
        )

    def body(self) -> ComposeResult:
        self.rules = RulesPanel(id="rules")
        self.why = WhyPanel(id="why")
        yield Container(self.rules, self.why, id="standing")

    def on_screen_resume(self) -> None:
        """Reads the rules again, as a command on the page above may have changed them."""
        if self.listening:
            self.look()

    def look(self) -> None:
        self._reads.ask(None)

    def show(self) -> None:
        table, panel = self.table, self.rules
        merging = "m on the rule whose words to keep, esc cancels" if self.marked else ""
        panel.head = headline(table.rules)
        panel.below = (
            merging or self.reading or ("" if self.kept == "all" else f"only those {KEPT[self.kept]}")
        )
        panel.show_items(self._items(), self._note, (table, self.kept, self.query_text))
        self.show_selected()

    def _items(self) -> list[RuleItem]:
        """The rows; those less likely to be rules are one row, unless they are wanted or searched for."""
        unlikely = () if self.unfolded or self.query_text else self.table.unlikely
        rules = [rule for rule in self.table.rules if self.kept in ("all", rule.state)]
        folded = [rule for rule in rules if rule.id in unlikely]
        return [
            RuleItem(rule, rule.id == self.marked, len(folded) if rule in folded else 0)
            for rule in rules
            if rule not in folded[1:]
        ]

    def show_selected(self) -> None:
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
        return item.rule if item is not None and not item.folded else None

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

    def _take(self, table: Table) -> None:
        self.table = table
        self.show()
        if self.wanted:
            self.rules.select_key(self.wanted)
            self.wanted = ""

    def _take_why(self, view: WhyView) -> None:
        self.evidence = view
        self.show_selected()

    def row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.rules and moved.by_hand:
            self.wanted = ""
        super().row_moved(moved)

    # Navigation

    @command("enter o", "Enlarge the evidence", "why", 18, needs=[A_RULE])
    def enlarge_why(self) -> None:
        """Show the selected rule over the whole area; press again to show both panels."""
        self.enlarge_in_turn("why")

    def step_back(self) -> bool:
        """Cancels a merge."""
        marked, self.marked = self.marked, ""
        if marked:
            self.show()
        return bool(marked)

    focus_rules = goes_to("rules", "1", "the rules", rank=26)
    focus_why = goes_to("why", "2", "the selected rule",
                        ": each time you said it, and what the agent had done", rank=26)  # fmt: skip

    @command("s", "Show those that wait, in force, or all", "waiting/all", 15)
    def show_others(self) -> None:
        """List only rules that wait for you; press again for rules in force, and again for all."""
        kinds = list(KEPT)
        self.kept = kinds[(kinds.index(self.kept) + 1) % len(kinds)]
        self.show()

    @command(LESS_LIKELY, "Show or hide the less likely rules", needs=[UNLIKELY])
    def show_unlikely(self) -> None:
        """List the waiting rules that you said once and probably meant for the task at hand, or fold them."""
        self.unfolded = not self.unfolded
        self.show()

    filter = filters("rules", rank=22)

    # Decisions

    def _change(self, do: Callable[[Rules], Change], what: str, *, follow: bool = False) -> None:
        self._changes.ask(RulesChange(do, what, self.selected_id, follow))

    def _decide(self, do: Callable[[Rules, Rule], Change], what: str) -> None:
        """Decides on the selected rule. If it waited, moves to the next one that waits; else stays on it, or
        the same key again would decide on another one.
        """
        rule = self.selected()
        if rule is not None:
            after = self.rules.next_waiting() if rule.state == "waiting" else ""
            self._change(lambda rules: do(rules, rule), what, follow=not after)
            if after:
                self.rules.select_key(after)

    @command("a", "Accept the rule", "accept", 0,
             needs=[A_RULE,
                    Need(lambda here: here.standing not in ("accepted", "again"),
                         "the rule is already accepted"), WRITABLE])  # fmt: skip
    def accept(self) -> None:
        """Put the selected rule in force, even if it was turned down, replaced or resting."""
        self._decide(lambda rules, rule: rules.accept([rule.id]), "accepted")

    @command("A", "Accept frequent rules", "accept many", 2,
             needs=[Need(lambda here: here.acceptable(1), "no rule waits for you"), WRITABLE])  # fmt: skip
    def accept_often(self) -> None:
        """Accept all waiting rules that you said in at least a given number of sessions. As you type the
        number, the prompt shows how many rules that is.
        """
        often = next((minimum for minimum in (OFTEN, 2) if self.acceptable(minimum)), 1)
        self.open_line("words", "often", str(often), self._how_many(str(often)))

    def acceptable(self, minimum: int) -> int:
        return len(self.table.book.acceptable(minimum))

    def _how_many(self, typed: str) -> str:
        minimum = _number(typed)
        return plural(self.acceptable(minimum), "rule") if minimum else "type a number"

    def _accept_told(self, typed: str) -> None:
        minimum = _number(typed)
        if not minimum:
            self.say("not a number; nothing was changed")
        elif not self.acceptable(minimum):
            self.say("no rule waits that you said that often")
        else:
            self._change(lambda rules: rules.accept(min_sessions=minimum), "accepted")

    @command("x delete", "Turn down the rule", "turn down", 4,
             needs=[A_RULE, Need(lambda here: here.standing != "turned down", "already turned down"),
                    WRITABLE])  # fmt: skip
    def turn_down(self) -> None:
        """Never tell the selected rule to agents; it stays in the file, and a accepts it again. Asks first if
        it is in force.
        """
        rule = self.selected()
        if rule is None:
            return
        turn_down = partial(self._decide, lambda rules, rule: rules.turn_down([rule.id]), "turned down")
        if rule.state != "in force":
            turn_down()
        else:
            question = f"{named(rule)}\nAgents are no longer told it; z undoes this, and a accepts it again."
            self.ask("turn down a rule in force", question, "Turn down", turn_down)

    @command("r", "Rest the rule",
             needs=[A_RULE, Need(lambda here: here.standing != "resting", "it is already resting"),
                    WRITABLE])  # fmt: skip
    def rest(self) -> None:
        """Leave the selected rule out of prompts until you say it again or accept it."""
        self._decide(lambda rules, rule: rules.rest([rule.id]), "resting")

    @command("m", "Merge the rule with another", "merge", 21, needs=[A_RULE, WRITABLE])
    def merge(self) -> None:
        """Mark the rule; m on another rule merges them, keeping that one's words; m again cancels."""
        rule, mark = self.selected(), self.marked
        if rule is None:
            return
        self.marked = "" if mark else rule.id
        if mark and mark != rule.id:
            self._change(lambda rules: rules.merge(mark, rule.id), "merged")
        self.show()

    @command("z", "Undo the last change", "undo", 10,
             needs=[Need(lambda here: here.table.can_undo, "no change of the rules to undo"),
                    WRITABLE])  # fmt: skip
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
        stays = request.follow or request.what in ("in force", "merged")
        follows = stays and self.selected_id == request.at
        self.wanted = rules[0].id if what and follows else ""
        self.say(f"{request.what}: {what or plural(len(rules), 'rule')} · {after}")
        self.look()

    # Scope

    @command("p", "Limit the rule to its project, or lift the limit", "project", 20,
             needs=[A_RULE,
                    Need(lambda here: here.project,
                         "it is unknown in which project you said it; P names one"), WRITABLE])  # fmt: skip
    def narrow_rule(self) -> None:
        """Limit the rule to the project of the selected mention, or the latest one; press again to apply it
        everywhere.
        """
        rule = self.selected()
        if rule is not None:
            project = "" if rule.project else self.project
            self._change(
                lambda rules: rules.narrow(rule.id, project=project),
                f"limited to {first_line(project)}" if project else "applies everywhere",
            )

    @property
    def standing(self) -> str:
        """That of the selected rule; empty for none."""
        rule = self.selected()
        return standing(rule) if rule is not None else ""

    @property
    def project(self) -> str:
        """The project the selected rule is limited to, or that of the selected mention, or the latest one."""
        rule, selected = self.selected(), self.why.occurrence
        if rule is None:
            return ""
        return rule.project or (selected.session.project if selected is not None else "")

    @command("P", "Set where the rule applies", needs=[A_RULE, WRITABLE])
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

    @command("E", "Reword the rule", "reword", 6, needs=[A_RULE, WRITABLE])
    def reword(self) -> None:
        """Edit the rule's text in the prompt; enter puts it in force."""
        rule = self.selected()
        if rule is not None:
            self._about = rule.id
            self.open_line("words", "wording", rule.text)

    @command("i", "Add a rule", needs=[WRITABLE])
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

    def entered(self, mode: Mode, text: str) -> None:
        self.leave_line()
        if mode == "filter":
            return
        if not text and mode != "where":
            self.say("no input; nothing was changed")
            return
        {
            "often": self._accept_told, "where": self._place, "wording": self._word,
            "pattern": self._watch_for, "export": self._show_export_to,
        }[mode](text)  # fmt: skip

    # Learning

    @command("l", "Learn from new sessions", "learn", 17,
             needs=[Need(lambda here: not here.reading, "already reading sessions"), WRITABLE])  # fmt: skip
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

    @command("K", "Find rules that agents' files already contain", needs=[WRITABLE])
    def known_elsewhere(self) -> None:
        """Find and mark rules that CLAUDE.md, AGENTS.md and similar files in your sessions' folders already
        contain, and show each with its line there: rules known.
        """
        self.bench.show_output("rules known")

    @command("X", "Export accepted rules to CLAUDE.md or AGENTS.md", needs=[WRITABLE])
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

    @command("t", "Watch agents for violations",
             needs=[A_RULE,
                    Need(lambda here: not ((view := here.why.view) and view.watched),
                         "agents are already watched for it"), WRITABLE])  # fmt: skip
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

    @command("e", "Open the transcript at this mention", "transcript", 8,
             needs=[A_RULE,
                    Need(lambda here: here.file, "its transcript is not on this machine")])  # fmt: skip
    def edit(self) -> None:
        """Open the transcript of the selected mention, or the latest one, in $VISUAL or $EDITOR."""
        selected = self.why.occurrence
        if selected is not None:
            self.edit_file(self.file, selected.said.line)

    @property
    def file(self) -> str:
        selected = self.why.occurrence
        return self.existing(selected.session.path) if selected is not None else ""

    @command("y", "Copy the rule", needs=[A_RULE])
    def copy_rule(self) -> None:
        """Copy the text of the selected rule."""
        self.copy_text(self.rules.selected_text())


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
