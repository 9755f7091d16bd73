"""``topics replay`` and ``topics suggest``: playbooks against what was typed in the past."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import click

from engine.errors import AutopoiesisError
from tui.cli.activation import number
from tui.cli.base import commit_text, emit, emit_json, is_terminal, plain, table, verb, visible
from tui.cli.search import progress
from tui.render.figures import plural
from tui.render.safe import first_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engine.engine import Engine
    from engine.playbooks.draft import Draft
    from engine.playbooks.past import PastRow, Replay
    from engine.playbooks.suggest import Suggestion

_LEAST_MESSAGE = 18
_HITS = 16
_BESIDE = 62
"""Columns of the list before the message, with the longest trigger."""
_READ = 400
_LEAST_ID = 4
_SHOWN = 12
_TURNED = 8
_LABELS = {True: "useful", False: "noise", None: "–"}


def play(engine: Engine, most: int | None = None) -> dict[str, Replay]:
    """Plays the past to every playbook, with a progress bar on a terminal."""
    from engine.playbooks.past import MOST_MESSAGES  # noqa: PLC0415 — loads the engine

    with progress("replaying") as report:
        return engine.playbooks.replay_all(report, most=most or MOST_MESSAGES)


def tree_of(found: Replay) -> dict[str, Any]:
    """A replay as JSON."""
    figures = {name: getattr(found, name) for name in ("fired", "labelled", "precision", "recall")}
    return {**plain(found), **figures}


@verb(
    "autopoiesis topics replay release",
    "autopoiesis topics replay release --json",
    "autopoiesis topics replay release --yes 3f9c21ab --no 77be0129",
    name="replay",
)
@click.argument("name")
@click.option("--yes", "right", multiple=True, metavar="ID", help="It is right for this message. Repeatable.")
@click.option("--no", "wrong", multiple=True, metavar="ID", help="It is wrong for this message. Repeatable.")
@click.option("--clear", multiple=True, metavar="ID", help="Remove the label of this message. Repeatable.")
@click.option("--last", type=click.IntRange(1), help="Only the last N messages.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Rows shown.")
def topics_replay(
    engine: Engine,
    name: str,
    right: tuple[str, ...],
    wrong: tuple[str, ...],
    clear: tuple[str, ...],
    last: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show which messages of your past would have activated a playbook, the most uncertain first.

    On a terminal, y and n say whether it is right for each. The labels teach the engine, and count in
    `decisions` and `tune`. Nothing is asked of a model, and nothing but labels is written.
    """
    name = engine.topic(name).name
    before = play(engine, last)
    found = before[name]
    wanted = [
        (_row(found, each), useful)
        for ids, useful in ((right, True), (wrong, False), (clear, None))
        for each in ids
    ]
    for row, useful in wanted:
        found = engine.playbooks.label(found, row, useful)
    if wanted:
        engine.labels.learn()
    if as_json:
        emit_json(tree_of(found))
        return
    if wanted:
        print_moved(before, play(engine, last), name, {row.id for row, _ in wanted})
    else:
        print_replay(engine, before, name, limit=limit, asks=is_terminal())


def _row(found: Replay, start: str) -> PastRow:
    rows = [row for row in found.rows if row.id.startswith(start)]
    if len(start) < _LEAST_ID or len(rows) != 1:
        what = f"{len(rows)} messages begin with" if len(rows) > 1 else "no message of the list has the id"
        raise AutopoiesisError(f"{what} {start[:40]}", hint=f"see: autopoiesis topics replay {found.topic}")
    return rows[0]


