"""The screens that open over the workbench. A new screen needs its own package and an entry here."""

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
    """A screen and the command that opens it."""

    command: str
    key: str
    title: str
    help: str
    footer: str
    rank: int
    screen: str
    """``module:Class``; imported on first use, since a screen may import a lot."""

    def open(self, bench: Bench) -> None:
        """Opens the screen for the workbench's current selection."""
        module, _, name = self.screen.partition(":")
        bench.app.push_screen(getattr(import_module(module), name).over(bench))


OPENINGS = (
    Opening(
        command="open_tune", key="t", title="Tune topics", footer="tune", rank=16,
        help="Tune topics: see how well each one performs and what different thresholds would change.",
        screen="tui.screens.tune.screen:TuneScreen",
    ),
    Opening(
        command="open_playbooks", key="P", title="Open the playbooks", footer="playbooks", rank=31,
        help="Open the playbooks: see which messages of your past each would have fired on, label them, and "
        "make new ones.",
        screen="tui.screens.playbooks.screen:PlaybooksScreen",
    ),
    Opening(
        command="open_context", key="c", title="Inspect the prompt", footer="prompt", rank=18,
        help="Inspect the prompt of the selected message: every section, why it is included, and what was "
        "left out.",
        screen="tui.screens.context.screen:ContextScreen",
    ),
    Opening(
        command="open_search", key="s", title="Search the memory", footer="search", rank=17,
        help="Search the memory by keyword and by meaning, and see why each result ranks where it does.",
        screen="tui.screens.search.screen:SearchScreen",
    ),
    Opening(
        command="open_ledger", key="L", title="Open the ledger, harvest", footer="ledger", rank=32,
        help="Open the ledger: the state of each transcript. Harvest, verify and restore from there (H "
        "harvests).",
        screen="tui.screens.ledger.screen:LedgerScreen",
    ),
    Opening(
        command="open_knowledge", key="K", title="Browse the knowledge", footer="knowledge", rank=31,
        help="Browse the knowledge: facts, decisions, tasks, file notes, entries, skills and the digest.",
        screen="tui.screens.knowledge.screen:KnowledgeScreen",
    ),
    Opening(
        command="open_review", key="v", title="Open the review queue", footer="review", rank=33,
        help="Review items a harvest held back: accept, edit or reject each before it becomes knowledge.",
        screen="tui.screens.review.screen:ReviewScreen",
    ),
    Opening(
        command="open_rules", key="R", title="Review your rules", footer="rules", rank=32,
        help="Review your rules: what you have told your agents about how to work. Accept, turn down or "
        "reword each.",
        screen="tui.screens.rules.screen:RulesScreen",
    ),
    Opening(
        command="open_injections", key="I", title="Inspect injections", footer="agents", rank=33,
        help="Inspect what was injected into agents' prompts: each section, why, and whether it was used; "
        "when nothing was injected; and the past week.",
        screen="tui.screens.injections.screen:InjectionsScreen",
    ),
    Opening(
        command="open_backtest", key="b", title="Play your past to the memory", footer="past", rank=35,
        help="Play your past sessions to the memory: what agents would have been told, what of it came up "
        "later, and what another setting would change.",
        screen="tui.screens.backtest.screen:BacktestScreen",
    ),
    Opening(
        command="open_history", key="h", title="Browse the history", footer="history", rank=34,
        help="Browse the history: what each commit changed, when something was learned and where a line came "
        "from; snapshots and undo.",
        screen="tui.screens.history.screen:HistoryScreen",
    ),
    Opening(
        command="open_compare", key="B", title="Compare branches", footer="branches", rank=36,
        help="Compare two branches or snapshots: changed files side by side and probe results for each; "
        "merge a branch.",
        screen="tui.screens.compare.screen:CompareScreen",
    ),
    Opening(
        command="open_jobs", key="J", title="Open the jobs", footer="jobs", rank=33,
        help="Open the scheduled jobs: when each runs next and how its last run went. Run one now.",
        screen="tui.screens.jobs.screen:JobsScreen",
    ),
    Opening(
        command="open_caches", key="C", title="Inspect the caches", footer="caches", rank=30,
        help="Inspect prompt caching: what each provider caches, until when, and what broke the stable "
        "prefix.",
        screen="tui.screens.cache.screen:CacheScreen",
    ),
)  # fmt: skip


class Openings:
    """The workbench's commands that open these screens."""

    bench: Bench


def _opens(opening: Opening) -> Callable[[Openings], None]:
    return command_of(
        opening.help, lambda self: opening.open(self.bench), opening.key,
        title=opening.title, footer=opening.footer, rank=opening.rank,
    )  # fmt: skip


for _each in OPENINGS:
    setattr(Openings, _each.command, _opens(_each))
