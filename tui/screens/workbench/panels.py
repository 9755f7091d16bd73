"""Panels 1 and 2 of the workbench: the feed, and why topics fired for its selected message."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.message import Message

from engine.activation.trace import TopicTrace
from engine.live.feed import FeedEntry, FeedKind
from engine.store.paths import transcript_name
from tui.kit.messages import Learned
from tui.kit.panel import LinesPanel, Motion, moved
from tui.kit.rows import RowList
from tui.render.activation import Drawn, draw_activation
from tui.render.draw import Row, clip, wrap
from tui.render.explain import detail
from tui.render.figures import clock, count, day
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.shown import MESSAGES, Shown
from tui.render.table import NEAR_MISSES, SIGNS, Table, tabulate


class ActivationPanel(LinesPanel, panel="activation", number="2"):
    """The trace of one message, with a selected topic."""

    signs = (
        (SIGNS["active"], "active: in the prompt"),
        (SIGNS["offered"], "offered: the agent is told of it, and opens it if it applies"),
        (SIGNS["dropped"], "dropped by tiers 1 and 2"),
        (SIGNS["rejected"], "rejected by the gate"),
        (SIGNS["failed"], "the gate did not answer"),
        ("+ −", "labelled by you: useful, noise"),
        (".33▸", "the score before your label was learned"),
        (SIGNS["manual"], "manual only, or disabled"),
        ("│", "on the gauge: the thresholds for asking the gate and for active"),
    )

    class Moved(Message):
        """The selected topic changed."""

    shown = Shown()
    imported = True
    """Whether there are any conversations."""
    table = Table()
    _unfolded = False
    _learned: Mapping[tuple[str, str], Learned] = MappingProxyType({})
    drawn = Drawn(())
    """The last drawing: where on the panel the table's rows are."""

    def _tabulate(self, topic: str = "") -> None:
        """Rebuilds the table and selects a topic, or the first row."""
        near = max(NEAR_MISSES, (self.size.height - 20) // 2)
        table = tabulate(self.shown.trace, query=self.query_text, unfolded=self._unfolded, near=near)
        names = [row.topic for row in table.rows]
        key = self.shown.key
        learned = {name: each for (of, name), each in self._learned.items() if of == key}
        self.table = replace(table, selected=names.index(topic) if topic in names else 0, learned=learned)

    @property
    def selected(self) -> TopicTrace | None:
        table = self.table
        return table.rows[table.selected] if table.rows else None

    @property
    def row_count(self) -> int:
        return len(self.table.rows)

    def show(self, shown: Shown) -> None:
        """Shows a message; if it is the same one with more detail, the topic stays selected."""
        same = shown.text == self.shown.text and shown.key == self.shown.key
        topic = self.selected.topic if same and self.selected is not None else ""
        self.shown = shown
        if not same:
            self._unfolded, self.drawn = False, Drawn(())
        self._tabulate(topic)
        self._changed()

    def show_learned(self, learned: Learned) -> None:
        """Marks the label of a topic for a message, with the score that it had before."""
        self._learned = {**self._learned, (learned.key, learned.topic): learned}
        if learned.key == self.shown.key:
            self._tabulate(self.selected.topic if self.selected is not None else "")
            self.changed()

    def show_imported(self, imported: bool) -> None:
        """Says in an empty panel whether there are any conversations."""
        if imported != self.imported:
            self.imported = imported
            self.changed()

    def filter(self, query: str) -> None:
        """Keeps only the topics whose name contains the query."""
        self.query_text, self.drawn = query, Drawn(())
        self._tabulate()
        self._changed()

    def move(self, motion: Motion) -> None:
        """Moves the selection; going past the fold unfolds it."""
        half = max(1, self.size.height // 4)
        at, last = self.table.selected, len(self.table.rows) - 1
        target = moved(motion, at, last, half)
        if self.table.hidden and (target > last or (motion is Motion.LAST and at == last)):
            self._unfolded = True
            self._tabulate(self.selected.topic if self.selected is not None else "")
            target = len(self.table.rows) - 1 if motion is Motion.LAST else target
        self.select(target)

    def turn(self, step: int) -> None:
        if self.table.rows:
            self.select((self.table.selected + step) % len(self.table.rows))

    def select(self, index: int) -> None:
        self.table = replace(self.table, selected=max(0, min(index, len(self.table.rows) - 1)))
        self._changed()

    def detail(self, width: int) -> list[str]:
        """The explanation as plain text lines, for the clipboard."""
        row = self.selected
        return [line.text for line in detail(self.shown, row, width, self.roles)] if row is not None else []

    def selected_text(self) -> str:
        return "\n".join(self.detail(100))

    def _changed(self) -> None:
        source = {"draft": "trying", "kept": "tried · esc back to the feed"}.get(self.shown.source, "")
        self.set_frame(source, f"/{self.query_text}" if self.query_text else "")
        self.changed()
        self.post_message(self.Moved())

    def draw(self, width: int, height: int) -> list[Row]:
        top, focused = self.drawn.top, self.has_focus
        self.drawn = draw_activation(
            self.shown,
            self.table,
            top,
            width,
            height,
            self.roles,
            focused=focused,
            imported=self.imported,
        )
        self.lit = self.drawn.chosen
        return list(self.drawn.lines)

    def on_resize(self) -> None:
        """Rebuilds the table: the height decides how many near misses fit."""
        self._tabulate(self.selected.topic if self.selected is not None else "")
        super().on_resize()

    def on_click(self, event: events.Click) -> None:
        offset, drawn = event.get_content_offset(self), self.drawn
        if offset is not None and drawn.first <= offset.y < drawn.first + drawn.count:
            self.select(drawn.top + offset.y - drawn.first)


KINDS: dict[FeedKind, tuple[str, str]] = {
    "user": ("←", "a message to the agent"),
    "agent": ("→", "a message from the agent"),
    "tool": ("⚒", "a tool call"),
    "system": ("·", "a system message"),
    "memory": ("◆", "a memory operation"),
    "file": ("✎", "a file changed"),
    "topics": ("↻", "topics reloaded"),
    "cron": ("◷", "a schedule fired"),
    "webhook": ("⇣", "a webhook arrived"),
    "commit": ("±", "a commit"),
    "flush": ("⇲", "notes flushed from turns leaving the window"),
    "job": ("↺", "a job ran"),
    "hook": ("⇥", "an injection into an agent, or a captured session"),
    "error": ("!", "an error"),
    "past": ("…", "older conversations, which g reads"),
}
"""The sign of each kind of row and its meaning."""

_SESSION_ID = re.compile(r"(?:^|-)ses_[0-9a-z]+-?")

WIDE = 60
"""Minimum width in cells for rows to include the date."""


FIRED = "●"
"""Marks a message on which something fired, where there is no room to name it."""
_ROOM_FOR_NOTE = 16


def session_of(entry: FeedEntry) -> str:
    """The transcript of a row's turn; empty if it has none."""
    path, sign, _ = entry.key.rpartition("#")
    return path if sign and path.endswith((".md", ".jsonl")) else ""


def session_letters(path: str) -> str:
    """Two letters for a session: those its title begins with, or else its id ends with."""
    name = path.rpartition("/")[2].rpartition(".")[0]
    session, rest = transcript_name(f"{name}.md")
    title = re.sub(r"^[\d_-]+", "", _SESSION_ID.sub("", rest.removesuffix(".md")))
    return f"{title[:2] or session[-2:] or name[-2:]:2}"


def feed_row(
    entry: FeedEntry,
    width: int,
    roles: Roles,
    query: str = "",
    chosen: bool = False,
    today: str = "",
    *,
    named: bool = False,
) -> Row:
    """Draws a row of at most ``width`` cells.

    Args:
        width: Excludes the selection mark.
        query: Filter text to highlight.
        today: The day of the newest row; when narrow, rows from other days show the day instead of the time.
        named: Whether the row says of which session it is.
    """
    glyph, words, note_style = _styles(entry.kind, roles)
    if chosen:
        words = roles.strong
    row = Row()
    if width >= WIDE:
        row.add(f"{day(entry.at)} ", roles.faint)
    other_day = width < WIDE and today not in ("", day(entry.at))
    time = day(entry.at) if other_day else clock(entry.at)
    session = session_of(entry) if named else ""
    room = width - row.cells - len(time) - 3 - (2 if session else 0)
    if entry.note and entry.kind in MESSAGES and room < _ROOM_FOR_NOTE:
        row.add(time, roles.muted).add(FIRED, roles.active)
    else:
        row.add(f"{time} ", roles.muted)
    if session:
        tones = (roles.accent, roles.tier1, roles.tier2, roles.gate, roles.active)
        tone = tones[zlib.crc32(session.encode("utf-8", "replace")) % len(tones)] + Style(underline=False)
        row.add(KINDS[entry.kind][0], glyph).add(f"{session_letters(session)} ", tone)
    else:
        row.add(f"{KINDS[entry.kind][0]} ", glyph)
    text = first_line(entry.text)
    note = (
        clip(first_line(entry.note), min(room * 2 // 5, 24)) if entry.note and room >= _ROOM_FOR_NOTE else ""
    )
    space = room - (cell_len(note) + 1 if note else 0)
    text = clip(text, space)
    row.add_found(text, query, words, roles.accent + Style(underline=True))
    if note:
        row.to(width - cell_len(note)).add(note, note_style)
    return row


def matches(entry: FeedEntry, query: str) -> bool:
    """Whether a row's text or note contains the filter text."""
    query = query.casefold()
    return query in entry.text[:4000].casefold() or query in entry.note.casefold()


def _styles(kind: FeedKind, roles: Roles) -> tuple[Style, Style, Style]:
    """The styles of sign, text and note."""
    if kind == "user":
        return roles.tier2, roles.normal, roles.active
    if kind == "agent":
        return roles.tier1 + Style(underline=False), roles.normal, roles.active
    if kind == "error":
        return roles.error, roles.error, roles.error
    if kind in ("cron", "webhook"):
        return roles.gate, roles.muted, roles.faint
    if kind in ("memory", "commit", "flush"):
        return roles.active, roles.muted, roles.faint
    return roles.muted, roles.muted, roles.faint


class FeedPanel(RowList[FeedEntry], panel="feed", number="1"):
    """The feed. While ``following``, the newest message is selected and the tail is in view."""

    always_lit = True
    signs = (
        *KINDS.values(),
        (FIRED, "something fired on the message"),
        ("ab", "the session's first letters, if several are in view"),
    )
    several = False
    """Whether turns of several sessions are in view."""

    following = True
    loaded = False
    newest: datetime | None = None
    today = ""

    def row(self, item: FeedEntry, width: int, chosen: bool) -> Row:
        return feed_row(item, width, self.roles, self.query_text, chosen, self.today, named=self.several)

    def finds(self, item: FeedEntry, query: str) -> bool:
        return matches(item, query)

    def empty(self, width: int) -> list[Row]:
        roles = self.roles
        if not self.loaded:
            return [Row(("reading …", roles.faint))]
        if self.query_text:
            return [Row(("no matches", roles.muted))]
        return [
            Row(("nothing yet", roles.normal)),
            Row(),
            *wrap([("Turns appear here as agents write them.", roles.muted)], width),
            Row(),
            *wrap([(":import claude-code", roles.accent), (" imports past sessions.", roles.muted)], width),
        ]

    def rest(self) -> int:
        return 0  # the frame says the position

    def summarise(self) -> None:
        """Shows counts beside the title and the position below."""
        total, rows = len(self.items), self.row_count
        beside = f"{count(rows)} of {count(total)}" if self.query_text else ""
        if self.query_text:
            below = f"/{self.query_text}"
        elif self.at_past:
            below = "reading older ones … · s searches them · G follows"
        elif self.following or not rows:
            below = "following" if rows else ""
        else:
            below = f"{count(self.cursor + 1)} of {count(total)} · G follows"
        self.set_frame(beside, below)
        self._name_sessions()

    def show(self, items: Sequence[FeedEntry]) -> None:
        """Replaces the content; when following, goes to the newest message."""
        if not self.loaded:
            self.loaded = True
            self.refresh()
        oldest = self.items[1:2] if self.at_past and self.items[:1] != items[:1] else ()
        super().show(items)
        if self.following:
            self.follow()
        elif oldest and oldest[0] in items:  # not the row that stands for those still to be read
            self.select(items.index(oldest[0]), by_hand=False)

    @property
    def at_past(self) -> bool:
        """Whether the row that stands for older conversations is selected."""
        return self.selected is not None and self.selected.kind == "past"

    def taken(self, start: int) -> None:
        """Updates the newest day, looking only at new rows when the feed has only grown."""
        times = [item.at for item in self.items[start:]]
        if start and self.newest is not None:
            times.append(self.newest)
        self.newest = max(times, default=None)
        today = day(self.newest) if self.newest is not None else ""
        if today != self.today:
            self.today = today
            self.forget_drawn()

    def filter(self, query: str) -> None:
        """Filters the rows; following continues among the matches."""
        super().filter(query)
        if self.following:
            self.follow()

    def follow(self) -> None:
        """Selects the newest message and brings the tail into view."""
        self.following = True
        newest = next(
            (at for at in range(self.row_count - 1, -1, -1) if self._item(at).kind in MESSAGES),
            self.row_count - 1,
        )
        self.select(newest, by_hand=False)
        self.summarise()

    def select(self, index: int, *, by_hand: bool = True) -> None:
        """Moves the selection; doing so by hand stops following."""
        if by_hand and not index >= self.cursor == self.row_count - 1:  # which would move nothing
            self.following = False
        super().select(index, by_hand=by_hand)

    def move(self, motion: Motion) -> None:
        """Moves the selection; going to the last row resumes following, and again goes to the very last."""
        if motion is Motion.LAST and not self.query_text and not self.following:
            self.follow()
        elif motion is Motion.LAST and not self.query_text:
            super().select(self.row_count - 1)
            self.summarise()
        else:
            super().move(motion)

    def reveal(self) -> None:
        """Brings the selection into view; while following, the tail as well."""
        super().reveal()
        if self.following and self.row_count:
            tail = max(0, self.row_count - self.size.height)
            self.scroll_to(y=min(tail, max(self.cursor, 0)), animate=False, force=True)

    def on_mouse_scroll_up(self) -> None:
        """Stops following when the user scrolls back."""
        self.following = False
        self.summarise()

    @property
    def reach(self) -> str:
        """How much of the past is listed, if not all: ``newest 40 of 8,333 conversations``."""
        first = self.items[0] if self.items else None
        return first.text if first is not None and first.kind == "past" else ""

    def _name_sessions(self) -> None:
        """Names the sessions of the rows if several are in view."""
        sessions = {session_of(item) for item in self._in_view()[1]} - {""}
        if (len(sessions) > 1) != self.several:
            self.several = len(sessions) > 1
            self.forget_drawn()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._name_sessions()

    def text_of(self, item: FeedEntry) -> str:
        return item.text
