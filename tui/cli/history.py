"""``history``: the workspace's past, from git, how to go back, and branches for experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.cli.base import (
    emit,
    emit_json,
    emit_problems,
    emit_raw,
    emitted_json,
    group,
    plain,
    print_commit,
    table,
    visible,
)
from tui.render.figures import plural

if TYPE_CHECKING:
    from datetime import date, datetime

    from engine.engine import Engine
    from engine.history.explorations import Branch
    from engine.history.model import Blame, BlamedLine, Entry, FileDiff, Hit, Learned, Taught, UndoPlan


KINDS = ("conversation", "memory", "identity", "maintenance", "explore", "extract", "other")
_SHOWN = 20
_TEXT = 400


@group("", 'when "message broker"', "blame knowledge/facts.md:12", "changed --since yesterday", "undo",
       "explore other-tone", late={"explore": "tui.cli.reconstruct:history_explore"},
       invoke_without_command=True)  # fmt: skip
@click.pass_context
def history(context: click.Context) -> None:
    """Show the memory's past, from git; without a command, the latest commits."""
    if context.invoked_subcommand is None:
        context.invoke(history_list)


@history.verb("list", "--type memory --since 2026-06-01", "--path topics")
@click.option("--limit", type=click.IntRange(min=1), default=_SHOWN, show_default=True,
              help="Maximum number of commits.")  # fmt: skip
@click.option("--type", "kind", type=click.Choice(KINDS), help="Only commits of this type.")
@click.option("--path", default="", help="Only commits that changed this file or folder.")
@click.option("--since", default="", metavar="DATE", help="Only commits since this day or time.")
@click.option("--before", default="", metavar="PLACE", help="Continue a listing, as its last line says.")
def history_list(
    engine: Engine, limit: int, kind: str | None, path: str, since: str, before: str, as_json: bool
) -> None:
    """List the commits, newest first: revision, time, type, files, subject and session."""
    page = engine.history.timeline(limit, before=before, path=path, kind=kind or "", since=since)
    if emitted_json(as_json, {"entries": [entry_tree(each) for each in page.entries], "next": page.next}):
        return
    if not page.entries:
        emit("no matching commits")
    table(
        [
            [
                each.revision[:8],
                when_of(engine, each.at),
                each.kind,
                str(each.files),
                each.title,
                _sessions(each),
            ]
            for each in page.entries
        ]
    )
    if page.next:
        emit(f"for older commits: --before {page.next}")


@history.verb("changes", "1a2b3c4d", "HEAD~2 knowledge/facts.md")
@click.argument("revision", metavar="REV|DATE")
@click.argument("path", required=False)
def history_changes(engine: Engine, revision: str, path: str | None, as_json: bool) -> None:
    """Show what a commit changed: its files, or the diff of one.

    A added, M changed, D deleted, R renamed.
    """
    found = engine.history.changes(revision)
    if path is not None:
        file = next((each for each in found.files if path in (each.path, each.earlier)), path)
        diff = engine.history.diff(found.entry.revision, file)
        if as_json:
            emit_json(diff)
        else:
            print_diff(diff)
        return
    if emitted_json(as_json, {"entry": entry_tree(found.entry), "files": found.files}):
        return
    print_entry(engine, found.entry)
    for file in found.files:
        emit(f"{file.letter}  {f'{file.earlier} → ' if file.earlier else ''}{file.path}")


@history.verb("when", '"file-based memory"', "--all Port")
@click.argument("text")
@click.option("--all", "every", is_flag=True, help="Every commit that added or removed it.")
@click.option("--case", is_flag=True, help="Match upper and lower case exactly.")
def history_when(engine: Engine, text: str, every: bool, case: bool, as_json: bool) -> int:
    """Show when TEXT was first learned, where, and from which conversation, even if it is gone now.

    Searches knowledge, topics and archive for the literal text, then conversations. Exit code 1 if it is not
    found.
    """
    found = engine.history.when(text, every=every, case=case)
    if as_json:
        tree = {**plain(found), "hits": [_hit_tree(each) for each in found.hits]}
        emit_json({**tree, "went": None if found.went is None else _hit_tree(found.went)})
    elif not found.where:
        emit("not found in knowledge or conversations")
    else:
        _print_learned(engine, found)
    return 0 if found.where else 1


