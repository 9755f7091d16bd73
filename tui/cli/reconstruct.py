"""``reconstruct``, ``compare`` and ``history explore``: knowledge rebuilt, or tried, on a branch."""

from __future__ import annotations

from contextlib import ExitStack
from shlex import quote
from typing import TYPE_CHECKING

import click

from tui.cli.base import (
    emit,
    emit_json,
    emit_problems,
    emitted_json,
    plain,
    progress,
    table,
    verb,
)
from tui.cli.costs import estimate_text
from tui.cli.history import print_branches, print_diff
from tui.render.figures import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.engine import Engine
    from engine.history.explorations import Branch, Exploration
    from engine.history.model import FileDiff
    from engine.lifecycle.extraction.run import Result
    from engine.lifecycle.reconstruction.comparison import Comparison
    from engine.lifecycle.reconstruction.merging import Merge
    from engine.lifecycle.reconstruction.reconstruction import Estimate, Report, Request

_PROVIDERS = ("none", "anthropic", "openai", "gemini", "claude-code")
_SHOWN = 20


@verb("--branch v2   # what it would read and cost", "--branch v2 --extractor decisions --apply",
      "autopoiesis compare v2", "--merge v2 --apply", name="reconstruct")  # fmt: skip
@click.option("--branch", metavar="NAME", help="Rebuild knowledge on the branch extract/NAME.")
@click.option("--merge", metavar="NAME", help="Merge the branch extract/NAME.")
@click.option(
    "--extractor", "names", metavar="NAME", multiple=True, help="Only this extractor; may be repeated."
)
@click.option("--provider", type=click.Choice(_PROVIDERS), help="Use instead of extraction.provider.")
@click.option("--model", metavar="MODEL", default="", help="Use instead of extraction.model.")
@click.option("--apply", "is_applied", is_flag=True, help="Do it; without it, only show what would be done.")
@click.option("--partial", is_flag=True, help="Create the branch even if some sessions could not be read.")
@click.option("--anew", "start_over", is_flag=True, help="Start over, ignoring an earlier unfinished run.")
def reconstruct(
    engine: Engine,
    branch: str | None,
    merge: str | None,
    names: tuple[str, ...],
    provider: str | None,
    model: str,
    is_applied: bool,
    partial: bool,
    start_over: bool,
    as_json: bool,
) -> int:
    """Re-read all sessions, and commit the resulting knowledge to a separate branch.

    Starts from the latest commit without the lines extracted from these sessions (with --extractor: only
    those that the named extractors wrote), reads every session in chronological order, and commits the result
    to extract/NAME, including what you wrote yourself and what came from elsewhere. The workspace's files,
    index and branch do not change. To resume an interrupted run, repeat the command.
    --merge shows what a branch would change here; with --apply, it is merged as one commit and removed.
    """
    if (branch is None) == (merge is None):
        raise click.UsageError("give either --branch or --merge")
    if merge is not None:
        if names or provider or model or partial or start_over:
            raise click.UsageError("--merge can only be used with --apply")
        hint = "to resolve: edit the file here, commit it, then reconstruct again from that state"
        return merge_branch(engine, merge, is_applied, as_json, hint)
    from engine.lifecycle.reconstruction.reconstruction import Request  # noqa: PLC0415 — not for `--help`

    request = Request(branch or "", names, provider or "", model)
    if is_applied:
        return _apply(engine, request, partial, start_over, as_json)
    found = engine.reconstruction.estimate(request)
    if as_json:
        tokens = {"tokens": found.survey.tokens, "questions": found.survey.questions}
        emit_json({**plain(found), **tokens})
    else:
        _print_estimate(engine, found)
    return 0


def _print_estimate(engine: Engine, found: Estimate) -> None:
    survey = found.survey
    due = survey.due
    readings = sum(len(each.due) for each in due)
    emit(f"{found.branch}, from {found.base[:8]}: {', '.join(found.extractors)}")
    emit(f"{plural(len(due), 'session')} to read, {plural(readings, 'reading')}")
    for each in [each for each in survey.candidates if each.why][:_SHOWN]:
        emit(f"skipped: {each.path}: {each.why}")
    if not survey.provider:
        emit("no model used, $0")
    else:
        about = estimate_text(found.usd)
        target = f"{survey.provider} {survey.model}"
        emit(f"{plural(survey.questions, 'question')}, ~{survey.tokens:,} tokens to {target}, {about}")
    if found.is_begun:
        emit("resumes an earlier run")
    dirty = engine.repository.changed("knowledge")
    if dirty:
        emit(f"ignores uncommitted changes in {plural(len(dirty), 'file')} of knowledge")
    emit("dry run; pass --apply to do it")


