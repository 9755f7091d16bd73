"""``compile``: the prompt for a new or recorded message, now or at a commit, or the difference of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from engine.errors import TranscriptError
from tui.cli.as_of import as_of_option, checkout_progress, print_commit
from tui.cli.base import (
    emit,
    emit_json,
    emit_problems,
    emit_prompt,
    invocation,
    plain,
    read_text,
    verb,
    visible,
)
from tui.cli.gate_prompt import prompt_for_gate

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.engine import Engine
    from engine.live.messages import SpokenMessage
    from engine.store.repository import Commit

_QUOTED_CHARACTERS = 60


@verb(
    'autopoiesis compile "Can you review the PR that just came in?" --explain',
    "autopoiesis compile - --budget 4096 --json < message.txt",
    'autopoiesis compile "What did Odile ask for?" --as-of 2026-06-10',
    'autopoiesis compile "What did Odile ask for?" --diff "3 days ago" now',
    "autopoiesis compile --message last --diff-before   # what the last message changed",
    "autopoiesis compile --message ses_1a2b3c4d:7 --explain",
    name="compile",
)
@click.argument("text", required=False)
@click.option(
    "--message",
    metavar="last[:N]|ID[:TURN]",
    help="A recorded message instead of TEXT: the last one, or the Nth from the end, of all conversations or"
    " of --session; or the last one of session ID (or the conversation with this path), or its TURN, numbered"
    " as in `session flush`. An agent's turn means the message that it answers.",
)
@click.option("--budget", type=click.IntRange(min=256), help="Tokens for prompt and reply reserve.")
@click.option(
    "--session", "session_id", default="", metavar="ID", help="Include this session's earlier turns."
)
@as_of_option
@click.option("--diff", nargs=2, metavar="A B", help="Show what differs between two such states, and why.")
@click.option(
    "--diff-before",
    is_flag=True,
    help="Show what differs from the prompt of the message before --message, and why.",
)
@click.option("--record", is_flag=True, help="Log the prompt's contents, for a prompt that is actually sent.")
@click.option(
    "--explain", is_flag=True, help="Print the outline instead of the text: sections, sources, reasons."
)
def compile_prompt(
    text: str | None,
    message: str | None,
    budget: int | None,
    session_id: str,
    as_of: str | None,
    diff: tuple[str, str] | None,
    diff_before: bool,
    record: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Compile the prompt for TEXT; `-` reads standard input.

    With --message, for a recorded message: as shown in the workbench, without asking the gate.
    """
    if (text is None) == (message is None):
        raise click.UsageError("give either TEXT or --message")
    if message is not None and (as_of is not None or diff is not None or record):
        raise click.UsageError("--message cannot be used with --as-of, --diff or --record")
    if diff_before and message is None:
        raise click.UsageError("--diff-before needs --message")
    if as_of is not None and diff is not None:
        raise click.UsageError("--as-of cannot be used with --diff, which names both states")
    if record and (as_of is not None or diff is not None):
        raise click.UsageError("--record cannot be used with --as-of or --diff")
    with invocation().engine() as engine:
        if text is None:
            _compile_recorded(engine, message or "", session_id, budget, diff_before, explain, as_json)
            return
        message = read_text(text)
        if diff is not None:
            _compare(engine, message, diff, budget, session_id, explain, as_json)
            return
        commit = None if as_of is None else engine.revisions.find(as_of)
        if commit is None:
            with prompt_for_gate(engine):
                compiled = engine.compile(message, budget=budget, session_id=session_id, record=record)
        else:
            compiled = _recalled(engine, message, commit, budget, session_id)
            print_commit(commit)
        _print(compiled, {} if as_of is None else {"revision": commit}, explain, as_json)


def _compile_recorded(
    engine: Engine,
    name: str,
    session: str,
    budget: int | None,
    with_before: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """The prompt of a recorded message, or its difference from the message before."""
    from engine.live.messages import LAST, find_message, message_before  # noqa: PLC0415 — only this form needs it

    if session and name.partition(":")[0] != LAST:
        raise click.UsageError(f"--session can only be used with --message {LAST}")
    message = find_message(engine, name, session)
    earlier = message_before(engine, message) if with_before else None
    engine.catch_up_index()
    after = engine.compile_of(message.key, budget=budget)
    before = engine.compile_before(message.key, budget=budget) if earlier is not None else None
    if after is None or (earlier is not None and before is None):
        raise TranscriptError("the message no longer exists", where=message.path, hint="try again")
    _print_message(message)
    if earlier is None or before is None:
        _print(after, {"message": message}, explain, as_json)
        return
    names = (f"turn {earlier.turn}", f"turn {message.turn}")
    _print_difference(before, after, names, {"messages": (earlier, message)}, explain, as_json)


def _print_message(message: SpokenMessage) -> None:
    """Prints on standard error which message a name resolved to."""
    from engine.context.delimiters import one_line  # noqa: PLC0415 — only for this form

    quote = one_line(message.text, _QUOTED_CHARACTERS)
    click.echo(visible(f"turn {message.turn} of {message.path} “{quote}”"), err=True)


def _compare(
    engine: Engine,
    message: str,
    states: tuple[str, str],
    budget: int | None,
    session_id: str,
    explain: bool,
    as_json: bool,
) -> None:
    commits = [engine.revisions.find(state) for state in states]
    before, after = (_recalled(engine, message, commit, budget, session_id) for commit in commits)
    names = ["now" if commit is None else commit.revision[:8] for commit in commits]
    for commit in commits:
        if commit is not None:
            print_commit(commit)
    _print_difference(before, after, (names[0], names[1]), {"revisions": commits}, explain, as_json)


def _print(compiled: Compiled, more: Mapping[str, object], explain: bool, as_json: bool) -> None:
    if as_json:
        emit_json({**plain(compiled), **more})
    elif explain:
        emit(_outline(compiled))
    else:
        emit_prompt(compiled.text if compiled.text.endswith("\n") else compiled.text + "\n")
    emit_problems(compiled.problems)


def _print_difference(
    before: Compiled,
    after: Compiled,
    names: tuple[str, str],
    more: Mapping[str, object],
    explain: bool,
    as_json: bool,
) -> None:
    from engine.context.difference import compare  # noqa: PLC0415 — only this form needs it
    from engine.context.difference_text import difference_text  # noqa: PLC0415 — only this form needs it

    difference = compare(before, after, names)
    if as_json:
        emit_json({**plain(difference), **more})
    else:
        emit(difference_text(difference).rstrip("\n"))
        if explain:
            for name, compiled in zip(names, (before, after), strict=True):
                emit(f"\n── {name} ".ljust(101, "─"))
                emit(_outline(compiled).rstrip("\n"))
    emit_problems(dict.fromkeys((*before.problems, *after.problems)))


def _recalled(
    engine: Engine, message: str, commit: Commit | None, budget: int | None, session_id: str
) -> Compiled:
    with checkout_progress() as report:
        return engine.revisions.compile(
            message, commit, budget=budget, session_id=session_id, progress=report
        )


def _outline(compiled: Compiled) -> str:
    from engine.context.explain import outline  # noqa: PLC0415 — only this form needs it

    return outline(compiled)
