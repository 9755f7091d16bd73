"""One line of the feed: time, what kind of thing, its first line, and a short note on the right."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style

from engine.live.feed import FeedEntry, FeedKind
from tui.render.draw import NO_STYLE, Row, clip, found, marked
from tui.render.figures import clock, day
from tui.render.roles import Roles
from tui.render.safe import first_line

GLYPHS: dict[FeedKind, str] = {
    "user": "←",
    "agent": "→",
    "tool": "⚒",
    "system": "·",
    "memory": "◆",
    "file": "✎",
    "topics": "↻",
    "cron": "◷",
    "webhook": "⇣",
    "commit": "±",
    "flush": "⇲",
    "trouble": "!",
}
"""A sign per kind of row; the help explains them."""

MEANINGS: dict[FeedKind, str] = {
    "user": "what reached the agent",
    "agent": "what the agent wrote",
    "tool": "a tool call",
    "system": "a system message",
    "memory": "a memory operation",
    "file": "a file changed",
    "topics": "topics were read again",
    "cron": "a schedule fired",
    "webhook": "a webhook came in",
    "commit": "a commit",
    "flush": "notes of turns that leave the window",
    "trouble": "something failed",
}

WIDE = 60
"""Cells from which a row has room for the date."""

SPOKEN: frozenset[FeedKind] = frozenset({"user", "agent"})


def feed_row(
    entry: FeedEntry, width: int, roles: Roles, query: str = "", chosen: bool = False, today: str = ""
) -> Row:
    """Draws a row of at most ``width`` cells.

    Args:
        width: Cells, without the selection mark.
        query: The filter's words, marked where they stand.
        today: The day of the newest row; where there is no room for both, rows of other days show theirs
            instead of the time.
    """
    glyph, words, note_style = _styles(entry.kind, roles)
    if chosen:
        words = roles.strong
    row = Row()
    if width >= WIDE:
        row.add(f"{day(entry.at)} ", roles.faint)
    other_day = width < WIDE and today not in ("", day(entry.at))
    row.add(f"{day(entry.at) if other_day else clock(entry.at)} ", roles.muted)
    row.add(f"{GLYPHS.get(entry.kind, '·')} ", glyph)
    text = first_line(entry.text)
    room = width - row.cells
    note = clip(first_line(entry.note), min(room * 2 // 5, 24)) if entry.note and room >= 16 else ""
    space = room - (cell_len(note) + 1 if note else 0)
    text = clip(text, space)
    for piece, style in marked(text, found(text, query), words, roles.accent + Style(underline=True)):
        row.add(piece, style)
    if note:
        row.to(width - cell_len(note)).add(note, note_style)
    return row


def matches(entry: FeedEntry, query: str) -> bool:
    """Whether a row holds the filter's words: in its text or its note."""
    query = query.casefold()
    return query in entry.text[:4000].casefold() or query in entry.note.casefold()


def _styles(kind: FeedKind, roles: Roles) -> tuple[Style, Style, Style]:
    """The styles of sign, words and note."""
    if kind == "user":
        return roles.tier2, roles.normal, roles.active
    if kind == "agent":
        return roles.tier1 + Style(underline=False), roles.normal, roles.active
    if kind == "trouble":
        return roles.trouble, roles.trouble, roles.trouble
    if kind in ("cron", "webhook"):
        return roles.gate, roles.muted, roles.faint
    if kind in ("memory", "commit", "flush"):
        return roles.active, roles.muted, roles.faint
    if kind in SPOKEN:
        return NO_STYLE, roles.normal, roles.muted
    return roles.muted, roles.muted, roles.faint
