"""What the rules screen does with rules beyond the book: agents' own files, their worth, what is watched."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui.kit.bench import Bench
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.page import Offer
from tui.render.figures import home, plural
from tui.screens.rules.layout import RulesLayout
from tui.screens.rules.needs import A_RULE
from tui.screens.rules.pages import export_page, known_page, watcher_page, worth_page

if TYPE_CHECKING:
    from engine.lifecycle.rules.elsewhere import Elsewhere, Export
    from engine.lifecycle.rules.kept import KeptRules
    from engine.lifecycle.rules.watched import Watcher
    from engine.lifecycle.rules.worth import Worth

Write = Callable[["KeptRules"], str]
"""Writes something, and says what became of it."""


class ElsewhereCommands(RulesLayout):
    """The commands for it, each with a page of its own."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        kept = bench.engine.kept_rules
        self._knowns: Lane[None, Elsewhere] = self.lane(
            lambda _none: kept.known_elsewhere(), lambda _none, found: self._show_known(found)
        )
        self._worths: Lane[None, Worth] = self.lane(
            lambda _none: kept.worth(),
            lambda _none, found: self.page("what rules were worth", worth_page(found), full=True),
        )
        self._exports: Lane[Path, Export] = self.lane(lambda path: kept.export((), path), self._show_export)
        self._watches: Lane[str, Watcher] = self.lane(kept.watch, self._show_watcher)
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
                "its words do not tell what breaks it; give it: autopoiesis rules trigger RULE --pattern …",
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
            self._watches.ask(rule.id)

    def _show_watcher(self, name: str, made: Watcher) -> None:
        def write(kept: KeptRules) -> str:
            done = kept.watch(name, apply=True)
            after = committed(done.commit.revision, done.commit.why)
            return f"watched for: {', '.join(done.sees)} · {after}"

        offer = Offer("turns it on", partial(self._writes.ask, write))
        self.page(f"watch for the rule {name}", watcher_page(made), full=True, offer=offer)

    def _written(self, said: str) -> None:
        self.say(said)
        self.known = {}
        self.look()
