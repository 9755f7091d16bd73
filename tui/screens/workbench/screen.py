"""The workbench: one method per command, and the screens over it, each of which has its own package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from engine.context.views import DIGEST_PATH, LEDGER_PATH
from engine.live.feed import FeedEntry
from tui.kit.command import Command, Need, command, command_of
from tui.kit.commands import ROWS, WRITABLE, goes_to, labels
from tui.kit.editor import file_of
from tui.kit.prompt import Composer
from tui.render.explain import detail
from tui.render.safe import first_line
from tui.screens.workbench.layout import FOLDED, WorkbenchTyping
from tui.screens.workbench.pages import ReplyScreen
from tui.screens.workbench.reading import file_page, line_of, message_page

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
        command="open_topics", key="P", title="Open the topics", footer="topics", rank=31,
        help="Open the topics: see which messages of your past each would have fired on, label them, and "
        "make new ones.",
        screen="tui.screens.topics.screen:TopicsScreen",
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
        command="open_jobs", key="J", title="Open the jobs", footer="jobs", rank=33,
        help="Open the scheduled jobs: when each runs next and how its last run went. Run one now.",
        screen="tui.screens.jobs.screen:JobsScreen",
    ),
)  # fmt: skip


class Openings:
    """The workbench's commands that open these screens."""

    bench: Bench


def _opens(opening: Opening) -> Callable[[Openings], None]:
    return command_of(opening.help, lambda self: opening.open(self.bench), opening.key, title=opening.title,
                      footer=opening.footer, rank=opening.rank)  # fmt: skip


for _each in OPENINGS:
    setattr(Openings, _each.command, _opens(_each))


DETAILS = {
    "hook": "open_injections", "commit": "open_history", "ledger": "open_ledger", "budget": "open_context",
}  # fmt: skip
"""The commands that show more of a kind of feed row, or of a panel."""
LOGGED = Need(
    lambda here: here.activation.shown.key and not here.shown.trying,
    "a message you try is not in the decision log",
)
A_TOPIC = Need(lambda here: here.selected_topic, "no topic is selected")


