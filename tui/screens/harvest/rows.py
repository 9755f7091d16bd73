"""Rows of the harvest screen: conversations, options, and progress."""

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
_KIND, _SIZE = 7, 8
_FOLDER = "conversations/"


@dataclass(frozen=True, slots=True)
class Choice:
    """A scanned conversation; ``chosen`` is ``None`` in steps without a selection."""

    candidate: Candidate
    chosen: bool | None = None

    @property
    def selectable(self) -> bool:
        return self.candidate.kind in SELECTABLE


@dataclass(frozen=True, slots=True)
class SwitchItem:
    name: str
    title: str
    does: str
    on: bool
    idle: str = ""
    """Why it has no effect now; empty if it has one."""


@dataclass(frozen=True, slots=True)
class StageItem:
    """The progress of a conversation as a sign and in words."""

    path: str
    sign: str
    words: str


def short_path(path: str) -> str:
    """A conversation's path without ``conversations/``."""
    return first_line(path.removeprefix(_FOLDER)) or first_line(path)


def draw_choice(
    item: Choice, items: Sequence[Choice], width: int, roles: Roles, *, query: str, chosen: bool
) -> Row:
    """A row: checkbox, kind, size, path, and the reason for the kind."""
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
    """The progress of a conversation.

    Args:
        result: Its outcome; ``None`` until there is one.
        stopping: The run stops after the current conversation.
        running: Whether there is a run at all.
    """
    if result is None:
        if current:
            return StageItem(path, "…", "in progress, then stops …" if stopping else "in progress …")
        return StageItem(path, "·", ("skipped" if stopping else "queued") if running else "")
    sign = {"harvested": "✓", "unharvested": "⌫"}.get(result.outcome, "!")
    if result.reclaimed:
        sign = "→"
    parts = [result_words(result), "in the trash" if result.reclaimed else "", "kept" if result.kept else ""]
    return StageItem(path, sign, ", ".join(filter(None, parts)))


def result_words(result: Result) -> str:
    """``3 facts · 1 decision``, ``no items found``, or the error."""
    entry = result.entry
    if result.outcome == "unharvested":
        return "discarded without harvesting"
    if result.outcome != "harvested" or entry is None:
        return first_line(result.error) or result.outcome
    if not result.is_new:
        return f"harvested on {first_line(entry.at)[:10]}"
    parts = [
        by_category(result.items),
        f"{entry.known} known" if entry.known else "",
        f"{count(result.held)} for review" if result.held else "",
        f"{count(len(result.refused))} not used" if result.refused else "",
    ]
    return ", ".join(filter(None, parts)) or "no items found"


def draw_stage(item: StageItem, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: sign, conversation, progress."""
    tone = {"✓": roles.active, "→": roles.active, "!": roles.error, "…": roles.gate}.get(
        item.sign, roles.dropped
    )
    row = Row((f"{item.sign} ", tone))
    name = max(12, width * 2 // 5) if item.words else width - 2
    row.fit(clip_start(short_path(item.path), name), name, roles.strong if chosen else roles.normal)
    tone = roles.error if item.sign == "!" else roles.muted
    return row.gap(2).add(clip(item.words, max(4, width - row.cells)), tone).cut(width)