@history.verb("blame", "knowledge/facts.md", "knowledge/facts.md:12")
@click.argument("file", metavar="FILE[:LINE[-LINE]]")
@click.option("--at", "revision", default="", metavar="REV|DATE", help="The file as it was then.")
def history_blame(engine: Engine, file: str, revision: str, as_json: bool) -> None:
    """Show when each line of FILE was written, and which conversation it came from."""
    from engine.history.blame import span_of  # noqa: PLC0415 — `--help` must not load the engine

    is_name = engine.workspace.holds(file) and engine.workspace.root.joinpath(file).is_file()
    path, lines = (file, None) if is_name else span_of(file)
    found = _blame(engine, path, lines, revision)
    if emitted_json(as_json, {**plain(found), "commits": [entry_tree(each) for each in found.commits]}):
        return
    if len(found.lines) == 1:
        _print_blamed(engine, found, found.lines[0])
    else:
        table([_blamed(engine, found, each) for each in found.lines])
    if found.shallow:
        emit("shallow clone: lines of its first commit may be older")


def _blame(engine: Engine, path: str, lines: tuple[int, int] | None, revision: str) -> Blame:
    from engine.errors import DocumentError  # noqa: PLC0415 — `--help` must not load the engine

    try:
        return engine.history.blame(path, lines, revision=revision)
    except FileNotFoundError as error:
        hint = "if it was deleted, blame an earlier state with --at; see: autopoiesis history list --path"
        raise DocumentError("no such file", where=path, hint=hint) from error


@history.verb("changed", "--since 'last week' --stat")
@click.option("--since", default="today", show_default=True, metavar="DATE|REV",
              help="Since this day, time or commit; a day counts from its start.")  # fmt: skip
@click.option("--path", default="knowledge", show_default=True, help="The file or folder to compare.")
@click.option("--stat", is_flag=True, help="Only file names and line counts.")
def history_changed(engine: Engine, since: str, path: str, stat: bool, as_json: bool) -> None:
    """Show what has changed in knowledge since a day or commit, as a diff per file."""
    found = engine.history.changed(since, path=path)
    if as_json:
        tree = plain(found)
        if stat:
            for each in tree["files"]:
                del each["text"]
        emit_json({**tree, "added": found.added, "removed": found.removed})
        return
    base = "the beginning" if found.since is None else _short(engine, found.since)
    counts = plural(len(found.files), "file")
    emit(
        f"{counts} changed since {base}: {_lines(found.added, found.removed)}"
        if found.files
        else f"no changes since {base}"
    )
    for file, diff in zip(found.letters, found.files, strict=True):
        name = f"{file.earlier} → {file.path}" if file.earlier else file.path
        size = "binary" if diff.binary else _lines(diff.added, diff.removed)
        emit(f"{file.letter}  {name}: {size}")
        if not stat:
            print_diff(diff)
    if found.uncommitted:
        emit_problems([f"not included, because it is not committed: {each}" for each in found.uncommitted])


@history.verb("recall", "2026-06-01 knowledge/facts.md")
@click.argument("revision", metavar="REV|DATE")
@click.argument("path")
def history_recall(engine: Engine, revision: str, path: str, as_json: bool) -> None:
    """Print a file as it was at a commit, tag, branch or date; byte for byte into a pipe or file."""
    from engine.errors import DocumentError  # noqa: PLC0415 — `--help` must not load the engine
    from engine.store.repository import Commit  # noqa: PLC0415 — likewise

    try:
        entry, data = engine.history.recall(revision, path)
    except FileNotFoundError as error:
        raise DocumentError(str(error), hint=f"see: autopoiesis history list --path {path}") from error
    text = data.decode("utf-8", "surrogateescape")
    if emitted_json(as_json, {"entry": entry_tree(entry), "path": path, "text": text}):
        return
    print_commit(Commit(entry.revision, entry.at, entry.author, entry.subject))
    emit_raw(text)


def entry_tree(entry: Entry) -> dict[str, Any]:
    """A commit as JSON, with its type."""
    return {**plain(entry), "kind": entry.kind}


def when_of(engine: Engine, at: datetime) -> str:
    """Formats a time to the minute, in the workspace's time zone."""
    from engine.store.zone import local_time  # noqa: PLC0415 — `--help` must not load the engine

    return f"{local_time(at, engine.config.days.time_zone):%Y-%m-%d %H:%M}"


def print_entry(engine: Engine, entry: Entry) -> None:
    emit(f"{entry.revision}  {when_of(engine, entry.at)}  {entry.author}")
    emit(entry.subject)
    if entry.body:
        emit(entry.body)


def print_diff(diff: FileDiff) -> None:
    """Prints a diff, in colour on a terminal."""
    if diff.binary:
        emit("    binary")
    for line in diff.text.split("\n")[:-1] if diff.text else ():
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.echo(click.style(f"    {visible(line)}", fg=colour))
    if diff.cut:
        emit(f"    … cut; {_lines(diff.added, diff.removed)} in total")


def _lines(added: int, removed: int) -> str:
    return f"{plural(added, 'line')} added, {removed:,} removed"


