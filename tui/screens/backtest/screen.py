"""The backtest screen: plays the past to the memory, and tries settings on it before they are applied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container

from engine.errors import AutopoiesisError
from tui.kit.bench import Played
from tui.kit.command import Need, command
from tui.kit.commands import filters, goes_to, labels
from tui.kit.full_screen import ListDetail
from tui.kit.lanes import Lane
from tui.kit.prompt import Mode
from tui.render.draw import Row, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.screens.backtest.draw import PromptsPanel, ToldPanel, ToldView, head_of, listed

if TYPE_CHECKING:
    from engine.recall.labels import Labels, Place
    from tui.kit.bench import Bench


@dataclass(frozen=True, slots=True, eq=False)
class PlayRequest:
    changes: str


@dataclass(frozen=True, slots=True)
class NewLabel:
    prompt: Place
    passages: tuple[Place, ...]
    useful: bool


IDLE = Need(lambda here: not here.doing, "the past is being played")
A_PROMPT = Need(lambda here: (item := here.prompts.selected) and item.prompt, "no prompt is selected")
A_PLACE = Need(lambda here: here.panel_in_use == "prompts" or A_PROMPT.met(here), A_PROMPT.reason)


class BacktestScreen(ListDetail, panels=("prompts", "told"), lines=("words",)):
    """Plays the past when it is opened for the first time; it stops if the screen is closed before."""

    area = "backtest"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.doing = self.problem = ""
        self.every = False
        self._request: PlayRequest | None = None
        self._plays: Lane[PlayRequest, Played] = self.lane(self._play, self._take, self._refused)
        self._labels: Lane[NewLabel, Labels] = self.lane(
            self._label, self._labelled, in_turn=True, finish=True
        )

    def body(self) -> ComposeResult:
        self.prompts = PromptsPanel(id="prompts")
        self.told = ToldPanel(id="told")
        yield Container(self.prompts, self.told, id="backtest")

    @property
    def played(self) -> Played | None:
        """The last result, which outlives the screen."""
        return self.bench.backtest

    def begin(self) -> None:
        if self.played is None:
            self.start("")
        else:
            self.show()

    # Playing

    def start(self, changes: str) -> None:
        """Plays the past in the background, with settings changed if there are any."""
        self.problem, self.doing = "", "reading …"
        self._request = PlayRequest(changes)
        self._plays.ask(self._request)
        self.show()

    def _play(self, request: PlayRequest) -> Played:
        engine = self.bench.engine

        def report(done: int, of: int) -> None:
            if request is not self._request or not self.listening:
                raise AutopoiesisError("stopped")
            self.later(self._progress, done, of)

        name, _, value = request.changes.partition("=")
        changes = {name.strip(): value.strip()} if request.changes else {}
        engine.configuration.tried(changes)  # before the past is played for nothing
        engine.catch_up_index()
        found, trial = engine.what_if(changes, 0, report)
        return Played(found, trial if changes else None, request.changes)

    def _progress(self, done: int, of: int) -> None:
        if self.doing:
            self.doing = f"playing {count(done)} of {plural(of, 'session')} …"
            self.show()

    def _take(self, _request: PlayRequest, played: Played) -> None:
        self.doing, self.bench.backtest = "", played
        self.show()
        self.prompts.select_key(None)

    def _refused(self, request: PlayRequest, problem: str) -> None:
        if request is self._request:
            self.doing = ""
            self.problem = problem if self.played is None else ""
            self.say(problem, error=True)
            self.show()

    # Display

    def show(self) -> None:
        played = self.played
        found = played.found if played is not None and played.found.sessions else None
        items = listed(found, every=self.every) if found is not None else ()
        head = head_of(found, every=self.every) if found is not None else ""
        changes = f"with {played.changes}" if played is not None and played.changes else ""
        self.prompts.head, self.prompts.below = head, self.doing or changes
        self.prompts.show_items(items, self._note, (self.doing, self.problem, self.query_text, played))
        self.show_selected()

    def show_selected(self) -> None:
        """Shows the selected prompt, or all figures."""
        played, item = self.played, self.prompts.selected
        if played is None or item is None:
            self.told.show_view(None)
        else:
            self.told.show_view(ToldView(played, item.prompt))
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        if self.doing:
            text = "Each of your sessions is played to the memory as it stood then. esc stops."
            return [Row((self.doing, roles.strong)), *wrap([(text, roles.muted)], width)]
        if self.problem:
            return wrap([(self.problem, roles.error)], width)
        if self.query_text:
            return [Row(("nothing matches; esc shows all", roles.muted))]
        text = "there are too few sessions to play; import yours: autopoiesis import"
        return wrap([(text, roles.muted)], width)

    # Navigation

    focus_prompts = goes_to("prompts", "1", "the list")
    focus_told = goes_to("told", "2", "what was told", ": the passages, and what came up later")

    @command("enter e", "Open the transcript", "open", 0, needs=[A_PLACE])
    def open(self) -> None:
        """Go to what was told; there, open the transcript of the selected passage, or of the prompt, in
        $VISUAL or $EDITOR.
        """
        item = self.prompts.selected
        passage = self.told.passage
        prompt = item.prompt if item is not None else None
        if self.panel_in_use == "prompts":
            self.go_to("told")
        elif prompt is not None:
            path, line = passage.place if passage is not None else prompt.place
            if file := self.existing(path):
                self.edit_file(file, line)
            else:
                self.say("its transcript no longer exists")

    @command("s", "Show the best and worst, or all", "all", 8)
    def show_others(self) -> None:
        """List every prompt that would have been told something, oldest first; then the best and worst."""
        self.every = not self.every
        self.show()

    filter = filters("prompts", rank=22)

    @command("r", "Play the past again", "play", 10, needs=[IDLE])
    def play_again(self) -> None:
        """Play the past again, with all that was captured, accepted and labelled since."""
        self.start(self.played.changes if self.played is not None else "")

    @command("w", "Try a setting", "what if", 6, needs=[IDLE])
    def what_if(self) -> None:
        """Type a setting, such as hooks.past_sessions=off, to play the past with it; nothing is saved. Both
        results are shown side by side. Leave it empty to show the past as it is.
        """
        self.open_line("words", "setting", self.played.changes if self.played is not None else "")

    def entered(self, mode: Mode, text: str) -> None:
        self.leave_line()
        if mode != "setting":
            return
        if text and "=" not in text:
            self.say("expected SETTING=VALUE; nothing was played", error=True)
        elif text:
            self.start(text)
        elif self.played is not None:
            self.bench.backtest = Played(self.played.found)
            self.show()

    # Labelling

    label_useful, label_noise = labels(
        "Label what was told as {}; in the list, everything beside the prompt. Labels are examples for the "
        "model that is learned from your past; noise is not told again unless it answers a message.",
        "Label as", 4, [A_PROMPT],
    )  # fmt: skip

    def label(self, useful: bool) -> None:
        """Records the user's label of the selected passage, or of all of the selected prompt."""
        item, passage = self.prompts.selected, self.told.passage
        if item is None or item.prompt is None:
            return
        if self.panel_in_use != "told":
            self._labels.ask(
                NewLabel(item.prompt.place, tuple(p.place for p in item.prompt.passages), useful)
            )
        elif passage is None:
            self.say("no passage is selected")
        else:
            self._labels.ask(NewLabel(item.prompt.place, (passage.place,), useful))

    def _label(self, given: NewLabel) -> Labels:
        labels = self.bench.engine.recall.labels
        labels.label(given.prompt, given.passages, given.useful)
        return labels.read()

    def _labelled(self, given: NewLabel, labels: Labels) -> None:
        self.say(
            f"labelled {'useful' if given.useful else 'noise'}: {plural(len(given.passages), 'passage')}"
        )
        if self.played is not None:
            found = self.played.found
            told = tuple(each.labelled(labels) for each in found.told)
            self.bench.backtest = replace(self.played, found=replace(found, told=told))
        self.show()
