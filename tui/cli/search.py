"""``search``, ``recall`` and ``index``: what a search finds, what an agent is answered, and the index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.search.results import CATEGORIES, SearchResult
from tui.cli.base import emit, emit_problems, emitted_json, progress, table, verb
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine


@verb("'connection pool' --category journal --limit 5 --explain")
@click.argument("query", nargs=-1, required=True)
@click.option("--category", type=click.Choice(CATEGORIES), help="Only this kind of file.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many.")
@click.option("--explain", is_flag=True, help="Explain each result's rank: score, shares, ranks.")
def search(
    engine: Engine, query: tuple[str, ...], category: str | None, limit: int, explain: bool, as_json: bool
) -> None:
    """Search all of memory for QUERY; every character is literal."""
    with progress("indexing") as report:
        behind = engine.catch_up_index(report)
    if behind:
        emit_problems([f"warning: {behind}; the latest changes may be missing"])
    results = engine.search(" ".join(query), category=category, limit=limit)
    if engine.index.without_vectors:
        emit_problems([f"warning: searched by words only: {engine.index.without_vectors}"])
    if emitted_json(as_json, results):
        return
    if not results:
        emit("no results")
    for result in results:
        end = f"-{result.end_line}" if result.end_line > result.start_line else ""
        place = f"{result.path}:{result.start_line}{end}"
        emit(click.unstyle(f"{place}  [{result.category}] {result.heading}".rstrip()))
        emit("    " + " ".join(result.snippet.split()))
        if result.copies:
            emit(f"    {plural(result.copies, 'more place')} with the same text")
        if explain:
            _explain(result)


@verb("'why does the import skip chats?'", "'how do I run the tests?' --budget 600 --json")
@click.argument("question", nargs=-1, required=True)
@click.option(
    "--budget", type=click.IntRange(200, 4_000), default=1_500, show_default=True, help="Most tokens."
)
@click.option("--session", metavar="ID", default="", help="Answer for this session.")
def recall(engine: Engine, question: tuple[str, ...], budget: int, session: str, as_json: bool) -> None:
    """Answer QUESTION as the MCP tool of this name answers an agent in this folder.

    The answer is whole passages, only as many as are relevant, and the playbooks that apply. To list places
    instead: `autopoiesis search`.
    """
    from engine.agents.log import HookLog  # noqa: PLC0415 — not for `--help`
    from engine.gateways.memory import Memory  # noqa: PLC0415 — likewise
    from engine.redaction.detect import redacted, without_secrets  # noqa: PLC0415 — likewise

    with progress("indexing") as report:
        engine.catch_up_index(report)
    sessions = HookLog(engine.files, engine.clock) if session else None
    answer = Memory(engine, sessions, str(Path.cwd())).recall(" ".join(question), budget, session)
    if not emitted_json(as_json, without_secrets(answer.model_dump(mode="json"))):
        emit(redacted(answer.plain()) if answer.text else "the memory has no answer")


def _contents(files: int, chunks: int) -> str:
    return f"{plural(files, 'file')}, {plural(chunks, 'chunk')}"


def _explain(result: SearchResult) -> None:
    from tui.render.search import plain_ranks, plain_shares  # noqa: PLC0415 — only with --explain

    emit(f"    {result.score:.3f}  {result.why}")
    for line in (plain_shares(result), plain_ranks(result)):
        if line:
            emit(f"           {line}")


@verb("", "--rebuild")
@click.option("--rebuild", is_flag=True, help="Delete the index and rebuild it from the files.")
@click.option("--verify", is_flag=True, help="Check every page and row; rebuild if something is wrong.")
def index(engine: Engine, rebuild: bool, verify: bool, as_json: bool) -> None:
    """Update the search index from the files, and show how many of each kind it contains."""
    with progress("indexing") as report:
        checked = engine.index.verify(report) if verify else None
        done = engine.index.rebuild(report) if rebuild else engine.refresh_index(report)
    if done is not None and done.waiting:
        with progress("vectors") as report:
            engine.index.finish_vectors(report)
    if emitted_json(as_json, {"verified": checked, "refreshed": done, "status": engine.index.status()}):
        return
    status = engine.index.status()
    if checked is not None:
        emit("all pages and rows are intact" if checked.sound else "; ".join(checked.problems))
    if done is not None:
        changed = f"{done.added} added, {done.changed} changed, {done.removed} removed"
        emit(f"{_contents(status.files, done.chunks)}: {changed} in {done.seconds:.1f} s")
        for skipped in done.skipped:
            emit(f"  skipped {skipped.path}: {skipped.why}")
    elif status.state == "ready":
        emit(f"{_contents(status.files, status.chunks)}; the workspace is read-only")
    else:
        emit(f"{status.why}; the workspace is read-only, so the files are searched directly")
    if status.categories:
        heads = ("", "category", "files", "chunks")
        table(
            [["", each.category, f"{each.files:,}", f"{each.chunks:,}"] for each in status.categories], heads
        )
    without = status.without_vectors or ("" if status.vectors or done is None else done.vectors)
    if without:
        emit(f"  searching by words only: {without}")
    elif status.vectors_coming:
        emit(f"  {status.vectors_coming}")
