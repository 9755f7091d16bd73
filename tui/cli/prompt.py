"""``compile``: the prompt for a message, within its budget; now, at any commit, or at two.

The message is a new one, or one that stands in a conversation already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from engine.errors import TranscriptError
from tui.cli.asking import answering
from tui.cli.base import emit, emit_json, emit_problems, emit_raw, invocation, plain, read_text, verb, visible
from tui.cli.past import as_of_option, laying_out, say_commit

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.engine import Engine
    from engine.live.messages import SpokenMessage
    from engine.store.repository import Commit

_SAID_CHARACTERS = 60
"""Of a message, what is quoted to say which it is."""


@verb(
    'autopoiesis compile "Can you review the PR that just came in?" --explain',
    "autopoiesis compile - --budget 4096 --json < message.txt",
    'autopoiesis compile "What did Odile ask for?" --as-of 2026-06-10',
    'autopoiesis compile "What did Odile ask for?" --diff "3 days ago" now',
    "autopoiesis compile --message last --diff-before   # what the last message has changed",
    "autopoiesis compile --message ses_1a2b3c4d:7 --explain",
    name="compile",
)
@click.argument("text", required=False)
@click.option(
    "--message",
    metavar="last[:N]|ID[:TURN]",
    help="In place of TEXT a message that stands in a conversation: the last one, or the Nth from the end, of"
    " all or of --session; or the last one in session ID (or the conversation with this path); or its TURN,"
    " counted as in `session flush`. For an agent's turn it is the message that it answers.",
)
@click.option("--budget", type=click.IntRange(min=256), help="Tokens for prompt and reply reserve.")
@click.option("--session", "session_id", default="", metavar="ID", help="Bring this session's earlier turns.")
@as_of_option
@click.option("--diff", nargs=2, metavar="A B", help="What differs between two such states, and why.")
@click.option(
    "--diff-before",
    is_flag=True,
    help="What differs from the prompt of the message before --message, and why.",
)
@click.option("--record", is_flag=True, help="Log what the prompt holds, because it is really sent.")
@click.option("--explain", is_flag=True, help="Print the outline instead of the text: what, where from, why.")
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

    With --message, for a message that was said already: as the workbench shows it, without asking the gate.
    """
    if (text is None) == (message is None):
        raise click.UsageError("Give TEXT, or --message for one that was said already.")
    if message is not None and (as_of is not None or diff is not None or record):
        raise click.UsageError(
            "--message is for a prompt of now: it goes with none of --as-of, --diff, --record."
        )
    if diff_before and message is None:
        raise click.UsageError("--diff-before needs --message: a new message has none before it.")
    if as_of is not None and diff is not None:
        raise click.UsageError("--as-of and --diff cannot go together: --diff names both states itself.")
    if record and (as_of is not None or diff is not None):
        raise click.UsageError("--record is for a prompt of now: the past was not sent.")
    with invocation().engine() as engine:
        if text is None:
            _said(engine, message or "", session_id, budget, diff_before, explain, as_json)
            return
        message = read_text(text)
        if diff is not None:
            _compare(engine, message, diff, budget, session_id, explain, as_json)
            return
        commit = None if as_of is None else engine.revisions.find(as_of)
        if commit is None:
            with answering(engine):
                compiled = engine.compile(message, budget=budget, session_id=session_id, record=record)
        else:
            compiled = _recalled(engine, message, commit, budget, session_id)
            say_commit(commit)
        _print(compiled, {} if as_of is None else {"revision": commit}, explain, as_json)


def _said(
    engine: Engine,
    name: str,
    session: str,
    budget: int | None,
    with_before: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """The prompt of a message that was said already, or how it differs from that of the one before."""
    from engine.live.messages import LAST, find_message, message_before  # noqa: PLC0415 — only this form needs it

    if session and name.partition(":")[0] != LAST:
        raise click.UsageError(f"--session goes with --message {LAST}: any other names its own conversation.")
    message = find_message(engine, name, session)
    earlier = message_before(engine, message) if with_before else None
    engine.catch_up_index()
    after = engine.compile_of(message.key, budget=budget)
    before = engine.compile_before(message.key, budget=budget) if earlier is not None else None
    if after is None or (earlier is not None and before is None):
        raise TranscriptError("the message is gone", where=message.path, hint="try again")
    _say_message(message)
    if earlier is None or before is None:
        _print(after, {"message": message}, explain, as_json)
        return
    names = (f"turn {earlier.turn}", f"turn {message.turn}")
    _print_difference(before, after, names, {"messages": (earlier, message)}, explain, as_json)


def _say_message(message: SpokenMessage) -> None:
    """Says on standard error which message a name has led to."""
    from engine.context.delimiters import one_line  # noqa: PLC0415 — only for this form

    said = one_line(message.text, _SAID_CHARACTERS)
    click.echo(visible(f"turn {message.turn} of {message.path} “{said}”"), err=True)


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
            say_commit(commit)
    _print_difference(before, after, (names[0], names[1]), {"revisions": commits}, explain, as_json)


def _print(compiled: Compiled, more: Mapping[str, object], explain: bool, as_json: bool) -> None:
    if as_json:
        emit_json({**plain(compiled), **more})
    elif explain:
        emit(_outline(compiled))
    else:
        emit_raw(compiled.text if compiled.text.endswith("\n") else compiled.text + "\n")
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
    from engine.context.difference_text import difference_text  # noqa: PLC0415 — likewise

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
    with laying_out() as report:
        return engine.revisions.compile(
            message, commit, budget=budget, session_id=session_id, progress=report
        )


def _outline(compiled: Compiled) -> str:
    from engine.context.explain import outline  # noqa: PLC0415 — only this form needs it

    return outline(compiled)
