"""The workbench: what can be done there, one method for each command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.context.views import DIGEST_PATH, LEDGER_PATH
from engine.live.feed import FeedEntry
from tui.kit.command import Command, Need, Situation, command, command_of
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.composer import Composer
from tui.kit.editor import file_of
from tui.render.budget import prompt_lines
from tui.render.explain import detail
from tui.screens.workbench.layout import FOLDED
from tui.screens.workbench.ledger import ledger_detail
from tui.screens.workbench.openings import Openings
from tui.screens.workbench.reply import ReplyScreen, SendWish
from tui.screens.workbench.typing import WorkbenchTyping


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSituation(Situation):
    """What the commands of this screen depend on."""

    trying: bool = False
    """A message tried by hand is shown, not one of the feed."""
    key: str = ""
    """The feed key of the message shown; empty for a tried one and where nothing is shown."""
    topic: str = ""
    """The selected topic; empty where none is."""


LOGGED: Need[BenchSituation] = Need(
    lambda here: here.key and not here.trying, "a tried message is not in the decision log"
)
A_TOPIC: Need[BenchSituation] = Need(lambda here: here.topic, "no topic is selected")


def _labels(key: str, word: str, useful: bool) -> Callable[[Workbench], None]:
    return command_of(
        f"Label the selected topic as {word} for this message; the local gate learns from it.",
        lambda bench: bench.label(useful), key, title=f"Label the topic: {word}", panels=["activation"],
        footer="useful / noise", rank=22, needs=[A_TOPIC, LOGGED, WRITABLE],
    )  # fmt: skip


def _to_match(key: str, title: str, where: str, step: int) -> Callable[[Workbench], None]:
    return command_of(
        f"Go to {where}.", lambda bench: bench.go_to_match(step), key, title=title, panels=["feed", "ledger"],
        palette=False, needs=[Need(lambda here: here.filtered, "no filter is set; / sets one")],
    )  # fmt: skip


class Workbench(
    Openings,
    WorkbenchTyping,
    panels=("feed", "activation", "digest", "ledger", "budget"),
    lines=("try",),
):
    """The workbench, with its commands."""

    def perform(self, wanted: Command, situation: Situation) -> None:
        """Does what a command says, or says why not; at the top level, backing out still follows the feed."""
        if wanted.name == "back":
            self.back()
        else:
            super().perform(wanted, situation)

    # Moving about

    def go_to(self, name: str) -> None:
        """Focuses a panel; one that is folded away opens over the whole area."""
        folded = self.compact and name in FOLDED
        if self.zoomed is not None or folded:
            opened = self.compact and self.zoomed in FOLDED and not folded
            self.zoomed = None if opened else name
            self.lay_out()
        self.focus_panel(name)

    def stops(self) -> tuple[str, ...]:
        """The panels in view, then the line."""
        return (*self.in_view(), "try")

    @command("i", title="Try a message", footer="try", rank=12)
    def to_line(self) -> None:
        """Type a message and see at once what would fire and what the prompt would hold."""
        self.try_message()

    def enlarge(self, name: str | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        used = name or self.zoomed or self.panel_in_use
        self.zoomed = name
        self.lay_out()
        self.focus_panel(self.home() if name is None and self.compact and used in FOLDED else used)

    @command(
        "escape",
        title="Back", in_line=True, footer="back", rank=2, palette=False,
        needs=[
            Need(
                lambda here: here.zoomed or here.filtered or here.trying or here.panel == "try",
                "this is the top level; q quits",
            ),
        ],
    )  # fmt: skip
    def back(self) -> None:
        """Back out one level: leave the line, drop the filter, end the try, shrink the panel, follow
        again.
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

    @command("q", title="Quit")
    def quit(self) -> None:
        """Quit; from inside something it first backs out, as esc does."""
        if self.catalog["back"].refusal(self.situation):
            self.app.exit(0)
        else:
            self.back()

    @command(
        "ctrl+s", "ctrl+enter",
        title="Send the message in the line", panels=["try"], palette=False,
        needs=[WRITABLE],
    )  # fmt: skip
    def send(self) -> None:
        """Send the message in the line: it is written down, answered by the model of chat.provider, and
        watched. It goes on with the session in view if that was begun here and is open, else begins one.
        """
        text = self.prompt.input.value
        if self.prompt.mode != "try" or not text.strip():
            self.say("write a message first")
            return
        self.prompt.remember(text)
        entry = self.feed.selected
        wish = SendWish(text, entry.key if entry is not None else "")
        self.leave_line()
        self.end_try()
        self.app.push_screen(ReplyScreen(self.engine, wish))

    @command(
        "ctrl+j", "alt+enter", "shift+enter",
        title="New line in the message", panels=["try"], palette=False,
    )  # fmt: skip
    def break_line(self) -> None:
        """Begin another line in the message; a paste of several lines stays whole and is never sent by
        itself.
        """
        line = self.prompt.input
        if isinstance(line, Composer):
            line.break_line()
        else:
            self.say("only a message has several lines")

    # Acting on the selection

    @command("enter", title="Open the selection", footer="open", rank=20, needs=[ROWS])
    def open(self) -> None:
        """Open what is selected: a message's trace, what an agent was told, everything about a topic, ledger
        entry or left-out piece.
        """
        shown, name = self.activation.shown, self.panel_in_use
        row = self.activation.selected
        item = self.ledger_panel.selected
        compiled = shown.compiled
        entry = self.feed.selected
        if name == "feed" and entry is not None and entry.kind == "hook":
            self.perform(self.catalog["open_injections"], self.situation)
        elif name == "feed":
            if self.zoomed is not None:
                self.unzoom()
            self.focus_panel("activation")
        elif name == "activation" and row is not None:
            self.page(f"why {row.topic}", lambda width, roles: detail(shown, row, width, roles))
        elif name == "ledger" and item is not None:
            self.page("ledger entry", lambda width, roles: ledger_detail(item, width, roles))
        elif name == "budget" and compiled is not None:
            self.page(
                "the prompt, section by section",
                lambda width, roles: prompt_lines(compiled, width, roles),
                full=True,
            )
        elif self.zoomed is None:
            self.zoom()

    def label(self, useful: bool) -> None:
        """Labels the selected topic."""
        row, key = self.activation.selected, self.activation.shown.key
        if row is not None and key:
            self.conductor.label(key, row.topic, useful)

    label_useful = _labels("y", "useful", True)
    label_noise = _labels("n", "noise", False)

    def file_of(self, name: str) -> str:
        """The file behind the selection of a panel, relative to the workspace."""
        root = self.engine.workspace.root
        if name == "activation":
            topic = self.selected_topic
            return file_of(root, f"topics/{topic}.md") if topic else ""
        if name == "digest":
            return file_of(root, DIGEST_PATH)
        if name == "ledger":
            return file_of(root, LEDGER_PATH)
        entry: FeedEntry | None = self.feed.selected
        return file_of(root, entry.key, entry.text) if entry is not None and name == "feed" else ""

    @command(
        "e",
        title="Edit the topic or file", footer="edit", rank=24,
        needs=[Need(lambda here: here.file, "the selection is no file")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the selected topic or file in $VISUAL or $EDITOR; the workbench waits and shows the change."""
        self.edit_file(self.file_of(self.panel_in_use))

    # Panels

    focus_feed = goes_to("feed", "1", "the feed", ": what came in and what happened, newest last", rank=10)
    focus_activation = goes_to(
        "activation", "2", "activation",
        does="Go to the activation trace: which topics fired for the selected message, and why.", rank=10,
    )  # fmt: skip
    focus_digest = goes_to(
        "digest", "3", "the digest", ": the few kilobytes of knowledge that every prompt gets", rank=10
    )
    focus_ledger = goes_to(
        "ledger", "4", "the ledger", ": what was harvested from each conversation", rank=10
    )
    focus_budget = goes_to(
        "budget", "5", "the budget", ": what takes how much of the prompt, and what was left out", rank=10
    )

    @command(
        "slash",
        title="Filter the list", panels=["feed", "activation", "ledger"], footer="filter", rank=26,
    )  # fmt: skip
    def filter(self) -> None:
        """Narrow the list to the rows that hold what is typed, while it is typed."""
        self.type_filter()

    next_match = _to_match("n", "Next match", "the next row the filter found", 1)
    previous_match = _to_match("N", "Previous match", "the row before that the filter found", -1)

    @command("colon", title="Command line", footer="command", rank=28)
    def command_line(self) -> None:
        """Type a command as in the shell, without its first word: trace …, topics check, doctor."""
        self.type_command()

    # What the keys depend on, and what comes in

    @property
    def situation(self) -> BenchSituation:
        return self.situated(
            BenchSituation,
            filtered=bool(self.filter_of(self.panel_in_use)),
            trying=self.shown.trying,
            topic=self.selected_topic,
            key=self.activation.shown.key,
            file=self.file_of(self.panel_in_use),
        )
