"""What the workbench does for each command: one method per action, found by the command's class."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from engine.feed import FeedEntry
from engine.views import DIGEST_PATH, LEDGER_PATH
from tui.commands import catalog
from tui.commands.command import FOLDED, Command, PanelName, Situation
from tui.draw import Row, wrap
from tui.editor import editor_command, file_of
from tui.messages import NextTheme
from tui.render.budget import prompt_lines
from tui.render.explain import detail
from tui.render.help import help_lines
from tui.render.ledger import ledger_detail
from tui.roles import Roles
from tui.screens.page import MOTIONS, Builder, PageScreen
from tui.widgets.panel import Panel

if TYPE_CHECKING:
    from tui.screens.workbench import Workbench

COPY_LIMIT = 100_000
"""Characters a copy takes; terminals drop or choke on more."""
ORDER: tuple[PanelName, ...] = ("feed", "activation", "digest", "ledger", "budget", "try")


class Actions:
    """The actions of one workbench; ``perform`` is the way in for keys, footer and palette alike."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.searched = ""
        self._doing: dict[type[Command], Callable[[], None]] = {
            catalog.AnswerYes: partial(self.answer, True),
            catalog.AnswerNo: partial(self.answer, False),
            catalog.Back: self.back,
            catalog.FocusFeed: partial(self.go_to, "feed"),
            catalog.FocusActivation: partial(self.go_to, "activation"),
            catalog.FocusDigest: partial(self.go_to, "digest"),
            catalog.FocusLedger: partial(self.go_to, "ledger"),
            catalog.FocusBudget: partial(self.go_to, "budget"),
            catalog.NextPanel: partial(self.cycle, 1),
            catalog.PreviousPanel: partial(self.cycle, -1),
            **{command: partial(self.move, command) for command in MOTIONS},
            catalog.Open: self.open,
            catalog.LabelUseful: partial(self.label, True),
            catalog.LabelNoise: partial(self.label, False),
            catalog.Edit: self.edit,
            catalog.Copy: self.copy,
            catalog.Try: self.bench.typing.try_message,
            catalog.OpenTune: self.tune,
            catalog.OpenContext: self.context,
            catalog.OpenSearch: self.search,
            catalog.Filter: self.bench.typing.filter,
            catalog.NextMatch: partial(self.bench.typing.match, 1),
            catalog.PreviousMatch: partial(self.bench.typing.match, -1),
            catalog.Zoom: self.zoom,
            catalog.Unzoom: self.unzoom,
            catalog.CommandLine: self.bench.typing.command_line,
            catalog.Palette: self.palette,
            catalog.Help: self.help,
            catalog.Problems: self.problems,
            catalog.Theme: self.theme,
            catalog.Rescan: self.rescan,
            catalog.Suspend: self.suspend,
            catalog.Quit: self.quit,
        }

    @property
    def known(self) -> frozenset[type[Command]]:
        """Every command that something happens for."""
        return frozenset(self._doing)

    def perform(self, command: type[Command], situation: Situation) -> None:
        """Does what a command says, or says why not."""
        refusal = command.refusal(situation)
        if refusal and command is not catalog.Back:
            self.bench.say(refusal)
        else:
            self._doing[command]()

    # Moving about

    def panel(self) -> Panel | None:
        """The panel in use; ``None`` while a line is typed."""
        name = self.bench.panel_in_use
        return None if name == "try" else self.bench.panel_named(name)

    def go_to(self, name: PanelName) -> None:
        """Focuses a panel; one that is folded away opens over the whole area."""
        bench = self.bench
        folded = bench.compact and name in FOLDED
        if bench.zoomed is not None or folded:
            opened = bench.compact and bench.zoomed in FOLDED and not folded
            bench.zoomed = None if opened else name
            bench.lay_out()
        bench.focus_panel(name)

    def cycle(self, step: int) -> None:
        """Focuses the next panel that is in view, or the line."""
        bench = self.bench
        if bench.zoomed is not None:
            names: tuple[PanelName, ...] = (bench.zoomed, "try")
        else:
            names = tuple(name for name in ORDER if not (bench.compact and name in FOLDED))
        here = names.index(bench.panel_in_use) if bench.panel_in_use in names else -1
        name = names[(here + step) % len(names)]
        if name == "try":
            self.bench.typing.try_message()
        else:
            bench.focus_panel(name)

    def move(self, command: type[Command]) -> None:
        """Moves inside the panel."""
        panel = self.panel()
        if panel is not None:
            panel.move(MOTIONS[command])

    def zoom(self) -> None:
        """Gives the panel in use the whole area."""
        bench = self.bench
        if bench.panel_in_use != "try":
            bench.zoomed = bench.panel_in_use
            bench.lay_out()
            bench.focus_panel(bench.zoomed)

    def unzoom(self) -> None:
        """Shows all panels again."""
        bench = self.bench
        name = bench.zoomed or bench.panel_in_use
        bench.zoomed = None
        bench.lay_out()
        bench.focus_panel("activation" if bench.compact and name in FOLDED else name)

    def back(self) -> None:
        """Leaves the innermost level there is."""
        bench = self.bench
        if bench.panel_in_use == "try":
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
        if catalog.Back.refusal(self.bench.situation):
            self.bench.app.exit(0)
        else:
            self.back()

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

    def page(self, title: str, build: Builder, *, full: bool = False) -> None:
        """Opens a page over the workbench."""
        self.bench.app.push_screen(PageScreen(title, build, full=full))

    def label(self, useful: bool) -> None:
        """Labels the selected topic."""
        row, key = self.bench.activation.selected, self.bench.activation.shown.key
        if row is not None and key:
            self.bench.conductor.label(key, row.topic, useful)

    def answer(self, yes: bool) -> None:
        """Answers the gate's question."""
        self.bench.questions.answer(yes)

    def file_of(self, name: PanelName) -> str:
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

    def edit_file(self, relative: str, line: int = 0) -> None:
        """Hands the terminal to the editor, at a line where one is given, then looks at what changed."""
        bench = self.bench
        words = editor_command(bench.engine.workspace.root / relative, line=line)
        if not words:
            bench.say("no editor is set; set $EDITOR", trouble=True)
            return
        try:
            with bench.app.suspend():
                code = subprocess.run(words, check=False).returncode
        except SuspendNotSupported:
            bench.say("this terminal cannot be handed to an editor", trouble=True)
            return
        except OSError as error:
            bench.say(f"{words[0]} cannot be started: {error.strerror}", trouble=True)
            return
        if code:
            bench.say(f"{words[0]} ended with {code}", trouble=True)
        bench.conductor.rescan(quietly=True)

    def copy(self) -> None:
        """Puts the selection on the clipboard."""
        panel = self.panel()
        self.copy_text(panel.selected_text() if panel is not None else "")

    def copy_text(self, text: str) -> None:
        """Puts a text on the clipboard, as much of it as terminals take."""
        text = text.encode("utf-8", "replace").decode()
        self.bench.app.copy_to_clipboard(text[:COPY_LIMIT])
        of = f" of {len(text):,}" if len(text) > COPY_LIMIT else ""
        self.bench.say(f"copied, {min(len(text), COPY_LIMIT):,}{of} characters")

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

    # About the workbench

    def help(self) -> None:
        """Opens the help for what is focused."""
        situation = self.bench.situation
        self.page("help", lambda width, roles: help_lines(situation, width, roles), full=True)

    def problems(self) -> None:
        """Lists what is wrong in files."""
        status = self.bench.status
        lines = [str(problem) for problem in status.problems] if status is not None else []
        self.page("problems", lambda width, roles: _bullets(lines, width, roles))

    def palette(self) -> None:
        """Opens the palette."""
        self.bench.app.action_command_palette()

    def theme(self) -> None:
        """Uses the next theme."""
        self.bench.post_message(NextTheme())

    def rescan(self) -> None:
        """Looks at every file again."""
        self.bench.conductor.rescan(quietly=False)

    def suspend(self) -> None:
        """Puts the workbench aside."""
        self.bench.app.action_suspend_process()


def _bullets(lines: list[str], width: int, roles: Roles) -> list[Row]:
    return [
        row for line in lines for row in wrap([("! ", roles.trouble), (line, roles.normal)], width, indent=2)
    ]
