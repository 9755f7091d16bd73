"""The rules screen's commands, one method each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.render.figures import count, plural
from tui.screens.rules.deciding import DecidingCommands, RulesChange
from tui.screens.rules.layout import KEPT
from tui.screens.rules.needs import A_RULE, RulesSituation
from tui.screens.rules.rows import standing

if TYPE_CHECKING:
    from engine.lifecycle.rules.rules import Change, Learning

    from engine.engine import Engine
    from tui.kit.bench import Bench


class RulesScreen(DecidingCommands, panels=("rules", "why"), lines=("words",)):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        rules = bench.engine.rules
        self._about = ""
        """The id of the rule being reworded in the prompt; empty for a new one."""
        self._worded: Lane[RulesChange, Change] = self.lane(lambda change: change.do(rules), self.changed)
        self._learning: Lane[None, Learning] = self.lane(
            lambda _none: self._learn(bench.engine),
            lambda _none, done: self._learned(done),
            lambda _none, problem: self._learned(None, problem),
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
        "why", "2", "the selected rule", ": each time you stated it, and what the agent had done", rank=26
    )

    @command("s", title="Show pending, in force, or all rules", footer="pending/all", rank=15)
    def show_others(self) -> None:
        """List only pending rules; press again for rules in force, and again for all."""
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

    # Wording

    @command("E", title="Reword the rule", footer="reword", rank=6, needs=[A_RULE, WRITABLE])
    def reword(self) -> None:
        """Edit the rule's text in the prompt; enter puts it in force."""
        rule = self.selected()
        if rule is not None:
            self._about = rule.id
            self.open_line("words", "wording", rule.text)

    @command(
        "w", title="Let a model word pending rules",
        needs=[
            Need(lambda here: here.model, "no model is set; run: autopoiesis config set rules.provider …"),
            WRITABLE,
        ],
    )  # fmt: skip
    def word(self) -> None:
        """Let the model set in rules.provider word the rules you have not decided on; those it does not
        consider rules are left resting.
        """
        self.say("asking the model …")
        self._worded.ask(RulesChange(lambda rules: rules.word(), "worded"))

    @command("i", title="Add a rule", needs=[WRITABLE])
    def add(self) -> None:
        """Type a rule of your own; enter puts it in force."""
        self._about = ""
        self.open_line("words", "wording")

    @on(PromptLine.Edited)
    def _typed(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "often":
            self.prompt.tell(self.how_many(edited.value))
        elif edited.mode == "where":
            self.prompt.tell(self.placing(edited.value))

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
            "often": self.accept_told, "where": self.place, "wording": self._reword,
            "pattern": self.show_pattern, "days": self.show_unneeded, "export": self.show_export,
        }[entered.mode](text)  # fmt: skip

    def _reword(self, text: str) -> None:
        about = self._about
        self.change_rules(lambda rules: rules.reword(about, text) if about else rules.add(text), "in force")

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
        engine.kept_rules.known_elsewhere()
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
                f"{count(len(found.again))} repeated" if found.again else "",
            )
            self.say(", ".join(filter(None, parts)))
        self.known = {}
        self.look()
        self.show()

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
        return (
            file_of(self.bench.engine.workspace.root, selected.session.path) if selected is not None else ""
        )

    @command("y", title="Copy the rule", needs=[A_RULE])
    def copy_rule(self) -> None:
        """Copy the text of the selected rule."""
        self.copy_text(self.rules.selected_text())

    # State

    @property
    def situation(self) -> RulesSituation:
        rule, view = self.selected(), self.why.view
        return self.situated(
            RulesSituation,
            filtered=bool(self.query_text),
            file=self._file(),
            rule=rule.id if rule is not None else "",
            standing=standing(rule) if rule is not None else "",
            project=self.project_of(rule) if rule is not None else "",
            acceptable=self.acceptable(1),
            model=self.bench.engine.config.rules.provider != "none",
            reading=bool(self.reading),
            seen=view is not None and bool(view.sees),
            watched=view is not None and view.watched,
        )