def print_replay(
    engine: Engine, played: Mapping[str, Replay], name: str, *, limit: int = _SHOWN, asks: bool
) -> None:
    """Prints a replay; on a terminal it goes on to ask about each unlabelled message."""
    found = played[name]
    if not found.messages:
        emit("there are no past messages to replay it on: autopoiesis import")
        return
    older = f" (and {found.left_out:,} older ones were not played)" if found.left_out else ""
    near = len(found.rows) - found.fired
    emit(
        f"{found.topic}: would have fired on {found.fired:,} of {plural(found.messages, 'message')} you typed"
        f"{older}; {plural(near, 'more row')} near it or labelled"
    )
    emit(figures_of(found))
    if not found.rows:
        return
    shown = found.rows[:limit]
    width = shutil.get_terminal_size((120, 24)).columns
    table(
        [_cells(row, max(_LEAST_MESSAGE, width - _BESIDE)) for row in shown],
        ["", "id", "day", "tier 2", "label", "trigger", "message"],
    )
    if len(shown) < len(found.rows):
        emit(f"{len(shown)} of {len(found.rows):,} shown; --limit shows more")
    if asks:
        _ask(engine, played, name)
    else:
        emit(f"to label them: autopoiesis topics replay {found.topic} --yes ID --no ID")


def print_moved(
    before: Mapping[str, Replay], after: Mapping[str, Replay], name: str, labelled: Collection[str]
) -> None:
    """Prints what the engine learned from some labels of a playbook: their scores, the other messages on
    which it now fires or no longer does, and how many those are for other playbooks.
    """
    emit(figures_of(after[name]))
    now = {row.id: row for row in after[name].rows}
    moved = [(row, now[row.id]) for row in before[name].rows if row.id in labelled and row.id in now]
    if not moved:
        return
    width = max(_LEAST_MESSAGE, shutil.get_terminal_size((120, 24)).columns - _BESIDE)
    table(
        [
            [
                new.id[:10], _LABELS[new.useful], f"{number(old.score)} → {number(new.score)}",
                _outcome(new), _one_line(new.message)[:width],
            ]
            for old, new in moved
        ],
        ["id", "label", "tier 2", "now", "message"],
    )  # fmt: skip
    more, fewer = _turned(before[name], after[name], labelled)
    emit(f"of the other messages it now fires on {len(more)} more and {len(fewer)} fewer")
    for sign, rows in (("+", more), ("-", fewer)):
        for row in rows[:_TURNED]:
            emit(f"  {sign} {row.id[:10]}  {row.day}  {number(row.score)}  {_one_line(row.message)[:width]}")
        if len(rows) > _TURNED:
            emit(f"  {sign} and {len(rows) - _TURNED} more")
    for other in sorted(before.keys() & after.keys() - {name}):
        more, fewer = _turned(before[other], after[other], ())
        if more or fewer:
            emit(f"{other} now fires on {len(more)} more and {len(fewer)} fewer")


def _turned(before: Replay, after: Replay, labelled: Collection[str]) -> tuple[list[PastRow], list[PastRow]]:
    """The messages on which a playbook now fires, and those on which it no longer does."""
    fired = {row.id: row for row in before.rows if row.fired and row.id not in labelled}
    fires = {row.id: row for row in after.rows if row.fired and row.id not in labelled}
    return (
        [row for name, row in fires.items() if name not in fired],
        [row for name, row in fired.items() if name not in fires],
    )


def _outcome(row: PastRow) -> str:
    """What becomes of a labelled message, and why if that is not what the label wants."""
    if row.fired:
        if row.useful is not False:
            return "fires"
        return f"still fires: “{row.hits[0][:_HITS]}”" if row.hits else "still fires"
    return "does not fire" if not row.useful else "does not fire yet"


def _one_line(text: str) -> str:
    return first_line(" ".join(text.split()))


def figures_of(found: Replay) -> str:
    """Precision and recall of the labels so far, each judged without itself, in one line."""
    if not found.labelled:
        return "no labels yet"
    return (
        f"{plural(found.labelled, 'label')} so far: precision {number(found.precision)}, "
        f"recall {number(found.recall)}, each message judged as if it had no label"
    )


def _cells(row: PastRow, width: int) -> list[str]:
    return [
        "●" if row.fired else "○",
        row.id[:10],
        row.day,
        number(row.score),
        _LABELS[row.useful],
        ", ".join(row.hits)[:_HITS] or "–",
        _one_line(row.message)[:width],
    ]


