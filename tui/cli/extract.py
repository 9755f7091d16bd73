"""``extract``: extracts knowledge from sessions."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emit_json, emit_problems, minute, plain, table, verb
from tui.cli.costs import estimate_text, usage_text
from tui.render.figures import plural, sizes

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.lifecycle.extraction.run import Preview, Report, Result, Runner, Survey

_SHOWN = 20


@verb(
    "", "--apply", "ses_1a2b3c4d --extractor decisions --extractor journal --apply", "--list", name="extract"
)
@click.argument("sessions", metavar="[SESSION]…", nargs=-1)
@click.option(
    "--extractor", "names", metavar="NAME", multiple=True, help="Only this extractor; may be repeated."
)
@click.option("--apply", "is_applied", is_flag=True, help="Do it; without it, only show what would be done.")
@click.option("--again", is_flag=True, help="Include sessions that were read before.")
@click.option("--list", "is_list", is_flag=True, help="List the extractors and their progress.")
def extract(
    engine: Engine,
    sessions: tuple[str, ...],
    names: tuple[str, ...],
    is_applied: bool,
    again: bool,
    is_list: bool,
    as_json: bool,
) -> int:
    """Extract decisions, lessons, people, procedures, facts and journal entries from sessions.

    Reads every ended session in raw/, or only SESSION (its id or path), once with each extractor. Findings go
    to the pages of projects, people, procedures and references, to MEMORY.md and to the journal, with their
    source; possibly planted ones wait for you (`autopoiesis review list`). extraction.provider names the
    model; with the default, `none`, only marked lines are taken. knowledge/prompts/NAME.md replaces an
    extractor's prompt.
    """
    if is_list:
        return _list(engine, as_json)
    since = engine.clock().astimezone(UTC).isoformat(timespec="microseconds") if again else ""
    runner = engine.extraction.runner(names, since=since)
    paths = tuple(map(engine.extraction.path_of, sessions))
    if is_applied:
        return _apply(runner, paths, as_json)
    survey = runner.survey(paths)
    previews = () if survey.provider else tuple(runner.preview(each.path) for each in survey.due)
    if as_json:
        tree = plain(survey)
        tree |= {
            "tokens": survey.tokens,
            "questions": survey.questions,
            "usd": engine.extraction.price_of(survey),
            "previews": plain(previews),
        }
        emit_json(tree)
        return 0
    _emit_survey(engine, survey, named=bool(paths))
    for preview in itertools.islice(previews, _SHOWN):
        _emit_preview(preview)
    if len(previews) > _SHOWN:
        emit(f"{_SHOWN} of {len(previews)} shown; --json has all")
    if survey.due:
        emit("dry run; pass --apply to extract")
    return 0


def _emit_survey(engine: Engine, survey: Survey, *, named: bool) -> None:
    due, done = survey.due, sum(each.is_done for each in survey.candidates)
    readings = sum(len(each.due) for each in due)
    emit(f"{plural(len(due), 'session')} to read, {plural(readings, 'reading')}; {done:,} already done")
    for each in survey.candidates:
        if each.why and not each.is_done:
            emit(f"skipped: {each.path}: {each.why}")
        elif named and each.why:
            emit(f"{each.path}: {each.why}")
    if not due:
        return
    if not survey.provider:
        emit("no model used, $0")
        return
    about = estimate_text(engine.extraction.price_of(survey))
    emit(f"{plural(survey.questions, 'question')}, ~{survey.tokens:,} tokens to {survey.provider}, {about}")
    rows = [[each.path, sizes(each.size), plural(each.windows, "window"), f"{each.tokens:,}"] for each in due]
    table(rows[:_SHOWN])
    if len(rows) > _SHOWN:
        emit(f"{_SHOWN} of {len(rows)} shown; --json has all")


def _emit_preview(preview: Preview) -> None:
    emit(preview.path)
    decided = preview.plan
    edits = sorted(decided.edits, key=lambda each: (each.path, each.section))
    for (path, section), lines in itertools.groupby(edits, lambda each: (each.path, each.section)):
        emit(f"  {path}{f', {section}' if section else ''}")
        for edit in lines:
            emit(f"    {edit.line}")
    for recap in preview.recaps:
        emit(f"  knowledge/journal/{recap.day}.md, {recap.project or 'sessions'}")
        for line in recap.lines:
            emit(f"    - {line}")
    for known in decided.known:
        emit(f"  known  {known.path}:{known.number}  {known.line}")
    for held in decided.held:
        emit(f"  for review  {held.item.path or held.item.category}: {held.item.text}")
        emit(f"    reason: {held.why}")
    for reading in preview.readings:
        if reading.record.error:
            emit(f"  {reading.record.by.extractor}: {reading.record.error}")
    if not (decided.edits or decided.known or decided.held or preview.recaps):
        emit("  nothing found")


def _apply(runner: Runner, paths: tuple[str, ...], as_json: bool) -> int:
    report = runner.run(paths, lambda each, done, total: None if as_json else _emit_result(each, done, total))
    if as_json:
        emit_json(report)
    else:
        _emit_report(report)
    failed = [each for each in report.results if each.outcome in ("failed", "changed")]
    emit_problems(f"autopoiesis: {each.path}: {each.error}" for each in failed)
    return 1 if failed or report.stopped else 0


def _emit_result(result: Result, done: int, total: int) -> None:
    from engine.lifecycle.extraction.run import counted  # noqa: PLC0415 — `--help` must not load the engine

    what = ", ".join(
        filter(None, (counted(result.records), f"{result.held} for review" if result.held else ""))
    )
    emit(f"{done}/{total}  {result.outcome}  {result.path}: {what or result.error or 'nothing new'}")
    for record in result.records:
        for refused in record.refused:
            emit(f"  not used  {record.by.extractor}: {refused}")


def _emit_report(report: Report) -> None:
    for path in report.recovered:
        emit(f"finished an interrupted run: {path}")
    for each in report.results:
        if each.outcome == "skipped":
            emit(f"skipped  {each.path}: {each.error}")
    read = [each for each in report.results if each.records]
    records = [record for each in read for record in each.records]
    lines = sum(len(record.items) for record in records)
    if not report.results:
        emit("nothing to extract")
    if read:
        emit(f"{plural(len(read), 'session')} read, {plural(lines, 'line')} written")
    if report.recaps:
        emit(f"{plural(len(report.recaps), 'recap')} in knowledge/journal")
    held = sum(each.held for each in read)
    if held:
        emit(f"{plural(held, 'item')} for review: autopoiesis review list")
    tokens = sum(record.input_tokens + record.output_tokens for record in records)
    if tokens:
        emit(usage_text(tokens, [record.cost_usd for record in records]))
    last = next((each for each in reversed(read) if each.commit or each.uncommitted), None)
    if last is not None:
        emit(commit_text(last.commit, last.uncommitted))
    if report.stopped:
        emit_problems([f"autopoiesis: stopped: {report.stopped}"])


def _list(engine: Engine, as_json: bool) -> int:
    extraction = engine.extraction
    records = extraction.log().all()
    found = []
    for each in extraction.extractors():
        own = [record for record in records if record.by.extractor == each.name]
        done = Counter(record.status for record in own if record.by.version == each.version)
        found.append(
            {
                "name": each.name,
                "version": each.version,
                "read": done["extracted"],
                "failed": done["failed"],
                "lines": sum(len(record.items) for record in own),
                "last": max((record.at for record in own), default=""),
            }
        )
    if as_json:
        emit_json(found)
        return 0
    heads = ["extractor", "version", "read", "failed", "lines", "last"]
    table(
        [[*(str(each[head]) for head in ("name", *heads[1:5])), minute(str(each["last"]))] for each in found],
        heads,
    )
    return 0
