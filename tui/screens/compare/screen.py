"""The comparison: what can be done there, one method for each command."""

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
    """What the commands of this screen depend on."""

    side: str = ""
    """The selected state; empty where none is."""
    both: bool = False
    """Two states are compared."""
    branch: bool = False
    """The right one can be taken over."""
    here: bool = False
    """The left one is what the workspace is on."""


A_SIDE: Need[CompareSituation] = Need(lambda here: here.side, "there is nothing to choose from")
BOTH: Need[CompareSituation] = Need(lambda here: here.both, "there is nothing to compare with")
A_BRANCH: Need[CompareSituation] = Need(
    lambda here: here.branch, "the right side is no branch explore/ or extract/"
)
HERE: Need[CompareSituation] = Need(
    lambda here: here.here, "the left side is not what the workspace is on; l on the first line makes it so"
)


class CompareScreen(CompareLayout, panels=("sides", "files", "text")):
    """The comparison, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        merging = bench.engine.reconstruction.merging
        self._plans: Lane[str, Merge] = self.lane(merging.plan, lambda _name, plan: self._planned(plan))
        self._merges: Lane[str, Merge] = self.lane(
            merging.apply, lambda _name, done: self._merged(done), finish=True
        )

    # Moving about

    def back(self) -> None:
        """Back out one level: show all panels, leave what a merge would change, go back to the files and to
        the states, return to the workbench.
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
    focus_files = goes_to("files", "2", "the files that differ", ", with their lines", rank=24)
    focus_text = goes_to("text", "3", "both texts", ": side by side where there is room", rank=24)

    @command("enter", title="Read the file", panels=["files"], footer="read", rank=0, needs=[BOTH])
    def read(self) -> None:
        """Go to both texts of the selected file."""
        self.go_to("text")

    # What is compared

    @command("l", title="Take it as the left side", panels=["sides"], footer="left", rank=1, needs=[A_SIDE])
    def as_left(self) -> None:
        """Compare the selected state, as the left side."""
        self.choose(self.situation.side, self.right)

    @command(
        "enter", "r", title="Take it as the right side", panels=["sides"], footer="right", rank=0,
        needs=[A_SIDE],
    )  # fmt: skip
    def as_right(self) -> None:
        """Compare the selected state, as the right side."""
        self.choose(self.left, self.situation.side)

    @command("w", title="Whole texts, or changes alone", footer="whole", rank=6, needs=[BOTH])
    def toggle_whole(self) -> None:
        """Show all lines of both texts; again, only those around the changes."""
        self.is_whole = not self.is_whole
        self.show_text()

    @command("p", title="Run the probes against both", footer="probes", rank=4, needs=[BOTH])
    def probe(self) -> None:
        """Lay both states out and see what your probes find in each; this may take a minute."""
        if self.compared is not None:
            self.say("the probes run …")
            self._probes.ask(self.compared)

    # Taking one over

    @command(
        MERGE_KEY, title="Take the right side over", footer="merge", rank=8,
        needs=[BOTH, A_BRANCH, HERE, WRITABLE],
    )  # fmt: skip
    def take_over(self) -> None:
        """Show what merging the branch on the right would change here; again, ask and do it, as one commit.
        What both sides changed is explained, and keeps all of it from being merged.
        """
        merge = self.merge
        if merge is None:
            self._plans.ask(self.right)
        elif merge.conflicts:
            self.say("nothing can be merged while both sides changed the same; see above", error=True)
        else:
            goes = f"stays: it is checked out in {merge.stays}" if merge.stays else "goes"
            files = plural(len(merge.diffs), "file")
            question = (
                f"{files} of the workspace will change, in one commit of its own; {merge.branch} {goes}."
            )
            self.ask(f"merge {merge.branch}", question, "Merge", lambda: self._merges.ask(merge.branch))

    def _planned(self, plan: Merge) -> None:
        if plan.branch == self.right:
            self.merge = plan
            self.show_text()
            self.go_to("text")

    def _merged(self, done: Merge) -> None:
        self.merge = done if done.conflicts else None
        if not done.conflicts:
            self.say(f"{done.branch} is taken over: {committed(done.commit, 'all of it was here already')}")
            self.focus_panel("sides")
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
