"""Large logs are read in one pass and with little memory."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.importers.lines import read_lines
from engine.transcripts.importers.run import import_file
from tests.transcripts.logs import SESSION, ClaudeCode, dump, read_transcript

ROOT = Path(__file__).parents[2]
MB = 1_000_000


def test_lines_have_their_offsets_for_any_block_size() -> None:
    data = b'{"a": 1}\n' + b'{"b": "' + b"x" * 1_500_000 + b'"}\n\n' + b'{"c": 3}'
    lines = list(read_lines(io.BytesIO(data)))
    assert [data[line.start : line.end] for line in lines] == data.splitlines(keepends=True)
    assert [next(iter(record)) for line in lines for record in line.records] == ["a", "b", "c"]
    assert [line.start for line in read_lines(io.BytesIO(data), lines[1].start)] == [
        line.start for line in lines[1:]
    ]


WHOLE = '{"type": "user", "text": "\\"quoted\\" {\\\\", "list": [{"a": {}}]}'


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ('{"type": "torn", "text": "some words ' + WHOLE, ["user"]),
        ('{"type": "torn", "text": "ends with a backslash \\\\' + WHOLE, ["user"]),
        ('{"type": "torn", "a": {"part": "inner"}' + WHOLE, ["user"]),
        ('{"type": "torn", "a": ' + WHOLE, ["user"]),
        ("\0" * 5000 + WHOLE, ["user"]),
        (WHOLE + "\0" * 5000, ["user"]),
        ("\0" * 9 + WHOLE + '{"type": "torn", "a": tr' + WHOLE, ["user"] * 2),
        ('{"type": "first"}{"type": "torn", "a": [1, ' + WHOLE + WHOLE, ["first", "user", "user"]),
        ('{"type": "torn", "a": {"b": "c"}', []),
        ('{"type": "torn", "a": [{"b": {}}, {}', []),
        ('{"type": "torn"' + "}" * 9, ["torn"]),
        ("}}}}" + WHOLE, ["user"]),
        ('not a record: "{}"', []),
    ],
)
def test_whole_records_beside_a_torn_one_are_read(line: str, types: list[str]) -> None:
    data = f"{line}\n{WHOLE}\n".encode()
    torn, whole = read_lines(io.BytesIO(data))
    assert [record["type"] for record in torn.records] == types
    assert torn.odd
    assert torn.end == whole.start
    assert [record for record in torn.records if record["type"] == "user"] == [
        json.loads(WHOLE) for each in types if each == "user"
    ]


def test_a_line_over_the_limit_is_skipped_and_counted() -> None:
    data = b'{"a": 1}\n' + b'{"b": "' + b"x" * 5000 + b'"}\n' + b'{"c": 3}\n'
    lines = list(read_lines(io.BytesIO(data), limit=4000))
    assert [(line.odd, bool(line.records)) for line in lines] == [(False, True), (True, False), (False, True)]
    assert lines[-1].end == len(data)


def test_an_unfinished_line_over_the_limit_waits() -> None:
    data = b'{"a": 1}\n' + b"x" * 5000
    assert [line.end for line in read_lines(io.BytesIO(data), limit=4000)] == [9]


def test_a_line_of_twenty_megabytes_is_imported(tmp_path: Path, workspace: Workspace, files: Files) -> None:
    log = ClaudeCode()
    path = tmp_path / f"{SESSION}.jsonl"
    with path.open("wb") as stream:
        stream.write(dump(log.user("before")))
        stream.write(b'{"type": "user", "message": {"content": "' + b"x" * 20_000_000 + b'"}}\n')
        stream.write(dump(log.user("after")))
    result = import_file("claude-code", path, workspace, files)
    assert (result.turns_total, result.odd_lines) == (2, 1)
    assert [turn.text for turn in read_transcript(files, result.target).turns] == ["before", "after"]


SCRIPT = """
import sys
from pathlib import Path
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.importers.run import import_file
from tests.benchmarks.worker import peak_bytes

workspace = Workspace.open(sys.argv[1])
result = import_file("claude-code", Path(sys.argv[2]), workspace, Files(workspace))
print(result.status, result.turns_total, result.odd_lines, peak_bytes())
"""


@dataclass(frozen=True)
class Outcome:
    status: str
    turns: int
    odd: int
    peak: int


def import_in_subprocess(root: Path, log: Path) -> Outcome:
    """Import a log in a separate process and measure its memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root), str(log)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    status, *numbers = done.stdout.split()
    return Outcome(status, *map(int, numbers))


def test_fifty_megabytes_are_imported_in_little_memory(memory_folder: Path) -> None:
    (memory_folder / "memory-config.yaml").write_bytes(b"")
    path = memory_folder / f"{SESSION}.jsonl"
    log = ClaudeCode()
    big = "line of a file that was read\n" * 3000
    with path.open("wb") as stream:
        while stream.tell() < 50_000_000:
            stream.write(
                dump(
                    log.user("question"),
                    log.calls("t", "Read", file_path="a.py"),
                    log.result("t", big),
                    b"odd",
                )
            )
            stream.write(dump(log.says("answer " * 20)))
    outcome = import_in_subprocess(memory_folder, path)
    assert outcome.turns == 2 * outcome.odd > 400
    assert outcome.peak < 60 * MB


def write_dialogue(path: Path, size: int) -> None:
    """Write a log of at least ``size`` bytes with dialogue only; one line in fifty-one is unreadable."""
    log = ClaudeCode()
    exchange = [log.user("question " * 30), log.says("A longer answer, `code`, and more. " * 50)]
    lines = dump(*exchange * 25, b"odd")
    numbers = count()
    with path.open("wb") as stream:
        while stream.tell() < size:
            # A line with a known id counts as repeated.
            stream.write(re.sub(rb'"uuid-\d+"', lambda _: b'"%d"' % next(numbers), lines))


def test_memory_does_not_grow_with_the_dialogue(memory_folder: Path) -> None:
    peaks: list[list[int]] = []
    for size in (3 * MB, 7 * MB):
        root = memory_folder / str(size)
        root.mkdir()
        (root / "memory-config.yaml").write_bytes(b"")
        path = memory_folder / f"{SESSION}.jsonl"
        write_dialogue(path, size)
        first = import_in_subprocess(root, path)
        assert first.status == "new"
        assert first.turns == 50 * first.odd
        again = import_in_subprocess(root, path)
        assert (again.status, again.turns) == ("unchanged", first.turns)
        with path.open("ab") as stream:
            stream.write(dump(ClaudeCode().user("and one more")))
        grown = import_in_subprocess(root, path)
        assert (grown.status, grown.turns) == ("grown", first.turns + 1)
        (transcript,) = root.glob("raw/conversations/*/*/*/*.md")
        assert transcript.stat().st_size > size // 2
        with transcript.open("ab") as edited:
            edited.write(b"A remark.\n")
        with path.open("ab") as stream:
            stream.write(dump(ClaudeCode().user("below the remark", uuid="last")))
        below = import_in_subprocess(root, path)
        assert (below.status, below.turns) == ("grown", first.turns + 2)
        peaks.append([outcome.peak for outcome in (first, again, grown, below)])
    small, large = peaks
    assert all(more - less < 2.5 * MB for less, more in zip(small, large, strict=True)), peaks