def _apply(engine: Engine, request: Request, partial: bool, start_over: bool, as_json: bool) -> int:
    with ExitStack() as shown:
        bars: dict[str, Callable[[int, int], None]] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in bars:
                shown.close()
                bars[label] = shown.enter_context(progress(label))
            bars[label](done, total)

        def on_result(_result: Result, done: int, total: int) -> None:
            report("reading sessions", done, total)

        done = engine.reconstruction.run(request, on_result, partial=partial, start_over=start_over)
    if as_json:
        emit_json(done)
    else:
        _print_report(done)
    read = done.read.results if done.read else ()
    failed = [each for each in read if each.error and each.outcome != "extracted"]
    emit_problems(f"autopoiesis: {each.path}: {each.error}" for each in failed)
    if done.commit:
        return 0
    why = done.read.stopped if done.read else ""
    hint = "run the same command again to resume, or add --partial to skip what failed"
    emit_problems([f"autopoiesis: {done.branch} not created: {why or 'sessions could not be read'}; {hint}"])
    return 1


def _print_report(done: Report) -> None:
    read = [each for each in done.read.results if each.records] if done.read else []
    lines = sum(len(record.items) for each in read for record in each.records)
    if read:
        emit(f"{plural(len(read), 'session')} read, {plural(lines, 'line')} written")
    if done.held:
        emit(f"{plural(done.held, 'item')} would need review, and are not on the branch")
    for line in done.left:
        emit(line)
    if done.commit:
        emit(f"{done.branch} is {done.commit[:8]}, {plural(len(done.files), 'file')} changed; tag {done.tag}")
        emit(f"compare: autopoiesis compare {done.branch}")


def merge_branch(engine: Engine, name: str, is_applied: bool, as_json: bool, hint: str) -> int:
    """Merges a branch, or shows what that would change; ``hint`` says how to resolve conflicts."""
    merging = engine.reconstruction.merging
    found = merging.apply(name) if is_applied else merging.plan(name)
    if as_json:
        emit_json(found)
    elif found.conflicts:
        from tui.cli.sync import explain  # noqa: PLC0415 — only if there are conflicts

        explain(found.conflicts, hint)
    else:
        _print_merge(found, is_applied)
    return 1 if found.conflicts else 0


def _print_merge(found: Merge, is_applied: bool) -> None:
    _print_diffs(found.diffs)
    for note in found.notes:
        emit(note)
    branch = (
        f"kept {found.branch}, checked out in {found.stays}" if found.stays else f"removed {found.branch}"
    )
    if not is_applied:
        what = "is already merged" if found.is_merged else f"would change {plural(len(found.diffs), 'file')}"
        emit(f"{found.branch} {what}; dry run; pass --apply to merge it and remove the branch")
    elif found.commit:
        changed = plural(len(found.diffs), "file")
        emit(f"merged as {found.commit[:8]}, {changed} changed; {branch}")
    else:
        emit(f"already merged; {branch}")


@verb("extract/v2", "memory/milestone/one-year HEAD", name="compare")
@click.argument("names", metavar="[BRANCH [OTHER]]", nargs=-1)
@click.option("--no-diff", is_flag=True, help="Omit the diff.")
def compare(engine: Engine, names: tuple[str, ...], no_diff: bool, as_json: bool) -> int:
    """Compare the memory on a branch with the current branch, or two branches, snapshots or commits.

    BRANCH defaults to the latest of extract/ and explore/. Only committed files are compared. The exit code
    is 0 even if they differ. To test what a branch would answer: autopoiesis probe run --as-of BRANCH.
    """
    if len(names) > 2:
        raise click.UsageError("give one or two branches")
    if not names:
        names = tuple(each.name for each in engine.history.branches()[:1])
    if not names:
        hint = "create one with: autopoiesis history explore NAME, or reconstruct --branch NAME"
        emit_problems([f"autopoiesis: no branch to compare; {hint}"])
        return 1
    show_compared(engine, (names[-2] if len(names) == 2 else "HEAD", names[-1]), no_diff, as_json)
    return 0


def show_compared(
    engine: Engine, names: tuple[str, str], no_diff: bool = False, as_json: bool = False
) -> None:
    """Prints how two states differ."""
    compared = engine.reconstruction.compare(*names)
    if not emitted_json(as_json, compared):
        _print_comparison(compared, names, no_diff)


def _print_comparison(compared: Comparison, names: tuple[str, str], no_diff: bool) -> None:
    for name, commit in zip(names, (compared.left, compared.right), strict=True):
        emit(f"{name}: {commit.revision[:8]} {commit.subject}")
    if not compared.files:
        emit("no differences")
        return
    changed = [
        [each.letter, each.path, f"+{diff.added} −{diff.removed}"]
        for each, diff in zip(compared.files, compared.diffs, strict=True)
    ]
    table(changed)
    counts = [[each.kind, f"{each.left:,}", f"{each.right:,}"] for each in compared.counts]
    table(counts, ["lines", *names])
    if not no_diff:
        _print_diffs(compared.diffs)


