"""``import``: imports other agents' sessions as transcripts, and undoes an import."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from tui.cli.base import (
    commit_text,
    emit,
    emit_json,
    emit_problems,
    finish_quietly,
    is_terminal,
    plain,
    progress,
    table,
    verb,
)
from tui.cli.install import agents_without
from tui.cli.rules import told_summary
from tui.render.figures import plural, sizes

if TYPE_CHECKING:
    from engine.conversations.imports import HeldTranscript, ImportRun, Source
    from engine.engine import Engine
    from engine.transcripts.discovery import Agent, Discovery, Found
    from engine.transcripts.importers.drafts import ImportResult
    from engine.transcripts.importers.log import Kind

_AGENTS = ("claude-code", "codex", "gemini", "specstory")
_MUCH = 10
"""A tenth of all sessions."""
_SHOWN = 20
_REASONS = {
    "thinking": ("thinking block", ""),
    "sub-agents": ("record", " of sub-agents"),
    "sub-agent-logs": ("sub-agent log", ""),
    "tool-output": ("tool output", " cut to a line"),
    "images": ("image", ""),
    "injected": ("text", " injected by the program"),
    "system-records": ("system record", ""),
    "repeated-records": ("repeated record", ""),
    "commands": ("command", " of sessions without a word"),
    "taken-back": ("withdrawn message", ""),
    "unreadable-lines": ("unreadable line", ""),
    "redacted": ("secret", ", written as [secret]"),
}
"""Reasons for leaving things out: a singular noun, and what follows it."""


@verb("", "claude-code --dry-run", "~/exports/chat.md ~/shop/.specstory", "--undo", name="import")
@click.argument("what", nargs=-1, metavar="[AGENT] [PATH]...")
@click.option("--yes", "is_agreed", is_flag=True, help="Import without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported; write nothing.")
@click.option("--undo", "is_undone", is_flag=True, help="Undo the last import.")
def import_sessions(
    engine: Engine, what: tuple[str, ...], is_agreed: bool, dry_run: bool, is_undone: bool, as_json: bool
) -> int:
    """Import other agents' sessions as transcripts; a second run adds only what is new.

    Without arguments, lists the sessions of Claude Code, Codex and Gemini CLI on this machine, and of
    SpecStory in this folder and those that your agents worked in, and asks. AGENT (claude-code, codex, gemini
    or specstory) imports only theirs, without asking. PATH is any file or folder: chats in Markdown, text,
    JSON or JSON Lines are recognised by their content. Every import is one commit, without transcripts that
    contain a possible secret; --undo reverts it. What was imported is indexed at once, so that agents and
    `search` find it.
    """
    finish_quietly()
    if is_undone:
        if what or dry_run:
            raise click.UsageError("--undo takes no other arguments; it undoes the last import")
        return _undo(engine, is_agreed, as_json)
    agent, paths = _parse_arguments(what)
    if paths:
        from engine.conversations.imports import Source  # noqa: PLC0415 — `--help` must not load the engine

        kind = cast("Kind", agent) if agent in _AGENTS[:2] else None
        sources = [Source(file, kind) for path in paths for file in _files(path, kind is not None)]
        return _import(engine, sources, {}, dry_run, as_json, {*paths})
    found = _discovered(engine, (agent,) if agent else _AGENTS)
    sources = _sources(found, whole=bool(agent))
    if not agent and not dry_run:
        exit_code = _confirm(found, is_agreed, as_json)
        if exit_code is not None:
            return exit_code
    elif not as_json and not (agent and found.found):
        _emit_preview(found)
    if not found.found and not as_json:
        return 0
    left_out = {"sub-agent-logs": found.sub_agents} if found.sub_agents else {}
    return _import(engine, sources, left_out, dry_run, as_json)


def _parse_arguments(what: Sequence[str]) -> tuple[str, tuple[Path, ...]]:
    """The agent, if the first argument is one, and the paths, which must exist."""
    agent = what[0] if what and what[0] in _AGENTS else ""
    paths = tuple(Path(each).expanduser() for each in what[bool(agent) :])
    for path in paths:
        if not path.exists():
            raise click.UsageError(f"{path} is neither a path nor an agent ({', '.join(_AGENTS)})")
    return agent, paths


def _files(path: Path, is_log: bool) -> list[Path]:
    """The file itself, or the files below a folder that may contain a conversation."""
    from engine.transcripts.chats.read import may_be_chat  # noqa: PLC0415 — only here
    from engine.transcripts.importers.lines import plain_path  # noqa: PLC0415 — only here
    from engine.transcripts.importers.log import id_in_name  # noqa: PLC0415 — only here
    from engine.transcripts.importers.run import is_session_log  # noqa: PLC0415 — only here

    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file())
    if is_log:
        return [file for file in found if is_session_log(file.relative_to(path))]
    return [
        file
        for file in found
        if may_be_chat(file)
        and (plain_path(file).suffix != ".jsonl" or is_session_log(file.relative_to(path)))
        and not {".git", "node_modules", "subagents", "tool-results"} & set(file.relative_to(path).parts)
        # Cline keeps a conversation twice: as it was sent, and as its panel has shown it.
        and not (file.name == "ui_messages.json" and file.with_name("api_conversation_history.json") in found)
        # Cursor does so in JSON and as text, from which less can be told.
        and not (file.suffix == ".txt" and id_in_name(file) and file.with_suffix(".json") in found)
    ]


def _discovered(engine: Engine, agents: Iterable[str]) -> Discovery:
    from engine.transcripts.discovery import discover_all  # noqa: PLC0415 — only here
    from engine.transcripts.importers.state import KnownSessions  # noqa: PLC0415 — only here

    wanted = cast("Iterable[Agent]", agents)
    return discover_all(KnownSessions(engine.workspace), engine.config.imports.home, Path.cwd(), wanted)


def _sources(found: Discovery, *, whole: bool) -> list[Source]:
    from engine.conversations.imports import Source  # noqa: PLC0415 — only here

    # For a named agent all sessions are read, so that edited or truncated ones are noticed.
    wanted = found.found if whole else found.pending
    sources = (
        Source(
            each.path, each.agent if each.agent in ("claude-code", "codex") and not each.is_history else None
        )
        for each in wanted
    )
    return [*dict.fromkeys(sources)]


def _confirm(found: Discovery, is_agreed: bool, as_json: bool) -> int | None:
    """Shows what was found and asks; returns an exit code if nothing is to be imported."""
    if as_json and not is_agreed:
        emit_json(plain(found))
        return 0
    if not as_json:
        _emit_preview(found)
    if not found.pending:
        return 0
    if is_agreed:
        return None
    if not is_terminal():
        emit("nothing was imported; to do it: autopoiesis import --yes")
        return 0
    return (
        None
        if click.confirm(
            f"Import {plural(sum(each.sessions for each in found.pending), 'session')}?", default=True
        )
        else 0
    )


def _emit_preview(found: Discovery) -> None:
    from engine.transcripts.discovery import by_project  # noqa: PLC0415 — only here

    if not found.found:
        emit(f"no sessions found; looked in {', '.join(found.looked_in)}")
        emit("import files or folders with: autopoiesis import PATH…")
        _emit_unread(found)
        return
    rows = [
        [
            agent,
            f"{sum(each.sessions for each in group):,}",
            _days(group),
            _size(group),
            _news(group),
            _shown(project) + (" (only prompts, their logs are gone)" if group[0].is_history else ""),
        ]
        for (agent, project), group in by_project(found.found).items()
    ]
    table(rows, ["agent", "sessions", "days", "size", "to import", "project"])
    _emit_unread(found)
    if not found.pending:
        emit("everything is already imported")


def _emit_unread(found: Discovery) -> None:
    for each in found.unread:
        emit(f"not read: {each}")


def _shown(project: str) -> str:
    from engine.transcripts.importers.state import shown_source  # noqa: PLC0415 — only here

    return shown_source(Path(project)) if project.startswith("/") else project


def _size(found: Iterable[Found]) -> str:
    return sizes(sum({each.path: each.size for each in found}.values()))


def _days(found: Iterable[Found]) -> str:
    days = sorted({day for each in found for day in (each.first, each.last) if day})
    if not days:
        return "–"
    return days[0] if days[0] == days[-1] else f"{days[0]} – {days[-1]}"


def _news(found: Iterable[Found]) -> str:
    words = {"new": "new", "grown": "grown", "second": "more files of imported sessions"}
    counts = {name: sum(each.sessions for each in found if each.news == name) for name in words}
    return ", ".join(f"{count} {words[name]}" for name, count in counts.items() if count) or "–"


def _import(
    engine: Engine,
    sources: Sequence[Source],
    left_out: Mapping[str, int],
    dry_run: bool,
    as_json: bool,
    named: Collection[Path] = (),
) -> int:
    from engine.conversations.imports import import_sessions as run  # noqa: PLC0415 — `--help` must not load the engine

    with progress("importing") as report:
        done = 0

        def count_result(_result: ImportResult) -> None:
            nonlocal done
            done += 1
            report(done, max(len(sources), done))

        ran = run(engine, sources, dry_run=dry_run, on_result=count_result)
    counts = {**left_out, **ran.left_out}
    if as_json:
        if not dry_run:
            engine.recaps.write_wanted(_without_recap(engine, ran))
            _index(engine, ran)
        emit_json(_document(ran, counts))
        return 0
    _emit_results(ran.results, named)
    _emit_sum(ran, counts, dry_run)
    _emit_held(ran.held)
    _emit_rules(engine, ran, dry_run)
    _emit_recaps(engine, ran, dry_run)
    if not dry_run:
        _index(engine, ran)
    return 0


def _index(engine: Engine, ran: ImportRun) -> None:
    """Index what was imported, so that the agent's first message need not wait for it, and learn what of it
    is worth telling if it is a good part of all.
    """
    if not (written := _written(ran)):
        return
    with progress("indexing") as report:
        engine.catch_up_index(report)
    is_much = _MUCH * len(written) >= len(engine.index.past().sessions)
    if is_much and engine.config.hooks.past_sessions == "learned":
        with progress("learning what is worth telling") as report:
            engine.recall.own.learn(engine.index, report)


def _emit_rules(engine: Engine, ran: ImportRun, dry_run: bool) -> None:
    if dry_run or not engine.config.rules.learn or not any(result.turns_new for result in ran.results):
        return
    with progress("learning rules") as report:
        book = engine.rules.learn(lambda read: report(read, max(read, 1))).learned.book
    if any(rule.state in ("in force", "waiting") for rule in book.rules):
        emit(f"{told_summary(book)}: autopoiesis rules")


def _emit_recaps(engine: Engine, ran: ImportRun, dry_run: bool) -> None:
    if dry_run or not (paths := _without_recap(engine, ran)):
        return
    with progress("writing recaps") as report:
        done = engine.recaps.write_wanted(paths, lambda read: report(read, len(paths)))
    if done.recaps:
        days = plural(len({each.day for each in done.recaps}), "day")
        emit(f"what you did on {days} is in knowledge/journal; ask your agent: what did we do last week?")


def _written(ran: ImportRun) -> list[str]:
    return [result.target for result in ran.results if result.turns_new and result.target]


def _without_recap(engine: Engine, ran: ImportRun) -> list[str]:
    """The sessions with new turns, and those that a killed import wrote and did not come to."""
    engine.recaps.commit_left()  # of a killed one, too
    written = _written(ran)
    others = {result.target for result in ran.results if result.target} - {*written}
    return [*written, *engine.recaps.missing(sorted(others))]


def _document(ran: ImportRun, left_out: Mapping[str, int]) -> dict[str, object]:
    return {
        "sessions": ran.results,
        "left_out": dict(left_out),
        "commit": ran.commit.revision,
        "uncommitted": ran.commit.why,
        "committed": ran.committed,
        "held": ran.held,
    }


def _emit_results(results: Sequence[ImportResult], named: Collection[Path]) -> None:
    """Lists what became of each source; of the files of a folder that are no conversations, only how many."""
    from engine.transcripts.chats.importing import UNKNOWN_SPEAKERS  # noqa: PLC0415 — `--help` must not load the engine
    from engine.transcripts.importers.scripted import SCRIPT  # noqa: PLC0415 — `--help` must not load the engine

    lines: list[str] = []
    skipped: list[str] = []
    no_conversations = 0
    for result in results:
        if result.status in ("new", "grown", "replaced"):
            turns = "turn " if result.turns_new == 1 else "turns"
            lines.append(f"{result.status:<8} {result.turns_new:>5} {turns}  {result.target}")
        elif result.why == UNKNOWN_SPEAKERS and result.source not in named:
            no_conversations += 1
        elif result.status == "skipped":
            skipped.append(f"skipped  {result.source}: {result.why}")
        if result.odd_lines:
            lines.append(f"         {plural(result.odd_lines, 'malformed line')} skipped in {result.source}")
    lines += skipped
    for line in lines[:_SHOWN]:
        emit(line)
    if len(lines) > _SHOWN:
        emit(f"{_SHOWN} of {len(lines)} shown; --json has all")
    scripted = sum(result.author == SCRIPT for result in results)
    if scripted:
        emit(
            f"{plural(scripted, 'session')} held by a script, each with the same words at first: searchable,"
            " but they make no rules and have no recap"
        )
    _emit_others([result for result in results if result.author not in ("", SCRIPT)])
    if no_conversations:
        what = "file is no conversation" if no_conversations == 1 else "files are no conversations"
        emit(f"{no_conversations:,} {what}; --json has all")


def _emit_others(results: Sequence[ImportResult]) -> None:
    """Says which sessions are other people's, and how to say that they are not."""
    from engine.store.authorship import OWN_ADDRESS, other_address  # noqa: PLC0415 — `--help` must not load it
    from engine.transcripts.chats.importing import ACCOUNT  # noqa: PLC0415 — `--help` must not load the engine

    for is_account, said in (False, "committed by"), (True, "of the"):
        found = [each for each in results if each.author.startswith(ACCOUNT) == is_account]
        if found:
            authors = sorted({each.author for each in found})
            emit(
                f"{plural(len(found), 'session')} {said} {', '.join(authors)}: searchable, but"
                " they make no rules, and nothing of theirs becomes knowledge without review"
            )
            yours = found[0].author.removeprefix(ACCOUNT) if is_account else other_address(found[0].source)
            is_named = yours and len(authors) == 1
            emit(
                f"if that is you: git config --global --add {OWN_ADDRESS}"
                f" {shlex.quote(yours) if is_named else 'ADDRESS'}, and import again"
            )


