"""A person's own regression suite for memory: questions, and the evidence their prompts should hold."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Expectation:
    """Evidence that a prompt should hold: lines of a file, a file, or a text.

    Attributes:
        path: Workspace-relative path; empty for a text.
        lines: ``"12-40"`` or ``"12"``, 1-based and inclusive; empty for the whole file.
        text: The text; empty for a file.
    """

    path: str = ""
    lines: str = ""
    text: str = ""

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
    """A question and what its prompt should hold.

    Attributes:
        id: Names it for good; made from the question where the file names none.
        question: What is compiled and searched for.
        expect: The evidence; at least one.
        budget: Tokens for prompt and reply reserve; ``None``: the workspace's setting.
        note: What a person wants to remember about it.
        line: Line of ``probes.yaml`` on which it starts; 0 when it comes from no file. Not compared.
    """

    id: str
    question: str
    expect: tuple[Expectation, ...]
    budget: int | None = None
    note: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What became of one expectation.

    Attributes:
        expect: The expectation, as text.
        found: Whether it is in the prompt.
        section: Label and lines of the section that holds it, or most of it; empty when none holds any.
        tokens: Tokens of that section.
        share: Part of the expected lines' wording that is in the prompt, 0 to 1; ``None`` where lines are
            not expected.
        rank: 1-based place among the search results for the question; ``None`` when it is not among the
            first 200.
        why: Why it is missing, in one sentence; empty when it is found.
    """

    expect: str
    found: bool
    section: str = ""
    tokens: int = 0
    share: float | None = None
    rank: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one probe.

    Attributes:
        id: The probe.
        question: Its question.
        tokens: Tokens of the prompt; 0 when none could be made.
        budget: The budget it was compiled for; 0 likewise.
        evidence: One for each expectation, in order.
    """

    id: str
    question: str
    tokens: int
    budget: int
    evidence: tuple[Evidence, ...]

    @property
    def passed(self) -> bool:
        """Whether all its evidence is there."""
        return all(evidence.found for evidence in self.evidence)


@dataclass(frozen=True, slots=True)
class Run:
    """What became of several probes.

    Attributes:
        at: When they were run, ISO 8601, UTC.
        commit: The workspace's newest commit then; empty without one.
        results: One for each probe, in order.
        expectations: How many there were.
        found: How many of them are in their prompts.
        recall: ``found`` of ``expectations``, 0 to 1; 1 when there were none.
        ranked: How many of them search found.
        mean_rank: The mean place of those; ``None`` when there are none.
        tokens: Mean tokens of a prompt.
        budget_used: Part of the budgets that the prompts took, 0 to 1.
    """

    at: str
    commit: str
    results: tuple[Result, ...]
    expectations: int
    found: int
    recall: float
    ranked: int
    mean_rank: float | None
    tokens: int
    budget_used: float

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
    """A run beside what was recorded before it.

    Attributes:
        at: When the newest of the earlier results was recorded; empty when there is none.
        commit: The commit it was recorded at.
        compared: Expectations that both know.
        lost: What was found then and is missing now.
        gained: What was missing then and is found now.
    """

    at: str = ""
    commit: str = ""
    compared: int = 0
    lost: tuple[Turned, ...] = ()
    gained: tuple[Turned, ...] = ()


def span_of(lines: str) -> tuple[int, int] | None:
    """First and last line of ``"12-40"`` or ``"12"``; ``None`` when it is neither, or runs backwards."""
    first, dash, last = lines.partition("-")
    if not (first.isascii() and first.isdecimal()) or (dash and not (last.isascii() and last.isdecimal())):
        return None
    span = int(first), int(last or first)
    return span if 1 <= span[0] <= span[1] else None
