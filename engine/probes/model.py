"""Probes: the user's regression tests for memory, each a question and the evidence its prompt must hold."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected evidence: lines of a file, a file, or a text."""

    path: str = ""  # empty for a text
    lines: str = ""  # ``"12-40"`` or ``"12"``, 1-based and inclusive; empty for the whole file
    text: str = ""  # empty for a file

    def __str__(self) -> str:
        """Its name in results and logs: ``path``, ``path:12-40`` or ``“text”``."""
        if not self.path:
            return f"“{self.text}”"
        return f"{self.path}:{self.lines}" if self.lines else self.path

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last line; ``None`` for the whole file or a text."""
        return span_of(self.lines)


@dataclass(frozen=True, slots=True)
class Probe:
    """A question and the evidence its prompt must hold."""

    id: str  # derived from the question if the file has none
    question: str
    expect: tuple[Expectation, ...]  # at least one
    budget: int | None = None  # tokens for prompt and reply reserve; ``None``: the workspace's setting
    note: str = ""  # free text
    line: int = field(default=0, compare=False)  # first line in ``probes.yaml``; 0 if not from the file


@dataclass(frozen=True, slots=True)
class Evidence:
    """Result of one expectation."""

    expect: str  # as text
    found: bool
    section: str = ""
    """Label and lines of the section that holds most of it; empty if none holds any."""
    tokens: int = 0  # of that section
    share: float | None = None
    """Share of the expected lines' wording in the prompt, 0 to 1; ``None`` if no lines are expected."""
    rank: int | None = None  # position in the search results, from 1; ``None`` if not in the first 200
    why: str = ""  # why it is missing, one clause; empty if found


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one probe."""

    id: str
    question: str
    tokens: int  # of the prompt; 0 if it could not be compiled
    budget: int  # tokens; 0 likewise
    evidence: tuple[Evidence, ...]  # one for each expectation, in order

    @property
    def passed(self) -> bool:
        """True if all evidence was found."""
        return all(evidence.found for evidence in self.evidence)


@dataclass(frozen=True, slots=True)
class Run:
    """Results of several probes."""

    at: str  # ISO 8601, UTC
    commit: str  # the newest commit, if any
    results: tuple[Result, ...]  # one for each probe, in order
    expectations: int
    found: int  # expectations found in their prompts
    recall: float  # ``found`` of ``expectations``, 0 to 1; 1 if there are none
    ranked: int  # expectations found by search
    mean_rank: float | None  # of those; ``None`` if there are none
    tokens: int  # mean tokens of a prompt
    budget_used: float  # share of the budgets used by the prompts, 0 to 1

    @staticmethod
    def of(at: str, commit: str, results: tuple[Result, ...]) -> Run:
        """A run with its summary."""
        evidence = [found for result in results for found in result.evidence]
        found = sum(each.found for each in evidence)
        ranks = [each.rank for each in evidence if each.rank is not None]
        tokens = [result.tokens for result in results if result.budget]
        budget = sum(result.budget for result in results)
        return Run(
            at=at,
            commit=commit,
            results=results,
            expectations=len(evidence),
            found=found,
            recall=found / len(evidence) if evidence else 1.0,
            ranked=len(ranks),
            mean_rank=sum(ranks) / len(ranks) if ranks else None,
            tokens=round(sum(tokens) / len(tokens)) if tokens else 0,
            budget_used=sum(tokens) / budget if budget else 0.0,
        )


@dataclass(frozen=True, slots=True)
class Turned:
    """An expectation whose result has changed."""

    id: str
    expect: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run compared with earlier results."""

    at: str = ""  # time of the newest earlier result, if any
    commit: str = ""
    compared: int = 0  # expectations with results in both
    lost: tuple[Turned, ...] = ()  # found before, missing now
    gained: tuple[Turned, ...] = ()  # missing before, found now


def span_of(lines: str) -> tuple[int, int] | None:
    """First and last line of ``"12-40"`` or ``"12"``; ``None`` if it is not a valid range."""
    first, dash, last = lines.partition("-")
    if not (first.isascii() and first.isdecimal()) or (dash and not (last.isascii() and last.isdecimal())):
        return None
    span = int(first), int(last or first)
    return span if 1 <= span[0] <= span[1] else None
