"""``import``: sessions of other agents, found on this machine or named, as transcripts; and the way back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from tui.cli.base import emit, emit_json, emit_problems, kept, plain, table, verb
from tui.cli.install import agents_without
from tui.cli.search import progress
from tui.render.figures import plural, sizes

if TYPE_CHECKING:
    from engine.conversations.imports import HeldTranscript, ImportRun, Source
    from engine.engine import Engine
    from engine.transcripts.discovery import Agent, Discovery, Found
    from engine.transcripts.importers.drafts import ImportResult
    from engine.transcripts.importers.log import Kind

_AGENTS = ("claude-code", "codex", "gemini", "specstory")
_SHOWN = 20
_REASONS = {
    "thinking": ("thinking block", ""),
    "sub-agents": ("record", " of sub-agents"),
    "sub-agent-logs": ("sub-agent log", ""),
    "tool-output": ("tool output", " cut to a line"),
    "images": ("image", ""),
    "injected": ("text", " that the program told the model"),
    "system-records": ("record", " of the program"),
    "repeated-records": ("repeated record", ""),
    "taken-back": ("message", " taken back before it was sent"),
    "unreadable-lines": ("unreadable line", ""),
    "redacted": ("secret", ", written as [secret]"),
}
"""What is left out, by reason: the word that becomes a plural, and what follows it."""


@verb(
    "autopoiesis import",
    "autopoiesis import claude-code --dry-run",
    "autopoiesis import ~/exports/chat.md ~/shop/.specstory",
    "autopoiesis import --undo",
    name="import",
)
@click.argument("what", nargs=-1, metavar="[AGENT] [PATH]...")
@click.option("--yes", "is_agreed", is_flag=True, help="Import what was found without asking.")
@click.option("--dry-run", is_flag=True, help="Say what would be imported; write nothing.")
@click.option("--undo", "is_undone", is_flag=True, help="Take the last import back.")
def import_sessions(
    engine: Engine, what: tuple[str, ...], is_agreed: bool, dry_run: bool, is_undone: bool, as_json: bool
) -> int:
    """Import other agents' sessions as transcripts; a second run adds only what is new.

    Alone, it finds the sessions of Claude Code, Codex, Gemini CLI and SpecStory on this machine, shows them,
    and asks. AGENT is claude-code, codex, gemini or specstory: only theirs, without asking. PATH is any file
    or folder: chats in Markdown, text, JSON or JSON lines are recognised by their content. Every import is
    one commit, without transcripts that hold what looks like a secret, and --undo takes it back.
    """
    if is_undone:
        if what or dry_run:
            raise click.UsageError("--undo stands alone: it takes the last import back")
        return _undo(engine, is_agreed, as_json)
    agent, paths = _parted(what)
    if paths:
        from engine.conversations.imports import Source  # noqa: PLC0415 — `--help` must not load the engine

        kind = cast("Kind", agent) if agent in _AGENTS[:2] else None
        sources = [Source(file, kind) for path in paths for file in _files(path, kind is not None)]
        return _import(engine, sources, {}, dry_run, as_json)
    found = _discovered(engine, (agent,) if agent else _AGENTS)
    sources = _sources(found, whole=bool(agent))
    if not agent and not dry_run:
        answer = _agreed(found, is_agreed, as_json)
        if answer is not None:
            return answer
    elif not as_json and not (agent and found.found):
        _emit_preview(found)
    if not found.found and not as_json:
        return 0
    return _import(engine, sources, _sub_agents(found), dry_run, as_json)


def _parted(what: Sequence[str]) -> tuple[str, tuple[Path, ...]]:
    """The agent that is named first, if any, and the paths.

    Raises:
        click.UsageError: A path does not exist.
    """
    agent = what[0] if what and what[0] in _AGENTS else ""
    paths = tuple(Path(each).expanduser() for each in what[bool(agent) :])
    for path in paths:
        if not path.exists():
            known = ", ".join(_AGENTS)
            raise click.UsageError(f"{path} does not exist, and is no agent (these are {known})")
    return agent, paths


def _files(path: Path, is_log: bool) -> list[Path]:
    """A named file as it is; of a folder, the files below it that can hold a conversation."""
    from engine.transcripts.chats.read import CHAT_SUFFIXES  # noqa: PLC0415 — likewise
    from engine.transcripts.importers.run import is_session_log  # noqa: PLC0415 — only here

    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file())
    if is_log:
        return [file for file in found if is_session_log(file.relative_to(path))]
    return [
        file
        for file in found
        if file.suffix.lower() in CHAT_SUFFIXES
        and (file.suffix != ".jsonl" or is_session_log(file.relative_to(path)))
        and not {".git", "node_modules"} & set(file.relative_to(path).parts)
    ]


def _discovered(engine: Engine, agents: Iterable[str]) -> Discovery:
    from engine.transcripts.discovery import discover_all  # noqa: PLC0415 — only here
    from engine.transcripts.importers.known import Known  # noqa: PLC0415 — likewise

    wanted = cast("Iterable[Agent]", agents)
    return discover_all(Known(engine.workspace), engine.config.imports.home, Path.cwd(), wanted)


def _sources(found: Discovery, *, whole: bool) -> list[Source]:
    from engine.conversations.imports import Source  # noqa: PLC0415 — only here

    # An agent that is named is looked at whole: what was edited or cut meanwhile shows itself only so.
    return [
        Source(each.path, each.agent if each.agent in ("claude-code", "codex") else None)
        for each in (found.found if whole else found.news)
    ]


def _sub_agents(found: Discovery) -> dict[str, int]:
    return {"sub-agent-logs": found.sub_agents} if found.sub_agents else {}


def _agreed(found: Discovery, is_agreed: bool, as_json: bool) -> int | None:
    """Shows what was found and asks; an exit code where nothing is to be imported."""
    if as_json and not is_agreed:
        emit_json(plain(found))
        return 0
    if not as_json:
        _emit_preview(found)
    if not found.news:
        return 0
    if is_agreed:
        return None
    number = len(found.news)
    if not _is_terminal():
        emit("nothing was imported; go on with: autopoiesis import --yes")
        return 0
    noun = "session" if number == 1 else "sessions"
    return None if click.confirm(f"Import {number} {noun}?", default=True) else 0


def _is_terminal() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _emit_preview(found: Discovery) -> None:
    from engine.transcripts.discovery import by_project  # noqa: PLC0415 — only here

    if not found.found:
        emit(f"no sessions found; looked in {', '.join(found.looked_in)}")
        emit("name files or folders: autopoiesis import PATH…")
        return
    rows = [
        [agent, _shown(project), f"{len(each):,}", _days(each), _size(each), _news(each)]
        for (agent, project), each in by_project(found.found).items()
    ]
    table(rows, ["agent", "project", "sessions", "days", "size", "to import"])
    if not found.news:
        emit("everything was imported already")


def _shown(project: str) -> str:
    from engine.transcripts.importers.state import shown_source  # noqa: PLC0415 — only here

    return shown_source(Path(project)) if project.startswith("/") else project


def _size(found: Iterable[Found]) -> str:
    return sizes(sum(each.size for each in found))


def _days(found: Iterable[Found]) -> str:
    days = sorted({day for each in found for day in (each.first, each.last) if day})
    if not days:
        return "–"
    return days[0] if days[0] == days[-1] else f"{days[0]} – {days[-1]}"


def _news(found: Iterable[Found]) -> str:
    words = {"new": "new", "grown": "grown", "second": "further files of imported ones"}
    counts = {name: sum(each.news == name for each in found) for name in words}
    said = [f"{count} {words[name]}" for name, count in counts.items() if count]
    return ", ".join(said) or "–"


def _import(
    engine: Engine, sources: Sequence[Source], left_out: Mapping[str, int], dry_run: bool, as_json: bool
) -> int:
    from engine.conversations.imports import import_sessions as run  # noqa: PLC0415 — `--help` must not load the engine

    with progress("importing") as report:
        done = 0

        def told(_result: ImportResult) -> None:
            nonlocal done
            done += 1
            report(done, max(len(sources), done))

        ran = run(engine, sources, dry_run=dry_run, on_result=told)
    counts = {**left_out, **ran.left_out}
    if as_json:
        emit_json(_document(ran, counts))
        return 0
    _emit_results(ran.results)
    _emit_sum(ran, counts, dry_run)
    _emit_held(engine, ran.held)
    _emit_rules(engine, ran, dry_run)
    return 0


def _emit_rules(engine: Engine, ran: ImportRun, dry_run: bool) -> None:
    if dry_run or not engine.config.rules.learn or not any(result.turns_new for result in ran.results):
        return
    with progress("reading for rules") as report:
        book = engine.rules.learn(lambda read: report(read, max(read, 1))).learned.book
    if book.again:
        things = plural(len(book.again), "thing")
        emit(f"you have told your agents {things} more than once; see: autopoiesis rules")


def _document(ran: ImportRun, left_out: Mapping[str, int]) -> dict[str, object]:
    return {
        "sessions": ran.results,
        "left_out": dict(left_out),
        "commit": ran.commit.revision,
        "uncommitted": ran.commit.why,
        "committed": ran.committed,
        "held": ran.held,
    }


def _emit_results(results: Iterable[ImportResult]) -> None:
    from engine.transcripts.chats.importing import UNTOLD  # noqa: PLC0415 — `--help` must not load the engine

    lines: list[str] = []
    skipped: list[str] = []
    untold = 0
    for result in results:
        if result.status in ("new", "grown", "replaced"):
            lines.append(f"{result.status:<8} {result.turns_new:>5} turns  {result.target}")
        elif result.status == "skipped":
            skipped.append(f"skipped  {result.source}: {result.why}")
            untold += result.why == UNTOLD
        if result.odd_lines:
            odd = "1 odd line" if result.odd_lines == 1 else f"{result.odd_lines:,} odd lines"
            lines.append(f"         {odd} passed over in {result.source}")
    lines += skipped
    for line in lines[:_SHOWN]:
        emit(line)
    if len(lines) > _SHOWN:
        emit(f"{_SHOWN} of {len(lines)} shown; --json has all")
    if untold > 1:
        emit(f"in {untold} files nothing says who speaks: they stay where they are")


def _emit_sum(ran: ImportRun, left_out: Mapping[str, int], dry_run: bool) -> None:
    counts: dict[str, int] = {}
    for result in ran.results:
        counts[result.status] = counts.get(result.status, 0) + 1
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no sessions found"
    turns = sum(result.turns_new for result in ran.results)
    taken = f"; {turns:,} new turns" if turns else ""
    emit(f"{said}{taken}{' (dry run, nothing written)' if dry_run else ''}")
    if left_out and turns:
        emit(f"left out: {', '.join(_said(reason, count) for reason, count in left_out.items() if count)}")
    if dry_run:
        return
    if ran.commit.revision:
        emit(f"{kept(ran.commit.revision, '')}; take it back with: autopoiesis import --undo")
    elif turns and ran.commit.why:
        emit(kept("", ran.commit.why))
    if turns:
        emit("next: autopoiesis harvest --transcripts, which takes what they taught into knowledge")
        for name, title in agents_without():
            emit(f"{title} itself gets this memory with: autopoiesis install {name}")


def _said(reason: str, count: int) -> str:
    one, rest = _REASONS.get(reason, (reason, ""))
    return f"{count:,} {one}{'' if count == 1 or reason not in _REASONS else 's'}{rest}"


def _emit_held(engine: Engine, held: Sequence[HeldTranscript]) -> None:
    if not held:
        return
    emit("left out of the commit:")
    for each in held[:_SHOWN]:
        emit(f"  {each.path}{_lines(each.lines)}: {each.why}")
    if len(held) > _SHOWN:
        emit(f"  {_SHOWN} of {len(held)} shown; --json has all")
    emit(
        "take the secrets out of these files, and the next import commits them; if they are none, commit them"
        f" by hand: git -C {engine.workspace.root} add PATH && git -C {engine.workspace.root} commit"
    )


def _lines(lines: Sequence[int]) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
    return f", line {shown}" if len(lines) == 1 else f", lines {shown}"


def _undo(engine: Engine, is_agreed: bool, as_json: bool) -> int:
    from engine.conversations.imports import last_import, undo_import  # noqa: PLC0415 — only here

    undo = last_import(engine)
    if undo is None:
        emit_problems(["autopoiesis: there is no import in the history to take back"])
        return 1
    if undo.blocked:
        changed = "".join(f"\n  {path}" for path in undo.blocked[:_SHOWN])
        emit_problems(
            [
                f"autopoiesis: {len(undo.blocked)} of its transcripts were changed since,"
                f" so nothing was taken back:{changed}\n(restore them first: git restore PATH)"
            ]
        )
        return 1
    if not as_json:
        emit(f"{undo.subject} ({undo.revision[:8]}, {undo.at:%Y-%m-%d %H:%M} UTC)")
        for path in [*undo.removed, *undo.restored][:_SHOWN]:
            emit(f"  {'goes' if path in undo.removed else 'as before'}  {path}")
        total = len(undo.removed) + len(undo.restored)
        if total > _SHOWN:
            emit(f"  {_SHOWN} of {total} shown")
    if not is_agreed:
        if not _is_terminal():
            emit("nothing was taken back; go on with: autopoiesis import --undo --yes")
            return 0
        if not click.confirm("Take it back?", default=False):
            return 0
    change = undo_import(engine, undo)
    if as_json:
        emit_json({"undone": plain(undo), "commit": change.revision, "uncommitted": change.why})
    else:
        emit(f"taken back, {kept(change.revision, change.why)}")
    return 0
