"""Commands of the rules screen beyond the rules file: agents' own files, benefit, watching, unused rules."""

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
"""Writes something and returns a message about it."""


class ElsewhereCommands(RulesLayout):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        kept = bench.engine.kept_rules
        self._watched = ""
        """The id of the rule whose pattern is being typed."""
        self._knowns: Lane[None, Elsewhere] = self.lane(
            lambda _none: kept.known_elsewhere(), lambda _none, found: self._show_known(found)
        )
        self._worths: Lane[None, Worth] = self.lane(
            lambda _none: kept.worth(),
            lambda _none, found: self.page("benefit of rules", worth_page(found), full=True),
        )
        self._exports: Lane[Path, Export] = self.lane(lambda path: kept.export((), path), self._show_export)
        self._watches: Lane[tuple[str, str], Watcher] = self.lane(
            lambda request: kept.watch(*request), self._show_watcher
        )
        self._fadings: Lane[int, Fading] = self.lane(
            lambda days: kept.fading(days), lambda _days, found: self._show_unneeded(found)
        )
        self._writes: Lane[Write, str] = self.lane(
            lambda write: write(kept),
            lambda _write, message: self._written(message),
            in_turn=True,
            finish=True,
        )

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

    @command("W", title="Show the benefit of rules")
    def show_worth(self) -> None:
        """Show how often per week you repeated each accepted rule before and since, and what rules cost in
        prompts.
        """
        self._worths.ask(None)

    @command("X", title="Export accepted rules to CLAUDE.md or AGENTS.md", needs=[WRITABLE])
    def export(self) -> None:
        """Export the accepted rules that a file does not contain yet to a section of it. Shows a preview;
        press a there to write it.
        """
        self.open_line("words", "export")

    def show_export(self, path: str) -> None:
        self._exports.ask(Path(path).expanduser().absolute())

    def _show_export(self, path: Path, export: Export) -> None:
        def write(kept: KeptRules) -> str:
            done = kept.export((), path, apply=True, expected=export.diff)
            after = committed(done.commit.revision, done.commit.why)
            return f"wrote {plural(len(done.rules), 'rule')} to {home(path)} · {after}"

        offer = Offer("writes it", partial(self._writes.ask, write)) if export.diff else None
        self.page(f"export to {home(path)}", export_page(export), full=True, offer=offer)

    @command(
        "t", title="Watch agents for violations",
        needs=[
            A_RULE,
            Need(lambda here: not here.watched, "agents are already watched for it"),
            Need(
                lambda here: here.seen,
                "no violation can be derived from its text; b asks for a pattern",
            ),
            WRITABLE,
        ],
    )  # fmt: skip
    def watch_rule(self) -> None:
        """Show the topic that would watch what agents write and run for violations of the selected rule;
        press a there to turn it on. After a violation, the next prompt asks the agent to correct it.
        """
        rule = self.selected()
        if rule is not None:
            self._watches.ask((rule.id, ""))

    @command(
        "b", title="Watch agents for a pattern",
        needs=[A_RULE, Need(lambda here: not here.watched, "agents are already watched for it"), WRITABLE],
    )  # fmt: skip
    def watch_pattern(self) -> None:
        """Type a regular expression that matches violations of the selected rule. Shows the topic that would
        watch for it; press a there to turn it on.
        """
        rule = self.selected()
        if rule is not None:
            self._watched = rule.id
            self.open_line("words", "pattern", about=named(rule))

    def show_pattern(self, pattern: str) -> None:
        self._watches.ask((self._watched, pattern))

    def _show_watcher(self, request: tuple[str, str], watcher: Watcher) -> None:
        name, pattern = request
        seen = ", ".join(watcher.sees) or pattern

        def write(kept: KeptRules) -> str:
            done = kept.watch(name, pattern, apply=True)
            return f"watching for {seen} · {committed(done.commit.revision, done.commit.why)}"

        offer = Offer("turns it on", partial(self._writes.ask, write))
        self.page(f"watch for rule {name}", watcher_page(watcher, seen), full=True, offer=offer)

    @command("F", title="Show unused rules", needs=[WRITABLE])
    def unneeded(self) -> None:
        """Show rules in prompts that you did not repeat and no message needed for a number of days; press a
        there to rest them.
        """
        self.open_line("words", "days", str(DAYS))

    def show_unneeded(self, typed: str) -> None:
        if days := number(typed):
            self._fadings.ask(days)
        else:
            self.say("not a number of days")

    def _show_unneeded(self, found: Fading) -> None:
        def write(kept: KeptRules) -> str:
            done = kept.rules.rest([rule.id for rule, _ in found.rules])
            after = committed(done.commit.revision, done.commit.why)
            return f"resting: {plural(len(done.rules), 'rule')} · {after}"

        offer = Offer("rests them", partial(self._writes.ask, write)) if found.rules else None
        self.page("unused rules", unneeded_page(found), full=True, offer=offer)

    def _written(self, message: str) -> None:
        self.say(message)
        self.known = {}
        self.look()


def number(typed: str) -> int:
    """A positive number; 0 for any other input."""
    return int(typed) if typed.strip().isdecimal() and len(typed) < 10 else 0