def _sessions(entry: Entry) -> str:
    more = f" and {len(entry.sessions) - 1:,} more" if len(entry.sessions) > 1 else ""
    return f"{entry.sessions[0]}{more}" if entry.sessions else ""


def _short(engine: Engine, entry: Entry) -> str:
    return f"{entry.revision[:8]} of {when_of(engine, entry.at)}"


def _sources(taught: Sequence[Taught]) -> str:
    notes = {
        "trash": " (in the trash)",
        "reclaimed": " (reclaimed)",
        "gone": " (gone)",
        "unknown": " (not found)",
    }
    return ", ".join(f"{each.path or each.name}{notes.get(each.source, '')}" for each in taught)


def _hit_tree(hit: Hit) -> dict[str, Any]:
    return {**plain(hit), "entry": entry_tree(hit.entry)}


def _print_learned(engine: Engine, found: Learned) -> None:
    if found.where == "conversations":
        emit("only in conversations:")
    for hit in found.hits:
        what = "removed" if hit.removed else "learned"
        emit(f"{what}  {when_of(engine, hit.entry.at)}  {hit.entry.revision[:8]}  {hit.entry.subject}")
        emit(f"    {hit.path}:{hit.line}" if hit.line else f"    {hit.path} (binary)")
        if hit.text:
            emit(f"    {hit.text.strip()[:_TEXT]}")
        if hit.taught and not hit.removed:
            emit(f"    from {_sources(hit.taught)}")
    if found.shallow:
        emit("shallow clone: it may be older")
    if not found.hits:
        emit("not committed yet")
    for each in found.now[:_SHOWN]:
        emit(f"now in {each.path}:{each.line}" + ("" if each.committed else " (with uncommitted changes)"))
    if len(found.now) > _SHOWN:
        emit(f"{_SHOWN} of {len(found.now)} places shown")
    if not found.now and found.went is None:
        emit("removed since; not committed yet")
    elif found.went is not None and found.went not in found.hits:
        went = found.went
        emit(f"removed {when_of(engine, went.entry.at)}  {went.entry.revision[:8]}  {went.entry.subject}")


def _print_blamed(engine: Engine, found: Blame, line: BlamedLine) -> None:
    entry = found.commit_of(line)
    emit(line.text.strip())
    if entry is None:
        emit("not committed yet")
        return
    emit(f"written  {_short(engine, entry)}  {entry.subject}")
    if line.path != found.path:
        emit(f"as       {line.path}:{line.line}")
    for each in line.taught:
        emit(f"from     {_sources([each])}" + (f", {each.day}" if each.day else ""))


def _blamed(engine: Engine, found: Blame, line: BlamedLine) -> list[str]:
    entry = found.commit_of(line)
    day = when_of(engine, entry.at)[:10] if entry is not None else "uncommitted"
    return [str(line.number), line.revision[:8], day, ", ".join(each.name for each in line.taught), line.text]


@history.verb("undo", "  # show what it would do", "1a2b3c4d --apply")
@click.argument("revision", metavar="[COMMIT]", default="")
@click.option("--apply", is_flag=True, help="Do it, as a new commit.")
def history_undo(engine: Engine, revision: str, apply: bool, as_json: bool) -> int:
    """Undo one commit and keep later changes; without COMMIT, the latest commit that can be undone.

    Only shows the diff without --apply. The undo is a commit itself, and can be undone. Ledger, review queue,
    logs and conversations stay as they are; transcripts are never changed. Exit code 1 if the commit cannot
    be undone.
    """
    plan = engine.history.undo_plan(revision)
    done = engine.history.undo(plan) if apply and plan.can_apply else None
    if as_json:
        tree = {**plain(plan), "entry": entry_tree(plan.entry), "can_apply": plan.can_apply}
        emit_json({**tree, "commit": done.revision if done is not None else ""})
    else:
        _print_plan(engine, plan)
        if done is not None:
            emit(f"undone, committed as {done.revision[:8]}")
        elif plan.can_apply:
            emit(f"nothing was changed; to do it: autopoiesis history undo {plan.entry.revision[:8]} --apply")
    if plan.can_apply:
        return 0
    problems = [
        f"autopoiesis: {each.path or plan.entry.revision[:8]}: {each.why}"
        + (f"; {each.hint}" if each.hint else "")
        for each in plan.blocked
    ]
    emit_problems(problems or [f"autopoiesis: {plan.entry.revision[:8]}: nothing left to undo"])
    return 1


