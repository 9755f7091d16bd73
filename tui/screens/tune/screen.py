"""The tune screen: what can be done there, one method for each command."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Self

from tui.kit.command import Need, Situation, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.full_screen import committed
from tui.kit.panel import Motion
from tui.render.roles import PLAIN
from tui.screens.tune.changes import notes
from tui.screens.tune.decisions import decision_detail, label_text
from tui.screens.tune.layout import TuneLayout
from tui.screens.tune.log import Change, NewLabel, NewThresholds, Written, write_all
from tui.screens.tune.thresholds import FAST, STEP, thresholds_text
from tui.screens.tune.topics import SORTED_BY

if TYPE_CHECKING:
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.tuning import Applied
    from tui.kit.bench import Bench

_ONE_LINE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSituation(Situation):
    """What the commands of this screen depend on."""

    moved: bool = False
    """A threshold stands elsewhere than it does today."""
    fitting: bool = False
    """A fit is under way."""
    loading: bool = False
    """The decision log is being read."""
    decision: bool = False
    """A decision is selected."""
    topic: str = ""
    """The selected topic; empty where none is."""


THE_LOG: Need[TuneSituation] = Need(lambda here: not here.loading, "the decision log is being read")
A_DECISION: Need[TuneSituation] = Need(lambda here: here.decision, "no decision is selected")
A_TOPIC: Need[TuneSituation] = Need(lambda here: here.topic, "no topic is selected")
THRESHOLDS = (THE_LOG, A_TOPIC)
DECISION = (THE_LOG, A_TOPIC, A_DECISION)


class TuneScreen(TuneLayout, panels=("topics", "scores", "decisions"), lines=("filter",)):
    """The tune screen, with its commands."""

    def __init__(self, bench: Bench, topic: str = "") -> None:
        super().__init__(bench, topic)
        self.labelled = False
        """Whether the log has new labels, from which the gate may learn."""
        self._labels: list[tuple[str, str, bool | None]] = []
        """What was labelled here: the decision, its topic, and what a person had said before."""
        self._applied: Applied | None = None
        """The last change of thresholds, if it was made here."""
        self._fits = self.lane(
            lambda name: bench.engine.tuning.propose(name),
            self._take_fit,
            lambda name, problem: self._take_fit(name, None, problem),
        )
        self._writes = self.lane(self._write, self._take_written, merge=add, finish=True)

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen, on the selected topic."""
        return cls(bench, bench.selected_topic)

    # Moving about

    def move(self, motion: Motion) -> None:
        """Moves the selection: among the decisions there, among the topics elsewhere."""
        if self.panel_in_use == "decisions":
            self.decisions.move(motion)
        else:
            self.choose_row(self.topics.target(motion))

    @command("escape", title="Back", in_line=True, footer="back", rank=20, palette=False)
    def back(self) -> None:
        """Back out one level: leave the line, drop the filter, show all panels, return to the workbench."""
        state = self.state
        if self.in_line:
            self.narrow("")
            self.leave_line()
        elif state.moved:
            self.discard()
        elif state.query:
            self.narrow("")
        elif self.zoomed is not None:
            self.unzoom()
        else:
            if state.moves:
                self.bench.say(f"discarded what was moved on {', '.join(sorted(state.moves))}")
            if self.labelled:
                self.bench.conductor.learn()
            self.dismiss(None)

    @command("slash", title="Filter the topics", footer="filter", rank=24)
    def filter(self) -> None:
        """Narrow the topics to those whose name holds what is typed, while it is typed."""
        self.open_line("filter", "filter", self.state.query, "topics")

    # Thresholds

    def _move_threshold(self, steps: int) -> None:
        """Moves the held threshold by hundredths."""
        if self.state.move(steps):
            self.show()

    @command(
        "left", "h", title="Move the threshold down by .01", footer="threshold", rank=0, needs=THRESHOLDS
    )
    def threshold_left(self) -> None:
        """Move the chosen threshold down by .01; nothing is written before you apply it."""
        self._move_threshold(-STEP)

    @command("right", "l", title="Move the threshold up by .01", footer="threshold", rank=0, needs=THRESHOLDS)
    def threshold_right(self) -> None:
        """Move the chosen threshold up by .01; beyond 1 it is never reached."""
        self._move_threshold(STEP)

    @command(
        "H", "shift+left", "less_than_sign",
        title="Move the threshold down by .05", footer="by .05", rank=6,
        needs=THRESHOLDS,
    )  # fmt: skip
    def threshold_left_fast(self) -> None:
        """Move the chosen threshold down by .05."""
        self._move_threshold(-FAST)

    @command(
        "L", "shift+right", "greater_than_sign",
        title="Move the threshold up by .05", footer="by .05", rank=6,
        needs=THRESHOLDS,
    )  # fmt: skip
    def threshold_right_fast(self) -> None:
        """Move the chosen threshold up by .05."""
        self._move_threshold(FAST)

    @command("c", title="Choose the other threshold", footer="other one", rank=1, needs=THRESHOLDS)
    def other_threshold(self) -> None:
        """Choose the other threshold: from the lower one the gate is asked, from the upper one the topic
        is active.
        """
        self.state.hold_other()
        self.show()

    @command(
        "escape",
        title="Discard the move",
        footer="discard",
        rank=4,
        when=lambda here: here.moved,
        needs=THRESHOLDS,
    )
    def discard(self) -> None:
        """Put the thresholds back to where they stand today; nothing was written."""
        self.state.discard()
        self.show()

    @command(
        "enter",
        title="Apply the thresholds and commit", footer="apply", rank=2,
        needs=[
            *THRESHOLDS, Need(lambda here: here.moved, "no threshold is moved"), WRITABLE,
            Need(lambda here: here.file, "the topic has no file any more"),
        ],
    )  # fmt: skip
    def apply(self) -> None:
        """Write the moved thresholds into the header of the topic's file, comments kept, and commit it.
        Asks first where a fit warned of such thresholds.
        """
        state = self.state
        write = partial(self._writes.ask, (NewThresholds(state.topic, state.now),))
        if state.caution:
            question = (
                f"{state.topic}: {thresholds_text(state.today)} ▸ {thresholds_text(state.now)}\n"
                f"{state.caution[:1].upper()}{state.caution[1:]}."
            )
            self.ask("apply", question, "Apply it", write)
        else:
            write()

    @command(
        "f",
        title="Fit the thresholds to the labels", footer="fit", rank=8,
        needs=[*THRESHOLDS, Need(lambda here: not here.fitting, "a fit is under way")],
    )  # fmt: skip
    def fit(self) -> None:
        """Show the thresholds that fit the labels best, measured on decisions held out; once more takes
        them away.
        """
        state = self.state
        if state.topic in state.proposals:
            state.show_fit()
            self._say_fit(state.topic)
        else:
            state.fitting = state.topic
            state.fit_problem.pop(state.topic, None)
            self._fits.ask(state.topic)
        self.show()

    def _take_fit(self, topic: str, proposal: Proposal | None, problem: str = "") -> None:
        """Fitting is done: puts the thresholds there, unless the person has gone on to something else."""
        state = self.state
        if state.fitting == topic:
            state.fitting = ""
        if proposal is None:
            state.fit_problem[topic] = problem
        else:
            state.take_fit(proposal)
        self.show()
        self._say_fit(topic)

    def _say_fit(self, topic: str) -> None:
        """Says in passing what fitting says, where the panel that shows it is out of sight."""
        changes = self.state.changes()
        if changes is None or self.changes.display or topic != self.state.topic:
            return
        said = " · ".join(row.text.strip() for row in notes(changes, _ONE_LINE, PLAIN))
        self.say(said, error=bool(changes.problem))

    @command("z", title="Undo the last applied change", footer="undo", rank=16, needs=[WRITABLE])
    def undo(self) -> None:
        """Take the last applied change of thresholds back, also one of an earlier day; asks first."""
        last = self._applied
        if last is None:
            question = "Take the change of thresholds back that was applied last in this workspace?"
        else:
            back = f"{thresholds_text(last.after)} ▸ {thresholds_text(last.before)}"
            question = f"Take back what was applied last?\n{last.topic}: {back}"
        self.ask("undo", question, "Take it back", partial(self._writes.ask, (NewThresholds("", None),)))

    def _write(self, changes: tuple[Change, ...]) -> Written:
        """Writes labels and thresholds, off the screen's thread."""
        told = partial(self.later, self._thresholds_written), partial(self.tell, error=True)
        return write_all(self.bench.engine.tuning, changes, *told)

    def _thresholds_written(self, wanted: NewThresholds, applied: Applied) -> None:
        """Says what was written, with the commit."""
        state = self.state
        undone = wanted.thresholds is None
        self._applied = None if undone else applied
        if state.moves.get(applied.topic) == wanted.thresholds:  # else it was moved on meanwhile
            state.moves.pop(applied.topic, None)
        commit = committed(applied.commit, applied.why)
        done, more = ("taken back", "") if undone else ("applied", " · z takes it back")
        self.say(f"{applied.topic}: {done}, {thresholds_text(applied.after)} · {commit}{more}")

    def _take_written(self, _changes: tuple[Change, ...], written: Written) -> None:
        for name in written.tried:
            self.state.saving.pop(name, None)
        self.take_log(written.log, written.problem, relabelled=written.labelled)

    # Decisions

    def _label(self, useful: bool) -> None:
        """Labels the selected decision and goes to the next one."""
        state = self.state
        item, table = self.decisions.selected, state.table
        if item is None or table is None:
            return
        before = item.useful if item.by == "person" else None
        self._labels.append((item.id, state.topic, before))
        self.labelled = True
        state.saving[item.id] = useful
        self._writes.ask((NewLabel(table, item.index, item.id, useful),))
        self.decisions.move(Motion.DOWN)
        self.show()

    @command(
        "y", title="Label the decision: useful", footer="useful / noise", rank=10, needs=[*DECISION, WRITABLE]
    )
    def label_useful(self) -> None:
        """Label the selected decision: the topic was useful for this message; then go to the next one."""
        self._label(True)

    @command(
        "n", title="Label the decision: noise", footer="useful / noise", rank=10, needs=[*DECISION, WRITABLE]
    )
    def label_noise(self) -> None:
        """Label the selected decision: the topic was noise for this message; then go to the next one."""
        self._label(False)

    @command("u", title="Take the last label back", needs=THRESHOLDS)
    def unlabel(self) -> None:
        """Take the last label back and go to its decision; a label you gave it before is there again."""
        state = self.state
        table = state.table
        if not self._labels or table is None:
            self.say("nothing was labelled here yet")
            return
        name, topic, before = self._labels.pop()
        index = next((at for at in range(table.size - 1, -1, -1) if table.decision(at).id == name), -1)
        if index < 0:
            self.say("the decision is not in the log any more")
            return
        state.choose(topic)
        state.saving.pop(name, None)
        self._writes.ask((NewLabel(table, index, name, before),))
        self.show()
        self.decisions.select_key(name)
        said = "without a label again" if before is None else f"{label_text(before, PLAIN)[0]} again"
        self.say(f"{topic}: {said}")

    @command("o", "space", title="Open the decision", needs=DECISION)
    def open_decision(self) -> None:
        """Open the selected decision: the whole message, every score, what the gate said, and its label."""
        item, table = self.decisions.selected, self.state.table
        if item is not None and table is not None:
            decision = table.decision(item.index)
            self.page("decision", lambda width, roles: decision_detail(decision, item, width, roles))

    # About the screen

    @command("s", title="Sort the topics otherwise", footer="sort", rank=22)
    def sort(self) -> None:
        """Sort the topics by the next thing: worst first, most gate calls, highest cost, most labels, name.
        What decides the order has its column, however narrow the list is.
        """
        state = self.state
        sorting = state.next_sorting()
        self.show()
        if state.query or not self.topics.display:  # else the panel's title says it
            self.say(f"topics: {SORTED_BY[sorting]}")

    def file(self) -> str:
        """The chosen topic's file, relative to the workspace; empty where it has none."""
        state = self.state
        table = state.table
        if table is None or not state.known:
            return ""
        return file_of(self.bench.engine.workspace.root, table.topic(state.topic).path)

    @command(
        "e",
        title="Edit the topic or file", footer="edit", rank=24,
        needs=[Need(lambda here: here.file, "the selection is no file")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the selected topic or file in $VISUAL or $EDITOR; the workbench waits and shows the change."""
        self.edit_file(self.file())

    def rescan(self) -> None:
        """Look at every file again, and at the log."""
        super().rescan()
        self.look()

    # Panels

    focus_topics = goes_to(
        "topics", "1", "the topics", ": how well each does with its thresholds of today, worst first", rank=30
    )
    focus_scores = goes_to(
        "scores", "2", "the scores",
        " of the topic's labelled decisions; up and down choose another topic there", rank=30,
    )  # fmt: skip
    focus_decisions = goes_to(
        "decisions", "3", "the decisions",
        ": those that flip when a threshold is moved, else those nearest to the thresholds", rank=30,
    )  # fmt: skip

    # What the keys depend on

    @property
    def glance(self) -> TuneSituation:
        """While a threshold is moved, esc discards the move."""
        before = super().glance
        return TuneSituation(panel=before.panel, question=before.question, moved=self.state.moved)

    @property
    def situation(self) -> TuneSituation:
        state = self.state
        return self.situated(
            TuneSituation,
            filtered=bool(state.query),
            moved=state.moved,
            topic=state.topic if state.known else "",
            file=self.file(),
            loading=state.loading,
            decision=self.decisions.selected is not None,
            fitting=bool(state.fitting),
        )
