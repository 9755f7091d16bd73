"""Injections, as the command line and the workbench show them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style

from engine.injections.log import place_of
from engine.live.feed import describe_labels
from engine.transcripts.days import moment
from tui.render.draw import Row, wrap
from tui.render.figures import clock, count, day, dollars, milliseconds, plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.agents.audit import AuditEntry, Piece
    from engine.agents.log import HookRun
    from engine.agents.week import Use, Week
    from engine.injections.log import InjectedSection

USE = {True: ("●", "used"), False: ("○", "no sign of use"), None: ("·", "not known yet")}
_OPENED = {True: "opened by the agent", False: "not opened", None: "not known yet whether it is opened"}
OURS = "autopoiesis"
"""Shown in place of the agent for our own prompts."""
_EVENTS = {"session_start": "session start", "stop": "answered", "pre_compact": "compaction"}
_SHOWN = 5
"""Topics and runs listed in a summary."""


@dataclass(frozen=True, slots=True)
class InjectionView:
    entry: AuditEntry
    pieces: tuple[Piece, ...] | None = None
    """``None`` while loading."""
    extras: tuple[str, ...] = ()
    problem: str = ""
    """Why the sections cannot be read."""
    with_text: bool = False


def what_of(entry: AuditEntry) -> str:
    """A summary of what was injected, or why nothing was."""
    if entry.run is None:
        return (
            describe_labels(f"knowledge:{each.path}" for each in entry.injection.sections)
            if entry.injection
            else ""
        )
    if entry.tokens:
        return "; ".join(filter(None, (describe_labels(entry.run.labels), entry.run.said)))
    return f"{moment_of(entry.moment)}: {entry.run.said}".removeprefix(": ")


def moment_of(name: str) -> str:
    """The name of an agent's event."""
    return _EVENTS.get(name, name.replace("_", " "))


def draw_view(view: InjectionView, width: int, roles: Roles) -> list[tuple[Row, int | None]]:
    """Draws an injection: rows, each with the index of its section or ``None``."""
    entry, at = view.entry, moment(view.entry.at)
    facts = (
        plural(entry.tokens, "token") if entry.tokens else "",
        milliseconds(entry.run.ms) if entry.run else "",
        first_line(entry.project), entry.id[:8],
    )  # fmt: skip
    head = f"{day(at)} {clock(at)}  {first_line(entry.agent) or OURS}" if at else ""
    rows = wrap(
        [(head, roles.strong), (f"  {moment_of(entry.moment)}", roles.normal),
         ("".join(f" · {each}" for each in facts if each), roles.muted)], width, indent=2,
    )  # fmt: skip
    if not entry.tokens:
        rows += wrap([(what_of(entry), roles.error if entry.failed else roles.muted)], width)
    elif view.problem:
        rows += wrap([(view.problem, roles.error)], width)
    elif view.pieces is None:
        rows.append(Row(("reading …", roles.faint)))
    drawn: list[tuple[Row, int | None]] = [(row, None) for row in rows]
    for place, piece in enumerate(view.pieces or ()):
        drawn += [(row, place) for row in _piece(piece, place + 1, width, roles, view)]
    for words in view.extras:
        drawn += [(row, None) for row in wrap([(f"–  {first_line(words)}", roles.muted)], width, indent=3)]
    return drawn


def _piece(piece: Piece, number: int, width: int, roles: Roles, view: InjectionView) -> list[Row]:
    section = piece.section
    facts = [f"{count(section.tokens)} tokens"] if section.tokens else []
    row = Row((f"{number}", roles.faint)).to(3)
    if view.entry.injection is not None:
        tone = {True: roles.active, False: roles.muted, None: roles.faint}[section.was_useful]
        row.add(f"{USE[section.was_useful][0]} ", tone)
        facts.append(_use(section))
    name = f"topic {piece.topic}" if piece.topic else place_of(section)
    if section.is_offer:
        name = f"offered: {name}"
    first, *rest = wrap(
        [(first_line(name), roles.normal),
         ("".join(f" · {each}" for each in facts), roles.accent if section.judged else roles.muted)],
        width, indent=5, first=row.cells,
    )  # fmt: skip
    rows = [row.extend(first), *rest]
    if section.why:
        rows += indented(f"     {first_line(section.why)}", roles.muted, width)
    if view.with_text:
        for line in (piece.text.strip("\n") or "(the file no longer contains this text)").split("\n"):
            rows += indented(f"     {first_line(line)}", roles.normal if piece.text else roles.faint, width)
    return rows


