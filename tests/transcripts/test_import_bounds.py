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
from engine.transcripts.importers.lines import data_length, read_lines
from engine.transcripts.importers.run import import_file
from engine.transcripts.turn import Attachment
from tests.cases import each_case
from tests.transcripts.logs import SESSION, ClaudeCode, dump, read_transcript, write

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


@each_case(
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
    data = b'{"a": 1}\n' + b'{"b": "' + b"words " * 1000 + b'"}\n' + b'{"c": 3}\n'
    lines = list(read_lines(io.BytesIO(data), limit=4000))
    assert [(line.odd, bool(line.records)) for line in lines] == [(False, True), (True, False), (False, True)]
    assert lines[-1].end == len(data)


def test_an_unfinished_line_over_the_limit_waits() -> None:
    data = b'{"a": 1}\n' + b"x" * 5000
    assert [line.end for line in read_lines(io.BytesIO(data), limit=4000)] == [9]


@pytest.mark.parametrize("chunk", [1000, 4097, 9999, 1 << 20])
def test_data_is_dropped_from_a_line_over_the_limit(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr("engine.transcripts.importers.lines._CHUNK", chunk)
    kept = ["three screenshots", "A" * 4095, "a\nb\\c\u4f60 " * 300]
    data = ["A" * 20_000, "b+/=" * 2500, "-_09" * 1024]
    escaped = ["\n" + data[0], "\u4f60" + data[1], '"\\' + data[2] + '"']
    records = [{"kept": kept, "data": data}, {"kept": kept, "escaped": escaped}]
    lines = list(read_lines(io.BytesIO(dump(*records)), limit=30_000))
    assert [line.odd for line in lines] == [False, False]
    notes = [f"[{len(each)} bytes of data]" for each in data]
    first, second = (record for line in lines for record in line.records)
    assert first == {"kept": kept, "data": notes}
    assert [data_length(note) for note in notes] == [20_000, 10_000, 4096]
    assert second["kept"] == kept
    assert second["escaped"][:2] == ["\n" + notes[0], "\u4f60" + notes[1]]


@pytest.mark.parametrize("size", [10, 3000, 4096, 9000, 20_000])
@pytest.mark.parametrize("start", ["\\", "\\\\", "\\u", "\\n", '\\"', "\n", '"', "\x00", "\x1f", "你"])
def test_a_line_over_the_limit_is_read_right_or_not_at_all(start: str, size: int) -> None:
    for before in range(8):
        record = {"a": "words " * 2000 + "." * before + start + "a" * size, "b": start + "0" * size}
        (line,) = read_lines(io.BytesIO(dump(record)), limit=13_000)
        if line.odd:
            assert not line.records
        else:
            (read,) = line.records
            assert [_restored(read[key]) for key in "ab"] == [record[key] for key in "ab"]


def _restored(text: str) -> str:
    """A text with its data back, whose characters are those of its kind."""
    if (noted := re.search(r"\[(\d+) bytes of data\]$", text)) is None:
        return text
    return text[: noted.start()] + ("a" if text.startswith("words") else "0") * int(noted[1])


def test_words_beside_screenshots_of_twenty_megabytes_are_imported(
    tmp_path: Path, workspace: Workspace, files: Files
) -> None:
    log = ClaudeCode()
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 600_000}
    images = [{"type": "image", "source": source}] * 3
    path = tmp_path / f"{SESSION}.jsonl"
    text = {"type": "text", "text": "Why is this red?"}
    write(path, log.user("before"), log.user([*images, text]), log.user("after"))
    result = import_file("claude-code", path, workspace, files)
    assert (result.turns_total, result.odd_lines) == (3, 0)
    turns = read_transcript(files, result.target).turns
    assert [turn.text for turn in turns] == ["before", "Why is this red?", "after"]
    assert turns[1].blocks[-3:] == (Attachment("image/png (4834 KB, not kept)"),) * 3


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


def test_a_line_of_two_hundred_megabytes_is_imported_in_little_memory(memory_folder: Path) -> None:
    (memory_folder / "memory-config.yaml").write_bytes(b"")
    path = memory_folder / f"{SESSION}.jsonl"
    log = ClaudeCode()
    start, end = dump(log.user("hello @")).split(b"@")
    with path.open("wb") as stream:
        stream.write(start)
        for _ in range(200):
            stream.write(b"x" * MB)
        stream.write(end + dump(log.says("hi")))
    outcome = import_in_subprocess(memory_folder, path)
    assert (outcome.turns, outcome.odd) == (2, 0)
    assert outcome.peak < 80 * MB


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
