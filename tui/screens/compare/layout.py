"""The compare screen: two states of the memory, the files that differ, and both texts (spec 3.3, 10.4)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from engine.lifecycle.reconstruction.comparison import Recall, recalled
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.screens.compare.rows import LEFT, RIGHT, FileItem, FilesPanel, SideItem, SidesPanel, read_sides
from tui.screens.compare.text import TextPanel, draw_diff, draw_merge, draw_overview

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


class CompareLayout(ListDetail):
    AUTO_FOCUS = "#sides"
    CSS_PATH: ClassVar[CSSPathType | None] = "compare.tcss"
    area = "comparison"
    news = frozenset({"status"})

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "sides")
        engine = bench.engine
        self.items: tuple[SideItem, ...] | None = None
        self.left = self.right = ""
        """The names of both sides; empty if none was chosen."""
        self.problem = ""
        self.compared: Comparison | None = None
        self.merge: Merge | None = None
        """The merge preview, while shown."""
        self.is_whole = False
        self.recalls: dict[Pair, Recall] = {}
        self._sides: Lane[None, tuple[SideItem, ...]] = self.lane(
            lambda _none: read_sides(engine),
            lambda _none, items: self._take_sides(items),
            lambda _none, problem: self._fail(problem),
        )
        self._compares: Lane[Pair, Comparison] = self.lane(
            lambda pair: engine.reconstruction.compare(*pair, whole=True),
            lambda _pair, found: self._take(found),
            lambda _pair, problem: self._fail(problem),
        )
        self._probes: Lane[Comparison, tuple[Recall, tuple[str, ...]]] = self.lane(
            partial(recalled, engine), self._take_recall
        )

    def body(self) -> ComposeResult:
        self.sides = SidesPanel(id="sides")
        self.files = FilesPanel(id="files")
        self.text = TextPanel(id="text")
        with Container(id="comparison"):
            with Container(id="compare-lists"):
                yield self.sides
                yield self.files
            yield self.text

    def look(self) -> None:
        self._sides.ask(None)

    # Layout

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        """Puts the lists beside the text if the screen is wide enough."""
        return {**super().shape(shown), "-broad": self.app.size.width >= BROAD}

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
        recall, compared = self.recalls.get(self.pair), self.compared
        runs = (recall.left, recall.right) if recall is not None and recall.left.results else ()
        shares = {name: f"{run.recall:.0%}" for name, run in zip((self.left, self.right), runs, strict=False)}
        sides = [
            replace(
                each,
                sides=LEFT * (each.name == self.left) + RIGHT * (each.name == self.right),
                recall=shares.get(each.name, ""),
            )
            for each in self.items or ()
        ]
        self.sides.show_sides(sides, self._note, (self.problem, self.items is None))
        files = [FileItem(), *(
            FileItem(file.path, file.letter, diff.added, diff.removed, diff.binary)
            for file, diff in zip(compared.files, compared.diffs, strict=True)
        )] if compared is not None else []  # fmt: skip
        self.files.show_files(files, self._comparing, (self.problem, self.pair))
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
            self.text.show_page(partial(draw_merge, merge, MERGE_KEY), title, merge)
        elif compared is None or item is None:
            self.text.show_page(lambda _width, _roles: [], "", None)
        elif not item.path:
            recall = self.recalls.get(self.pair)
            self.text.show_page(partial(draw_overview, compared, recall, names), between, (compared, recall))
        else:
            diff = next(each for each in compared.diffs if each.path == item.path)
            name = f"{diff.earlier} → {diff.path}" if diff.earlier else diff.path
            draw = partial(draw_diff, diff, names, self.is_whole)
            self.text.show_page(draw, name, (diff, names, self.is_whole))
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

    def _take_recall(self, compared: Comparison, found: tuple[Recall, tuple[str, ...]]) -> None:
        self.recalls[compared.left.revision, compared.right.revision], notes = found
        self.say("\n".join(notes) or "the probes ran against both sides")
        self.show()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.files:
            if moved.by_hand:
                self.merge = None
            self.show_text()
        else:
            self.update_footer()
