"""Rows of the harvest screen: conversations to look at and to choose, options, and how far each is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.render.draw import Row, clip, clip_start, found, marked
from tui.render.figures import count, sizes
from tui.render.harvest_words import KIND_WORDS
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.ledger.record import by_category

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.knowledge.harvest.classify import Candidate, Kind
    from engine.knowledge.harvest.report import Result

SELECTABLE: tuple[Kind, ...] = ("harvest", "prune")
"""What can be chosen."""
_KIND, _SIZE = 7, 8
_FOLDER = "conversations/"


@dataclass(frozen=True, slots=True)
class Choice:
    """A conversation that was looked at; ``chosen`` is ``None`` where nothing is chosen in this step."""

    candidate: Candidate
    chosen: bool | None = None

    @property
    def selectable(self) -> bool:
        """Whether it can be chosen."""
        return self.candidate.kind in SELECTABLE


@dataclass(frozen=True, slots=True)
class SwitchItem:
    """An option."""

    name: str
    title: str
    does: str
    """What it does, in one clause."""
    on: bool
    idle: str = ""
    """Why it changes nothing just now; empty where it does."""


@dataclass(frozen=True, slots=True)
class StageItem:
    """How far a conversation is: its sign, and what became of it in words."""

    path: str
    sign: str
    words: str


def short_path(path: str) -> str:
    """A conversation without the folder that all of them are in."""
    return first_line(path.removeprefix(_FOLDER)) or first_line(path)


def draw_choice(
    item: Choice, items: Sequence[Choice], width: int, roles: Roles, *, query: str, chosen: bool
) -> Row:
    """A row: whether it is chosen, kind, size, path, and why it is of that kind."""
    each, live = item.candidate, item.selectable
    row = Row()
    if item.chosen is not None:
        sign = ("[x] " if item.chosen else "[ ] ") if live else " ·  "
        row.add(sign, roles.active if item.chosen and live else roles.dropped)
    row.fit(KIND_WORDS[each.kind], _KIND, roles.normal if live else roles.dropped).gap()
    row.fit(sizes(each.text_size or each.size), _SIZE, roles.muted, "right").gap(2)
    room = max(8, width - row.cells)
    longest = max((cell_len(short_path(other.candidate.path)) for other in items[:200]), default=8)
    name = min(longest, max(8, room * 11 // 20))
    words = roles.strong if chosen else roles.normal if live else roles.muted
    text, before = clip(short_path(each.path), name), row.cells
    for piece, style in marked(text, found(text, query), words, roles.accent):
        row.add(piece, style)
    rest = room - name - 2
    if rest >= 8:
        row.to(before + name + 2).add(clip(first_line(each.why), rest), roles.muted)
    return row.cut(width)


def stage_item(
    path: str, result: Result | None, *, current: bool, stopping: bool, running: bool
) -> StageItem:
    """How far a conversation is.

    Args:
        result: What became of it, as far as that is known.
        current: It is under way.
        stopping: The run ends after the one that is under way.
        running: A run is under way at all.
    """
    if result is None:
        if current:
            return StageItem(path, "…", "the last one …" if stopping else "under way …")
        return StageItem(path, "·", ("not looked at" if stopping else "waits") if running else "")
    sign = {"harvested": "✓", "unharvested": "⌫"}.get(result.outcome, "!")
    if result.reclaimed:
        sign = "→"
    parts = [result_words(result), "in the trash" if result.reclaimed else "", "kept" if result.kept else ""]
    return StageItem(path, sign, ", ".join(filter(None, parts)))


def result_words(result: Result) -> str:
    """``3 facts · 1 decision``, ``nothing new``, or why there is nothing."""
    entry = result.entry
    if result.outcome == "unharvested":
        return "discarded without a harvest"
    if result.outcome != "harvested" or entry is None:
        return first_line(result.error) or result.outcome
    if not result.is_new:
        return f"was harvested on {first_line(entry.at)[:10]}"
    parts = [
        by_category(result.items),
        f"{entry.known} known" if entry.known else "",
        f"{count(result.held)} for review" if result.held else "",
        f"{count(len(result.refused))} not used" if result.refused else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing found"


def draw_stage(item: StageItem, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: sign, conversation, and how far it is."""
    tone = {"✓": roles.active, "→": roles.active, "!": roles.error, "…": roles.gate}.get(
        item.sign, roles.dropped
    )
    row = Row((f"{item.sign} ", tone))
    name = max(12, width * 2 // 5) if item.words else width - 2
    row.fit(clip_start(short_path(item.path), name), name, roles.strong if chosen else roles.normal)
    tone = roles.error if item.sign == "!" else roles.muted
    return row.gap(2).add(clip(item.words, max(4, width - row.cells)), tone).cut(width)
