"""Importing a long Claude Code log, once and again, compared with parsing its lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.inputs import Words, append_lines, log_lines
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Timings

MB = 1_000_000
MORE = 10_000


@dataclass(frozen=True, slots=True)
class Work:
    """The report of a worker."""

    seconds: float
    peak_bytes: int
    result: int


def run(setting: Setting) -> Iterator[Row]:
    """Import the whole log at once; then again without changes; then again with a few more lines."""
    session = log_lines(Words(5))
    log = setting.folder / "log.jsonl"
    lines = append_lines(session, log, setting.size(50, 1) * MB)
    size = log.stat().st_size
    roots = [setting.workspace(f"import-{number}").root for number in range(setting.size(2, 1))]
    imported, parsed = [], []
    for root in roots:
        imported.append(_work("import", log, root))
        parsed.append(_work("parse", log, root))
    agree(imported[0].result > 0, "nothing was imported")
    agree(parsed[0].result == lines, "the log has another number of lines")
    rate = size / _timings(imported).p50 / MB
    peak, least = (max(work.peak_bytes for work in works) / MB for works in (imported, parsed))
    yield Row(
        f"import {size / MB:.0f} MB of Claude Code",
        _timings(imported),
        "json.loads, line by line",
        _timings(parsed),
        f"{rate:.1f} MB/s, peak {peak:.0f} MB beside {least:.0f}",
        {"mb_per_s": rate, "peak_mb": peak, "peer_peak_mb": least, "turns": imported[0].result},
    )

    again, read = [], []
    for _ in range(setting.size(3, 1)):
        again.append(_work("import", log, roots[0]))
        read.append(_work("read", log, roots[0]))
    agree(not any(work.result for work in again), "an unchanged log brought turns")
    yield Row("again, nothing new", _timings(again), "reading the log", _timings(read))

    grown, read = [], []
    for _ in range(setting.size(3, 1)):
        append_lines(session, log, MORE)
        grown.append(_work("import", log, roots[0]))
        read.append(_work("read", log, roots[0]))
    agree(all(work.result for work in grown), "a grown log brought no turns")
    yield Row(f"again, {MORE // 1000} KB more", _timings(grown), "reading the log", _timings(read))


def _work(name: str, source: Path, root: Path) -> Work:
    command = [sys.executable, "-m", "tests.benchmarks.worker", name, str(source), str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    return Work(**json.loads(done.stdout))


def _timings(works: list[Work]) -> Timings:
    return Timings(tuple(work.seconds for work in works))