def _ask(engine: Engine, before: Mapping[str, Replay], name: str) -> None:
    """Asks about the unlabelled messages, one key each."""
    found = before[name]
    waiting = [row for row in found.rows if row.useful is None]
    at, done = 0, set[str]()
    emit("\nIs it right for the message? y yes, n no, s skip, u undo, q stop")
    while at < len(waiting):
        row = waiting[at]
        hits = f", trigger {', '.join(f'“{hit}”' for hit in row.hits)}" if row.hits else ""
        state = "fires" if row.fired else "does not fire"
        emit(f"\n{at + 1} of {len(waiting)}  {row.day}  {state}, tier 2 {number(row.score)}{hits}")
        emit(f"  {' '.join(row.message.split())[:_READ]}")
        key = _key()
        if key in ("q", "\x03", "\x04", "\x1b"):
            break
        if key == "u" and at:
            at -= 1
            found = engine.playbooks.label(found, waiting[at], None)
        elif key in ("y", "n"):
            found = engine.playbooks.label(found, row, key == "y")
            at += 1
            done.add(row.id)
            emit(f"  {key}   {figures_of(found)}")
        elif key == "s":
            at += 1
    if done:
        engine.labels.learn()
        emit("")
        print_moved(before, play(engine), name, done)


def _key() -> str:
    try:
        return click.getchar().lower()
    except (KeyboardInterrupt, EOFError):
        return "q"


@verb(
    "autopoiesis topics suggest",
    "autopoiesis topics suggest --sessions 5 --json",
    "autopoiesis topics suggest --write gauge-residual",
    name="suggest",
)
@click.option(
    "--sessions", type=click.IntRange(2), default=3, show_default=True, help="Sessions it comes up in."
)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--write", "name", metavar="NAME", help="Write this one to topics/.")
@click.option("--drop", metavar="NAME", help="Turn down this one, which an agent proposed.")
def topics_suggest(
    engine: Engine, sessions: int, limit: int, name: str | None, drop: str | None, as_json: bool
) -> None:
    """Suggest playbooks: what you ask for again and again and none covers, and what agents proposed.

    Messages that share words are grouped; no model is asked. A suggestion has no instructions: what to do,
    you write.
    """
    playbooks = engine.playbooks
    if drop is not None:
        made = playbooks.reject(drop)
        if as_json:
            emit_json(made)
        else:
            emit(f"{drop} turned down; git keeps it")
        return
    proposed = playbooks.proposed()
    if name is not None and name in {each.name for each in proposed}:
        made = playbooks.accept(name)
    else:
        with progress("replaying") as report:
            found = playbooks.suggest(report, sessions=sessions)
        if name is None:
            if as_json:
                emit_json({"proposed": proposed, "suggested": found})
            else:
                _print(proposed, found, sessions, limit)
            return
        drafts = {each.draft.name: each.draft for each in found}
        if name not in drafts:
            raise AutopoiesisError(f"no suggestion {visible(name)}", hint="see: autopoiesis topics suggest")
        made = playbooks.create(drafts[name])
    if as_json:
        emit_json(made)
        return
    emit(f"{made.path}: {commit_text(made.commit.revision, made.commit.why)}")
    emit(f"edit it, then: autopoiesis topics replay {made.name}")


def _print(proposed: list[Draft], found: list[Suggestion], sessions: int, limit: int) -> None:
    for draft in proposed:
        emit(f"{draft.name} — proposed by an agent")
        emit(f"  applies when: {draft.when}")
        for line in draft.instructions.splitlines():
            emit(f"  | {line}")
        for example in draft.examples:
            emit(f"  - {example}")
    for each in found[:limit]:
        emit(f"{each.draft.name} — in {plural(each.sessions, 'session')}, {each.days[0]} to {each.days[1]}")
        for message in each.messages[:5]:
            emit(f"  - {first_line(message)[:100]}")
        if len(each.messages) > 5:
            emit(f"  5 of {len(each.messages)} shown; --json has all")
    if len(found) > limit:
        emit(f"{limit} of {len(found)} suggestions shown; --limit shows more")
    if not found:
        emit(f"nothing that you ask for in {sessions} sessions or more is without a playbook")
    if proposed or found:
        emit("to write one: autopoiesis topics suggest --write NAME")
