"""A result of ``doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from engine.errors import Problem

Level = Literal["ok", "note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: severity, text and hint."""

    level: Level
    text: str
    hint: str = ""

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """A finding from a problem in a file."""
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        return cls(problem.severity, f"{place}: {problem.what}", problem.hint)
