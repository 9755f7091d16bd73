"""How injections are drawn: the list, newest first, and the sections of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from engine.transcripts.days import moment
from tui.kit.rows import FACT, KeyedRows, SelectablePage
from tui.render.draw import Row, wrap
from tui.render.figures import clock, count, day
from tui.render.injections import OURS, USE, InjectionView, draw_view, what_of
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.agents.audit import AuditEntry, Piece

SIGNS = {
    "used": ("●", "the reply used some of it, or you marked it useful"),
    "unused": ("○", "no sign of use, which is not proof"),
    "open": ("·", "injected; use not known yet"),
    "start": ("▸", "injected at session start"),
    "silent": ("–", "nothing injected"),
    "failed": ("!", "the hook failed"),
}
"""The sign and meaning of each state."""


def _state(entry: AuditEntry, roles: Roles) -> tuple[str, Style]:
    """Its state, as in ``SIGNS``, and the colour."""
    if entry.failed:
        return "failed", roles.error
    if not entry.tokens:
        return "silent", roles.faint
    if entry.injection is None:
        return "start", roles.accent
    if entry.injection.useful:
        return "used", roles.active
    is_known = entry.injection.finished or any(each.judged for each in entry.injection.sections)
    return "unused" if is_known else "open", roles.muted


def draw_entry(entry: AuditEntry, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: sign, time, agent, project or session, tokens, used sections, and the prompt or event."""
    (state, tone), at, made = _state(entry, roles), moment(entry.at), entry.injection
    used = f"{len(made.useful)}/{len(made.sections)}" if made and state in ("used", "unused") else ""
    row = Row((f"{SIGNS[state][0]} ", tone)).fit(f"{day(at)} {clock(at)}" if at else "", 13, roles.muted)
    row.fit(first_line(entry.agent) or OURS, 11, roles.normal).gap(2)
    row.fit(first_line(entry.project) or entry.session_id[:8] or "–", 12, roles.muted)
    row.fit(count(entry.tokens) if entry.tokens else "–", 6, roles.normal, "right")
    row.fit(used, 6, tone, "right").gap(2)
    words = roles.strong if chosen else roles.error if entry.failed else roles.muted
    return row.add(first_line(what_of(entry)), words).cut(width)


def draw_none(width: int, roles: Roles) -> list[Row]:
    """Explains how to start if there are no injections."""
    return [
        Row(("no injections yet", roles.strong)),
        Row(),
        *wrap(
            [("autopoiesis install claude-code", roles.accent),
             (" installs the hooks for Claude Code (or codex, gemini, opencode). From the next session on,"
              " every prompt you send is listed here with what was added to it and why.", roles.muted)],
            width,
        ),
    ]  # fmt: skip


class InjectionsPanel(KeyedRows["AuditEntry"], panel="injections", number="1"):
    always_lit = True
    signs = tuple(SIGNS.values())

    def key(self, item: AuditEntry) -> str:
        return f"{item.at} {item.id} {item.moment}"

    def row(self, item: AuditEntry, width: int, chosen: bool) -> Row:
        return draw_entry(item, width, self.roles, chosen=chosen)

    def searchable(self, item: AuditEntry) -> Sequence[str]:
        return item.agent or OURS, item.project, item.session_id, item.at, what_of(item)

    def text_of(self, item: AuditEntry) -> str:
        return " ".join((item.at, item.agent, item.session_id, what_of(item)))


class PiecesPanel(SelectablePage[InjectionView], panel="pieces", number="2", words="sections"):
    signs = tuple(USE.values())

    nothing = "nothing is selected"

    def subject(self, view: InjectionView) -> object:
        return view.entry.at, view.pieces is None

    def draw_view(self, view: InjectionView, width: int) -> list[tuple[Row, int]]:
        drawn = draw_view(view, width, self.roles)
        return [(row, FACT if place is None else place) for row, place in drawn]

    def summarise(self) -> None:
        self.set_frame(str(len(self.view.pieces)) if self.view is not None and self.view.pieces else "")

    def initial_row(self) -> int:
        return next((item.at for item in self.items if item.line != FACT), 0)

    @property
    def piece(self) -> Piece | None:
        pieces = self.view.pieces if self.view is not None else None
        return pieces[self.line] if pieces and self.line != FACT else None