class Workbench(
    Openings,
    WorkbenchTyping,
    panels=("feed", "activation", "digest", "ledger", "budget"),
    lines=("try",),
):
    def perform(self, wanted: Command) -> None:
        """Runs a command or says why it cannot; ``back`` always runs, since it also resumes following."""
        if wanted.name == "back":
            self.back()
        else:
            super().perform(wanted)

    # Navigation

    def go_to(self, name: str) -> None:
        """Focuses a panel; a folded one opens full size."""
        folded = self.compact and name in FOLDED
        if self.zoomed is not None or folded:
            opened = self.compact and self.zoomed in FOLDED and not folded
            self.zoomed = None if opened else name
            self.lay_out()
        self.focus_panel(name)

    def stops(self) -> tuple[str, ...]:
        """The visible panels, then the input line."""
        return (*self.in_view(), "try")

    @command("i", "Try a message", "try", 12)
    def to_line(self) -> None:
        """Type a message and see immediately what would fire and what the prompt would contain."""
        self.try_message()

    def enlarge(self, name: str | None) -> None:
        """Zooms a panel, or restores the layout with ``None``."""
        used = name or self.zoomed or self.panel_in_use
        self.zoomed = name
        self.lay_out()
        self.focus_panel(self.home() if name is None and self.compact and used in FOLDED else used)

    @command(
        "escape",
        "Back",
        "back",
        2,
        in_line=True,
        palette=False,
        needs=[
            Need(
                lambda here: (
                    here.zoomed or here.filter_of(here.panel_in_use) or here.shown.trying or here.in_line
                ),
                "this is the top level; q quits",
            )
        ],
    )
    def back(self) -> None:
        """Back out one level: leave the input line, clear the filter, end the try, show all panels, or
        resume following the feed.
        """
        if self.in_line:
            mode = self.prompt.mode
            if mode == "filter":
                self.set_filter(self.filtering, "")
            self.leave_line()
            if mode == "try" and self.shown.trying:
                self.end_try()
        elif self.filter_of(self.panel_in_use):
            self.set_filter(self.panel_in_use, "")
        elif self.shown.trying:
            self.end_try()
        elif self.zoomed is not None:
            self.unzoom()
        elif not self.feed.following:
            self.feed.follow()

    @command("q", "Quit")
    def quit(self) -> None:
        """Quit, or back out one level like esc if there is anything to back out of."""
        if self.catalog["back"].refusal(self):
            self.app.exit(0)
        else:
            self.back()

    @command("ctrl+s ctrl+enter", "Send the message", panels=["try"], palette=False, needs=[WRITABLE])
    def send(self) -> None:
        """Send the message to the model set in chat.provider and record the turn. It continues the session in
        view if that one was started here and is still open; otherwise it starts a new session.
        """
        text = self.prompt.input.value
        if self.prompt.mode != "try" or not text.strip():
            self.say("type a message first")
            return
        self.prompt.remember(text)
        entry = self.feed.selected
        self.leave_line()
        self.end_try()
        self.app.push_screen(ReplyScreen(self.engine, text, entry.key if entry is not None else ""))

    @command("ctrl+j alt+enter shift+enter", "New line in the message", panels=["try"], palette=False)
    def break_line(self) -> None:
        """Start a new line in the message. Pasting several lines keeps them together and never sends them."""
        line = self.prompt.input
        if isinstance(line, Composer):
            line.break_line()
        else:
            self.say("only messages can have several lines")

    # Acting on the selection

    @command("enter", "Open the selection", "open", 20,
             needs=[ROWS, Need(lambda here: here.zoomed != "digest", "it is shown in full")])  # fmt: skip
    def open(self) -> None:
        """Open the selection: a whole message, file or injection, the diff of a commit, a ledger entry, the
        sections of the prompt, or why a topic fired or not.
        """
        shown, name = self.activation.shown, self.panel_in_use
        row = self.activation.selected
        entry = self.feed.selected
        kind = entry.kind if name == "feed" and entry is not None else name
        if kind in DETAILS:
            self.perform(self.catalog[DETAILS[kind]])
        elif name == "feed" and entry is not None and entry.kind == "file":
            self.page(first_line(entry.text), file_page(self.engine, entry.text), full=True)
        elif name == "feed" and entry is not None:
            self.page("message" if entry.key else entry.kind, message_page(self.engine, entry), full=True)
        elif name == "activation" and row is not None:
            self.page(f"why {row.topic}", lambda width, roles: detail(shown, row, width, roles))
        elif self.zoomed is None:
            self.zoom()

    def label(self, useful: bool) -> None:
        row, key = self.activation.selected, self.activation.shown.key
        if row is not None and key:
            self.conductor.label(key, row.topic, useful)

    label_useful, label_noise = labels(
        "Label the selected topic as {} for this message. Its score and those of messages like it move.",
        "Label the topic:", 22, [A_TOPIC, LOGGED], panels=["activation"],
    )  # fmt: skip

    @command("u z", "Undo the last label", panels=["activation"], needs=[WRITABLE])
    def unlabel(self) -> None:
        """Undo the last label given here; your previous label, if any, is restored."""
        self.conductor.unlabel()

    @property
    def file(self) -> str:
        root, name = self.engine.workspace.root, self.panel_in_use
        if name == "activation":
            topic = self.selected_topic
            return file_of(root, f"topics/{topic}.md") if topic else ""
        if name == "digest":
            return file_of(root, DIGEST_PATH)
        if name == "ledger":
            return file_of(root, LEDGER_PATH)
        entry: FeedEntry | None = self.feed.selected
        return file_of(root, entry.key, entry.text) if entry is not None and name == "feed" else ""

    @command("e", "Edit the topic or file", "edit", 24,
             needs=[Need(lambda here: here.file, "the selection is not a file")])  # fmt: skip
    def edit(self) -> None:
        """Open the selected topic or file, or the transcript at the message, in $VISUAL or $EDITOR. The
        workbench waits, then shows changes.
        """
        entry = self.feed.selected
        in_feed = self.panel_in_use == "feed" and entry is not None
        self.edit_file(self.file, line_of(self.engine, entry.key) if in_feed and entry is not None else 0)

    # Panels

    focus_feed = goes_to("feed", "1", "the feed", ": messages and events, newest last", rank=10)
    focus_activation = goes_to(
        "activation",
        "2",
        "activation",
        does="Go to the activation trace: which topics fired for the selected message and why.",
        rank=10,
    )
    focus_digest = goes_to("digest", "3", "the digest",
                           ": the few kilobytes of knowledge included in every prompt", rank=10)  # fmt: skip
    focus_ledger = goes_to("ledger", "4", "the ledger", ": what was harvested from each conversation",
                           rank=10)  # fmt: skip
    focus_budget = goes_to("budget", "5", "the budget",
                           ": how many tokens each section uses and what was left out", rank=10)  # fmt: skip

    @command("slash", "Filter the list", "filter", 26, panels=["feed", "activation", "ledger"])
    def filter(self) -> None:
        """Narrow the list to the rows that contain what you type."""
        self.type_filter()

    @command("C", "Show the caches", "caches", 30)
    def show_caches(self) -> None:
        """Show what each provider caches, until when, and what broke the stable prefix: cache overview."""
        self.show_output("cache overview")

    @command("B", "List the branches", "branches", 36)
    def show_branches(self) -> None:
        """List the branches on which something was tried or rebuilt, with the commands that compare and merge
        them: history branches.
        """
        self.show_output("history branches")

    @command("colon", "Command line", "command", 28)
    def command_line(self) -> None:
        """Type an autopoiesis command without the program name: trace …, topics check, doctor."""
        self.type_command()
