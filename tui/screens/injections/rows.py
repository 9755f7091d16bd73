"""What agents were told as a list: a line for each prompt, session's start or run of a hook, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from engine.transcripts.days import moment
from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row, wrap
from tui.render.figures import clock, count, day
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.told import OURS, what_of

if TYPE_CHECKING:
    from engine.agents.audit import Telling

SIGNS = {
    "used": ("●", "the reply took up some of it, or you called it useful"),
    "unused": ("○", "no sign of use, which proves nothing"),
    "open": ("·", "told; what came of it is not known yet"),
    "start": ("▸", "told when the session began"),
    "silent": ("–", "nothing was told"),
    "failed": ("!", "the hook failed"),
}
"""How a run stands."""


def _state(telling: Telling, roles: Roles) -> tuple[str, Style]:
    """How it stands, as in ``SIGNS``, and the colour of that."""
    if telling.failed:
        return "failed", roles.error
    if not telling.tokens:
        return "silent", roles.faint
    if telling.injection is None:
        return "start", roles.accent
    if telling.injection.useful:
        return "used", roles.active
    is_known = telling.injection.finished or any(each.judged for each in telling.injection.sections)
    return "unused" if is_known else "open", roles.muted


def draw_telling(telling: Telling, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: sign, time, agent, project or session, tokens, sections of use, and what it was."""
    (state, tone), at, made = _state(telling, roles), moment(telling.at), telling.injection
    used = f"{len(made.useful)}/{len(made.sections)}" if made and state in ("used", "unused") else ""
    row = Row((f"{SIGNS[state][0]} ", tone)).fit(f"{day(at)} {clock(at)}" if at else "", 13, roles.muted)
    row.fit(first_line(telling.agent) or OURS, 11, roles.normal).gap(2)
    row.fit(first_line(telling.project) or telling.session_id[:8] or "–", 12, roles.muted)
    row.fit(count(telling.tokens) if telling.tokens else "–", 6, roles.normal, "right")
    row.fit(used, 6, tone, "right").gap(2)
    words = roles.strong if chosen else roles.error if telling.failed else roles.muted
    return row.add(first_line(what_of(telling)), words).cut(width)


def draw_none(width: int, roles: Roles) -> list[Row]:
    """Draws how to begin, where no agent was told anything."""
    return [
        Row(("no agent was told anything yet", roles.strong)),
        Row(),
        *wrap(
            [("autopoiesis install claude-code", roles.accent),
             (" sets up the hooks of Claude Code; codex and gemini likewise. From its next session on each"
              " prompt that you send it stands here, with what was added to it and why.", roles.muted)],
            width,
        ),
    ]  # fmt: skip


class ToldPanel(KeyedRows["Telling"]):
    """A line for each."""

    name_of = "told"
    number = "1"
    words = "told"
    always_lit = True
    signs = tuple(SIGNS.values())
    head = below = ""

    def key(self, item: Telling) -> str:
        return f"{item.at} {item.id} {item.moment}"

    def show_tellings(
        self, items: Sequence[Telling], note: Note, about: object, head: str, below: str
    ) -> None:
        """Shows another state; ``head`` stands beside the title, ``below`` at the lower edge."""
        self.head, self.below = head, below
        self.show_items(items, note, about)
        self.summarise()

    def row(self, item: Telling, width: int, chosen: bool) -> Row:
        return draw_telling(item, width, self.roles, chosen=chosen)

    def finds(self, item: Telling, query: str) -> bool:
        """By agent, project, session, day and what it was."""
        held = (item.agent or OURS, item.project, item.session_id, item.at, what_of(item))
        return any(query.casefold() in text.casefold() for text in held)

    def summarise(self) -> None:
        """How many there are; below, what the list is narrowed to."""
        query = f"/{self.query_text}  {self.row_count:,} of {len(self.items):,}" if self.query_text else ""
        self.set_frame(self.head, " · ".join(filter(None, (self.below, query))))

    def selected_text(self) -> str:
        item = self.selected
        return " ".join((item.at, item.agent, item.session_id, what_of(item))) if item is not None else ""
