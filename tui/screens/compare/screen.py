"""The compare screen: one method per command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.kit.command import Need, Situation, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.render.figures import plural
from tui.screens.compare.layout import MERGE_KEY, CompareLayout

if TYPE_CHECKING:
    from engine.lifecycle.reconstruction.merging import Merge
    from tui.kit.bench import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSituation(Situation):
    side: str = ""
    """The selected branch or snapshot, if any."""
    both: bool = False
    """Two sides are being compared."""
    branch: bool = False
    """The right side can be merged."""
    here: bool = False
    """The left side is the workspace's current branch."""


A_SIDE: Need[CompareSituation] = Need(lambda here: here.side, "no branch or snapshot is selected")
BOTH: Need[CompareSituation] = Need(lambda here: here.both, "there is nothing to compare with")
A_BRANCH: Need[CompareSituation] = Need(
    lambda here: here.branch, "the right side is not an explore/ or extract/ branch"
)
HERE: Need[CompareSituation] = Need(
    lambda here: here.here, "the left side is not the current branch; press l on the first line to select it"
)


class CompareScreen(CompareLayout, panels=("sides", "files", "text")):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        merging = bench.engine.reconstruction.merging
        self._plans: Lane[str, Merge] = self.lane(merging.plan, lambda _name, plan: self._planned(plan))
        self._merges: Lane[Merge, Merge] = self.lane(
            lambda plan: merging.apply(plan.branch, plan),
            lambda _plan, done: self._merged(done),
            lambda _plan, problem: self._merge_failed(problem),
            finish=True,
        )

    # Navigation

    def back(self) -> None:
        """Back out one level: show all panels, close the merge preview, return to the files, the sides, or
        the workbench.
        """
        if self.zoomed is not None:
            self.unzoom()
        elif self.merge is not None:
            self.merge = None
            self.show_text()
        elif self.panel_in_use != "sides":
            self.focus_panel("files" if self.panel_in_use == "text" else "sides")
        else:
            self.dismiss(None)

    focus_sides = goes_to("sides", "1", "branches and snapshots", rank=24)
    focus_files = goes_to("files", "2", "the files that differ", ", with line counts", rank=24)
    focus_text = goes_to("text", "3", "both texts", ", side by side if they fit", rank=24)

    @command("enter", title="Read the file", panels=["files"], footer="read", rank=0, needs=[BOTH])
    def read(self) -> None:
        """Go to both texts of the selected file."""
        self.go_to("text")

    # Comparison

    @command("l", title="Use as the left side", panels=["sides"], footer="left", rank=1, needs=[A_SIDE])
    def as_left(self) -> None:
        """Use the selected branch or snapshot as the left side."""
        self.choose(self.situation.side, self.right)

    @command(
        "enter", "r", title="Use as the right side", panels=["sides"], footer="right", rank=0,
        needs=[A_SIDE],
    )  # fmt: skip
    def as_right(self) -> None:
        """Use the selected branch or snapshot as the right side."""
        self.choose(self.left, self.situation.side)

    @command("w", title="Toggle whole texts", footer="whole", rank=6, needs=[BOTH])
    def toggle_whole(self) -> None:
        """Toggle between whole texts and only the lines around changes."""
        self.is_whole = not self.is_whole
        self.show_text()

    @command("p", title="Run the probes against both", footer="probes", rank=4, needs=[BOTH])
    def probe(self) -> None:
        """Check out both sides and run your probes against each. This may take a minute."""
        if self.compared is not None:
            self.say("running the probes …")
            self._probes.ask(self.compared)

    # Merging

    @command(
        MERGE_KEY, title="Merge the right side", footer="merge", rank=8,
        needs=[BOTH, A_BRANCH, HERE, WRITABLE],
    )  # fmt: skip
    def merge_right(self) -> None:
        """Preview merging the branch on the right. Press again to confirm and merge it as one commit.
        Conflicts are explained and prevent the merge.
        """
        merge = self.merge
        if merge is None:
            self._plans.ask(self.right)
        elif merge.conflicts:
            self.say("cannot merge: both sides changed the same content; see above", error=True)
        else:
            files = plural(len(merge.diffs), "file")
            fate = (
                f"{merge.branch} is kept because it is checked out in {merge.stays}."
                if merge.stays
                else f"{merge.branch} is then deleted."
            )
            question = f"{files} in the workspace will change, in a single commit. {fate}"
            self.ask(f"merge {merge.branch}", question, "Merge", lambda: self._merges.ask(merge))

    def _planned(self, plan: Merge) -> None:
        if plan.branch == self.right:
            self.merge = plan
            self.show_text()
            self.go_to("text")

    def _merged(self, done: Merge) -> None:
        self.merge = done if done.conflicts else None
        if not done.conflicts:
            self.say(f"merged {done.branch}: {committed(done.commit, 'already up to date')}")
            self.focus_panel("sides")
        self.look()

    def _merge_failed(self, problem: str) -> None:
        self.say(problem, error=True)
        self.merge = None
        self.show_text()
        self.look()

    @property
    def situation(self) -> CompareSituation:
        item, right = self.sides.selected, self.side(self.right)
        return self.situated(
            CompareSituation,
            side=item.name if item is not None else "",
            both=self.compared is not None,
            branch=right is not None and right.branch,
            here=self.left == self.current,
        )