def _emit_sum(ran: ImportRun, left_out: Mapping[str, int], dry_run: bool) -> None:
    counts: dict[str, int] = {}
    for result in ran.results:
        counts[result.status] = counts.get(result.status, 0) + 1
    summary = (
        ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no sessions found"
    )
    turns = sum(result.turns_new for result in ran.results)
    added = f"; {turns:,} new turns" if turns else ""
    emit(f"{summary}{added}{' (dry run, nothing written)' if dry_run else ''}")
    if left_out and turns:
        reasons = (_left_out(reason, count) for reason, count in left_out.items() if count)
        emit(f"left out: {', '.join(reasons)}")
    if dry_run:
        return
    if ran.commit.revision:
        emit(f"{commit_text(ran.commit.revision, '')}; undo with: autopoiesis import --undo")
    elif turns and ran.commit.why:
        emit(commit_text("", ran.commit.why))
    if turns:
        emit("what your agents would have been told in them: autopoiesis backtest")
        emit("next, extract knowledge from them: autopoiesis harvest --transcripts")
        for name, title in agents_without():
            emit(f"to give {title} this memory: autopoiesis install {name}")


def _left_out(reason: str, count: int) -> str:
    if reason not in _REASONS:
        return f"{count:,} {reason}"
    noun, rest = _REASONS[reason]
    return f"{plural(count, noun)}{rest}"