def _print_plan(engine: Engine, plan: UndoPlan) -> None:
    for each in plan.passed:
        emit(f"skipped, cannot be undone: {each.revision[:8]}  {each.subject}")
    entry = plan.entry
    emit(f"undo {entry.revision[:8]}  {when_of(engine, entry.at)}  {entry.subject}")
    for file in plan.files:
        what = (
            "deleted" if file.after is None else "undone, later changes kept" if file.merged else "restored"
        )
        emit(f"  {file.path}: {what}")
        print_diff(file.diff)
    for blocked in plan.kept:
        emit(f"  {blocked.path}: unchanged; {blocked.why}")


@history.verb("snapshot", "one-year", "rewrite --kind before", "2026-02-16 --kind daily")
@click.argument("name")
@click.option("--kind", type=click.Choice(["milestone", "before", "extract", "daily", "weekly"]),
              default="milestone", show_default=True,
              help="The kind of snapshot; for daily and weekly, NAME is a day.")  # fmt: skip
@click.option(
    "--at", "revision", default="HEAD", metavar="REV|DATE", help="The state to tag; by default the latest."
)
def history_snapshot(engine: Engine, name: str, kind: str, revision: str, as_json: bool) -> int:
    """Tag the memory's state, as memory/milestone/NAME for example.

    Uncommitted changes are not included.
    """
    repository_history = engine.history
    if kind in ("daily", "weekly"):
        tag_day = repository_history.tag_daily if kind == "daily" else repository_history.tag_weekly
        tag = tag_day(_day(engine, name))
        if not tag:
            emit_problems([f"autopoiesis: no commits on that {'day' if kind == 'daily' else 'week'}"])
            return 1
    else:
        tag = repository_history.snapshot(name, kind, revision)  # type: ignore[arg-type]  # checked by click
    dirty = engine.repository.state().dirty
    if as_json:
        emit_json({"tag": tag, "uncommitted": dirty})
    else:
        emit(f"{tag}" + (f"; uncommitted changes in {plural(dirty, 'file')} not included" if dirty else ""))
    return 0


def _day(engine: Engine, text: str) -> date:
    from engine.store import moments, zone  # noqa: PLC0415 — `--help` must not load the engine

    found = moments.moment(text, engine.clock(), engine.config.days.time_zone)
    if found is None:
        raise click.UsageError(f"{text!r} is not a day; give one such as 2026-02-16 or yesterday")
    return zone.local_day(found, engine.config.days.time_zone)


@history.verb("snapshots")
def history_snapshots(engine: Engine, as_json: bool) -> None:
    """List the snapshots, newest first. They can be passed to recall, changed or --as-of."""
    found = engine.history.snapshots()
    if as_json:
        emit_json(found)
    elif not found:
        emit("no snapshots yet: autopoiesis history snapshot NAME")
    else:
        table([[each.tag, each.revision[:8], when_of(engine, each.at), each.subject] for each in found])


@history.verb("branches", "", "--prune --apply")
@click.option(
    "--prune", is_flag=True, help="Show which explore branches would be removed: those unused for a week."
)
@click.option("--apply", is_flag=True, help="With --prune: remove them.")
def history_branches(engine: Engine, prune: bool, apply: bool, as_json: bool) -> None:
    """List the branches explore/* and extract/*: age, commits and changed files."""
    if apply and not prune:
        raise click.UsageError("--apply needs --prune")
    found = engine.history.prune() if apply else engine.history.branches()
    shown = [each for each in found if each.due or not prune]
    if emitted_json(as_json, {"branches": shown, "removed": apply}):
        return
    print_branches(shown, engine.clock())
    if not shown:
        emit("no branches to remove" if prune else "no branches explore/* or extract/*")
    elif apply:
        emit("removed; restore one with: git branch NAME REVISION")
    elif prune:
        emit("nothing was removed; to do it: autopoiesis history branches --prune --apply")
    else:
        emit("to compare one with the current branch: autopoiesis compare NAME")
        emit("to merge it: autopoiesis history explore NAME --merge, or reconstruct --merge NAME")


def print_branches(shown: Sequence[Branch], now: datetime) -> None:
    """Prints branches with age, commits ahead, changed files and worktree."""
    table([[each.name, each.revision[:8], *_branch(each, now)] for each in shown])


def _branch(each: Branch, now: datetime) -> tuple[str, ...]:
    more = f" and {len(each.files) - 5:,} more" if len(each.files) > 5 else ""
    place = f"in {each.in_use}" if each.in_use else ""
    uncommitted = plural(each.uncommitted, "uncommitted file") if each.uncommitted else ""
    due = "due for removal" if each.due else ""
    return (
        f"{plural((now - each.at).days, 'day')} old",
        f"{plural(each.ahead, 'commit')} ahead",
        ", ".join(f"{file.letter} {file.path}" for file in each.files[:5]) + more,
        "; ".join(filter(None, (due, uncommitted, place))),
    )
