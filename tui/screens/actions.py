"""What the workbench does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.context.views import DIGEST_PATH, LEDGER_PATH
from engine.live.feed import FeedEntry
from tui.commands import catalog, common
from tui.commands.command import FOLDED, BenchPanel, Command, Situation
from tui.editor import file_of
from tui.render.budget import prompt_lines
from tui.render.explain import detail
from tui.render.ledger import ledger_detail
from tui.screens.reply import ReplyScreen, SendWish
from tui.screens.screen_actions import ScreenActions
from tui.widgets.composer import Composer

if TYPE_CHECKING:
    from tui.screens.harvest_run import HarvestRun
    from tui.screens.workbench import Workbench


class Actions(ScreenActions[BenchPanel]):
    """The actions of one workbench."""

    screen: Workbench

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self.bench = bench
        self.searched = ""
        self.harvesting: HarvestRun | None = None
        self.doing |= {
            common.Back: self.back,
            common.Quit: self.quit,
            catalog.FocusFeed: partial(self.go_to, "feed"),
            catalog.FocusActivation: partial(self.go_to, "activation"),
            catalog.FocusDigest: partial(self.go_to, "digest"),
            catalog.FocusLedger: partial(self.go_to, "ledger"),
            catalog.FocusBudget: partial(self.go_to, "budget"),
            catalog.Open: self.open,
            catalog.LabelUseful: partial(self.label, True),
            catalog.LabelNoise: partial(self.label, False),
            common.Edit: self.edit,
            common.Copy: self.copy,
            catalog.Try: self.to_line,
            catalog.SendMessage: self.send,
            catalog.BreakLine: self.break_line,
            catalog.OpenTune: self.tune,
            catalog.OpenContext: self.context,
            catalog.OpenSearch: self.search,
            catalog.OpenCache: self.caches,
            catalog.OpenLedger: self.ledger,
            catalog.OpenKnowledge: self.knowledge,
            catalog.OpenReview: self.review,
            catalog.Filter: self.bench.typing.filter,
            catalog.NextMatch: partial(self.bench.typing.match, 1),
            catalog.PreviousMatch: partial(self.bench.typing.match, -1),
            catalog.CommandLine: self.bench.typing.command_line,
        }

    def perform(self, command: type[Command], situation: Situation) -> None:
        """Does what a command says, or says why not; at the top level, backing out still follows the feed."""
        if command is common.Back:
            self.back()
        else:
            super().perform(command, situation)

    # Moving about

    def go_to(self, name: BenchPanel) -> None:
        """Focuses a panel; one that is folded away opens over the whole area."""
        bench = self.bench
        folded = bench.compact and name in FOLDED
        if bench.zoomed is not None or folded:
            opened = bench.compact and bench.zoomed in FOLDED and not folded
            bench.zoomed = None if opened else name
            bench.lay_out()
        bench.focus_panel(name)

    def stops(self) -> tuple[BenchPanel, ...]:
        """The panels in view, then the line."""
        return (*self.bench.in_view(), "try")

    def to_line(self) -> None:
        """Takes the keys into the line, to type a message."""
        self.bench.typing.try_message()

    def enlarge(self, name: BenchPanel | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        bench = self.bench
        used = name or bench.zoomed or bench.panel_in_use
        bench.zoomed = name
        bench.lay_out()
        bench.focus_panel(bench.home() if name is None and bench.compact and used in FOLDED else used)

    def back(self) -> None:
        """Leaves the innermost level there is."""
        bench = self.bench
        if bench.in_line:
            mode = bench.prompt.mode
            if mode == "filter":
                bench.typing.set_filter(bench.filtering, "")
            bench.typing.leave_prompt()
            if mode == "try" and bench.shown.trying:
                bench.typing.end_try()
        elif bench.typing.filter_of(bench.panel_in_use):
            bench.typing.set_filter(bench.panel_in_use, "")
        elif bench.shown.trying:
            bench.typing.end_try()
        elif bench.zoomed is not None:
            self.unzoom()
        elif not bench.feed.following:
            bench.feed.follow()

    def quit(self) -> None:
        """Quits at the top level, else backs out."""
        if common.Back.refusal(self.bench.situation):
            self.bench.app.exit(0)
        else:
            self.back()

    def send(self) -> None:
        """Sends the message in the line, and shows the reply as it comes."""
        bench = self.bench
        text = bench.prompt.input.value
        if bench.prompt.mode != "try" or not text.strip():
            bench.say("write a message first")
            return
        bench.prompt.remember(text)
        entry = bench.feed.selected
        wish = SendWish(text, entry.key if entry is not None else "")
        bench.typing.leave_prompt()
        bench.typing.end_try()
        bench.app.push_screen(ReplyScreen(bench.engine, wish))

    def break_line(self) -> None:
        """Begins another line in the message; what else is typed has one only."""
        line = self.bench.prompt.input
        if isinstance(line, Composer):
            line.break_line()
        else:
            self.bench.say("only a message has several lines")

    # Acting on the selection

    def open(self) -> None:
        """Opens what is selected."""
        bench = self.bench
        shown, name = bench.activation.shown, bench.panel_in_use
        row = bench.activation.selected
        item = bench.ledger_panel.selected
        compiled = shown.compiled
        if name == "feed":
            if bench.zoomed is not None:
                self.unzoom()
            bench.focus_panel("activation")
        elif name == "activation" and row is not None:
            self.page(f"why {row.topic}", lambda width, roles: detail(shown, row, width, roles))
        elif name == "ledger" and item is not None:
            self.page("ledger entry", lambda width, roles: ledger_detail(item.row, width, roles))
        elif name == "budget" and compiled is not None:
            self.page(
                "the prompt, section by section",
                lambda width, roles: prompt_lines(compiled, width, roles),
                full=True,
            )
        elif bench.zoomed is None:
            self.zoom()

    def label(self, useful: bool) -> None:
        """Labels the selected topic."""
        row, key = self.bench.activation.selected, self.bench.activation.shown.key
        if row is not None and key:
            self.bench.conductor.label(key, row.topic, useful)

    def file_of(self, name: BenchPanel) -> str:
        """The file behind the selection of a panel, relative to the workspace."""
        bench = self.bench
        root = bench.engine.workspace.root
        if name == "activation":
            row = bench.activation.selected
            return file_of(root, f"topics/{row.topic}.md") if row is not None else ""
        if name == "digest":
            return file_of(root, DIGEST_PATH)
        if name == "ledger":
            return file_of(root, LEDGER_PATH)
        entry: FeedEntry | None = bench.feed.selected
        return file_of(root, entry.key, entry.text) if entry is not None and name == "feed" else ""

    def edit(self) -> None:
        """Opens the file behind the selection."""
        self.edit_file(self.file_of(self.bench.panel_in_use))

    def tune(self) -> None:
        """Opens the tune screen on the topic selected in the activation panel."""
        from tui.screens.tune import TuneScreen  # noqa: PLC0415 — it shows the workbench's own panels' kin

        row = self.bench.activation.selected
        self.bench.app.push_screen(TuneScreen(self.bench, row.topic if row is not None else ""))

    def context(self) -> None:
        """Opens the context screen on the message in view."""
        from tui.screens.context import ContextScreen  # noqa: PLC0415 — it shows the workbench's own panels' kin

        self.bench.app.push_screen(ContextScreen(self.bench))

    def search(self) -> None:
        """Opens the search screen, with what was searched for last."""
        from tui.screens.search import SearchScreen  # noqa: PLC0415 — brings the index's way of reading words

        self.bench.app.push_screen(SearchScreen(self.bench, self.searched))

    def ledger(self) -> None:
        """Opens the ledger screen on the entry selected in the ledger panel."""
        from tui.screens.ledger import LedgerScreen  # noqa: PLC0415 — as above

        item = self.bench.ledger_panel.selected
        self.bench.app.push_screen(LedgerScreen(self.bench, item.row.sha256 if item is not None else ""))

    def knowledge(self) -> None:
        """Opens the knowledge screen."""
        from tui.screens.knowledge import KnowledgeScreen  # noqa: PLC0415 — as above

        self.bench.app.push_screen(KnowledgeScreen(self.bench))

    def review(self) -> None:
        """Opens the review screen."""
        from tui.screens.review import ReviewScreen  # noqa: PLC0415 — as above

        self.bench.app.push_screen(ReviewScreen(self.bench))

    def caches(self) -> None:
        """Opens the cache screen."""
        from tui.screens.cache import CacheScreen  # noqa: PLC0415 — as above

        self.bench.app.push_screen(CacheScreen(self.bench))
