"""Lines outside panels: header, footer, the gate's question, and the note shown on small terminals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from engine.context.compiled import Compiled
from engine.context.views import StatusView
from engine.events import GateAsked, IndexProgress
from tui.kit.command import key_named
from tui.render.budget import stacked
from tui.render.draw import Row, clip, clip_start
from tui.render.figures import count, home, plural
from tui.render.roles import Roles
from tui.render.safe import first_line

ALWAYS = frozenset({"?", "esc"})
"""Keys whose hints are never dropped."""
_WATCH = {"live": "●", "polling": "◐", "off": "○"}


@dataclass(frozen=True, slots=True)
class HeaderView:
    root: Path
    status: StatusView | None = None
    compiled: Compiled | None = None
    progress: IndexProgress | None = None


def header(view: HeaderView, width: int, roles: Roles, *, coloured: bool = True) -> Row:
    """The top line: the workspace, its state, and how full the prompt is."""
    row = Row((" autopoiesis", roles.accent)).gap(2)
    tokens = _tokens(view.compiled, width, roles, coloured=coloured)
    room = width - tokens.cells - 3
    row.add(clip_start(home(view.root), max(12, min(40, room // 3))), roles.muted)
    gap = 3 if width >= 100 else 2
    for forms in _header_parts(view, width, roles):
        part = next((form for form in forms if row.cells + gap + form.cells <= room), None)
        if part is None:  # nothing less important takes its place
            break
        row.gap(gap).extend(part)
    return row.to(width - tokens.cells - 1).extend(tokens)


def _header_parts(view: HeaderView, width: int, roles: Roles) -> list[tuple[Row, ...]]:
    """Parts of the header, most important first, each in its forms, longest first."""
    status = view.status
    if status is None:
        return [(Row(("reading …", roles.faint)),)]
    parts: list[tuple[Row, ...]] = []
    if status.problems:
        number = len(status.problems)
        words = f"! {plural(number, 'problem')}", f"! {count(number)}"
        parts.append(tuple(Row((form, roles.error)) for form in words[width < 100 :]))
    watch_style = {"live": roles.active, "polling": roles.gate}.get(status.watch_mode, roles.error)
    parts.append((Row((f"{_WATCH.get(status.watch_mode, '○')} {status.watch_mode}", watch_style)),))
    if status.read_only:
        parts.append((Row(("read-only", roles.gate)),))
    progress = view.progress
    if progress is not None and progress.done < progress.total:
        parts.append((Row((f"indexing {count(progress.done)}/{count(progress.total)}", roles.tier2)),))
    dirty = f" +{count(status.dirty)}" if status.dirty else ""
    name = first_line(status.branch) or "none"
    # Without a branch it says why in words, which no branch's name has.
    head = ("", clip(name, 40)) if " " in name else ("git ", clip(name, 24))
    branch = (head[0], roles.faint), (head[1], roles.normal)
    brief = (Row(("no git", roles.normal)),) if " " in name else ()
    parts.append((Row(*branch, (dirty, roles.muted)), Row(*branch), *brief))
    gate = ("gate ", roles.faint), (first_line(status.gate), roles.normal)
    model = f" {clip(first_line(status.model), 28)}" if status.model else ""
    parts.append((Row(*gate, (model, roles.muted)), Row(*gate)))
    parts.append((Row((plural(status.topics, "topic"), roles.muted)),))
    if status.watch_why:
        parts.append((Row((clip(first_line(status.watch_why), 40), roles.faint)),))
    return parts


def _tokens(compiled: Compiled | None, width: int, roles: Roles, *, coloured: bool) -> Row:
    if compiled is None:
        return Row()
    row = Row((count(compiled.tokens), roles.strong), (f"/{count(compiled.budget)} tok", roles.muted))
    if width >= 70:
        percent = round(100 * compiled.tokens / max(1, compiled.budget))
        gauge = stacked(compiled, 12 if width < 140 else 20, roles, coloured=coloured)
        row.gap(2).extend(gauge).add(f" {percent} %", roles.muted)
    return row


def footer(entries: list[tuple[str, str]], width: int, roles: Roles) -> Row:
    """The bottom line: as many key hints as fit, at most eight."""
    row, gap = Row((" ", roles.normal)), 3 if width >= 100 else 2
    for keys, words in fitting(entries, width):
        row.extend(Row((keys, roles.accent), (f" {words}", roles.muted)))
        row.gap(min(gap, width - row.cells))
    return row


def fitting(entries: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """The key hints that fit, at most eight: help and the way back always, then the first ones."""
    gap = 3 if width >= 100 else 2
    kept = [each for each in entries if each[0] in ALWAYS]
    room = width - 1 - sum(cell_len(f"{keys} {words}") + gap for keys, words in kept)
    number = 8 - len(kept)
    for each in entries:
        if each in kept:
            continue
        room -= cell_len(" ".join(each)) + gap
        if room < -gap or not number:
            break
        number -= 1
        kept.append(each)
    return [each for each in entries if each in kept]


def key_at(entries: list[tuple[str, str]], width: int, roles: Roles, x: int) -> str:
    """The displayed key at a cell of the footer; empty if there is none.

    If several keys share a label, it is the one at the cell, or else the first.
    """
    before = 1
    for keys, words in fitting(entries, width):
        if before <= x < before + len(f"{keys} {words}"):
            at = 0
            for key in keys.replace("–", " ").split():
                if at <= x - before < at + len(key):
                    return key
                at += len(key) + 1
            return keys.replace("–", " ").split()[0]
        before += cell_len(f"{keys} {words}") + (3 if width >= 100 else 2)
    return ""


def question_lines(
    asked: GateAsked, left_s: float, waiting: int, width: int, roles: Roles, *, letters: bool = True
) -> list[Row]:
    """The gate's question: topic, message, the topic's description, and the time left."""
    left = f"{max(0, round(left_s))} s" + (f" · {waiting} more pending" if waiting else "")
    head = Row(("does ", roles.muted), (first_line(asked.topic), roles.strong), (" apply to ", roles.muted))
    head.add(clip(f"“{first_line(asked.message)}”", width - head.cells - len(left) - 4), roles.normal)
    head.add("?", roles.muted)
    head.right(Row((left, roles.gate)), width)
    ctrl = "" if letters else "ctrl+"
    keys = Row((f"{ctrl}y", roles.accent), (" yes", roles.muted), (f"   {ctrl}n", roles.accent))
    keys.add(" no", roles.muted).gap(4)
    return [head, keys.add(clip(first_line(asked.description), width - keys.cells), roles.faint)]


def too_small(width: int, height: int, roles: Roles) -> list[Row]:
    return [
        Row((f"The terminal is too small: {width}×{height}.", roles.strong)),
        Row(("The workbench needs 60×16.", roles.normal)),
        Row(),
        Row(("q", roles.accent), (" quits", roles.muted)),
        Row(("autopoiesis trace works at any size", roles.muted)),
    ]


class Bar(Widget):
    """Fixed lines without focus."""

    @property
    def roles(self) -> Roles:
        return Roles.of(self.app.theme_variables, coloured=not self.app.no_color)

    def rows(self, width: int) -> list[Row]:
        return []

    def render_line(self, y: int) -> Strip:
        rows = self.rows(self.size.width)
        under = self.rich_style
        return rows[y].strip(self.size.width, under) if y < len(rows) else Strip.blank(self.size.width, under)


AnyBar = TypeVar("AnyBar", bound=Bar)


class Header(Bar):
    """The top line."""

    def __init__(self, root: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = HeaderView(root)

    def show(
        self, status: StatusView | None, compiled: Compiled | None, progress: IndexProgress | None
    ) -> None:
        """Updates the header; redraws only if it changed."""
        view = HeaderView(self.view.root, status, compiled, progress)
        if view != self.view:
            self.view = view
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        return [header(self.view, width, self.roles, coloured=not self.app.no_color)]


class Footer(Bar):
    """The bottom line."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.entries: list[tuple[str, str]] = []

    def show(self, entries: list[tuple[str, str]]) -> None:
        """Updates the key hints; redraws only if they changed."""
        if entries != self.entries:
            self.entries = entries
            self.refresh()

    def on_click(self, event: Click) -> None:
        """A click on a key presses it."""
        key = key_at(self.entries, self.size.width, self.roles, event.x)
        if key:
            self.app.simulate_key(key_named(key))

    def rows(self, width: int) -> list[Row]:
        return [footer(self.entries, width, self.roles)]


