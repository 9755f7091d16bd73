"""The results of a benchmark: one row per comparison, shown as a table and written as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.benchmarks.timing import Timings

HEADS = ("", "ours p50", "p95", "beside", "p50", "ratio", "")


class Disagreement(AssertionError):
    """The two sides give different results, so their times cannot be compared."""


def agree(condition: bool, what: str) -> None:
    """End a benchmark whose two sides give different results.

    Raises:
        Disagreement: ``condition`` does not hold.
    """
    if not condition:
        raise Disagreement(what)


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison.

    Attributes:
        name: What was timed.
        ours: The product's times.
        peer: The raw alternative, in a few words.
        theirs: Its times; ``None`` if there is no peer.
        note: Other information, in a few words.
        figures: The same as numbers, by name including the unit.
    """

    name: str
    ours: Timings
    peer: str = ""
    theirs: Timings | None = None
    note: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """The product's median over the peer's: above 1 it is slower. ``None`` without a peer."""
        if self.theirs is None or self.theirs.p50 == 0:
            return None
        return self.ours.p50 / self.theirs.p50

    def cells(self) -> tuple[str, ...]:
        """The row as text, with a cell for each of ``HEADS``."""
        ratio = self.ratio
        return (
            self.name,
            duration(self.ours.p50),
            duration(self.ours.p95) if len(self.ours.seconds) > 1 else "",
            self.peer,
            duration(self.theirs.p50) if self.theirs is not None else "",
            "" if ratio is None else f"{ratio:.3g}×",
            self.note,
        )

    def tree(self, area: str) -> dict[str, object]:
        """The row for JSON, with times in milliseconds."""
        return {
            "area": area,
            "name": self.name,
            "ours_p50_ms": self.ours.p50 * 1e3,
            "ours_p95_ms": self.ours.p95 * 1e3,
            "runs": len(self.ours.seconds),
            "peer": self.peer,
            "peer_p50_ms": None if self.theirs is None else self.theirs.p50 * 1e3,
            "ratio": self.ratio,
            "note": self.note,
            **self.figures,
        }


def duration(seconds: float) -> str:
    """A time with three figures and its unit: ``48.2 µs``, ``3.10 ms``, ``1.52 s``."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        # Values that would round up to a thousand go to the next unit.
        if round(seconds * factor, 1) < 1000:
            return f"{_three(seconds * factor)} {unit}"
    return f"{_three(seconds)} s"


def _three(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells under ``HEADS``, with figures right-aligned."""
    return "\n".join(aligned([HEADS, *rows], at_right={1, 2, 4, 5}))


def aligned(lines: Sequence[Sequence[str]], at_right: Container[int] | None = None) -> list[str]:
    """Lines of cells in columns, of which some, by default all but the first, are right-aligned."""
    columns = range(len(lines[0]))
    at_right = columns[1:] if at_right is None else at_right
    widths = [max(len(line[column]) for line in lines) for column in columns]
    return [
        "  ".join(
            cell.rjust(width) if column in at_right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def machine() -> dict[str, object]:
    """The machine and versions that the figures come from."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }
