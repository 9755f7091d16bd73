"""Runs probes: is the evidence in the prompt, and if not, why?

Questions are compiled without the gate, so that a run costs nothing and depends only on the workspace and the
day. The search uses the question as it is, whereas the compiler adds the keywords of active topics: the rank
shows what search alone would find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from engine.errors import BudgetError
from engine.probes import places
from engine.probes.model import Evidence, Expectation, Probe, Result, span_of
from engine.probes.places import Coverage

if TYPE_CHECKING:
    from engine.context.compiled import Compiled, LeftOut, Section
    from engine.search.results import SearchResult
    from engine.store.files import Files

DEPTH = 200
"""Search results to look for the evidence in."""

Progress = Callable[[int, int], None]


class ProbedEngine(Protocol):
    """The part of ``engine.engine.Engine`` that probes need."""

    files: Files

    def compile(self, text: str, *, budget: int | None = None, ask: bool = True) -> Compiled:
        """The prompt for a message."""
        ...

    def search(self, query: str, *, limit: int = 10) -> Sequence[SearchResult]:
        """Search results, best first."""
        ...


def run(
    engine: ProbedEngine,
    probes: Sequence[Probe],
    *,
    budget: int | None = None,
    progress: Progress | None = None,
) -> tuple[Result, ...]:
    """Runs probes against a workspace, without changing anything but its search index.

    Args:
        budget: Tokens for every prompt, instead of the probes' own.
        progress: Called with the number of probes done and in total.

    Returns:
        A result for each, in order. A prompt that exceeds its budget holds nothing.
    """
    results: list[Result] = []
    for probe in probes:
        if progress is not None:
            progress(len(results), len(probes))
        results.append(_run(engine, probe, probe.budget if budget is None else budget))
    if progress is not None:
        progress(len(probes), len(probes))
    return tuple(results)


def _run(engine: ProbedEngine, probe: Probe, budget: int | None) -> Result:
    refused = ""
    compiled: Compiled | None = None
    try:
        compiled = engine.compile(probe.question, budget=budget, ask=False)
    except BudgetError as error:
        refused = str(error)
    found = engine.search(probe.question, limit=DEPTH)
    return Result(
        id=probe.id,
        question=probe.question,
        tokens=compiled.tokens if compiled is not None else 0,
        budget=compiled.budget if compiled is not None else 0,
        places=tuple(_evidence(engine.files, each, compiled, refused, found) for each in probe.expect),
    )


def _evidence(
    files: Files,
    expectation: Expectation,
    compiled: Compiled | None,
    refused: str,
    results: Sequence[SearchResult],
) -> Evidence:
    lines = places.lines_of(files, expectation.path) if expectation.path else None
    held = _coverage(expectation, lines, compiled)
    rank = next((at for at, result in enumerate(results, 1) if _matches(result, expectation)), None)
    why = ""
    if not held.is_enough:
        why = (
            places.missing(files, expectation)
            or refused
            or _left_out(files, expectation, compiled)
            or _too_little(held)
            or _ranked(rank, compiled)
        )
    return Evidence(
        expect=str(expectation),
        found=held.is_enough,
        section=_name(held.section) if held.section is not None else "",
        tokens=held.section.tokens if held.section is not None else 0,
        share=held.share if expectation.span is not None else None,
        rank=rank,
        why=why,
    )


def _coverage(expectation: Expectation, lines: Sequence[str] | None, compiled: Compiled | None) -> Coverage:
    if compiled is None:
        return places.NOTHING
    if expectation.text:
        return places.of_text(expectation.text, compiled.sections)
    if expectation.span is None:
        return places.of_file(expectation.path, compiled.sections)
    expected = places.expected_lines(expectation, lines or ())
    return places.of_lines(expectation.path, expected, compiled.sections)


def _matches(result: SearchResult, expectation: Expectation) -> bool:
    """True if a search result is from the file, overlaps the lines, or contains the text."""
    if expectation.text:
        return places.contains(result.text, places.normal(expectation.text))
    return result.path == expectation.path and _overlap(
        (result.start_line, result.end_line), expectation.span
    )


def _overlap(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    """True if two spans of lines overlap; ``None`` is the whole file."""
    return one is None or other is None or (one[0] <= other[1] and other[0] <= one[1])


def _left_out(files: Files, expectation: Expectation, compiled: Compiled | None) -> str:
    """The compiler's reason for leaving the evidence out."""
    if compiled is None:
        return ""
    for left in compiled.left_out:
        if left.source and _is_of(files, left, expectation):
            place = f"{left.source}:{left.lines}" if left.lines else left.source
            return f"{place} was left out: {left.reason}"
    return ""


def _is_of(files: Files, left: LeftOut, expectation: Expectation) -> bool:
    if expectation.path:
        return left.source == expectation.path and _overlap(span_of(left.lines), expectation.span)
    lines = places.lines_of(files, left.source)
    span = span_of(left.lines)
    own = (lines or [])[span[0] - 1 : span[1]] if span is not None else lines or []
    return places.contains("\n".join(own), places.normal(expectation.text))


def _too_little(held: Coverage) -> str:
    if held.section is None:
        return ""
    return f"only {held.share:.0%} of its wording is in the prompt; {places.ENOUGH:.0%} is needed"


def _ranked(rank: int | None, compiled: Compiled | None) -> str:
    if rank is None:
        return "search did not find it: rank –"
    left_out = () if compiled is None else compiled.left_out
    for left in left_out:
        if left.label == "knowledge" and not left.source:
            return f"search ranks it {rank}, but memory was left out of the prompt: {left.reason}"
    return f"search ranks it {rank}, below the results in the prompt (context_compiler.knowledge_results)"


def _name(section: Section) -> str:
    """A section's label, with its lines if it has any."""
    return f"{section.label}:{section.lines}" if section.lines else section.label
