"""``harvest``: extracts knowledge from conversations, and moves harvested conversations to the trash."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from engine.errors import HarvestRefused
from engine.knowledge.item import counted
from tui.cli.base import commit_text, emit, emit_json, emit_problems, invocation, plain, table, verb
from tui.cli.costs import estimate_text, usage_text
from tui.render.figures import plural, sizes
from tui.render.words import KIND_WORDS, OUTCOME_WORDS, classes_in_words

if TYPE_CHECKING:
    from collections.abc import Collection

    from engine.engine import Engine
    from engine.knowledge.harvest.report import HarvestRequest, Report, Result, Survey

_SHOWN = 20


@verb(
    "", "--apply", "conversations/2026-06-11-call.md --apply --keep", "--transcripts --apply", name="harvest"
)
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@click.option("--apply", "is_applied", is_flag=True, help="Do it; without it, only show what would be done.")
@click.option("--no-harvest", is_flag=True, help="Skip the harvest and discard the conversations.")
@click.option("--keep", is_flag=True, help="Leave the conversations where they are.")
@click.option(
    "--transcripts", is_flag=True, help="Harvest raw/ instead; the default if conversations/ is empty."
)
@click.option("--reclaim", "number", type=click.IntRange(min=0), metavar="N",
              help="Confirm the number of conversations to move to the trash.")  # fmt: skip
@click.option("--reclaim-empty", is_flag=True, help="Also reclaim conversations with no items found.")
@click.option(
    "--reclaim-partial", is_flag=True, help="Also reclaim conversations read in part, or without a model."
)
def harvest(
    paths: tuple[str, ...],
    is_applied: bool,
    no_harvest: bool,
    keep: bool,
    transcripts: bool,
    number: int | None,
    reclaim_empty: bool,
    reclaim_partial: bool,
    as_json: bool,
) -> int:
    """Extract knowledge from conversations, and move the conversations to the trash.

    Reads conversations/, or only PATH, or the transcripts in raw/. Items are appended to facts.md,
    decisions.md and so on, with their source; possibly planted ones, and all that is found without a model,
    wait for you (`autopoiesis review list`).
    Then the conversation moves to the trash, from where `autopoiesis ledger restore` recovers it: only if
    every line and the conversation itself are committed, and only after you confirm the number when there are
    many. harvest.provider names the model; the default, `markers`, uses none: it proposes commands that
    repeatedly succeeded, and lines you marked.
    """
    from engine.knowledge.harvest.report import Consent, HarvestRequest  # noqa: PLC0415 — not for `--help`

    consent = Consent(number, reclaim_empty, reclaim_partial)
    with invocation().engine() as engine:
        survey = engine.knowledge.harvest.survey(transcripts=transcripts or None, named=paths)
        transcripts = survey.transcripts
        request = HarvestRequest(paths, transcripts, not no_harvest, not (keep or transcripts), consent)
        if not is_applied:
            _print_survey(engine, survey, request, as_json)
            return 0
        if not as_json:
            _emit_classes(engine, _of_paths(survey, paths))
        report = engine.knowledge.harvest.run(request, lambda each: None if as_json else _emit_result(each))
        if sys.stdin.isatty() and not as_json:
            report = _confirm_number(engine, request, report)
        if as_json:
            emit_json({**plain(report), "items": report.items, "reclaimed_bytes": report.reclaimed})
        else:
            _emit_report(engine, request, report, survey.left)
        failed = [each for each in report.results if each.outcome in ("failed", "changed")]
        emit_problems(f"autopoiesis: {each.path}: {each.error}" for each in failed)
        return 1 if failed else 0


def _print_survey(engine: Engine, survey: Survey, request: HarvestRequest, as_json: bool) -> None:
    if as_json:
        tree = plain(survey)
        tree["bytes"] = {kind: survey.size(kind) for kind in ("harvest", "prune")}
        tree["tokens"] = survey.tokens if survey.provider != "markers" else 0
        tree["usd"] = engine.knowledge.price_of(survey)
        emit_json(tree)
        return
    survey = _of_paths(survey, request.paths)
    _emit_classes(engine, survey)
    shown = survey.candidates
    for path in request.paths:
        if all(each.path != path for each in shown):
            emit_problems(
                [f"{path}: no such conversation; name a file in conversations/ or raw/conversations/"]
            )
    if shown:
        rows = [
            [KIND_WORDS[each.kind], each.path, sizes(each.text_size or each.size), each.why] for each in shown
        ]
        table(rows[:_SHOWN])
        if len(rows) > _SHOWN:
            emit(f"{_SHOWN} of {len(rows)} shown; --json has all")
    _emit_transcripts_left(survey.left, request)
    if survey.of("harvest") or survey.of("prune"):
        emit("dry run; pass --apply to harvest" + (" and reclaim" if request.reclaim else ""))


def _of_paths(survey: Survey, paths: Collection[str]) -> Survey:
    if not paths:
        return survey
    from dataclasses import replace  # noqa: PLC0415 — rarely needed

    return replace(survey, candidates=tuple(each for each in survey.candidates if each.path in paths))


def _emit_classes(engine: Engine, survey: Survey) -> None:
    emit(classes_in_words(survey) or "no conversations")
    if not survey.of("harvest"):
        return
    if survey.provider == "markers":
        emit("no model used, $0")
        return
    price = estimate_text(engine.knowledge.price_of(survey))
    emit(f"~{survey.tokens:,} tokens to {survey.provider}, {price}")


def _emit_transcripts_left(left: int, request: HarvestRequest) -> None:
    """Mentions the transcripts that a harvest of conversations/ leaves out."""
    if left and not request.paths:
        are = "is" if left == 1 else "are"
        emit(f"{plural(left, 'transcript')} in raw/ {are} not harvested: autopoiesis harvest --transcripts")


def _emit_result(result: Result) -> None:
    if result.reclaimed or result.kept or (result.outcome == "harvested" and not result.is_new):
        return
    entry = result.entry
    if result.outcome != "harvested" or entry is None:
        emit(
            f"{OUTCOME_WORDS[result.outcome]}  {result.path}" + (f": {result.error}" if result.error else "")
        )
        return
    found = counted(result.items)
    more = [
        f"{len(result.known)} known" if result.known else "",
        f"{result.held} for review" if result.held else "",
    ]
    what = ", ".join([*found, *filter(None, more)])
    if what:
        emit(f"harvested  {result.path}: {what}")
    for known in result.known:
        place = f"{known.path}:{known.number}" if known.number else "repeated in the conversation"
        emit(f"  known  {place}  {known.line}")
    for refused in result.refused:
        emit(f"  not used  {refused}")


def _confirm_number(engine: Engine, request: HarvestRequest, report: Report) -> Report:
    """Asks for the number of conversations to move to the trash, when it has to be confirmed."""
    from dataclasses import replace  # noqa: PLC0415 — rarely needed

    waiting = [each for each in report.results if each.to_confirm]
    if not waiting or request.consent.number is not None:
        return report
    emit(waiting[0].kept.partition(";")[0])
    typed = click.prompt(f"type {len(waiting)} to move them to the trash, enter to keep them", default="")
    if typed.strip() != str(len(waiting)):
        return report
    agreed = replace(request, consent=replace(request.consent, number=len(waiting)))
    again = engine.knowledge.harvest.run(agreed, lambda _result: None)
    done = {each.path: each for each in again.results}
    return replace(report, results=tuple(done.get(each.path, each) for each in report.results))


def _emit_report(engine: Engine, request: HarvestRequest, report: Report, left: int) -> None:
    for path in report.recovered:
        emit(f"finished an interrupted run: {path}")
    for path in report.purged:
        emit(f"deleted from the trash: {path}")
    if report.results:
        _emit_results(engine, report)
    elif not report.stopped:
        emit("nothing to harvest")
    _emit_transcripts_left(left, request)
    if report.stopped:
        raise HarvestRefused(report.stopped)


def _emit_results(engine: Engine, report: Report) -> None:
    new = [each for each in report.results if each.is_new]
    counts = counted(report.items)
    if new:
        none = "no items added" if report.held else "no items found"
        emit(f"{plural(len(new), 'conversation')} harvested: {', '.join(counts) or none}")
        silent = sum(not (any(each.items.values()) or each.held or each.known) for each in new)
        if silent and len(new) > 1:
            emit(f"nothing found in {silent} of them")
    if report.held:
        emit(f"{plural(report.held, 'item')} for review: autopoiesis review list")
    entries = [each.entry for each in new if each.entry is not None]
    if not counts and any(entry.provider == "markers" for entry in entries):
        emit("no model was used; to have one read whole conversations:")
        emit("autopoiesis config set harvest.provider anthropic   # or openai, gemini, claude-code")
    tokens = sum(entry.input_tokens + entry.output_tokens for entry in entries)
    if tokens:
        emit(usage_text(tokens, [entry.cost_usd for entry in entries]))
    gone = sum(each.reclaimed for each in report.results)
    if gone:
        emit(f"{plural(gone, 'conversation')} ({sizes(report.reclaimed)}) moved to the trash")
    for why in dict.fromkeys(each.kept for each in report.results if each.kept):
        paths = [each.path for each in report.results if each.kept == why]
        emit(f"kept: {paths[0] if len(paths) == 1 else plural(len(paths), 'conversation')}: {why}")
    if new:
        emit(commit_text(report.commit, report.uncommitted))
        if engine.knowledge.digest.view().on:
            emit(f"digest: {engine.knowledge.digest.path}")
        emit("ledger: knowledge/ledger.json")
