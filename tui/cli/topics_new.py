"""Playbooks that are made: new ones, proposals, imports, and what each would have done in the past."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from engine.errors import AutopoiesisError
from engine.store import programs
from tui.cli.activation import number
from tui.cli.base import (
    commit_text,
    emit,
    emit_json,
    emit_problems,
    emitted_json,
    is_terminal,
    plain,
    progress,
    read_text,
    table,
    verb,
    visible,
)
from tui.kit.editor import editor_command, with_terminal
from tui.render.figures import plural
from tui.render.safe import first_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engine.engine import Engine
    from engine.playbooks.draft import Draft
    from engine.playbooks.past import PastRow, Replay
    from engine.playbooks.playbooks import Quote
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
_WHEN = 56
_ENOUGH = 15


def play(engine: Engine, most: int | None = None) -> dict[str, Replay]:
    """Plays the past to every playbook, with a progress bar on a terminal."""
    from engine.playbooks.past import MOST_MESSAGES  # noqa: PLC0415 — loads the engine

    with progress("replaying") as report:
        return engine.playbooks.replay_all(report, most=most or MOST_MESSAGES)


def tree_of(found: Replay) -> dict[str, Any]:
    """A replay as JSON."""
    figures = {name: getattr(found, name) for name in ("fired", "labelled", "precision", "recall")}
    return {**plain(found), **figures}


@verb("autopoiesis topics replay release", "autopoiesis topics replay release --json",
      "autopoiesis topics replay release --yes 3f9c21ab --no 77be0129", name="replay")  # fmt: skip
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
    if emitted_json(as_json, tree_of(found)):
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


@verb("autopoiesis topics suggest", "autopoiesis topics suggest --sessions 5 --json",
      "autopoiesis topics suggest --write gauge-residual", name="suggest")  # fmt: skip
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
    if emitted_json(as_json, made):
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


@verb("autopoiesis topics import ../gauges", "autopoiesis topics import ~ --only pdf-forms --apply",
      name="import")  # fmt: skip
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False
)
@click.option("--only", multiple=True, metavar="NAME", help="Only this playbook. Repeatable.")
@click.option("--full", is_flag=True, help="Show the playbooks in full.")
@click.option("--apply", "is_applied", is_flag=True, help="Write them; without it, they are only shown.")
def topics_import(
    engine: Engine, folder: Path, only: tuple[str, ...], full: bool, is_applied: bool, as_json: bool
) -> None:
    """Import playbooks from a repository, or from your home folder, as other agents keep them.

    Read are skills and commands of Claude Code (.claude/), rules of Cursor (.cursor/rules/) and the sections
    of AGENTS.md. The files may be a stranger's: read what would be written before you apply it. Nothing in
    them runs. An import again updates what changed, and leaves alone what you edited.
    """
    from engine.playbooks.draft import text_of  # noqa: PLC0415 — loads the engine
    from engine.playbooks.foreign import found_in  # noqa: PLC0415 — likewise

    found = found_in(folder.expanduser().resolve(), engine.library, engine.files)
    names = {each.draft.name for each in found}
    if unknown := [name for name in only if name not in names]:
        raise AutopoiesisError(f"no playbook {visible(unknown[0])} in {folder}", hint="run it without --only")
    found = [each for each in found if not only or each.draft.name in only]
    made = engine.playbooks.import_found(found) if is_applied else []
    if as_json:
        rows = [{**plain(each), "name": each.draft.name, "why": each.why} for each in found]
        emit_json({"found": rows, "written": made})
        return
    if not found:
        emit(f"no skills, commands, rules or AGENTS.md in {folder}")
        return
    table(
        [
            [each.draft.name, each.kind, each.draft.origin, each.state, first_line(each.draft.when)[:_WHEN]]
            for each in found
        ],
        ["name", "kind", "from", "state", "when"],
    )
    for each in found:
        for note in (*((each.why,) if each.state in ("edited", "taken") else ()), *each.notes):
            emit(f"{each.draft.name}: {note}")
        if full:
            emit(f"\n{text_of(each.draft).decode()}")
    if is_applied:
        commit = f"; {commit_text(made[0].commit.revision, made[0].commit.why)}" if made else ""
        emit(f"{plural(len(made), 'playbook')} written{commit}")
        return
    waiting = sum(each.state in ("new", "changed") for each in found)
    if waiting:
        emit(f"to read them in full: --full; to write {plural(waiting, 'playbook')}: --apply")
    else:
        emit("nothing to write")


@verb("autopoiesis topics new   # asks",
      'autopoiesis topics new "Release" --when "A version is prepared." --instructions - <steps.md',
      'autopoiesis topics new "Release" --when "A version is prepared." --example "cut 1.4"',
      name="new")  # fmt: skip
@click.argument("title", required=False, default="")
@click.option("--when", default="", help="When it applies, in one sentence.")
@click.option(
    "--instructions", default="", metavar="TEXT|-", help="What to do then, as Markdown; - reads it."
)
@click.option("--example", "examples", multiple=True, help="A way to ask for it. Repeatable; 10–15 are good.")
@click.option(
    "--examples", "file", type=click.File(encoding="utf-8"), help="A file of ways to ask, one a line."
)
@click.option("--ask", is_flag=True, help="Have the configured model write ways to ask, once.")
@click.option("--edit", is_flag=True, help="Fill in the rest, and check it, in $EDITOR.")
@click.option("--no-replay", is_flag=True, help="Do not show what it would have done in the past.")
def topics_new(
    engine: Engine,
    title: str,
    when: str,
    instructions: str,
    examples: tuple[str, ...],
    file: TextIO | None,
    ask: bool,
    edit: bool,
    no_replay: bool,
    as_json: bool,
) -> None:
    """Make a playbook, and show which of your past messages would have activated it.

    On a terminal it asks for what is missing, shows the draft, and writes it once you agree. The ways to ask
    for it are what teaches the engine to recognise the situation: type some, or have a model write them.
    """
    from engine.playbooks.draft import drafted, text_of  # noqa: PLC0415 — loads the engine

    asks = is_terminal() and not as_json
    if not (title and when) and not asks and not edit:
        raise click.UsageError("give TITLE and --when, or run it on a terminal")
    if asks and not edit:
        title = title or click.prompt("Title")
        when = when or click.prompt("It applies when")
    is_edited = edit
    lines = [*examples, *(file.read().splitlines() if file is not None else ())]
    if edit and not (title and when):
        draft = _edited(engine, None)
        edit = False
    else:
        draft = drafted(title, when, read_text(instructions), lines)
    if asks and not edit and not draft.instructions:
        draft = drafted(title, when, _lines("What to do then, in Markdown"), lines)
    engine.playbooks.refuse_taken(draft)
    if ask or not draft.examples:
        draft = _with_written(engine, draft, must=ask, asks=asks)
    if asks and not edit and not draft.examples:
        emit("Ways to ask for it teach the engine to recognise the situation: 10–15 are good.")
        draft = drafted(title, when, draft.instructions, _lines("Ways to ask, one a line").splitlines())
    if edit:
        draft = _edited(engine, draft)
    while asks:
        emit(f"\n{text_of(draft).decode()}")
        answer = click.prompt(
            "w write it, e edit it, q quit", type=click.Choice(["w", "e", "q"]), default="w"
        )
        if answer == "q":
            emit("nothing was written")
            return
        if answer == "w":
            break
        draft, is_edited = _again(engine, draft), True
    made = engine.playbooks.create(draft, from_form=is_edited)
    found = None if no_replay else play(engine)
    if as_json:
        emit_json(
            {**plain(made), "draft": draft, "replay": None if found is None else tree_of(found[made.name])}
        )
        return
    committed = commit_text(made.commit.revision, made.commit.why)
    emit(f"{made.path}: {plural(len(draft.examples), 'way')} to ask; {committed}")
    if len(draft.examples) < _ENOUGH // 3:
        emit_problems([f"few ways to ask: add some to `examples` in {made.path}, or --ask a model for them"])
    if not draft.instructions:
        emit_problems([f"{made.path} has no instructions yet: write them there"])
    if found is not None:
        print_replay(engine, found, made.name, asks=asks)


def _again(engine: Engine, draft: Draft) -> Draft:
    """A draft edited once more; if what was written is not complete, it is said, and the form kept."""
    try:
        return _edited(engine, draft)
    except AutopoiesisError as error:
        emit_problems([error])
        return draft


def _with_written(engine: Engine, draft: Draft, *, must: bool, asks: bool) -> Draft:
    """The draft with ways to ask by a model, if one is configured and the person agrees to the cost."""
    quote = engine.playbooks.quote(draft)
    if quote is None and not must:
        return draft
    if quote is not None and must:
        click.echo(f"asking {quote.model} once, for {_price(quote)}", err=True)
    elif quote is not None:
        question = f"Have {quote.model} write {_ENOUGH} ways to ask for it, for {_price(quote)}?"
        if not (asks and click.confirm(question, default=True)):
            return draft
    try:
        written = engine.playbooks.utterances(draft)
    except AutopoiesisError as error:
        if must and not asks:
            raise
        emit_problems([error])
        return draft
    cost = "" if written.usd is None else f" for ${written.usd:.4f}"
    click.echo(f"{written.model} wrote {plural(len(written.examples), 'way')} to ask{cost}", err=True)
    from dataclasses import replace  # noqa: PLC0415 — as above

    return replace(draft, examples=tuple(dict.fromkeys((*draft.examples, *written.examples))))


def _price(quote: Quote) -> str:
    return "a price that is not known" if quote.usd is None else f"at most ${quote.usd:.4f}"


def _lines(what: str) -> str:
    """Lines typed up to an empty one."""
    emit(f"{what}; an empty line ends it.")
    found: list[str] = []
    while line := click.prompt(" ", default="", show_default=False, prompt_suffix="> "):
        found.append(line)
    return "\n".join(found)


def _edited(engine: Engine, draft: Draft | None) -> Draft:
    """A draft as changed in the person's editor.

    Raises:
        AutopoiesisError: No editor is set, it failed, or the draft is not complete; the form is kept.
    """
    playbooks = engine.playbooks
    words = editor_command(engine.workspace.root / playbooks.open_form(draft))
    program = programs.find(words[0]) if words else None
    if program is None:
        raise AutopoiesisError("no editor is set", hint="set $EDITOR")
    code, problem = with_terminal([program, *words[1:]])
    if problem or code:
        raise AutopoiesisError(f"{words[0]} failed: {problem or f'exit code {code}'}; nothing was written")
    return playbooks.read_form()
