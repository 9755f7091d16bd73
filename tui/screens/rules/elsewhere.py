"""What the rules screen does with rules beyond the book: agents' own files, their worth, what is watched."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.lifecycle.rules.since import DAYS
from tui.kit.bench import Bench
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.page import Offer
from tui.render.figures import home, plural
from tui.screens.rules.layout import RulesLayout, named
from tui.screens.rules.needs import A_RULE
from tui.screens.rules.pages import export_page, known_page, unneeded_page, watcher_page, worth_page

if TYPE_CHECKING:
    from engine.lifecycle.rules.elsewhere import Elsewhere, Export
    from engine.lifecycle.rules.kept import KeptRules
    from engine.lifecycle.rules.since import Fading
    from engine.lifecycle.rules.watched import Watcher
    from engine.lifecycle.rules.worth import Worth

Write = Callable[["KeptRules"], str]
"""Writes something, and says what became of it."""


class ElsewhereCommands(RulesLayout):
    """The commands for it, each with a page of its own."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        kept = bench.engine.kept_rules
        self._watched = ""
        """The id of the rule that the pattern typed into the line is for."""
        self._knowns: Lane[None, Elsewhere] = self.lane(
            lambda _none: kept.known_elsewhere(), lambda _none, found: self._show_known(found)
        )
        self._worths: Lane[None, Worth] = self.lane(
            lambda _none: kept.worth(),
            lambda _none, found: self.page("what rules were worth", worth_page(found), full=True),
        )
        self._exports: Lane[Path, Export] = self.lane(lambda path: kept.export((), path), self._show_export)
        self._watches: Lane[tuple[str, str], Watcher] = self.lane(
            lambda asked: kept.watch(*asked), self._show_watcher
        )
        self._fadings: Lane[int, Fading] = self.lane(
            lambda days: kept.fading(days), lambda _days, found: self._show_unneeded(found)
        )
        self._writes: Lane[Write, str] = self.lane(
            lambda write: write(kept), lambda _write, said: self._written(said), in_turn=True, finish=True
        )

    @command("K", title="Show what agents' own files say already", needs=[WRITABLE])
    def known_elsewhere(self) -> None:
        """Find the rules that CLAUDE.md, AGENTS.md and their like say already in the folders of your
        sessions; mark them, and show each with its line there.
        """
        self._knowns.ask(None)

    def _show_known(self, found: Elsewhere) -> None:
        texts = {rule.id: rule.text for rule in self.table.rules}
        self.page("what agents' own files say", known_page(found, texts), full=True)
        self.look()

    @command("W", title="Show what rules were worth")
    def show_worth(self) -> None:
        """Show how often you repeated each accepted rule a week, before and since, and what rules cost in
        prompts.
        """
        self._worths.ask(None)

    @command("X", title="Export accepted rules to CLAUDE.md or AGENTS.md", needs=[WRITABLE])
    def export(self) -> None:
        """Type the name of a file: what it gains is shown first, the accepted rules that it does not say yet,
        in a section of their own; a there writes it.
        """
        self.open_line("words", "export")

    def show_export(self, path: str) -> None:
        """Shows what an export makes of a file."""
        self._exports.ask(Path(path).expanduser().absolute())

    def _show_export(self, path: Path, made: Export) -> None:
        def write(kept: KeptRules) -> str:
            done = kept.export((), path, apply=True)
            after = committed(done.commit.revision, done.commit.why)
            return f"written: {plural(len(done.rules), 'rule')} in {home(path)} · {after}"

        offer = Offer("writes it", partial(self._writes.ask, write)) if made.diff else None
        self.page(f"export to {home(path)}", export_page(made), full=True, offer=offer)

    @command(
        "t", title="Have agents watched for what breaks the rule",
        needs=[
            A_RULE,
            Need(lambda here: not here.watched, "it is watched for already"),
            Need(
                lambda here: here.seen,
                "its words do not tell what breaks it; b asks you for a pattern of that",
            ),
            WRITABLE,
        ],
    )  # fmt: skip
    def watch_rule(self) -> None:
        """Show the topic that watches what agents write and run for what breaks the selected rule; a there
        turns it on, and the next prompt then has the agent correct it.
        """
        rule = self.selected()
        if rule is not None:
            self._watches.ask((rule.id, ""))

    @command(
        "b", title="Have agents watched for a pattern of your own",
        needs=[A_RULE, Need(lambda here: not here.watched, "it is watched for already"), WRITABLE],
    )  # fmt: skip
    def watch_pattern(self) -> None:
        """Type a regular expression of what breaks the selected rule: the topic that watches for it is shown
        first, and a there turns it on.
        """
        rule = self.selected()
        if rule is not None:
            self._watched = rule.id
            self.open_line("words", "pattern", about=named(rule))

    def show_pattern(self, pattern: str) -> None:
        """Shows the topic that would watch for a pattern."""
        self._watches.ask((self._watched, pattern))

    def _show_watcher(self, asked: tuple[str, str], made: Watcher) -> None:
        name, pattern = asked
        seen = ", ".join(made.sees) or pattern

        def write(kept: KeptRules) -> str:
            done = kept.watch(name, pattern, apply=True)
            return f"watched for: {seen} · {committed(done.commit.revision, done.commit.why)}"

        offer = Offer("turns it on", partial(self._writes.ask, write))
        self.page(f"watch for the rule {name}", watcher_page(made, seen), full=True, offer=offer)

    @command("F", title="Show what nobody needed for some time", needs=[WRITABLE])
    def unneeded(self) -> None:
        """Type a number of days: the rules in prompts that you did not say and that no message called for in
        so long are shown, and a there has them rest.
        """
        self.open_line("words", "days", str(DAYS))

    def show_unneeded(self, typed: str) -> None:
        """Shows the rules that nobody needed for as many days as were typed."""
        if days := number(typed):
            self._fadings.ask(days)
        else:
            self.say("that is no number of days")

    def _show_unneeded(self, found: Fading) -> None:
        def write(kept: KeptRules) -> str:
            done = kept.rules.rest([rule.id for rule, _ in found.rules])
            after = committed(done.commit.revision, done.commit.why)
            return f"at rest: {plural(len(done.rules), 'rule')} · {after}"

        offer = Offer("has them rest", partial(self._writes.ask, write)) if found.rules else None
        self.page("what nobody needed", unneeded_page(found), full=True, offer=offer)

    def _written(self, said: str) -> None:
        self.say(said)
        self.known = {}
        self.look()


def number(typed: str) -> int:
    """A number from 1; 0 for anything else."""
    return int(typed) if typed.strip().isdecimal() and len(typed) < 10 else 0
