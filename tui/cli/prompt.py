"""``compile``: the prompt for a message, within its budget."""

from __future__ import annotations

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
    read_text,
)


@click.command(
    "compile",
    epilog=example(
        'autopoiesis compile "Can you review the PR that just came in?" --explain',
        "autopoiesis compile - --budget 4096 --json < message.txt",
    ),
)
@directory_option
@click.argument("text")
@click.option("--budget", type=click.IntRange(min=256), help="Tokens for prompt and reply reserve.")
@click.option("--session", "session_id", default="", metavar="ID", help="Bring this session's earlier turns.")
@click.option("--explain", is_flag=True, help="Print the outline instead of the text: what, where from, why.")
@json_option
def compile_prompt(text: str, budget: int | None, session_id: str, explain: bool, as_json: bool) -> None:
    """Compile the prompt for TEXT; `-` reads standard input."""
    with invocation().engine() as engine, answering(engine):
        compiled = engine.compile(read_text(text), budget=budget, session_id=session_id)
        if as_json:
            emit_json(compiled)
        elif explain:
            from engine.context.explain import outline  # noqa: PLC0415 — only this form needs it

            emit(outline(compiled))
        else:
            emit_raw(compiled.text if compiled.text.endswith("\n") else compiled.text + "\n")
        emit_problems(compiled.problems)
