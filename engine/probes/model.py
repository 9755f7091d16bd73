"""A person's own regression suite for memory: questions, and the evidence their prompts should hold."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Expectation:
    """Evidence that a prompt should hold: lines of a file, a file, or a text."""

    path: str = ""  # empty for a text
    lines: str = ""  # ``"12-40"`` or ``"12"``, 1-based and inclusive; empty for the whole file
    text: str = ""  # empty for a file

    def __str__(self) -> str:
        """As it is named in results and logs: ``path``, ``path:12-40`` or ``“text”``."""
        if not self.path:
            return f"“{self.text}”"
        return f"{self.path}:{self.lines}" if self.lines else self.path

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last line; ``None`` for the whole file or a text."""
        return span_of(self.lines)


@dataclass(frozen=True, slots=True)
class Probe:
    """A question and what its prompt should hold."""

    id: str  # made from the question where the file names none
    question: str  # what is compiled and searched for
    expect: tuple[Expectation, ...]  # at least one
    budget: int | None = None  # tokens for prompt and reply reserve; ``None``: the workspace's setting
    note: str = ""  # what a person wants to remember about it
    line: int = field(default=0, compare=False)  # of ``probes.yaml`` on which it starts; 0 for none


@dataclass(frozen=True, slots=True)
class Evidence:
    """What became of one expectation."""

    expect: str  # as text
    found: bool
    section: str = ""
    """Label and lines of the section that holds it, or most of it; empty when none holds any."""
    tokens: int = 0  # of that section
    share: float | None = None
    """Part of the expected lines' wording that is in the prompt, 0 to 1; ``None`` where lines are not
    expected."""
    rank: int | None = None  # 1-based place among the search results; ``None`` when not among the first 200
    why: str = ""  # why it is missing, in one sentence; empty when it is found


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one probe."""

    id: str
    question: str
    tokens: int  # of the prompt; 0 when none could be made
    budget: int  # tokens; 0 likewise
    evidence: tuple[Evidence, ...]  # one for each expectation, in order

    @property
    def passed(self) -> bool:
        """Whether all its evidence is there."""
        return all(evidence.found for evidence in self.evidence)


@dataclass(frozen=True, slots=True)
class Run:
    """What became of several probes."""

    at: str  # ISO 8601, UTC
    commit: str  # the newest one then; empty without one
    results: tuple[Result, ...]  # one for each probe, in order
    expectations: int
    found: int  # how many of them are in their prompts
    recall: float  # ``found`` of ``expectations``, 0 to 1; 1 when there were none
    ranked: int  # how many of them search found
    mean_rank: float | None  # the mean place of those; ``None`` when there are none
    tokens: int  # mean tokens of a prompt
    budget_used: float  # part of the budgets that the prompts took, 0 to 1

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
    """An expectation that is met now and was not before, or the other way round."""

    id: str
    expect: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run beside what was recorded before it."""

    at: str = ""  # when the newest of the earlier results was recorded; empty when there is none
    commit: str = ""
    compared: int = 0  # expectations that both know
    lost: tuple[Turned, ...] = ()  # found then and missing now
    gained: tuple[Turned, ...] = ()  # missing then and found now


def span_of(lines: str) -> tuple[int, int] | None:
    """First and last line of ``"12-40"`` or ``"12"``; ``None`` when it is neither, or runs backwards."""
    first, dash, last = lines.partition("-")
    if not (first.isascii() and first.isdecimal()) or (dash and not (last.isascii() and last.isdecimal())):
        return None
    span = int(first), int(last or first)
    return span if 1 <= span[0] <= span[1] else None
