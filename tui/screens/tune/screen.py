"""The tune screen: topics and their figures, scores, thresholds and the effect of moving them (design 8)."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tui.kit.command import Need, command, command_of
from tui.kit.commands import WRITABLE, goes_to, labels
from tui.kit.full_screen import LOW, FullScreen, committed
from tui.kit.messages import Burst
from tui.kit.panel import Motion
from tui.kit.prompt import PromptLine
from tui.kit.rows import RowList
from tui.render.roles import PLAIN
from tui.render.words import label_word
from tui.screens.tune.draw import (
    FAST,
    STEP,
    Changes,
    ChangesPanel,
    Scores,
    ScoresPanel,
    notes,
    per_day,
    rate_text,
    thresholds_text,
)
from tui.screens.tune.lists import SORTED_BY, DecisionsPanel, TopicsPanel, decision_detail
from tui.screens.tune.state import (
    Change,
    LogSnapshot,
    NewLabel,
    NewThresholds,
    TuneState,
    WriteResult,
    read_log,
    write_all,
)

if TYPE_CHECKING:
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.tuning import Applied
    from tui.kit.bench import Bench

PATIENCE = 4.0
"""The pause between two reads of the log, as a multiple of the last read's duration."""


_ONE_LINE = 400


THE_LOG = Need(lambda here: not here.state.loading, "the logged messages are being scored")
A_DECISION = Need(lambda here: here.decisions.selected, "no message is selected")
A_TOPIC = Need(lambda here: here.state.known, "no topic is selected")
THRESHOLDS = (THE_LOG, A_TOPIC)
DECISION = (THE_LOG, A_TOPIC, A_DECISION)


def _step(
    step: int, *keys: str, note: str = "", footer: str = "threshold", rank: int = 0
) -> Callable[[Any], None]:
    direction = f"{'up' if step > 0 else 'down'} by .{abs(step):02}"
    return command_of(
        f"Move the selected threshold {direction}{note}.",
        lambda screen: screen.move_threshold(step),
        " ".join(keys),
        title=f"Move the threshold {direction}",
        footer=footer,
        rank=rank,
        needs=THRESHOLDS,
    )


