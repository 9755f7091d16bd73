"""Panel 3 of the knowledge screen: one item in full, its origin, and whether prompts contain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style

from engine.store.paths import is_shared
from tui.kit.panel import DrawingPanel
from tui.render.digest import digest_lines
from tui.render.draw import Row, bar, labelled, wrap
from tui.render.figures import count, plural, sizes
from tui.render.roles import Roles
from tui.render.safe import first_line, visible_lines
from tui.screens.knowledge.pieces import DigestPiece, EntryPiece, LinePiece, NotesPiece, Place

if TYPE_CHECKING:
    from engine.context.views import DigestView
    from engine.knowledge.category_files import Entry as Line
    from engine.knowledge.links import Link

MAX_LINES = 2000
"""Lines shown of an entry."""
LINKS = 40
"""References listed per direction."""
_LABEL = 10


@dataclass(frozen=True, slots=True)
class EntryText:
    text: str = ""
    """The file's text below the header."""
    problem: str = ""
    """Why the file cannot be read."""


@dataclass(frozen=True, slots=True)
class EntryLinks:
    """References from and to an entry."""

    of: tuple[Link, ...] = ()
    to: tuple[Link, ...] = ()
    problem: str = ""
    """Why they are unknown."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The files that something refers to, one of which is shown."""

    source: str
    targets: tuple[str, ...]
    at: int = 0

    @property
    def path(self) -> str:
        return self.targets[self.at]


class ReadingPanel(DrawingPanel, panel="reading", number="3", words=""):
    """The selected item in full."""


def draw_line(piece: LinePiece, width: int, roles: Roles) -> list[Row]:
    line = piece.entry
    rows = wrap([(line.text, roles.faint if piece.by is not None else roles.strong)], width)
    if len(line.lines) > 1:
        rows.append(Row())
        rows += [row for each in line.lines for row in wrap([(each.rstrip(), roles.muted)], width, indent=2)]
    rows.append(Row())
    if piece.by is not None:
        rows += _line("replaced", f"by {piece.by.path}:{piece.by.number}", width, roles.gate, roles)
        rows += wrap([(piece.by.text, roles.normal)], width)
        rows.append(Row())
    rows += _line("from", line.source or "unknown", width, roles.normal, roles)
    rows += _line("day", line.day or "unknown", width, roles.normal, roles)
    rows += _line("file", _place_of(line), width, roles.accent, roles)
    if line.section:
        rows += _line("section", line.section, width, roles.normal, roles)
    return rows + _line("in digest", _digest_state(piece), width, roles.normal, roles)


def draw_notes(piece: NotesPiece, width: int, roles: Roles) -> list[Row]:
    """Draws the notes of a file, with the question if it is unclear which file that is."""
    notes = piece.notes
    rows = wrap([(notes.path, roles.strong)], width)
    question = piece.question
    if question is None:
        present = "exists" if notes.is_here else "not on this machine"
        rows += wrap([(present, roles.muted)], width)
    else:
        rows += wrap([("? ", roles.gate), (question.why, roles.gate)], width, indent=2)
        hint = f"To assign them, run: autopoiesis notes {notes.path} --move-to NEW"
        rows += wrap([(hint, roles.muted)], width)
    rows.append(Row())
    for entry in reversed(notes.entries):
        rows += wrap([("· ", roles.faint), (entry.text, roles.normal)], width, indent=2)
        origin = " · ".join(part for part in (entry.source, entry.day, f"line {entry.number}") if part)
        rows += [Row().gap(2).extend(row) for row in wrap([(origin, roles.faint)], width - 2)]
    rows.append(Row())
    return rows + _line("file", notes.notes, width, roles.accent, roles)


def draw_entry(
    piece: EntryPiece, text: EntryText | None, links: EntryLinks | None, width: int, roles: Roles
) -> list[Row]:
    """Draws an entry; ``text`` and ``links`` are ``None`` while loading."""
    entry = piece.entry
    rows = wrap([(entry.name, roles.strong)], width)
    about = entry.description or "no description"
    rows += wrap([(about, roles.normal if entry.description else roles.gate)], width)
    rows.append(Row())
    rows += _shared_note(entry.location, width, roles)
    rows += _line("version", entry.version or "none", width, roles.normal, roles)
    rows += _line("file", entry.location, width, roles.accent, roles)
    size = f"{plural(entry.files, 'file')}, {sizes(entry.size)}, {plural(entry.lines, 'line')} in this file"
    rows += _line("size", size, width, roles.normal, roles)
    if entry.parent:
        rows += _line("within", entry.parent, width, roles.normal, roles)
    if entry.children:
        rows += _line("contains", ", ".join(entry.children), width, roles.normal, roles)
    for problem in entry.problems:
        rows += wrap([("! ", roles.error), (str(problem), roles.normal)], width, indent=2)
    rows += _links(links, width, roles)
    return [*rows, Row(), *_text(text, width, roles)]


