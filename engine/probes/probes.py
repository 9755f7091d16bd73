"""The probes of a workspace: edited, run and recorded.

A run answers: is the evidence in the prompt, and if not, why? Questions are compiled without the gate, so
that a run costs nothing and depends only on the workspace and the day. The search uses the question as it
is, whereas the compiler adds the keywords of active topics: the rank shows what search alone would find.

Results are recorded run by run: ``logs/probes-YYYY-MM.jsonl``, append-only (design 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from engine.context.delimiters import one_line
from engine.errors import AutopoiesisError, BudgetError, Problem
from engine.probes import file, places
from engine.probes.file import MIN_BUDGET, PROBES_PATH, ProbeFile
from engine.probes.model import Comparison, Evidence, Expectation, Probe, Result, Run, Turned, span_of
from engine.probes.places import Coverage
from engine.store.change import commit_change, commit_message
from engine.store.monthly import MonthlyLog, Record
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.context.compiled import Compiled, LeftOut, Section
    from engine.context.revisions import Opened
    from engine.search.results import SearchResult
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository

_HINT = "see: autopoiesis probe list"
_SUBJECT = 36
"""Maximum characters of a question in a commit subject."""


@dataclass(frozen=True, slots=True)
class Report:
    """A run, its comparison with the previous one, and the entries that could not be run."""

    run: Run
    comparison: Comparison
    problems: tuple[Problem, ...] = ()  # in ``probes.yaml``
    notes: tuple[str, ...] = ()  # what could not be read of a past state, one line each


@dataclass(frozen=True, slots=True)
class ProbeChange:
    """A probe that was added or removed."""

    probe: Probe
    commit: str  # object name; empty if there is none
    why: str  # why there is no commit
    odd: tuple[str, ...] = ()  # warnings about an added probe, one clause each


class Probes:
    """The probes of a workspace. Thread-safe.

    ``repository`` gives the commit a run belongs to, and receives the changes.
    """

    def __init__(
        self,
        files: Files,
        repository: Callable[[], Repository],
        config: Callable[[], Config],
        clock: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._repository = repository
        self._config = config
        self._clock = clock
        self._log = ProbeLog(files, clock)

    def read(self) -> ProbeFile:
        """The probes and the problems in their file; see ``file.read``."""
        return file.read(self._files)

    def find(self, name: str) -> Probe:
        """The probe with an id or a unique prefix of it.

        Raises:
            AutopoiesisError: None or several match.
        """
        probes = self.read().probes
        found = [probe for probe in probes if probe.id == name]
        found = found or [probe for probe in probes if name and probe.id.startswith(name)]
        if not found:
            raise AutopoiesisError(f"no probe {shown(name)}", where=PROBES_PATH, hint=_HINT)
        if len(found) > 1:
            what = f"{len(found)} probes match {shown(name)}"
            raise AutopoiesisError(what, where=PROBES_PATH, hint="give more of the id")
        return found[0]

    def add(
        self,
        question: str,
        expect: Sequence[Expectation],
        *,
        budget: int | None = None,
        note: str = "",
        force: bool = False,
    ) -> ProbeChange:
        """Adds a probe at the end of the file and commits the file.

        Args:
            budget: Tokens for prompt and reply reserve.
            force: Accept files and lines that do not exist.

        Raises:
            AutopoiesisError: Question or evidence is empty, a file or line does not exist, or the question is
                already there.
            DocumentError: The file cannot be read or edited.
            WriteFailed, ReadOnly: The file was not changed.
        """
        question = question.strip()
        if not question:
            raise AutopoiesisError("a probe needs a question")
        if not expect:
            raise AutopoiesisError("a probe needs expected evidence", hint="give it with --expect")
        if budget is not None and budget < MIN_BUDGET:
            hint = f"use at least {MIN_BUDGET} tokens"
            raise AutopoiesisError(f"{budget} is not a valid budget", hint=hint)
        odd = [(each, why) for each in dict.fromkeys(expect) if (why := places.missing(self._files, each))]
        refused = next((why for each, why in odd if each.path), "")
        if refused and not force:
            raise AutopoiesisError(refused, hint="correct it, use text:… for a text, or add --force")
        added: list[Probe] = []

        def change(data: bytes | None) -> bytes:
            known = file.parse(data or b"")
            same = next((probe for probe in known.probes if probe.question == question), None)
            if same is not None:
                raise AutopoiesisError(
                    f"already has this question, as {same.id}",
                    where=f"{PROBES_PATH}:{same.line}",
                    hint="add the evidence there, or remove it first",
                )
            taken = frozenset(probe.id for probe in known.probes)
            probe = Probe(
                file.id_of(question, taken), question, tuple(dict.fromkeys(expect)), budget, note.strip()
            )
            added[:] = [probe]
            return file.with_entry(data or b"", file.entry_of(probe))

        self._files.update(PROBES_PATH, change)
        return self._commit("add", added[0], tuple(why for _, why in odd))

    def remove(self, name: str) -> ProbeChange:
        """Removes a probe, by its id or a unique prefix, and commits the file.

        Raises:
            AutopoiesisError: As ``find``.
            DocumentError: The file cannot be read or edited.
            WriteFailed, ReadOnly: The file was not changed.
        """
        with self._files.lock():
            probe = self.find(name)
            self._files.update(PROBES_PATH, lambda data: file.without_entry(data or b"", probe))
        return self._commit("remove", probe)

    def latest(self, probes: Iterable[Probe]) -> dict[str, Earlier]:
        """The last recorded result of each probe that has one, by id."""
        return self._log.latest(probe.id for probe in probes)

    def run(
        self,
        engine: ProbedEngine,
        names: Sequence[str] = (),
        *,
        budget: int | None = None,
        record: bool = True,
        progress: Progress | None = None,
    ) -> Report:
        """Runs probes and compares them with earlier results.

        Args:
            names: Ids or unique prefixes; all probes by default.
            budget: Tokens for every prompt, instead of the probes' own and the workspace's.
            record: Append the results to the log, unless the workspace is read-only.

        Raises:
            AutopoiesisError: As ``find``.
            WriteFailed: The results were not recorded.
        """
        known = self.read()
        results = run(engine, self._named(known, names), budget=budget, progress=progress)
        commit = self._repository().revision() or ""
        done = Run.of(self._clock().isoformat(), commit, results)
        comparison = self._log.compare(done, budget)
        if record and results and not self._files.read_only:
            self._log.record(done, budget)
        return Report(done, comparison, known.problems)

    def recall(
        self,
        past: Opened,
        names: Sequence[str] = (),
        *,
        budget: int | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Runs the current probes against a past state of the memory.

        Nothing is recorded or compared: the log is a series of the current state over time. ``names``,
        ``budget`` and ``progress`` are as for ``run``.

        Raises:
            AutopoiesisError: As ``find``.
        """
        known = self.read()
        results = run(past.engine, self._named(known, names), budget=budget, progress=progress)
        done = Run.of(self._clock().isoformat(), past.commit.revision, results)
        return Report(done, Comparison(), known.problems, past.problems)

    def _named(self, known: ProbeFile, names: Sequence[str]) -> tuple[Probe, ...]:
        return tuple(dict.fromkeys(self.find(name) for name in names)) if names else known.probes

    def _commit(self, what: str, probe: Probe, odd: tuple[str, ...] = ()) -> ProbeChange:
        message = commit_message(
            "maintenance", f"probe {what} {probe.id}: {one_line(probe.question, _SUBJECT)}"
        )
        wanted = self._config().git.auto_commit
        done = commit_change(self._repository, [PROBES_PATH], message, wanted=wanted)
        return ProbeChange(probe, done.revision, done.why, odd)


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
        evidence=tuple(_evidence(engine.files, each, compiled, refused, found) for each in probe.expect),
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


