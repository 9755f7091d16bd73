"""What agents were told as a list: a line for each prompt, session's start or run of a hook, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.live.feed import in_words
from engine.transcripts.days import moment
from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row, clip, found, marked, wrap
from tui.render.figures import clock, count, day
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.told_words import MOMENTS

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
OURS = "prompt here"
"""In place of the agent, for a prompt of our own."""
_AGENT, _PROJECT, _TOKENS, _USED = 11, 14, 6, 5


def state_of(telling: Telling) -> str:
    """How it stands, as in ``SIGNS``."""
    if telling.failed:
        return "failed"
    if not telling.tokens:
        return "silent"
    if telling.injection is None:
        return "start"
    if telling.injection.useful:
        return "used"
    return "unused" if telling.injection.finished else "open"


def style_of(telling: Telling, roles: Roles) -> Style:
    """The colour of how it stands."""
    styles = {"used": roles.active, "failed": roles.trouble, "start": roles.accent}
    return styles.get(state_of(telling), roles.muted)


def used_text(telling: Telling) -> str:
    """``1/4``: sections of use of those that were told; empty where that is not known."""
    injection = telling.injection
    if injection is None or not injection.sections or not (injection.finished or injection.useful):
        return ""
    return f"{len(injection.useful)}/{len(injection.sections)}"


def what_of(telling: Telling) -> str:
    """What was told in a few words, else why nothing was."""
    if telling.run is None:
        paths = (each.path for each in telling.injection.sections) if telling.injection else ()
        return ", ".join(dict.fromkeys(path.rpartition("/")[2].removesuffix(".md") for path in paths))
    if telling.tokens:
        return in_words(telling.run.labels)
    return ": ".join(filter(None, (MOMENTS.get(telling.moment, ""), telling.run.said)))


def draw_telling(
    item: Telling, items: Sequence[Telling], width: int, roles: Roles, query: str, *, chosen: bool
) -> Row:
    """A row: sign, time, agent, project or session, tokens, how much was of use, and what it was."""
    tone = style_of(item, roles)
    row = Row((f"{SIGNS[state_of(item)][0]} ", tone))
    at = moment(item.at)
    row.fit(f"{day(at)} {clock(at)}" if at else "", 11, roles.muted).gap(2)
    row.fit(first_line(item.agent) or OURS, _AGENT, roles.normal).gap(2)
    place = min(_PROJECT, max(cell_len(_place(each)) for each in items))
    row.fit(_place(item), place, roles.muted).gap(2)
    row.fit(count(item.tokens) if item.tokens else "–", _TOKENS, roles.normal, "right").gap(1)
    row.fit(used_text(item), _USED, tone, "right").gap(2)
    words = roles.strong if chosen else roles.trouble if item.failed else roles.muted
    text = clip(first_line(what_of(item)), width - row.cells)
    for piece, style in marked(text, found(text, query), words, roles.accent):
        row.add(piece, style)
    return row.cut(width)


def draw_none(width: int, roles: Roles) -> list[Row]:
    """Draws how to begin, where no agent was told anything."""
    return [
        Row(("no agent was told anything yet", roles.strong)),
        Row(),
        *wrap(
            [("autopoiesis install claude-code", roles.accent),
             (" sets up the hooks of Claude Code; codex and gemini likewise. From its next session on, each"
              " prompt that you send it stands here, with what was added to it and why.", roles.muted)],
            width,
        ),
    ]  # fmt: skip


def _place(item: Telling) -> str:
    return first_line(item.project) or first_line(item.session_id)[:8] or "–"


class ToldPanel(KeyedRows["Telling"]):
    """A line for each."""

    name_of = "told"
    number = "1"
    words = "told"
    always_lit = True
    aligned = True
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
        return draw_telling(item, self.items, width, self.roles, self.query_text, chosen=chosen)

    def finds(self, item: Telling, query: str) -> bool:
        """By agent, project, session, day and what it was."""
        held = (item.agent or OURS, item.project, item.session_id, item.at, what_of(item))
        return any(query.casefold() in text.casefold() for text in held)

    def summarise(self) -> None:
        """How many there are; below, what the list is narrowed to."""
        query = (
            f"/{self.query_text}  {count(self.row_count)} of {count(len(self.items))}"
            if self.query_text
            else ""
        )
        self.set_frame(self.head, " · ".join(filter(None, (self.below, query))))

    def selected_text(self) -> str:
        item = self.selected
        return " ".join((item.at, item.agent, item.session_id, what_of(item))) if item is not None else ""
