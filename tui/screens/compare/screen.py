"""The compare screen: two states of the memory, the files that differ, and both texts (spec 3.3, 10.4)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container

from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.full_screen import ListDetail, committed, unreadable
from tui.kit.lanes import Lane
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.screens.compare.draw import (
    LEFT,
    RIGHT,
    FileItem,
    FilesPanel,
    SideItem,
    SidesPanel,
    TextPanel,
    draw_diff,
    draw_merge,
    draw_overview,
    read_sides,
)

if TYPE_CHECKING:
    from engine.lifecycle.reconstruction.comparison import Comparison
    from engine.lifecycle.reconstruction.merging import Merge
    from tui.kit.bench import Bench

BROAD = 150
"""Minimum columns to show the lists beside the text."""
MERGE_KEY = "m"
_NOTHING = (
    "Nothing to compare with yet. Create a branch or snapshot with autopoiesis history explore NAME, "
    "reconstruct --branch NAME, or history snapshot NAME."
)
Pair = tuple[str, str]


A_SIDE = Need(lambda here: here.sides.selected, "no branch or snapshot is selected")
BOTH = Need(lambda here: here.compared, "there is nothing to compare with")
A_BRANCH = Need(
    lambda here: (side := here.side(here.right)) and side.branch,
    "the right side is not an explore/ or extract/ branch",
)
HERE = Need(
    lambda here: here.left == here.current,
    "the left side is not the current branch; press l on the first line to select it",
)


class CompareScreen(ListDetail, panels=("sides", "files", "text")):
    area = "comparison"
    news = frozenset({"status"})
    broad = BROAD
    outer = MappingProxyType({"text": "files"})

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        engine = bench.engine
        self.items: tuple[SideItem, ...] | None = None
        self.left = self.right = ""
        """The names of both sides; empty if none was chosen."""
        self.problem = ""
        self.compared: Comparison | None = None
        self.merge: Merge | None = None
        """The merge preview, while shown."""
        self.is_whole = False
        self._sides = self.plain_lane(lambda: read_sides(engine), self._take_sides, self._fail)
        self._compares: Lane[Pair, Comparison] = self.lane(
            lambda pair: engine.reconstruction.compare(*pair, whole=True),
            lambda _pair, found: self._take(found),
            lambda _pair, problem: self._fail(problem),
        )
        merging = bench.engine.reconstruction.merging
        self._plans: Lane[str, Merge] = self.lane(merging.plan, lambda _name, plan: self._planned(plan))
        self._merges: Lane[Merge, Merge] = self.lane(
            lambda plan: merging.apply(plan.branch, plan),
            lambda _plan, done: self._merged(done),
            lambda _plan, problem: self._merge_failed(problem),
            finish=True,
        )

    def body(self) -> ComposeResult:
        self.sides = SidesPanel(id="sides")
        self.files = FilesPanel(id="files")
        self.text = TextPanel(id="text")
        yield Container(Container(self.sides, self.files, id="compare-lists"), self.text, id="comparison")

    def look(self) -> None:
        self._sides.ask(None)

    # Layout

    def lay_out(self) -> None:
        super().lay_out()
        self.query_one("#compare-lists").display = self.sides.display or self.files.display

    # What is on the screen

    def side(self, name: str) -> SideItem | None:
        return next((each for each in self.items or () if each.name == name), None)

    @property
    def current(self) -> str:
        """The name of the workspace's current branch."""
        return self.items[0].name if self.items else ""

    @property
    def pair(self) -> Pair:
        """The revisions of both sides; empty if not chosen."""
        left, right = self.side(self.left), self.side(self.right)
        return left.revision if left else "", right.revision if right else ""

    def choose(self, left: str, right: str) -> None:
        """Compares two sides; a merge preview stays if they are unchanged."""
        if (left, right) != (self.left, self.right):
            self.left, self.right, self.merge = left, right, None
        if self.compared is None or self.pair != (self.compared.left.revision, self.compared.right.revision):
            self.compared = self.merge = None
            if all(self.pair):
                self._compares.ask(self.pair)
        self.show()

    def show(self) -> None:
        """Updates all panels; each redraws only what changed."""
        compared = self.compared
        sides = [
            replace(each, sides=LEFT * (each.name == self.left) + RIGHT * (each.name == self.right))
            for each in self.items or ()
        ]
        self.sides.show_items(sides, self._note, (self.problem, self.items is None))
        files = [FileItem(), *(
            FileItem(file.path, file.letter, diff.added, diff.removed, diff.binary)
            for file, diff in zip(compared.files, compared.diffs, strict=True)
        )] if compared is not None else []  # fmt: skip
        self.files.head = plural(len(files) - 1, "file") if files else ""
        self.files.show_items(files, self._comparing, (self.problem, self.pair))
        self.show_text()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        if self.problem:
            return unreadable("the branches", self.problem, width, roles)
        return [Row(("reading …", roles.faint))]

    def _comparing(self, width: int, roles: Roles) -> list[Row]:
        if self.problem or self.items is None:
            return []
        return wrap([("comparing …" if all(self.pair) else _NOTHING, roles.muted)], width)

    def show_text(self) -> None:
        """Shows the selection, or the merge preview."""
        compared, item, names = self.compared, self.files.selected, (self.left, self.right)
        between = f"{self.left} {LEFT} {RIGHT} {self.right}"
        if self.merge is not None:
            merge = self.merge
            title = f"{merge.branch}: conflicts" if merge.conflicts else f"merge {merge.branch}"
            self.text.show_drawing(partial(draw_merge, merge, MERGE_KEY), title, merge)
        elif compared is None or item is None:
            self.text.show_drawing(None, "lines", None)
        elif not item.path:
            self.text.show_drawing(partial(draw_overview, compared, names), between, names)
        else:
            diff = next(each for each in compared.diffs if each.path == item.path)
            name = f"{diff.earlier} → {diff.path}" if diff.earlier else diff.path
            draw = partial(draw_diff, diff, names, self.is_whole)
            self.text.show_drawing(draw, name, (item.path, names, self.is_whole))
        self.update_footer()

    # Events

    def _take_sides(self, items: tuple[SideItem, ...]) -> None:
        self.items, self.problem = items, ""
        names = [each.name for each in items]
        left = self.left if self.left in names else names[0]
        right = self.right if self.right in names else next(iter(names[1:]), "")
        self.choose(left, right)

    def _take(self, compared: Comparison) -> None:
        if (compared.left.revision, compared.right.revision) == self.pair:
            self.compared, self.problem = compared, ""
            self.show()

    def _fail(self, problem: str) -> None:
        self.problem, self.items, self.compared = problem, (), None
        self.show()

    def row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.files:
            if moved.by_hand:
                self.merge = None
            self.show_text()
        else:
            self.update_footer()

    # Navigation

    def step_back(self) -> bool:
        """Closes the merge preview."""
        shown, self.merge = self.merge is not None, None
        self.show_text()
        return shown

    focus_sides = goes_to("sides", "1", "branches and snapshots")
    focus_files = goes_to("files", "2", "the files that differ", ", with line counts")
    focus_text = goes_to("text", "3", "both texts", ", side by side if they fit")

    @command("enter", "Read the file", "read", 0, panels=["files"], needs=[BOTH])
    def read(self) -> None:
        """Go to both texts of the selected file."""
        self.go_to("text")

    # Comparison

    @command("l", "Use as the left side", "left", 1, panels=["sides"],
             needs=[A_SIDE, Need(lambda here: here.sides.selected.name != here.left,
                                 "it is the left side already")])  # fmt: skip
    def as_left(self) -> None:
        """Use the selected branch or snapshot as the left side."""
        self.choose(self.sides.selected.name if self.sides.selected else "", self.right)

    @command("enter r", "Use as the right side", "right", 0, panels=["sides"],
             needs=[A_SIDE, Need(lambda here: here.sides.selected.name != here.right,
                                 "it is the right side already")])  # fmt: skip
    def as_right(self) -> None:
        """Use the selected branch or snapshot as the right side."""
        self.choose(self.left, self.sides.selected.name if self.sides.selected else "")

    @command("w", "Toggle whole texts", "whole", 6,
             needs=[BOTH, Need(lambda here: here.merge is None and here.files.selected.path,
                               "select a file first")])  # fmt: skip
    def toggle_whole(self) -> None:
        """Toggle between whole texts and only the lines around changes."""
        self.is_whole = not self.is_whole
        self.show_text()

    # Merging

    @command(MERGE_KEY, "Merge the right side", "merge", 8, needs=[BOTH, A_BRANCH, HERE, WRITABLE])
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
