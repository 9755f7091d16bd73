"""``harvest``: knowledge is moved out of conversations, and those whose knowledge is safe to the trash."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from engine.errors import HarvestRefused
from tui.cli.base import (
    directory_option,
    emit,
    emit_json,
    emit_problems,
    example,
    invocation,
    json_option,
    kept,
    plain,
    table,
)
from tui.figures import dollars, plural, sizes

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.harvest.report import Report, Result, Survey

_SHOWN = 20


@click.command(
    "harvest",
    epilog=example(
        "autopoiesis harvest",
        "autopoiesis harvest --apply",
        "autopoiesis harvest conversations/2026-06-11-call.md --apply --keep",
        "autopoiesis harvest --transcripts --apply",
    ),
)
@directory_option
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@click.option("--apply", "is_applied", is_flag=True, help="Do it; without, say what would be done.")
@click.option(
    "--no-harvest", is_flag=True, help="Give the conversations up without asking for what they taught."
)
@click.option("--keep", is_flag=True, help="Leave every conversation where it is.")
@click.option("--transcripts", is_flag=True, help="Those of raw/ instead, which are never moved.")
@click.option(
    "--reclaim", "number", type=click.IntRange(min=0), metavar="N", help="Agree that so many go to the trash."
)
@click.option("--reclaim-empty", is_flag=True, help="Also those in which nothing was found.")
@click.option(
    "--reclaim-partial", is_flag=True, help="Also those known by a summary, or only by what they mark."
)
@json_option
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
    """Move what conversations taught into knowledge, and the conversations out of the way.

    Looks at conversations/, or only at PATH. What a conversation taught is appended to facts.md, decisions.md
    and the others, with where it comes from; what could be planted waits (`autopoiesis review list`). Then it
    goes to the trash, from where `autopoiesis ledger restore` brings it back: only if every line and the
    conversation itself are in the history, and only after its number was named where many would go. Who is
    asked is harvest.provider; `markers` asks nobody and takes only what a conversation marks itself.
    """
    from engine.knowledge.harvest.reclaim import Consent  # noqa: PLC0415 — `--help` must not load the engine
    from engine.knowledge.harvest.report import Wish  # noqa: PLC0415 — likewise

    consent = Consent(number, reclaim_empty, reclaim_partial)
    wish = Wish(paths, transcripts, not no_harvest, not (keep or transcripts), consent)
    with invocation().engine() as engine:
        survey = engine.knowledge.harvest.survey(transcripts=transcripts)
        if not is_applied:
            _print_survey(engine, survey, as_json)
            return 0
        if not as_json:
            _emit_classes(engine, survey)
        report = engine.knowledge.harvest.run(wish, _told if not as_json else lambda _result: None)
        if sys.stdin.isatty() and not as_json:
            report = _asked_for_a_number(engine, wish, report)
        if as_json:
            emit_json(_document(report))
        else:
            _emit_report(engine, report)
        failed = [each for each in report.results if each.outcome in ("failed", "changed")]
        emit_problems(f"autopoiesis: {each.path}: {each.error}" for each in failed)
        return 1 if failed else 0


def _print_survey(engine: Engine, survey: Survey, as_json: bool) -> None:
    if as_json:
        tree = plain(survey)
        tree["bytes"] = {kind: survey.size(kind) for kind in ("harvest", "prune")}
        tree["tokens"] = survey.tokens if survey.provider != "markers" else 0
        tree["usd"] = engine.knowledge.price_of(survey)
        emit_json(tree)
        return
    _emit_classes(engine, survey)
    if survey.candidates:
        rows = [[each.kind, each.path, sizes(each.size), each.why] for each in survey.candidates]
        table(rows[:_SHOWN])
        if len(rows) > _SHOWN:
            emit(f"{_SHOWN} of {len(rows)} shown; --json has all")
    emit("dry run; pass --apply to harvest and reclaim")


def _emit_classes(engine: Engine, survey: Survey) -> None:
    from engine.knowledge.harvest.classify import KINDS  # noqa: PLC0415 — `--help` must not load the engine

    counts = ", ".join(f"{kind}:{len(survey.of(kind))}" for kind in KINDS)
    emit(f"artifacts: {counts}")
    asked = ""
    if survey.provider == "markers":
        asked = " (markers: no model is asked)"
    elif survey.of("harvest"):
        price = engine.knowledge.price_of(survey)
        about = "price unknown" if price is None else f"about {dollars(price)}"
        asked = f" (~{survey.tokens:,} input tokens for {survey.provider}, {about})"
    emit(
        f"harvest candidates: {sizes(survey.size('harvest'))}{asked},"
        f" prune candidates: {sizes(survey.size('prune'))}"
    )


def _told(result: Result) -> None:
    if result.reclaimed or result.kept:
        return
    entry = result.entry
    if result.outcome != "harvested" or entry is None:
        emit(f"{result.outcome}  {result.path}")
        return
    found = [f"{name}:{count}" for name, count in entry.items.items() if count]
    more = [
        f"{entry.known} known" if entry.known else "",
        f"{len(entry.held)} for review" if entry.held else "",
    ]
    what = ", ".join([*found, *filter(None, more)]) or "nothing"
    emit(f"harvested  {result.path}: {what}")
    for known in result.known:
        place = f"{known.path}:{known.number}" if known.number else "said twice in it"
        emit(f"  known  {place}  {known.line}")


def _asked_for_a_number(engine: Engine, wish: Any, report: Report) -> Report:
    """Asks a person at a terminal where the number of conversations that would go has to be named."""
    from dataclasses import replace  # noqa: PLC0415 — hardly ever needed

    waiting = [each for each in report.results if "would go to the trash" in each.kept]
    if not waiting or wish.consent.number is not None:
        return report
    emit(waiting[0].kept.partition(";")[0])
    typed = click.prompt(f"type {len(waiting)} to move them to the trash, enter to keep them", default="")
    if typed.strip() != str(len(waiting)):
        return report
    agreed = replace(wish, consent=replace(wish.consent, number=len(waiting)))
    again = engine.knowledge.harvest.run(agreed, lambda _result: None)
    done = {each.path: each for each in again.results}
    return replace(report, results=tuple(done.get(each.path, each) for each in report.results))


def _emit_report(engine: Engine, report: Report) -> None:
    for path in report.recovered:
        emit(f"finished what was interrupted: {path}")
    for path in report.purged:
        emit(f"left the trash for good: {path}")
    if not report.results:
        emit("nothing to harvest")
        return
    counts = {name: count for name, count in report.items.items() if count}
    emit(f"harvested items: {', '.join(f'{name}:{count}' for name, count in counts.items()) or 'none'}")
    if not counts and any(
        each.entry is not None and each.entry.provider == "markers" for each in report.results
    ):
        emit(
            "markers take only what a conversation marks itself (Decision:, TODO:, …); a model reads it all:"
        )
        emit("autopoiesis config set harvest.provider anthropic   # or openai, gemini, claude-code")
    entries = [each.entry for each in report.results if each.entry is not None and each.commit]
    held = sum(len(entry.held) for entry in entries)
    if held:
        emit(f"{plural(held, 'item')} for review: autopoiesis review list")
    tokens = sum(entry.input_tokens + entry.output_tokens for entry in entries)
    if tokens:
        costs = [entry.cost_usd for entry in entries]
        known = "price unknown" if None in costs else dollars(sum(cost or 0 for cost in costs))
        emit(f"asked: {tokens:,} tokens, {known}")
    gone = sum(each.reclaimed for each in report.results)
    emit(f"reclaimed: {sizes(report.reclaimed)} in {plural(gone, 'conversation')}")
    for why in dict.fromkeys(each.kept for each in report.results if each.kept):
        paths = [each.path for each in report.results if each.kept == why]
        emit(f"kept: {paths[0] if len(paths) == 1 else plural(len(paths), 'conversation')}: {why}")
    last = next((each for each in reversed(report.results) if each.commit or each.uncommitted), None)
    if last is not None:
        emit(kept(last.commit, last.uncommitted))
    emit(f"digest: {engine.knowledge.digest.path}")
    emit("ledger: knowledge/ledger.json")
    if report.stopped:
        raise HarvestRefused(report.stopped)


def _document(report: Report) -> dict[str, object]:
    return {**plain(report), "items": report.items, "reclaimed_bytes": report.reclaimed}
