"""Large logs: read once through, in little memory."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.importers import import_file
from engine.transcripts.importers.lines import read_lines
from engine.transcripts.library import read_transcript
from tests.transcripts.logs import SESSION, ClaudeCode, dump

ROOT = Path(__file__).parents[2]


def test_lines_have_their_offsets_however_the_chunks_fall() -> None:
    data = b'{"a": 1}\n' + b'{"b": "' + b"x" * 1_500_000 + b'"}\n\n' + b'{"c": 3}'
    lines = list(read_lines(io.BytesIO(data)))
    assert [data[line.start : line.end] for line in lines] == data.splitlines(keepends=True)
    assert [next(iter(record)) for line in lines for record in line.records] == ["a", "b", "c"]
    assert [line.start for line in read_lines(io.BytesIO(data), lines[1].start)] == [
        line.start for line in lines[1:]
    ]


def test_a_line_over_the_limit_is_skipped_and_counted() -> None:
    data = b'{"a": 1}\n' + b'{"b": "' + b"x" * 5000 + b'"}\n' + b'{"c": 3}\n'
    lines = list(read_lines(io.BytesIO(data), limit=4000))
    assert [(line.odd, bool(line.records)) for line in lines] == [(False, True), (True, False), (False, True)]
    assert lines[-1].end == len(data)


def test_an_unfinished_line_over_the_limit_waits() -> None:
    data = b'{"a": 1}\n' + b"x" * 5000
    assert [line.end for line in read_lines(io.BytesIO(data), limit=4000)] == [9]


def test_a_log_with_a_line_of_twenty_megabytes(tmp_path: Path, workspace: Workspace, files: Files) -> None:
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
import resource, sys
from pathlib import Path
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.importers import import_file

workspace = Workspace.open(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = import_file("claude-code", Path(sys.argv[2]), workspace, Files(workspace))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
unit = 1024 * 1024 if sys.platform == "darwin" else 1024
print(result.turns_total, result.odd_lines, (after - before) // unit)
"""


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
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(memory_folder), str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    turns, odd, megabytes = map(int, done.stdout.split())
    assert turns == 2 * odd > 400
    assert megabytes < 64