def _use(section: InjectedSection) -> str:
    if section.judged:
        return "labelled useful" if section.was_useful else "labelled noise"
    return _OPENED[section.was_useful] if section.is_offer else USE[section.was_useful][1]


def indented(line: str, style: Style, width: int) -> list[Row]:
    """A wrapped line that keeps its indentation."""
    blanks = len(line) - len(line.lstrip(" "))
    return [Row().gap(blanks).extend(row) for row in wrap([(line.lstrip(" "), style)], width - blanks)]


def week_lines(week: Week) -> list[str]:
    """A summary of several days."""
    day, use = week.since[:10], week.sections
    if not week.places and not week.failed:
        return [f"no hooks have run since {day}; install them with: autopoiesis install claude-code"]
    prompts, injected, tokens = (
        sum(getattr(each, name) for each in week.places) for name in ("prompts", "told", "tokens")
    )
    return [
        f"{plural(prompts, 'prompt')} since {day}, {count(injected)} with injections: {count(tokens)} tokens",
        *_columns(
            ("  agent", "project", "prompts", "injected", "tokens", "starts", "standing"),
            *((f"  {first_line(each.agent)}", first_line(each.project) or "–",
               *map(count, (each.prompts, each.told, each.tokens, each.starts, each.standing)))
              for each in week.places),
        ),
        "",
        f"replies used something from {count(week.took_up)} of {plural(week.answered, 'prompt')}, "
        f"{count(use.used)} of {plural(use.known, 'section')}",
        "  detected if a reply names a file or repeats its words; actual use may be higher",
        *_offered(week.offers),
        "",
        "appended to the conversation, so cached prefixes stay valid; paid once as input",
        *_columns(
            *((f"  {first_line(each.model) or 'unknown model'}", f"{count(each.tokens)} tokens",
               "price unknown" if each.usd is None else dollars(each.usd)) for each in week.costs)
        ),
        *_few("topics injected most and used least" if week.topics else "", map(_topic, week.topics)),
        *_few(f"{count(len(week.failed)) if week.failed else 'none'} failed", map(_run, week.failed)),
        *_few(f"{count(len(week.slow)) if week.slow else 'none'} took over a second", map(_run, week.slow)),
    ]  # fmt: skip


def _offered(offers: Use) -> list[str]:
    told = plural(offers.told, "playbook")
    opened = f"{count(offers.used)} of {count(offers.known)} opened, {count(offers.tokens)} tokens"
    return [f"told agents of {told} that may apply: {opened}"] if offers.told else []


def _topic(topic: Use) -> str:
    name = shlex.quote(topic.name)
    return (
        f"  {first_line(topic.name)}: injected {count(topic.told)}×, {count(topic.tokens)} tokens, used "
        f"{count(topic.used)} of {count(topic.known)}; autopoiesis tune {name}, or topics deactivate {name}"
    )


def _run(run: HookRun) -> str:
    what = first_line(run.said) or f"{count(run.tokens)} tokens"
    when = run.at[5:16].replace("T", " ")
    whose = f"{first_line(run.agent)} {moment_of(run.moment)}".rstrip()
    return f"  {when}  {whose}: {what}, {milliseconds(run.ms)}"


def _few(head: str, lines: Iterable[str]) -> list[str]:
    every = list(lines)
    more = [f"  {count(len(every) - _SHOWN)} more"] if len(every) > _SHOWN else []
    return ["", head, *every[:_SHOWN], *more] if head else []


def _columns(*rows: Sequence[str]) -> list[str]:
    """Aligned columns: two of text, the others of figures."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        [cell.ljust(widths[at]) if at < 2 else cell.rjust(widths[at]) for at, cell in enumerate(row)]
        for row in rows
    ]
    return ["  ".join(cells) for cells in aligned]
