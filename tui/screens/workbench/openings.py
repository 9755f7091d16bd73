"""The screens that open over the workbench: a new one is a package of its own and an entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tui.kit.command import command_of

if TYPE_CHECKING:
    from tui.kit.bench import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A screen, and the command that opens it."""

    command: str
    key: str
    title: str
    help: str
    footer: str
    rank: int
    screen: str
    """``module:Class``; imported when it is opened first, for a screen may bring much with it."""

    def open(self, bench: Bench) -> None:
        """Opens it over the workbench, on what is selected there."""
        module, _, name = self.screen.partition(":")
        bench.app.push_screen(getattr(import_module(module), name).over(bench))


OPENINGS = (
    Opening(
        command="open_tune", key="t", title="Tune the topics", footer="tune", rank=16,
        help="Tune the topics: how well each does, and for one of them what other thresholds would change.",
        screen="tui.screens.tune.screen:TuneScreen",
    ),
    Opening(
        command="open_context", key="c", title="Look at the prompt", footer="prompt", rank=18,
        help="Look at the prompt of the selected message: every section, why it is there, and what was "
        "left out.",
        screen="tui.screens.context.screen:ContextScreen",
    ),
    Opening(
        command="open_search", key="s", title="Search everything remembered", footer="search", rank=17,
        help="Search everything remembered, by words and by meaning, and see why a result ranks there.",
        screen="tui.screens.search.screen:SearchScreen",
    ),
    Opening(
        command="open_ledger", key="L", title="Look at the ledger, and harvest", footer="ledger", rank=32,
        help="Look at the ledger: what became of each conversation; harvest, verify, restore (H there "
        "harvests).",
        screen="tui.screens.ledger.screen:LedgerScreen",
    ),
    Opening(
        command="open_knowledge", key="K", title="Look at what is known", footer="knowledge", rank=31,
        help="Look at all that is known: facts, decisions, tasks, notes of files, entries, skills, and the "
        "digest.",
        screen="tui.screens.knowledge.screen:KnowledgeScreen",
    ),
    Opening(
        command="open_review", key="v", title="Review what waits for you", footer="review", rank=33,
        help="Review what a harvest held back: accept, edit or reject each item before it becomes knowledge.",
        screen="tui.screens.review.screen:ReviewScreen",
    ),
    Opening(
        command="open_rules", key="R", title="Look at your rules", footer="rules", rank=32,
        help="Look at your rules: what you have told your agents more than once; accept it, turn it down, or "
        "reword it.",
        screen="tui.screens.rules.screen:RulesScreen",
    ),
    Opening(
        command="open_injections", key="I", title="Look at what agents were told", footer="agents", rank=33,
        help="Look at what agents were told: each section, why, and what was of use; when nothing was told, "
        "and the week.",
        screen="tui.screens.injections.screen:InjectionsScreen",
    ),
    Opening(
        command="open_history", key="h", title="Look at the history", footer="history", rank=34,
        help="Look at the history: what each commit changed, when something was learned, who taught a line; "
        "snapshots, and undo.",
        screen="tui.screens.history.screen:HistoryScreen",
    ),
    Opening(
        command="open_compare", key="B", title="Compare branches", footer="branches", rank=36,
        help="Compare two branches or snapshots: the files that differ side by side, what the probes find in "
        "each; take a branch over.",
        screen="tui.screens.compare.screen:CompareScreen",
    ),
    Opening(
        command="open_jobs", key="J", title="Look at the jobs", footer="jobs", rank=33,
        help="Look at the jobs: what is done by the clock, when next, and what came of it last; run one now.",
        screen="tui.screens.jobs.screen:JobsScreen",
    ),
    Opening(
        command="open_caches", key="C", title="Look at the caches", footer="caches", rank=30,
        help="Look at the caches of discussions: what each provider keeps, until when, and what broke "
        "the prefix.",
        screen="tui.screens.cache.screen:CacheScreen",
    ),
)  # fmt: skip


class Openings:
    """The workbench's commands that open them."""

    bench: Bench


def _opens(opening: Opening) -> Callable[[Openings], None]:
    return command_of(
        opening.help, lambda self: opening.open(self.bench), opening.key,
        title=opening.title, footer=opening.footer, rank=opening.rank,
    )  # fmt: skip


for _each in OPENINGS:
    setattr(Openings, _each.command, _opens(_each))