class TuneScreen(FullScreen, panels=("topics", "scores", "decisions"), lines=("filter",)):
    """The layout of the screen.

    Args:
        topic: The topic selected first; if unknown, the worst one.
    """

    AUTO_FOCUS = "#scores"
    area = "tune"

    def __init__(self, bench: Bench, topic: str = "") -> None:
        super().__init__(bench, "scores")
        self.state = TuneState(topic)
        self._rest_until = 0.0
        self._reads = self.plain_lane(
            lambda: read_log(bench.engine.tuning), self.take_log, lambda problem: self.take_log(None, problem)
        )
        self._hold_outs = self.plain_lane(
            lambda: read_log(bench.engine.tuning, held_out=True),
            partial(self.take_log, relabelled=True),
            partial(self.say, error=True),
        )
        self._labels: list[tuple[str, str, bool | None]] = []
        """Labels given here: message, topic and the user's previous label."""
        self._applied: Applied | None = None
        """The last applied change of thresholds, if made here."""
        self._fits = self.lane(
            lambda name: bench.engine.tuning.propose(name),
            self._take_fit,
            lambda name, problem: self._take_fit(name, None, problem),
        )
        self._writes = self.lane(self._write, self._take_written, merge=add, finish=True)

    def body(self) -> ComposeResult:
        """Topics and the input line on the left; scores, changes and decisions on the right."""
        self.topics = TopicsPanel(id="topics")
        self.scores = ScoresPanel(id="scores")
        self.changes = ChangesPanel(id="changes")
        self.decisions = DecisionsPanel(id="decisions")
        yield Horizontal(
            Vertical(self.topics, self.prompt, id="tune-left"),
            Vertical(self.scores, self.changes, self.decisions, id="tune-right"),
            id="tune",
        )

    def begin(self) -> None:
        self.look()

    def look(self) -> None:
        self._reads.ask(None)

    def end(self) -> None:
        """Lets the garbage collector free the log."""
        gc.unfreeze()

    # What is on the screen

    def lay_out(self) -> None:
        size, zoom = self.app.size, self.zoomed
        low = size.height < LOW
        self.lay_out_frame({"-low": low, "-wide": size.width >= 160, "-narrow": size.width < 100})
        left = self.query_one("#tune-left")
        left.display = zoom in (None, "topics") or self.prompt.display
        self.topics.display = zoom in (None, "topics")
        left.set_class(zoom == "topics", "-whole")
        self.query_one("#tune-right").display = zoom != "topics"
        self.scores.display = zoom in (None, "scores")
        self.changes.display = zoom in (None, "scores") and not low
        self.decisions.display = zoom in (None, "decisions")

    def show(self) -> None:
        state = self.state
        threshold_line = self.threshold_line()
        self.topics.show_view(state.topics(), threshold_line)
        self.topics.select_key(state.topic)
        changes = state.changes()
        self.scores.show(self._scores(self.summary(changes)))
        self.changes.show(changes, self.hint())
        self.decisions.show_listing(
            state.topic, state.list_decisions(), self._nothing_listed(), threshold_line
        )
        self.update_footer()

    def _scores(self, summary: tuple[str, ...]) -> Scores:
        state = self.state
        if not state.known:
            note = "scoring the logged messages …" if state.loading else "no topic is selected"
            return Scores(note="ctrl+r tries again" if state.problem else note)
        below = summary if self.has_class("-low") else ()
        return Scores(state.topic, state.overview[state.topic].labelled, state.plot, below=below)

    def _nothing_listed(self) -> str:
        state = self.state
        if not state.known or state.table is None:
            return ""
        if state.moved:
            return "No logged message changes with these thresholds."
        if state.table.size:
            return "Thresholds have no effect on this topic: triggers, a schedule or a person settle it."
        return "No messages yet. They are logged as they arrive; label them here with y and n."

    # Engine events and log reads

    def patience(self) -> float:
        """Limits how often a slow log is read."""
        return max(self.burst_s, self._rest_until - self.bench.clock.monotonic())

    def handle_events(self, burst: Burst) -> None:
        """Reads new log records when messages arrive or files change."""
        if burst.keys or "status" in burst.parts:
            self.look()

    def take_log(self, log: LogSnapshot | None, problem: str = "", *, relabelled: bool = False) -> None:
        """Handles a read of the log, or its failure; ``relabelled`` says that labels in it changed."""
        state = self.state
        if log is not None:
            # A garbage collection over 100,000 decisions takes a quarter of a second and would delay keys.
            gc.freeze()
            state.take(log, relabelled=relabelled)
            if not state.held_out:
                self._hold_outs.ask(None)
            self._rest_until = self.bench.clock.monotonic() + PATIENCE * log.seconds
        if problem and state.table is None:
            state.problem = problem
        elif problem:
            self.say(problem, error=True)
        self.show()

    # User input

    def choose_selected(self) -> None:
        """Takes over the topic selected in the list."""
        if self.topics.selected is not None:
            self.state.choose(self.topics.selected.name)
            self.show()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.topics and moved.by_hand:
            self.choose_selected()
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        self.narrow(edited.value)

    def narrow(self, query: str) -> None:
        self.state.filter(query)
        self.show()

    @on(PromptLine.Entered)
    def _entered(self) -> None:
        self.leave_line()

    def hint(self) -> str:
        """The text in the comparison's lower border."""
        state = self.state
        if not state.known or not state.moved:
            return ""
        if self.read_only:
            return "read-only: cannot apply · esc discards"
        return f"enter {'asks, then applies' if state.caution else 'applies and commits'} · esc discards"

    def threshold_line(self) -> str:
        """The topic and its thresholds, when the panel that shows them is hidden."""
        state = self.state
        if not state.known or self.scores.display:
            return ""
        moved = f" ▸ {thresholds_text(state.now, state.offers)}" if state.moved else ""
        return f"{state.topic} · {thresholds_text(state.today, state.offers)}{moved}"

    def summary(self, changes: Changes | None) -> tuple[str, ...]:
        """The comparison as short texts, for when its panel does not fit."""
        if changes is None:
            return ()
        before, after = changes.before, changes.after or changes.before
        asked = "offers" if changes.offers else "calls"
        return tuple(
            f"{name} {old}" if old == new else f"{name} {old}▸{new}"
            for name, old, new in (
                ("F1", rate_text(before.f1), rate_text(after.f1)),
                ("recall", rate_text(before.recall), rate_text(after.recall)),
                (f"{asked}/d", per_day(before.offers_per_day), per_day(after.offers_per_day)),
            )
        )

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen for the selected topic."""
        return cls(bench, bench.selected_topic)

    # Navigation

    def move(self, motion: Motion) -> None:
        """Moves the selection: in the messages panel among messages, elsewhere among topics."""
        if self.panel_in_use == "decisions":
            self.decisions.move(motion)
        else:
            self.topics.move(motion)
            self.choose_selected()

    @command("escape", "Back", "back", 20, in_line=True, palette=False)
    def back(self) -> None:
        """Back out one level: leave the input line, discard a move, clear the filter, show all panels, or
        return to the workbench.
        """
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
                self.bench.say(f"discarded moved thresholds of {', '.join(sorted(state.moves))}")
            self.dismiss(None)

    def quit(self) -> None:
        """Quit, or go back one level, as esc does; asks first if that discards moved thresholds."""
        state = self.state
        if self.in_line or not state.moves:
            self.back()
            return

        def leave() -> None:
            self.dismiss(None)

        topics = ", ".join(sorted(state.moves))
        question = f"The moved thresholds of {topics} are not applied yet."
        self.ask("discard moved thresholds", question, "Discard", leave)

    @command("slash", "Filter the topics", "filter", 24)
    def filter(self) -> None:
        """Narrow the topics to those whose name contains what you type."""
        self.open_line("filter", "filter", self.state.query, "topics")

    def filter_of(self, name: str) -> str:
        return self.state.query if name == "topics" else ""

    def go_to_match(self, step: int) -> None:
        super().go_to_match(step)
        self.choose_selected()

    # Thresholds

    def move_threshold(self, steps: int) -> None:
        if self.state.move(steps):
            self.show()

    threshold_left = _step(-STEP, "left", "h", note="; nothing is written until you apply it")
    threshold_right = _step(STEP, "right", "l", note="; above 1 it becomes never")
    threshold_left_fast = _step(-FAST, "H", "shift+left", "less_than_sign", footer="by .05", rank=6)
    threshold_right_fast = _step(FAST, "L", "shift+right", "greater_than_sign", footer="by .05", rank=6)

    @command("c", "Select the other threshold", "other one", 1, needs=THRESHOLDS)
    def other_threshold(self) -> None:
        """Select the other threshold. From the lower one on the topic is offered to the agent, or the gate is
        asked; from the upper one on it is active.
        """
        self.state.switch_held()
        self.show()

    @command("escape", "Discard the move", "discard", 4, when=lambda here: here.state.moved, needs=THRESHOLDS)
    def discard(self) -> None:
        """Reset the thresholds to their current values; nothing was written."""
        self.state.discard()
        self.show()

    @command("enter", "Apply the thresholds and commit", "apply", 2,
             needs=[*THRESHOLDS, Need(lambda here: here.state.moved, "no threshold is moved"), WRITABLE,
                    Need(lambda here: here.file, "the topic's file no longer exists")])  # fmt: skip
    def apply(self) -> None:
        """Write the moved thresholds to the header of the topic's file, keeping comments, and commit it.
        Asks first if a fit warned about these thresholds.
        """
        state = self.state
        write = partial(self._writes.ask, (NewThresholds(state.topic, state.now),))
        if state.caution:
            question = (
                f"{state.topic}: {thresholds_text(state.today, state.offers)} ▸ "
                f"{thresholds_text(state.now, state.offers)}\n"
                f"{state.caution[:1].upper()}{state.caution[1:]}."
            )
            self.ask("apply", question, "Apply", write)
        else:
            write()

    @command("f", "Fit the thresholds to the labels", "fit", 8,
             needs=[*THRESHOLDS, Need(lambda here: not here.state.fitting, "a fit is running")])  # fmt: skip
    def fit(self) -> None:
        """Show the thresholds that best fit the labels, tried on held-out labels. Press again to go back."""
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
        """Shows a fit as a notification when the changes panel is hidden."""
        changes = self.state.changes()
        if changes is None or self.changes.display or topic != self.state.topic:
            return
        text = " · ".join(row.text.strip() for row in notes(changes, _ONE_LINE, PLAIN))
        self.say(text, error=bool(changes.problem))

    @command("z", "Undo the last applied change", "undo", 16, needs=[WRITABLE])
    def undo(self) -> None:
        """Undo the last applied threshold change, even one from an earlier day. Asks first."""
        last = self._applied
        question = "Undo the last threshold change applied in this workspace?"
        if last is not None:
            offers = self.state.offers
            change = f"{thresholds_text(last.after, offers)} ▸ {thresholds_text(last.before, offers)}"
            question = f"Undo the last applied change?\n{last.topic}: {change}"
        self.ask("undo", question, "Undo", partial(self._undo, last))

    def _undo(self, last: Applied | None) -> None:
        self._applied = None
        self._writes.ask((NewThresholds("", None, last),))

    def _write(self, changes: tuple[Change, ...]) -> WriteResult:
        """Writes labels and thresholds on the lane's thread."""
        return write_all(
            self.bench.engine,
            changes,
            partial(self.later, self._thresholds_written),
            partial(self.tell, error=True),
        )

    def _thresholds_written(self, wanted: NewThresholds, applied: Applied) -> None:
        """Reports the written thresholds and the commit."""
        state = self.state
        undone = wanted.thresholds is None
        self._applied = None if undone else applied
        if state.moves.get(applied.topic) == wanted.thresholds:  # else it has been moved again since
            state.moves.pop(applied.topic, None)
        commit = committed(applied.commit, applied.why)
        hint = " · z undoes it" if applied.commit and not undone else ""
        done = "undone" if undone else "applied"
        self.say(f"{applied.topic}: {done}, {thresholds_text(applied.after, state.offers)} · {commit}{hint}")

    def _take_written(self, _changes: tuple[Change, ...], written: WriteResult) -> None:
        for key in written.tried:
            self.state.saving.pop(key, None)
        said = []
        for (topic, name), judged in written.judged.items():
            if judged.before is not None and judged.after is not None:
                self.state.learned[topic, name] = judged.before.score, judged.after.score
            words = (topic, label_word(judged.decision.useful), judged.moved)
            said.append("{}: {} · {}".format(*words) if judged.moved else "{}: {}".format(*words))
        if said:
            self.say("\n".join(said[-3:]))
        self.take_log(written.log, written.problem, relabelled=bool(written.tried))

    # Decisions

    def label(self, useful: bool) -> None:
        state = self.state
        item, table = self.decisions.selected, state.table
        if item is None or table is None:
            return
        before = item.useful if item.by == "person" else None
        self._labels.append((item.id, state.topic, before))
        state.saving[state.topic, item.id] = useful
        self._writes.ask((NewLabel(table, state.topic, item.row, useful),))
        self.decisions.move(Motion.DOWN)
        self.show()

    label_useful, label_noise = labels(
        "Label the topic as {} for the selected message, then go to the next. Its score and those of "
        "messages like it move.",
        "Label the message:", 10, DECISION,
    )  # fmt: skip

    @command("u", "Undo the last label", needs=THRESHOLDS)
    def unlabel(self) -> None:
        """Undo the last label and go to its message; your previous label, if any, is restored."""
        state = self.state
        table = state.table
        if not self._labels or table is None:
            self.say("no label to undo")
            return
        name, topic, before = self._labels.pop()
        row = next((at for at, message in enumerate(table.messages) if message.hash == name), -1)
        if row < 0:
            self.say("the message is no longer in the log")
            return
        state.choose(topic)
        state.saving.pop((topic, name), None)
        self._writes.ask((NewLabel(table, topic, row, before),))
        self.show()
        self.decisions.select_key(name)
        self.say(f"{topic}: {label_word(before)} again")

    @command("o space", "Open the message", needs=DECISION)
    def open_decision(self) -> None:
        """Open the selected message: its text, the label, and what was decided when it was sent."""
        item, table = self.decisions.selected, self.state.table
        if item is not None and table is not None:
            topic, offers = self.state.topic, table.offers
            decision = table.messages[item.row].decisions.get(topic)
            self.page(
                "message",
                lambda width, roles: decision_detail(topic, decision, item, width, roles, offers),
            )

    # Other

    @command("s", "Change the sort order", "sort", 22)
    def sort(self) -> None:
        """Cycle the sort order: worst first, most offers, highest cost, most labels, name. The column sorted
        by is always shown.
        """
        state = self.state
        sorting = state.next_sorting()
        self.show()
        if state.query or not self.topics.display:  # else the panel's title shows it
            self.say(f"topics: {SORTED_BY[sorting]}")

    @property
    def file(self) -> str:
        state = self.state
        return self.existing(state.table.topics[state.topic].path) if state.table and state.known else ""

    @command("e", "Edit the topic", "edit", 24,
             needs=[Need(lambda here: here.file, "the selection is not a file")])  # fmt: skip
    def edit(self) -> None:
        """Open the selected topic in $VISUAL or $EDITOR. The workbench waits, then shows the changes."""
        self.edit_file(self.file)

    def rescan(self) -> None:
        """Re-read all files and the log."""
        super().rescan()
        self.look()

    # Panels

    focus_topics = goes_to(
        "topics", "1", "the topics", ": figures for each with its current thresholds, worst first", rank=30
    )
    focus_scores = goes_to("scores", "2", "the scores",
                           " of the topic's labelled messages; up and down select another topic",
                           rank=30)  # fmt: skip
    focus_decisions = goes_to("decisions", "3", "the messages",
                              ": those that flip when a threshold is moved, or those nearest the thresholds",
                              rank=30)  # fmt: skip
