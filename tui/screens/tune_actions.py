"""What the tune screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.commands import common, tune
from tui.commands.command import Command, TunePanel
from tui.editor import file_of
from tui.render.tune_changes import Changes, notes
from tui.render.tune_decisions import decision_detail, label_text
from tui.render.tune_plot import cut_text
from tui.render.tune_topics import SORTED_BY, a_day, per_day, rate_text
from tui.roles import PLAIN
from tui.screens.page import MOTIONS
from tui.screens.screen_actions import ScreenActions
from tui.screens.screen_work import committed
from tui.screens.tune_cuts import FAST, STEP
from tui.screens.tune_work import CutsWish, LabelWish, Proposed, Written

if TYPE_CHECKING:
    from engine.activation.policy import Cuts
    from engine.activation.tuning.tuning import Applied
    from tui.screens.tune import TuneScreen

_ONE_LINE = 400


class TuneActions(ScreenActions[TunePanel]):
    """The actions of one tune screen."""

    screen: TuneScreen

    def __init__(self, screen: TuneScreen) -> None:
        super().__init__(screen)
        self.labelled = False
        self._labelled: list[tuple[str, str, bool | None]] = []
        self._applied: Applied | None = None
        self._file_of: tuple[object, str, str] = (None, "", "")
        self.doing |= {
            tune.Discard: self.discard,
            tune.Leave: self.back,
            tune.FocusTopics: partial(self.go_to, "topics"),
            tune.FocusScores: partial(self.go_to, "scores"),
            tune.FocusDecisions: partial(self.go_to, "decisions"),
            tune.CutLeft: partial(self.move_cut, -STEP),
            tune.CutRight: partial(self.move_cut, STEP),
            tune.CutLeftFast: partial(self.move_cut, -FAST),
            tune.CutRightFast: partial(self.move_cut, FAST),
            tune.OtherCut: self.other_cut,
            tune.Apply: self.apply,
            tune.Fit: self.fit,
            tune.LabelUseful: partial(self.label, True),
            tune.LabelNoise: partial(self.label, False),
            tune.Unlabel: self.unlabel,
            tune.OpenDecision: self.open_decision,
            tune.Undo: self.undo,
            tune.Sort: self.sort,
            tune.FilterTopics: self.filter,
            common.Edit: self.edit,
            common.Copy: self.copy,
        }

    # Moving about

    def move(self, command: type[Command]) -> None:
        """Moves the selection: among the decisions there, among the topics elsewhere."""
        screen = self.screen
        motion = MOTIONS[command]
        if screen.panel_in_use == "decisions":
            screen.decisions.move(motion)
        else:
            screen.choose_row(screen.topics.target(motion))

    def back(self) -> None:
        """Leaves the innermost level there is."""
        screen, state = self.screen, self.screen.state
        if screen.in_line:
            self._filter("")
            screen.leave_line()
        elif state.moved:
            self.discard()
        elif state.query:
            self._filter("")
        elif screen.zoomed is not None:
            self.unzoom()
        else:
            if state.moves:
                screen.bench.say(f"discarded what was moved on {', '.join(sorted(state.moves))}")
            if self.labelled:
                screen.bench.conductor.learn()
            screen.dismiss(None)

    def filter(self) -> None:
        """Takes the keys into the line, to type what to look for."""
        self.screen.open_line("filter", "filter", self.screen.state.query, "topics")

    def _filter(self, query: str) -> None:
        self.screen.state.filter(query)
        self.screen.show()

    # Cuts

    def move_cut(self, steps: int) -> None:
        """Moves the held cut by hundredths."""
        if self.screen.state.move(steps):
            self.screen.show()

    def other_cut(self) -> None:
        """Lets the keys move the other cut."""
        self.screen.state.hold_other()
        self.screen.show()

    def discard(self) -> None:
        """Puts the cuts back to today's."""
        self.screen.state.discard()
        self.screen.show()

    def apply(self) -> None:
        """Writes the moved cuts; asks first where there is something to beware of."""
        state = self.screen.state
        wish = CutsWish(state.topic, state.now)
        if state.caution:
            question = (
                f"{state.topic}: {_cuts(state.today)} ▸ {_cuts(state.now)}\n"
                f"{state.caution[:1].upper()}{state.caution[1:]}."
            )
            self.ask("apply", question, "Apply it", partial(self.screen.work.write, wish))
        else:
            self.screen.work.write(wish)

    def fit(self) -> None:
        """Shows what fitting says, or takes it away again; asks where it was not asked yet."""
        screen, state = self.screen, self.screen.state
        if state.topic in state.proposals:
            state.show_fit()
            self._say_fit(state.topic)
        else:
            state.fitting = state.topic
            state.fit_problem.pop(state.topic, None)
            screen.work.fit(state.topic)
        screen.show()

    def proposed(self, proposed: Proposed) -> None:
        """Fitting is done: puts the cuts there, unless the person has gone on to something else."""
        screen, state = self.screen, self.screen.state
        if state.fitting == proposed.topic:
            state.fitting = ""
        if proposed.proposal is None:
            state.fit_problem[proposed.topic] = proposed.problem
        else:
            state.take_fit(proposed.proposal)
        screen.show()
        self._say_fit(proposed.topic)

    def _say_fit(self, topic: str) -> None:
        """Says in passing what fitting says, where the panel that shows it is out of sight."""
        screen, changes = self.screen, self.screen.state.changes()
        if changes is None or screen.changes.display or topic != screen.state.topic:
            return
        said = " · ".join(row.text.strip() for row in notes(changes, _ONE_LINE, PLAIN))
        screen.say(said, trouble=bool(changes.problem))

    def undo(self) -> None:
        """Asks whether the last applied change is to be taken back."""
        last = self._applied
        if last is None:
            question = "Take the change of cuts back that was applied last in this workspace?"
        else:
            question = (
                f"Take back what was applied last?\n{last.topic}: {_cuts(last.after)} ▸ {_cuts(last.before)}"
            )
        self.ask("undo", question, "Take it back", partial(self.screen.work.write, CutsWish("", None)))

    def written(self, written: Written) -> None:
        """Cuts were written, or refused: says so, with the commit."""
        screen, state = self.screen, self.screen.state
        applied = written.applied
        if applied is None:
            screen.say(written.problem, trouble=True)
            return
        self._applied = None if written.undone else applied
        if state.moves.get(applied.topic) == written.wanted:  # else it was moved on meanwhile
            state.moves.pop(applied.topic, None)
        commit = committed(applied.commit, applied.why)
        done, more = ("taken back", "") if written.undone else ("applied", " · z takes it back")
        screen.say(f"{applied.topic}: {done}, {_cuts(applied.after)} · {commit}{more}")

    # Decisions

    def label(self, useful: bool) -> None:
        """Labels the selected decision and goes to the next one."""
        screen, state = self.screen, self.screen.state
        item, table = screen.decisions.selected, state.table
        if item is None or table is None:
            return
        before = item.useful if item.by == "person" else None
        self._labelled.append((item.id, state.topic, before))
        self.labelled = True
        state.saving[item.id] = useful
        screen.work.write(LabelWish(table, item.index, item.id, useful))
        screen.decisions.next_row()
        screen.show()

    def unlabel(self) -> None:
        """Takes the last label back and selects its decision."""
        screen, state = self.screen, self.screen.state
        table = state.table
        if not self._labelled or table is None:
            screen.say("nothing was labelled here yet")
            return
        name, topic, before = self._labelled.pop()
        index = next((at for at in range(table.size - 1, -1, -1) if table.decision(at).id == name), -1)
        if index < 0:
            screen.say("the decision is not in the log any more")
            return
        state.choose(topic)
        state.saving.pop(name, None)
        screen.work.write(LabelWish(table, index, name, before))
        screen.show()
        screen.decisions.select_id(name)
        said = "without a label again" if before is None else f"{label_text(before, PLAIN)[0]} again"
        screen.say(f"{topic}: {said}")

    def open_decision(self) -> None:
        """Opens everything about the selected decision."""
        item, table = self.screen.decisions.selected, self.screen.state.table
        if item is not None and table is not None:
            decision = table.decision(item.index)
            self.page("decision", lambda width, roles: decision_detail(decision, item, width, roles))

    # About the screen

    def sort(self) -> None:
        """Sorts the topics by the next thing."""
        screen, state = self.screen, self.screen.state
        sorting = state.next_sorting()
        screen.show()
        if state.query or not screen.topics.display:  # else the panel's title says it
            screen.say(f"topics: {SORTED_BY[sorting]}")

    def file(self) -> str:
        """The chosen topic's file, relative to the workspace; empty where it has none."""
        state = self.screen.state
        table = state.table
        if table is None or not state.known:
            return ""
        if self._file_of[:2] != (table, state.topic):
            root = self.screen.bench.engine.workspace.root
            self._file_of = (table, state.topic, file_of(root, table.topic(state.topic).path))
        return self._file_of[2]

    def edit(self) -> None:
        """Opens the topic's file in the editor."""
        self.edit_file(self.file())

    def rescan(self) -> None:
        """Looks at every file again, and at the log."""
        super().rescan()
        self.screen.work.read()

    def hint(self) -> str:
        """What the lower edge of the comparison says."""
        state = self.screen.state
        if not state.known:
            return ""
        if state.moved:
            status = self.screen.bench.status
            if status is not None and status.read_only:
                return "read-only: cannot be applied · esc discards"
            return f"enter {'asks first' if state.caution else 'applies and commits'} · esc discards"
        return "← → moves a cut"

    def standing(self) -> str:
        """The topic and its cuts, where the panel that shows them is out of sight."""
        screen, state = self.screen, self.screen.state
        if not state.known or screen.scores.display:
            return ""
        moved = f" ▸ {_cuts(state.now)}" if state.moved else ""
        return f"{state.topic} · {_cuts(state.today)}{moved}"

    def summary(self, changes: Changes | None) -> tuple[str, ...]:
        """The comparison in one line, where there is no room for its panel."""
        if changes is None:
            return ()
        before, after = changes.before, changes.after or changes.before
        return tuple(
            f"{word} {was}" if was == now else f"{word} {was}▸{now}"
            for word, was, now in (
                ("F1", rate_text(before.f1), rate_text(after.f1)),
                ("calls/d", per_day(before.gate_calls_per_day), per_day(after.gate_calls_per_day)),
                ("cost/d", a_day(before.cost_usd_per_day), a_day(after.cost_usd_per_day)),
            )
        )


def _cuts(cuts: Cuts) -> str:
    return f"gate {cut_text(cuts.gate)}, active {cut_text(cuts.activate)}"
