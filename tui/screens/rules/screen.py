"""The rules screen: what can be done there, one method for each command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.render.figures import count, plural
from tui.screens.rules.deciding import DecidingCommands, Wish
from tui.screens.rules.layout import KEPT
from tui.screens.rules.needs import A_RULE, RulesSituation
from tui.screens.rules.rows import standing

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.lifecycle.rules.rules import Change, Learning
    from tui.kit.bench import Bench


class RulesScreen(DecidingCommands, panels=("rules", "why"), lines=("words",)):
    """The rules screen, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        rules = bench.engine.rules
        self._about = ""
        """The id of the rule that is worded anew in the line; empty for one that is added."""
        self._worded: Lane[Wish, Change] = self.lane(lambda wish: wish.do(rules), self.changed)
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

    # Wording

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
            self.say("nothing was typed; nothing is changed")
            return
        {
            "often": self.accept_told, "where": self.place, "wording": self._reword,
            "pattern": self.show_pattern, "days": self.show_unneeded, "export": self.show_export,
        }[entered.mode](text)  # fmt: skip

    def _reword(self, text: str) -> None:
        """Puts a rule in force in the words that were typed: the one they are about, or a new one."""
        about = self._about
        self.wish(lambda rules: rules.reword(about, text) if about else rules.add(text), "in force")

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
            self.say(problem, error=True)
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
            project=self.project_of(rule) if rule is not None else "",
            acceptable=self.acceptable(1),
            model=self.bench.engine.config.rules.provider != "none",
            reading=bool(self.reading),
            seen=view is not None and bool(view.sees),
            watched=view is not None and view.watched,
        )