KIND = "probes"

Found = dict[str, bool]
"""Whether each expectation, as text, was found."""


class Earlier(NamedTuple):
    """A recorded result of one probe."""

    at: str  # ISO 8601, UTC
    commit: str  # the newest commit then, if any
    budget: int  # tokens; 0 if no prompt could be compiled
    tokens: int  # of its prompt
    found: Found


class ProbeLog:
    """Records runs and reads earlier results."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._months = MonthlyLog(files, KIND, clock)

    def record(self, run: Run, asked: int | None) -> None:
        """Records a run, without the questions, which are in ``probes.yaml``.

        ``asked`` is the budget requested for the whole run, in tokens.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        results = []
        for result in run.results:
            evidence = [
                _fields(each, "expect", "found", "section", "rank", "why") for each in result.evidence
            ]
            results.append({**_fields(result, "id", "tokens", "budget"), "evidence": evidence})
        self._months.append(
            {
                **_fields(run, "at", "commit"),
                "asked": asked,
                "recall": round(run.recall, 4),
                **_fields(run, "expectations", "found"),
                "mean_rank": None if run.mean_rank is None else round(run.mean_rank, 2),
                "tokens": run.tokens,
                "results": results,
            }
        )

    def latest(self, ids: Iterable[str]) -> dict[str, Earlier]:
        """The last recorded result of each probe that has one."""
        return self._find(set(ids), lambda _record: True)

    def compare(self, run: Run, asked: int | None) -> Comparison:
        """Compares a run with the last result of each probe under the same ``asked`` budget.

        With a different budget, lost evidence says nothing about the memory.
        """
        earlier = self._find(
            {result.id for result in run.results}, lambda record: record.get("asked") == asked
        )
        lost: list[Turned] = []
        gained: list[Turned] = []
        compared = 0
        for result in run.results:
            before = earlier[result.id].found if result.id in earlier else {}
            for each in result.evidence:
                if each.expect in before:
                    compared += 1
                    if each.found != before[each.expect]:
                        (gained if each.found else lost).append(Turned(result.id, each.expect))
        newest = max(earlier.values(), key=lambda each: each.at, default=Earlier("", "", 0, 0, {}))
        return Comparison(newest.at, newest.commit, compared, tuple(lost), tuple(gained))

    def _find(self, wanted: set[str], accept: Callable[[Record], bool]) -> dict[str, Earlier]:
        found: dict[str, Earlier] = {}
        if not wanted:
            return found
        for record in self._months.backwards():
            if accept(record):
                for name, earlier in _results(record).items():
                    if name in wanted:
                        found.setdefault(name, earlier)
            if len(found) == len(wanted):
                break
        return found


def _fields(value: Evidence | Result | Run, *names: str) -> Record:
    return {name: getattr(value, name) for name in names}


def _results(record: Record) -> dict[str, Earlier]:
    """The results of a recorded run by probe; empty for an invalid record."""
    try:
        at, commit = record["at"], record["commit"]
        found = {
            result["id"]: Earlier(
                at,
                commit,
                result["budget"] + 0,
                result["tokens"] + 0,
                {each["expect"]: each["found"] is True for each in result["evidence"]},
            )
            for result in record["results"]
        }
    except (KeyError, TypeError):
        return {}
    texts = (at, commit, *found, *(name for earlier in found.values() for name in earlier.found))
    return found if all(isinstance(text, str) for text in texts) else {}