def _print_diffs(found: Sequence[FileDiff]) -> None:
    for diff in found:
        emit(diff.path)
        print_diff(diff)


@verb("other-tone   # creates explore/other-tone, in its own folder",
      "before-june --at 2026-06-01", "reviewer --only topics,knowledge/shared   # for a sub-agent",
      "other-tone --diff", "other-tone --merge --apply", name="explore", of="history ")  # fmt: skip
@click.argument("name", required=False)
@click.option("--at", "revision", default="", metavar="REV|DATE", help="The state to start from.")
@click.option("--only", metavar="FOLDER,…", default="", help="Check out only these folders.")
@click.option("--list", "is_listed", is_flag=True, help="List the branches; the default without NAME.")
@click.option("--diff", "is_compared", is_flag=True, help="Show how the branch differs from the workspace.")
@click.option("--merge", "is_merged", is_flag=True, help="Show what merging the branch would change.")
@click.option("--delete", "is_deleted", is_flag=True, help="Show what deleting the branch would lose.")
@click.option("--apply", "is_applied", is_flag=True, help="With --merge or --delete: do it.")
def history_explore(
    engine: Engine,
    name: str | None,
    revision: str,
    only: str,
    is_listed: bool,
    is_compared: bool,
    is_merged: bool,
    is_deleted: bool,
    is_applied: bool,
    as_json: bool,
) -> int:
    """Try something on a branch explore/NAME, checked out in a folder outside the workspace.

    You or an agent edit there, open the workbench there and commit there; the workspace does not change.
    --merge merges what is committed there as one commit and removes branch and folder; if there are
    conflicts, they are explained and nothing is merged. Branches unused for a week can be removed with
    `history branches --prune`. Uncommitted changes are never removed.

    With --only, a sub-agent sees just these folders and the files directly in their parent folders. Its
    commits leave everything else unchanged. This is a view, not a security boundary: git there can read the
    whole repository. Private files appear encrypted.
    """
    actions = [is_compared, is_merged, is_deleted, is_listed or name is None, bool(revision or only)]
    if sum(actions) > 1 or (name is not None and is_listed):
        raise click.UsageError("give NAME with --at and --only, --diff, --merge or --delete; or --list alone")
    if is_applied and not (is_merged or is_deleted):
        raise click.UsageError("--apply needs --merge or --delete")
    if name is None:
        return _list_explorations(engine, as_json)
    if is_merged or is_compared:
        found = engine.history.branch(name)
        if is_compared:
            show_compared(engine, ("HEAD", found.name), as_json=as_json)
            return 0
        there = f"git -C {quote(found.in_use or 'FOLDER')} merge {engine.repository.branch() or 'main'}"
        return merge_branch(engine, found.name, is_applied, as_json, f"to resolve: {there}, then retry")
    if is_deleted:
        return _delete(engine, engine.history.branch(name), is_applied, as_json)
    folders = [each.strip() for each in only.split(",") if each.strip()]
    exploration = engine.history.explore(name, revision, folders)
    if as_json:
        emit_json(exploration)
    else:
        _print_exploration(exploration)
    return 0


def _list_explorations(engine: Engine, as_json: bool) -> int:
    found = [each for each in engine.history.branches() if each.name.startswith("explore/")]
    if as_json:
        emit_json({"branches": found})
    elif found:
        print_branches(found, engine.clock())
    else:
        emit("no explore branches yet: autopoiesis history explore NAME")
    return 0


def _print_exploration(found: Exploration) -> None:
    folder = quote(str(found.folder))
    what = "created" if found.made else "already exists"
    emit(f"{found.branch} {what}, at {found.revision[:8]}; checked out in")
    emit(f"  {found.folder}")
    if found.shows:
        emit(f"with {', '.join(found.shows)} only")
    emit(f"edit the files there, or open the workbench: autopoiesis -C {folder}")
    emit(f"commit: autopoiesis -C {folder} commit")


def _delete(engine: Engine, found: Branch, is_applied: bool, as_json: bool) -> int:
    if is_applied:
        engine.history.drop(found)
    if as_json:
        emit_json({"branch": found, "removed": is_applied})
        return 0
    if is_applied:
        emit(f"removed {found.name}; restore it with: git branch {found.name} {found.revision[:8]}")
        return 0
    print_branches([found], engine.clock())
    if found.uncommitted:
        emit_problems([f"autopoiesis: cannot remove {found.name}: {found.in_use} has uncommitted changes"])
        return 1
    emit("nothing was removed; pass --apply to do it")
    return 0
