"""``compile``: the prompt for a message, within its budget; now, at any commit, or at two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from tui.cli.asking import answering
from tui.cli.base import (
    directory_option,
    emit,
    emit_json,
    emit_problems,
    emit_raw,
    example,
    invocation,
    json_option,
    plain,
    read_text,
    visible,
)

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.engine import Engine
    from engine.store.repository import Commit


@click.command(
    "compile",
    epilog=example(
        'autopoiesis compile "Can you review the PR that just came in?" --explain',
        "autopoiesis compile - --budget 4096 --json < message.txt",
        'autopoiesis compile "What did Odile ask for?" --as-of 2026-06-10',
        'autopoiesis compile "What did Odile ask for?" --diff "3 days ago" now',
    ),
)
@directory_option
@click.argument("text")
@click.option("--budget", type=click.IntRange(min=256), help="Tokens for prompt and reply reserve.")
@click.option("--session", "session_id", default="", metavar="ID", help="Bring this session's earlier turns.")
@click.option(
    "--as-of",
    metavar="REV|DATE",
    help="As it would have been at a commit, tag, branch or date: 2026-10-01, '2026-10-01 14:00' (UTC),"
    " '3 days ago', 'last week'; `now` is the working tree.",
)
@click.option("--diff", nargs=2, metavar="A B", help="What differs between two such states, and why.")
@click.option("--record", is_flag=True, help="Log what the prompt holds, because it is really sent.")
@click.option("--explain", is_flag=True, help="Print the outline instead of the text: what, where from, why.")
@json_option
def compile_prompt(
    text: str,
    budget: int | None,
    session_id: str,
    as_of: str | None,
    diff: tuple[str, str] | None,
    record: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Compile the prompt for TEXT; `-` reads standard input."""
    if as_of is not None and diff is not None:
        raise click.UsageError("--as-of and --diff cannot go together: --diff names both states itself.")
    if record and (as_of is not None or diff is not None):
        raise click.UsageError("--record is for a prompt of now: the past was not sent.")
    with invocation().engine() as engine:
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
            _say(commit)
        if as_json:
            emit_json(compiled if as_of is None else {**plain(compiled), "revision": commit})
        elif explain:
            emit(_outline(compiled))
        else:
            emit_raw(compiled.text if compiled.text.endswith("\n") else compiled.text + "\n")
        emit_problems(compiled.problems)


def _compare(
    engine: Engine,
    message: str,
    states: tuple[str, str],
    budget: int | None,
    session_id: str,
    explain: bool,
    as_json: bool,
) -> None:
    from engine.context.difference import compare  # noqa: PLC0415 — only this form needs it
    from engine.context.difference_text import difference_text  # noqa: PLC0415 — likewise

    commits = [engine.revisions.find(state) for state in states]
    before, after = (_recalled(engine, message, commit, budget, session_id) for commit in commits)
    names = ["now" if commit is None else commit.revision[:8] for commit in commits]
    difference = compare(before, after, (names[0], names[1]))
    for commit in commits:
        if commit is not None:
            _say(commit)
    if as_json:
        emit_json({**plain(difference), "revisions": commits})
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
    with _laying_out() as report:
        return engine.revisions.compile(
            message, commit, budget=budget, session_id=session_id, progress=report
        )


@contextmanager
def _laying_out() -> Iterator[Callable[[int, int], None]]:
    """A progress bar from the first step on; a state that lies ready shows none."""
    with ExitStack() as shown:
        bars: list[Callable[[int, int], None]] = []

        def report(done: int, total: int) -> None:
            if not bars:
                from tui.cli.search import progress  # noqa: PLC0415 — a prompt of now needs no bar

                bars.append(shown.enter_context(progress("laying out the past")))
            bars[0](done, total)

        yield report


def _say(commit: Commit) -> None:
    """Says on standard error which commit a date or name has led to."""
    from engine.store.revisions import described  # noqa: PLC0415 — only for the past

    click.echo(visible(f"as of {described(commit)}"), err=True)


def _outline(compiled: Compiled) -> str:
    from engine.context.explain import outline  # noqa: PLC0415 — only this form needs it

    return outline(compiled)