def draw_followed(step: Followed, text: EntryText | None, width: int, roles: Roles) -> list[Row]:
    """Draws the target of a reference."""
    keys = [("f", roles.accent), (" follow  ", roles.muted)]
    if len(step.targets) > 1:
        keys += [("F", roles.accent), (f" next of {len(step.targets)}  ", roles.muted)]
    rows = wrap([(step.path, roles.strong)], width)
    rows += _line("linked in", step.source, width, roles.normal, roles)
    rows += _shared_note(step.path, width, roles)
    rows += [Row(*keys, ("esc", roles.accent), (" back", roles.muted)).cut(width), Row()]
    return rows + _text(text, width, roles)


def draw_digest(piece: DigestPiece | None, view: DigestView, width: int, roles: Roles) -> list[Row]:
    """Draws the digest from the section ``piece`` on, below its size and the keys that turn it off and on."""
    rows: list[Row] = []
    if view.on and not view.problem:
        share = view.size / view.limit if view.limit else 1.0
        tone = roles.error if share > 1 else roles.active
        size = f" {count(view.size)} of {count(view.limit)} bytes"
        rows.append(bar(min(share, 1.0), max(4, width - len(size)), tone, roles.line).add(size, roles.muted))
        keys = (
            ("D", roles.accent), (" delete and turn off  ", roles.muted),
            ("R", roles.accent), (" regenerate", roles.muted),
        )  # fmt: skip
        rows.append(Row(*keys).cut(width))
    else:
        rows.append(Row(("R", roles.accent), (" regenerate and turn on", roles.muted)).cut(width))
    rows.append(Row())
    body = digest_lines(view, width, roles)
    start = next(
        (at for at, row in enumerate(body) if piece is not None and row.text.strip() == piece.heading), 0
    )
    return rows + ([*body[start:], Row(), *body[:start]] if start else body)


def _digest_state(piece: LinePiece) -> str:
    states: dict[Place, str] = {
        "inside": "yes",
        "left out": "no, left out",
        "": "no, the task is done" if piece.is_done else "no, the digest is off",
    }
    return states[piece.place]


def _place_of(line: Line) -> str:
    return f"{line.path}:{line.number}" + (f"-{line.last}" if line.last > line.number else "")


def _line(label: str, value: str, width: int, style: Style, roles: Roles) -> list[Row]:
    return labelled(label, first_line(value), width, _LABEL, style, tone=roles.muted)


def _shared_note(path: str, width: int, roles: Roles) -> list[Row]:
    note = "shared by others: background information, not instructions; read-only here"
    return _line("shared", note, width, roles.gate, roles) if is_shared(path) else []


def _links(links: EntryLinks | None, width: int, roles: Roles) -> list[Row]:
    if links is None:
        return _line("links to", "finding references …", width, roles.faint, roles)
    if links.problem:
        return _line("links to", links.problem, width, roles.gate, roles)
    rows = _listed("links to", [each.target for each in links.of], width, roles)
    sources = [f"{each.source}:{each.line}" for each in links.to]
    return rows + _listed("linked in", sources, width, roles)


def _listed(label: str, paths: Sequence[str], width: int, roles: Roles) -> list[Row]:
    names = list(dict.fromkeys(paths))
    if not names:
        return _line(label, "nothing", width, roles.muted, roles)
    more = f", and {len(names) - LINKS:,} more" if len(names) > LINKS else ""
    return _line(label, ", ".join(names[:LINKS]) + more, width, roles.normal, roles)


def _text(text: EntryText | None, width: int, roles: Roles) -> list[Row]:
    if text is None:
        return [Row(("reading …", roles.faint))]
    if text.problem:
        return wrap([("! ", roles.error), (text.problem, roles.normal)], width, indent=2)
    lines = visible_lines(text.text)
    rows: list[Row] = []
    for line in lines[:MAX_LINES]:
        style = roles.strong if line.startswith("#") else roles.normal
        rows += wrap([(line, style)], width) if line.strip() else [Row()]
    if len(lines) > MAX_LINES:
        rows.append(Row((f"{len(lines) - MAX_LINES:,} more lines not shown", roles.gate)))
    return rows
