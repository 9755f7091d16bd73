"""The injections screen: what was added to agents' prompts, why, and what was used."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Literal, Self

from textual.app import ComposeResult
from textual.containers import Container

from engine.agents.audit import Audit, AuditEntry
from engine.agents.week import Week, week_of
from tui.kit.command import Need, command
from tui.kit.commands import filters, goes_to, labels
from tui.kit.full_screen import ListDetail, unreadable
from tui.kit.lanes import Lane
from tui.render.draw import Row
from tui.render.figures import count, plural
from tui.render.injections import InjectionView, indented, week_lines
from tui.render.roles import Roles
from tui.screens.injections.draw import InjectionsPanel, PiecesPanel, draw_none

if TYPE_CHECKING:
    from tui.kit.bench import Bench

MOST = 2_000
"""The latest hook runs and prompts read."""
Kept = Literal["injected", "all", "failed"]
KEPT: dict[Kept, str] = {"injected": "", "all": "all hook runs", "failed": "only failures"}
"""What the list can show, in the order the key cycles through, with labels."""


INJECTED = Need(lambda here: (entry := here.injections.selected) and entry.tokens, "no injection is selected")
CHOSEN = Need(
    lambda here: (entry := here.injections.selected) and entry.injection,
    "only what was chosen for a message can be labelled",
)


class InjectionsScreen(ListDetail, panels=("injections", "pieces"), lines=("words",)):
    """Shows injections.

    Args:
        wanted: The ISO 8601 time of the injection to select first; the newest if empty.
    """

    area = "audit"
    news = frozenset({"feed"})

    def __init__(self, bench: Bench, wanted: str = "") -> None:
        super().__init__(bench)
        audit = Audit(bench.engine)
        self.entries: tuple[AuditEntry, ...] | None = None
        """``None`` while loading."""
        self.problem = ""
        self.wanted = wanted
        self.kept: Kept = "injected"
        self.with_text = False
        self._known: InjectionView | None = None
        self._reads = self.plain_lane(
            lambda: tuple(islice(audit.entries(), MOST)), self._take, lambda problem: self._take((), problem)
        )
        self._views: Lane[AuditEntry, InjectionView] = self.lane(
            lambda one: InjectionView(one, audit.pieces(one), audit.extras(one)),
            lambda _one, view: self._take_view(view),
            lambda one, problem: self._take_view(InjectionView(one, problem=problem)),
        )
        self._judgements: Lane[tuple[AuditEntry, tuple[int, ...], bool], tuple[str, ...]] = self.lane(
            lambda judgement: audit.judge(*judgement), self._judged, in_turn=True, finish=True
        )
        self._weeks: Lane[str, Week] = self.lane(
            lambda since: week_of(bench.engine, audit.entries(), since),
            lambda _since, week: self._show_week(week),
        )

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen, on the hook run selected in the feed."""
        entry = bench.feed.selected
        return cls(bench, entry.at.isoformat() if entry is not None and entry.kind == "hook" else "")

    def body(self) -> ComposeResult:
        self.injections = InjectionsPanel(id="injections")
        self.pieces = PiecesPanel(id="pieces")
        yield Container(self.injections, self.pieces, id="audit")

    def look(self) -> None:
        self._reads.ask(None)

    # Display

    def show(self) -> None:
        every = self.entries or ()
        injected = [each for each in every if each.tokens]
        failed = [each for each in every if each.failed]
        head = f"{plural(sum(each.tokens for each in injected), 'token')} · {count(len(failed))} failed"
        self.injections.head, self.injections.below = head if every else "", KEPT[self.kept]
        listed = {"injected": injected, "all": every, "failed": failed}[self.kept]
        about = (self.entries, self.kept, self.query_text, self.problem)
        self.injections.show_items(listed, self._note, about)
        self.show_selected()

    def show_selected(self) -> None:
        """Shows the selected injection, and reads its sections."""
        entry, known = self.injections.selected, self._known
        if entry is not None and (known is None or known.entry != entry):
            if known is None or known.entry.at != entry.at:
                known = self._known = InjectionView(entry)
            self._views.ask(entry)
        is_known = entry is not None and known is not None
        self.pieces.show_view(replace(known, with_text=self.with_text) if is_known and known else None)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        if self.problem:
            return unreadable("the log", self.problem, width, roles)
        if self.entries == ():
            return draw_none(width, roles)
        note = "nothing matches; esc shows all" if self.query_text else "none; s shows other runs"
        return [Row((note if self.entries else "reading …", roles.muted))]

    # Results

    def _take(self, entries: tuple[AuditEntry, ...], problem: str = "") -> None:
        self.entries, self.problem = entries, problem
        wanted = next((each for each in entries if each.at == self.wanted), None)
        self.wanted = ""
        if wanted is not None and not wanted.tokens:
            self.kept = "all"
        self.show()
        if wanted is not None:
            self.injections.select_key(self.injections.key(wanted))

    def _take_view(self, view: InjectionView) -> None:
        if self.injections.selected is not None and view.entry.at == self.injections.selected.at:
            self._known = view
        self.show_selected()

    # Navigation

    focus_injections = goes_to("injections", "1", "the list")
    focus_pieces = goes_to("pieces", "2", "the sections", ": what was injected, why, and what was used")

    @command("enter e", "Open the source", "open", 0, needs=[INJECTED])
    def open(self) -> None:
        """Go to the sections; there, open the selected one's file at its line in $VISUAL or $EDITOR."""
        piece = self.pieces.piece
        if self.panel_in_use == "injections":
            self.go_to("pieces")
        elif piece is None or not (path := self.existing(piece.section.path)):
            self.say("its file no longer exists" if piece else "no section is selected")
        else:
            first = piece.section.lines.partition("-")[0]
            self.edit_file(path, int(first) if first.isdecimal() else 0)

    @command("s", "Show injections, all hook runs, or failures", "all/failed", 8)
    def show_others(self) -> None:
        """List all hook runs, with the reason if nothing was injected; then failures; then injections."""
        kinds = list(KEPT)
        self.kept = kinds[(kinds.index(self.kept) + 1) % len(kinds)]
        self.show()

    @command("t", "Show the text", "text", 6, needs=[INJECTED])
    def show_text(self) -> None:
        """Show or hide the text of the sections, as far as their files still contain it."""
        self.with_text = not self.with_text
        self.show_selected()

    @command("w", "Summarise the week", "week", 5)
    def sum_up(self) -> None:
        """Show a summary of the last seven days: injections, use, cost and failures."""
        self._weeks.ask((self.bench.clock.now().date() - timedelta(days=6)).isoformat())

    def _show_week(self, week: Week) -> None:
        def build(width: int, roles: Roles) -> list[Row]:
            return [row for line in week_lines(week) for row in indented(line, roles.normal, width)]

        self.page("the week", build, full=True)

    filter = filters("injections", rank=22)

    # Labelling

    label_useful, label_noise = labels(
        "Label the selected section as {}; in the list, the whole injection. A label of a topic counts "
        "for tuning; one of a file affects its ranking.",
        "Label as", 4, [CHOSEN],
    )  # fmt: skip

    def label(self, useful: bool) -> None:
        """Records the user's label of the selected section, or of the whole selected injection."""
        entry, in_pieces = self.injections.selected, self.panel_in_use == "pieces"
        if in_pieces and self.pieces.piece is None:
            self.say("no section is selected")
        elif entry is not None:
            self._judgements.ask((entry, (self.pieces.line + 1,) if in_pieces else (), useful))

    def _judged(self, judgement: tuple[AuditEntry, tuple[int, ...], bool], topics: tuple[str, ...]) -> None:
        word = "useful" if judgement[2] else "noise"
        what = f"topic {', '.join(topics)} labelled" if topics else "noted"
        self.say(f"{what}: {word}")
        self.look()