def _emit_held(held: Sequence[HeldTranscript]) -> None:
    if not held:
        return
    emit("left out of the commit:")
    for each in held[:_SHOWN]:
        emit(f"  {each.path}{_lines(each.lines)}: {each.why}")
    if len(held) > _SHOWN:
        emit(f"  {_SHOWN} of {len(held)} shown; --json has all")
    from engine.redaction.commits import HINT  # noqa: PLC0415 — imports the patterns

    if any(each.lines for each in held):
        emit(f"{HINT}; the next import then commits them")


def _lines(lines: Sequence[int]) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
    return f", line {shown}" if len(lines) == 1 else f", lines {shown}"


def _undo(engine: Engine, is_agreed: bool, as_json: bool) -> int:
    from engine.conversations.imports import last_import, undo_import  # noqa: PLC0415 — only here

    undo = last_import(engine)
    if undo is None:
        emit_problems(["autopoiesis: no import in the history to undo"])
        return 1
    if undo.blocked:
        changed = "".join(f"\n  {path}" for path in undo.blocked[:_SHOWN])
        emit_problems(
            [
                f"autopoiesis: nothing was undone, because {plural(len(undo.blocked), 'transcript')}"
                f" changed since:{changed}\n(restore first: git restore PATH)"
            ]
        )
        return 1
    if not as_json:
        emit(f"{undo.subject} ({undo.revision[:8]}, {undo.at:%Y-%m-%d %H:%M} UTC)")
        for path in [*undo.removed, *undo.restored][:_SHOWN]:
            emit(f"  {'deleted' if path in undo.removed else 'restored'}  {path}")
        total = len(undo.removed) + len(undo.restored)
        if total > _SHOWN:
            emit(f"  {_SHOWN} of {total} shown")
    if not is_agreed:
        if not is_terminal():
            emit("nothing was undone; to do it: autopoiesis import --undo --yes")
            return 0
        if not click.confirm("Undo this import?", default=False):
            return 0

    def retract(sessions: list[str]) -> None:
        engine.recaps.forget(sessions)
        engine.recaps.write_wanted(undo.restored)

    change = undo_import(engine, undo, retract)
    if as_json:
        emit_json({"undone": plain(undo), "commit": change.revision, "uncommitted": change.why})
    else:
        emit(f"undone, {commit_text(change.revision, change.why)}")
    return 0