class QuestionBar(Bar):
    """The gate's question, visible until it is answered or expires."""

    asked: GateAsked | None = None
    left_s = 0.0
    waiting = 0
    letters = True

    def on_mount(self) -> None:
        self.border_title = Content("the gate asks")

    def show(self, asked: GateAsked | None, left_s: float, waiting: int) -> None:
        """Shows a question with its time left, or hides the bar."""
        self.asked, self.left_s, self.waiting = asked, left_s, waiting
        self.display = asked is not None
        self.refresh()

    def answer_by(self, *, letters: bool) -> None:
        """Sets whether plain letters answer the question, or only ctrl with the letter."""
        if letters != self.letters:
            self.letters = letters
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        if self.asked is None:
            return []
        return question_lines(self.asked, self.left_s, self.waiting, width, self.roles, letters=self.letters)


class TooSmall(Bar):
    """Replaces everything else if the terminal is too small."""

    def rows(self, width: int) -> list[Row]:
        size = self.app.size
        return too_small(size.width, size.height, self.roles)


def bars(screen: Screen[None], kind: type[AnyBar]) -> list[AnyBar]:
    """The bars of a kind on a screen and on the screens above it."""
    screens = dict.fromkeys((screen, *screen.app.screen_stack))
    return [bar for each in screens for bar in each.query(kind)]
