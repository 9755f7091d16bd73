"""The summary above the panels of the context screen: message, token use, and topics or differences."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.context.compiled import Compiled
from tui.kit.bars import Bar
from tui.render.draw import Row, clip
from tui.render.figures import clock, count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.shown import Shown
from tui.screens.context.difference import Comparison, difference_summary


@dataclass(frozen=True, slots=True)
class Summary:
    shown: Shown = field(default_factory=Shown)
    compiled: Compiled | None = None
    pending: bool = False
    """A new prompt is being compiled."""
    without: str = ""
    """Why the prompt has no message; empty if it has one."""
    comparison: Comparison | None = None


class SummaryBar(Bar):
    """The summary, as tall as the screen allows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = Summary()

    def show(self, view: Summary) -> None:
        if view != self.view:
            self.view = view
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        return summary_rows(self.view, width, self.size.height, self.roles)


def summary_rows(view: Summary, width: int, height: int, roles: Roles) -> list[Row]:
    """One to three lines; the message is dropped first, then the topics."""
    rows = [figures(view, width, roles)]
    if view.comparison is not None:
        rows.append(Row(*difference_summary(view.comparison, width - 2, roles)).cut(width - 1))
    elif height > 1:
        rows.append(_topics(view, width, roles))
    if height > 2:
        rows.insert(0, message(view, width, roles))
    return [Row().gap().extend(row) for row in rows[-height:]]


def message(view: Summary, width: int, roles: Roles) -> Row:
    """The message: ``“Can you review …”  user · 18:47``."""
    shown = view.shown
    if view.without:
        return Row((view.without, roles.muted)).cut(width - 1)
    entry = shown.entry
    who = "tried" if shown.trying else f"{entry.kind} · {clock(entry.at)}" if entry is not None else ""
    if entry is not None and entry.kind in ("agent", "tool"):
        who += " · the prompt it answered"
    state = Row(("compiling …", roles.gate)) if view.pending and view.compiled is not None else Row()
    text = clip(f"“{first_line(shown.text)}”", width - len(who) - state.cells - 6)
    return Row((text, roles.strong)).gap(2).add(who, roles.muted).right(state, width - 1)


def figures(view: Summary, width: int, roles: Roles) -> Row:
    """Token use: ``7,926 of 8,192 tok · 97 % · …``, as much as fits, most important first."""
    compiled = view.compiled
    if compiled is None:
        return Row(("compiling …" if view.pending else "no prompt", roles.muted))
    percent = round(100 * compiled.tokens / compiled.budget) if compiled.budget else 0
    row = Row((count(compiled.tokens), roles.strong), (f" of {count(compiled.budget)} tok", roles.muted))
    row.add(f" · {percent} %", roles.normal)
    for parts in (_parts(compiled, roles, short=False), _parts(compiled, roles, short=True)):
        if row.cells + sum(3 + part.cells for part in parts) < width - 1:
            break
    for part in parts:
        if row.cells + 3 + part.cells < width - 1:
            row.add(" · ", roles.faint).extend(part)
    return row


def _parts(compiled: Compiled, roles: Roles, *, short: bool) -> list[Row]:
    """The parts after the percentage; in the short form the most important comes first."""
    reply = Row((f"{count(compiled.reply_reserve)} {'reply' if short else 'for the reply'}", roles.muted))
    number = len(compiled.left_out)
    left = Row((f"{count(number)} left out", roles.gate) if number else ("nothing left out", roles.muted))
    parts = [left] if short else [reply, left]
    if compiled.dropped_turns:
        turns = count(compiled.dropped_turns) if short else plural(compiled.dropped_turns, "turn")
        dropped = Row((f"{turns} dropped", roles.muted))
        if compiled.unflushed_turns:
            dropped.add(f", {count(compiled.unflushed_turns)} unflushed", roles.gate)
        parts.append(dropped)
    if compiled.problems:
        parts.append(Row((f"! {plural(len(compiled.problems), 'problem')}", roles.error)))
    return [*parts, reply] if short else parts


def _topics(view: Summary, width: int, roles: Roles) -> Row:
    compiled = view.compiled
    if compiled is None:
        return Row()
    names = ", ".join(map(first_line, compiled.active_topics))
    row = Row(("topics ", roles.muted))
    return row.add(
        clip(names or "none active", width - row.cells - 2), roles.normal if names else roles.muted
    )
