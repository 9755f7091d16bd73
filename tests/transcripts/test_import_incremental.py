"""Importing a growing log repeatedly gives the same transcript as importing it once."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ImportFailed, ReadOnly, WriteFailed
from engine.store import faults, spool
from engine.store.documents import edit_header
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.importers.drafts import ImportResult
from engine.transcripts.importers.run import discover, import_file
from engine.transcripts.places import list_transcripts
from engine.transcripts.turn import Text, ToolCall
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump, read_transcript, write


class GrowingLog:
    """A growing log, and a workspace into which it is imported."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        (root / "memory-config.yaml").write_bytes(b"")
        self.workspace = Workspace.open(root)
        self.files = Files(self.workspace)
        self.log = root.parent / f"{root.name}-logs" / f"{SESSION}.jsonl"
        self.log.parent.mkdir()
        self.log.write_bytes(b"")

    def grow(self, *records: dict[str, Any] | bytes) -> ImportResult:
        return self.grow_by(dump(*records))

    def grow_by(self, data: bytes) -> ImportResult:
        with self.log.open("ab") as stream:
            stream.write(data)
        return self.run()

    def run(self, *, dry_run: bool = False) -> ImportResult:
        return import_file(
            "claude-code",
            self.log,
            self.workspace,
            self.files,
            dry_run=dry_run,
            clock=lambda: self.log.stat().st_mtime,
        )

    def content(self) -> bytes:
        (info,) = list_transcripts(self.workspace)
        return self.files.read(info.path)

    def texts(self) -> list[str]:
        (info,) = list_transcripts(self.workspace)
        return [turn.text for turn in read_transcript(self.files, info.path).turns]

    def edit(self, old: bytes, new: bytes) -> None:
        (info,) = list_transcripts(self.workspace)
        data = self.files.read(info.path)
        assert old in data
        self.files.replace(info.path, data.replace(old, new))


@pytest.fixture
def growing(tmp_path: Path) -> GrowingLog:
    return GrowingLog(tmp_path / "w")


@pytest.fixture
def log() -> ClaudeCode:
    return ClaudeCode()


def test_a_growing_log_is_imported_in_steps(growing: GrowingLog, log: ClaudeCode) -> None:
    results = [
        growing.grow(log.user("one")),
        growing.grow(log.says("two")),
        growing.grow(log.says("and more")),
        growing.grow(log.record("progress")),
        growing.grow(log.user("three"), log.user("four")),
    ]
    assert [(result.status, result.turns_new, result.turns_total) for result in results] == [
        ("new", 1, 1),
        ("grown", 1, 2),
        ("grown", 0, 2),
        ("unchanged", 0, 2),
        ("grown", 2, 4),
    ]
    assert growing.texts() == ["one", "two\n\nand more", "three", "four"]
    assert len({result.target for result in results}) == 1


def test_importing_twice_changes_no_byte(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"), log.calls("t", "Bash", command="ls"))
    before, status = growing.content(), growing.log.stat()
    assert growing.run().status == "unchanged"
    assert growing.content() == before
    os.utime(growing.log, (status.st_atime, status.st_mtime + 60))
    assert growing.run().status == "unchanged"
    assert growing.content() == before


def test_a_later_result_is_added_to_its_call(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("go"), log.calls("t", "Bash", command="ls"))
    assert "> [tool:Bash] ls\n" in growing.content().decode()
    result = growing.grow(log.result("t", "a.py"))
    assert (result.status, result.turns_new) == ("grown", 0)
    (info,) = list_transcripts(growing.workspace)
    assert read_transcript(growing.files, info.path).turns[1].blocks == (ToolCall("Bash", "ls", "a.py"),)


def test_a_partial_line_is_imported_once_complete(growing: GrowingLog, log: ClaudeCode) -> None:
    line = dump(log.user("Grüße"))
    growing.grow(log.user("one"))
    for cut in (5, len(line) // 2, len(line) - 3):
        assert growing.grow_by(line[:cut]).status == "unchanged"
        with growing.log.open("r+b") as stream:
            stream.seek(0, os.SEEK_END)
            stream.truncate(stream.tell() - cut)
    growing.grow_by(line[:20])
    assert growing.grow_by(line[20:]).status == "grown"
    assert growing.texts() == ["one", "Grüße"]
    assert growing.run().odd_lines == 0


def test_a_complete_last_line_without_a_newline_is_imported(growing: GrowingLog, log: ClaudeCode) -> None:
    assert growing.grow_by(dump(log.user("one")).rstrip(b"\n")).status == "new"
    growing.grow_by(b"\n" + dump(log.user("two")))
    assert growing.texts() == ["one", "two"]


def test_odd_lines_are_counted_and_skipped(growing: GrowingLog, log: ClaudeCode) -> None:
    odd = [
        b"no json",
        b'{"half": ',
        b"[1, 2]",
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"n": ' + b"9" * 5000 + b"}",
    ]
    result = growing.grow(log.user("one"), *odd, b"", b"  ", {}, {"type": 5, "message": 7}, log.user("two"))
    assert (result.odd_lines, growing.texts()) == (len(odd), ["one", "two"])
    assert growing.run().odd_lines == len(odd)
    assert growing.grow(b"worse").odd_lines == len(odd) + 1


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "text",
        {"content": None},
        {"content": 5},
        {
            "content": [
                None,
                5,
                "x",
                {},
                {"type": None},
                {"type": "text", "text": 5},
                {"type": "tool_use", "input": 3},
            ]
        },
        {
            "content": [{"type": "tool_result", "content": {"a": 1}}, {"type": "image", "source": "x"}],
            "usage": [],
            "id": 3,
        },
    ],
)
def test_records_of_an_unknown_shape_do_not_stop_the_import(
    growing: GrowingLog, log: ClaudeCode, message: Any
) -> None:
    for kind in ("user", "assistant", "system", "attachment", "summary", "custom-title"):
        growing.grow(
            log.record(kind, message=message, attachment=message, customTitle=message, timestamp=message)
        )
    growing.grow(log.user("fine"))
    assert growing.texts()[-1] == "fine"


def test_a_dry_run_writes_nothing(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.log.write_bytes(dump(log.user("one")))
    result = growing.run(dry_run=True)
    assert (result.status, result.turns_new) == ("new", 1)
    assert list_transcripts(growing.workspace) == []
    growing.run()
    before = growing.content()
    with growing.log.open("ab") as stream:
        stream.write(dump(log.user("two")))
    assert growing.run(dry_run=True).status == "grown"
    assert growing.content() == before


def test_edits_of_the_user_in_the_transcript_are_kept(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"), log.says("two"))
    growing.edit(b"two\n", b"two (my note)\n")
    before = growing.content()
    assert growing.run().status == "unchanged"
    assert growing.content() == before
    result = growing.grow(log.says("more"), log.user("three"))
    assert (result.status, result.turns_new) == ("grown", 2)
    assert "edited" in result.why
    assert growing.texts() == ["one", "two (my note)", "more", "three"]
    growing.grow(log.user("four"))
    assert growing.texts() == ["one", "two (my note)", "more", "three", "four"]


def test_edits_of_the_user_in_the_header_are_kept(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"))
    growing.edit(b"tags: []\n", b"tags: [mine]  # by hand\nmood: good\n")
    assert growing.grow(log.user("two")).status == "grown"
    assert b"tags: [mine]  # by hand\nmood: good\n" in growing.content()
    assert growing.texts() == ["one", "two"]


def test_a_header_broken_by_the_user_is_left_alone(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"))
    growing.edit(b"tags: []", b"tags: [")
    before = growing.content()
    assert growing.grow(log.user("two")).status == "skipped"
    assert growing.content() == before


def test_a_truncated_log_keeps_the_transcript(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"), log.user("two"))
    os.truncate(growing.log, len(dump(ClaudeCode().user("one"))))
    result = growing.run()
    assert (result.status, result.turns_new, result.turns_total) == ("replaced", 0, 2)
    assert growing.texts() == ["one", "two"]
    assert growing.run().status == "unchanged"
    assert growing.grow(log.user("three")).turns_new == 1
    assert growing.texts() == ["one", "two", "three"]


def test_a_log_imported_as_that_of_another_agent_is_rejected(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"), log.says("two"))
    before = growing.content()
    growing.log.write_bytes(growing.log.read_bytes() + b"\n{cut")
    with pytest.raises(ImportFailed, match="from Claude Code, not Codex"):
        import_file("codex", growing.log, growing.workspace, growing.files)
    assert growing.content() == before


def test_another_agents_log_with_the_same_id_is_rejected(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"), log.says("two"))
    before = growing.content()
    codex = Codex()
    other = write(
        growing.log.parent / f"rollout-2026-02-16T18-00-00-{SESSION}.jsonl",
        codex.meta(),
        codex.event("user_message", message="something else"),
    )
    with pytest.raises(ImportFailed, match="from Claude Code, not Codex"):
        import_file("codex", other, growing.workspace, growing.files)
    assert growing.content() == before


@pytest.mark.parametrize("ended", [False, True])
def test_a_log_that_lost_its_last_turn_does_not_shorten_the_transcript(
    growing: GrowingLog, log: ClaudeCode, ended: bool
) -> None:
    # Both ends of the part already read are unchanged, so that the log seems to have grown.
    filler = log.record("progress", data="x" * 9000)
    records = [filler, log.user("one"), log.says("two"), filler, log.user("three"), filler]
    growing.grow(*records)
    original = dump(records[4])
    lost = original.replace(b'"isSidechain": false', b'"isSidechain":  true')
    growing.log.write_bytes(growing.log.read_bytes().replace(original, lost))
    if ended:
        os.utime(growing.log, (0, 0))
        import_file("claude-code", growing.log, growing.workspace, growing.files)
    else:
        growing.grow(log.user("four"))
    assert lost != original and growing.texts() == ["one", "two", "three", *([] if ended else ["four"])]


def test_a_rewritten_log_is_imported_again(growing: GrowingLog, log: ClaudeCode) -> None:
    records = [log.user("one"), log.says("two"), log.user("three")]
    growing.grow(*records)
    growing.log.write_bytes(
        dump({"type": "summary", "summary": "x"}, records[0], log.says("other"), records[2])
    )
    result = growing.run()
    assert (result.status, result.turns_new) == ("replaced", 1)
    assert growing.texts() == ["one", "two", "other", "three"]
    before = growing.content()
    assert growing.run().status == "unchanged"
    assert growing.content() == before


def test_a_session_captured_live_is_left_alone(growing: GrowingLog, log: ClaudeCode) -> None:
    capture = ConversationCapture(growing.files)
    capture.start(SESSION)
    capture.message(SESSION, "user", "live")
    before = growing.content()
    result = growing.grow(log.user("live"), log.says("more"))
    assert (result.status, result.turns_total) == ("skipped", 1)
    assert "captured live" in result.why
    assert growing.content() == before


def test_a_broken_header_is_named(growing: GrowingLog, log: ClaudeCode) -> None:
    result = growing.grow(log.user("one"), log.says("two"))
    path = growing.workspace.root / result.target
    path.write_text(path.read_text().replace("---\n", "---\nmy note: [\n", 1))
    before = growing.content()
    result = growing.grow(log.user("three"))
    assert result.status == "skipped" and "header" in result.why and result.target in result.why
    assert growing.content() == before


def test_a_moved_log_is_recognised(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"))
    growing.log = growing.log.rename(growing.log.parent.parent / growing.log.name)
    assert growing.grow(log.user("two")).status == "grown"
    assert growing.texts() == ["one", "two"]


def test_a_moved_transcript_is_found(growing: GrowingLog, log: ClaudeCode) -> None:
    target = growing.grow(log.user("one")).target
    growing.files.move(target, f"raw/conversations/2025/01/01/0000-{SESSION}-elsewhere.md")
    result = growing.grow(log.user("two"))
    assert (result.status, result.target) == (
        "grown",
        f"raw/conversations/2025/01/01/0000-{SESSION}-elsewhere.md",
    )


def test_an_edit_of_the_transcript_during_the_import_is_kept(growing: GrowingLog, log: ClaudeCode) -> None:
    target = growing.grow(log.user("one")).target
    edits = iter([b"first edit", b"second edit"])

    def interfere() -> None:
        note = next(edits, None)
        if note is not None:
            path = growing.workspace.root / target
            path.write_bytes(edit_header(path.read_bytes(), {"note": note.decode()}))

    with faults.trip("lock:acquire", interfere):
        assert growing.grow(log.user("two")).status == "grown"
    assert b"note: second edit" in growing.content()
    assert growing.texts() == ["one", "two"]


@pytest.mark.usefixtures("small_memory")
def test_a_full_disk_leaves_the_old_transcript(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("one"))
    before = growing.content()
    with faults.trip("temp:write", faults.fail(28)), pytest.raises(WriteFailed):
        growing.grow(log.user("two"))
    assert growing.content() == before
    growing.run()
    assert growing.texts() == ["one", "two"]


LONG = "a long text, over and over again\n" * 3_000


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the memory limit so that a text as long as ``LONG`` does not fit."""
    monkeypatch.setattr(spool, "_BLOCK", 64 * 1024)


@pytest.mark.usefixtures("small_memory")
def test_a_long_growing_log_is_imported_in_steps(growing: GrowingLog, log: ClaudeCode) -> None:
    once = GrowingLog(growing.log.parent.parent / "once")
    parts = [
        dump(log.user(f"{number} {LONG}"), log.says(LONG), log.calls(f"t{number}", "Bash", command="ls"))
        for number in range(3)
    ]
    assert [growing.grow_by(part).status for part in parts] == ["new", "grown", "grown"]
    assert growing.run().status == "unchanged"
    once.grow_by(b"".join(parts))
    assert growing.content().split(b"---\n")[2] == once.content().split(b"---\n")[2]
    assert growing.texts() == [
        f"{number} {LONG}".strip() if not half else LONG.strip() for number in range(3) for half in (0, 1)
    ]


@pytest.mark.usefixtures("small_memory")
def test_an_edit_while_a_long_transcript_is_written_is_kept(growing: GrowingLog, log: ClaudeCode) -> None:
    target = growing.grow(log.user(LONG), log.says(LONG), log.user("end")).target
    path = growing.workspace.root / target
    notes = iter([b"first note", b"second note"])

    def interfere() -> None:
        note = next(notes, None)
        if note is not None:
            # Same length, so that only the content differs.
            path.write_bytes(path.read_bytes().replace(b"long text", note[:9], 1))

    with faults.trip("temp:write", interfere):
        assert growing.grow(log.says("more")).status == "grown"
    assert [growing.content().count(note) for note in (b"first not", b"second no")] == [1, 1]
    assert growing.texts()[-2:] == ["end", "more"]
    assert list(path.parent.iterdir()) == [path]


def test_an_edit_of_the_header_with_the_same_length_is_kept(growing: GrowingLog, log: ClaudeCode) -> None:
    path = growing.workspace.root / growing.grow(log.user("one")).target

    def interfere() -> None:
        path.write_bytes(path.read_bytes().replace(b"channel: claude-code", b"channel: by-hand-now"))

    with faults.trip("lock:acquire", interfere):
        assert growing.grow(log.user("two")).status == "grown"
    assert b"channel: by-hand-now\n" in growing.content()
    assert growing.texts() == ["one", "two"]


def test_a_transcript_deleted_during_the_import_is_written_again(
    growing: GrowingLog, log: ClaudeCode
) -> None:
    target = growing.grow(log.user("one")).target
    path = growing.workspace.root / target

    def vanish() -> None:
        path.unlink(missing_ok=True)

    with faults.trip("lock:acquire", vanish):
        result = growing.grow(log.user("two"))
    assert (result.status, result.turns_new, result.target) == ("new", 2, target)
    assert growing.texts() == ["one", "two"]


@pytest.mark.parametrize("point", ["temp:create", "temp:write"])
@pytest.mark.usefixtures("small_memory")
def test_a_full_disk_during_a_long_import_leaves_the_old_transcript(
    growing: GrowingLog, log: ClaudeCode, point: str
) -> None:
    with faults.trip(point, faults.fail(28)), pytest.raises(WriteFailed):
        growing.grow(log.user(LONG), log.says(LONG), log.user("end"))
    assert list_transcripts(growing.workspace) == []
    assert list((growing.workspace.root / "scratch").iterdir()) == []
    assert growing.run().status == "new"


@pytest.mark.usefixtures("small_memory")
def test_a_dry_run_of_a_long_log_needs_no_disk_space(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.log.write_bytes(dump(log.user(LONG), log.says(LONG), log.user("end")))
    assert growing.run(dry_run=True).turns_new == 3
    assert not (growing.workspace.root / "scratch").exists()
    growing.run()
    growing.files = Files(growing.workspace, read_only=True)
    with growing.log.open("ab") as stream:
        stream.write(dump(log.says(LONG), log.user(LONG), log.user("more")))
    assert growing.run(dry_run=True).turns_new == 3
    with pytest.raises(ReadOnly):
        growing.run()


def test_a_very_long_agent_turn_is_imported(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("go"), *(log.says(f"{number}") for number in range(3000)))
    growing.grow(log.calls("t", "Bash", command="ls"), log.says("done"), log.result("t", "a.py"))
    text = "\n\n".join(map(str, range(3000)))
    (info,) = list_transcripts(growing.workspace)
    turn = read_transcript(growing.files, info.path).turns[1]
    assert turn.blocks == (Text(text), ToolCall("Bash", "ls", "a.py"), Text("done"))


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: Path(path).mkdir()])
def test_special_files_do_not_block_the_import(growing: GrowingLog, make: Any) -> None:
    growing.log.unlink()
    make(growing.log)
    with pytest.raises(ImportFailed):
        growing.run()


def test_all_logs_are_imported_at_once(tmp_path: Path) -> None:
    growing = GrowingLog(tmp_path / "w")
    home = tmp_path / "home"
    ids = [f"{number:08}-1111-4222-8333-444455556666" for number in range(5)]
    for session_id in ids:
        write(
            home / "projects" / "-p" / f"{session_id}.jsonl",
            ClaudeCode(session_id).user(f"hello {session_id}"),
        )
    write(home / "projects" / "-p" / "99999999-1111-4222-8333-444455556666.jsonl", b"nonsense")
    (home / "projects" / "-p" / "88888888-1111-4222-8333-444455556666.jsonl").mkdir()

    def run() -> list[str]:
        found: list[str] = []
        for source in discover("claude-code", home):
            try:
                result = import_file("claude-code", source, growing.workspace, growing.files)
                found.append(result.status)
            except ImportFailed:
                found.append("skipped")
        return found

    assert run() == ["new"] * 5 + ["skipped"] * 2
    assert run() == ["unchanged"] * 5 + ["skipped"] * 2
    assert {info.session_id for info in list_transcripts(growing.workspace)} == set(ids)


steps = st.lists(
    st.sampled_from(
        ["user", "says", "thinks", "call", "result", "error", "odd", "repeat", "glued", "long", "progress"]
    ),
    min_size=1,
    max_size=25,
)


def script(kinds: list[str]) -> bytes:
    log = ClaudeCode()
    lines = [dump(log.user("begin"))]
    calls = 0
    for number, kind in enumerate(kinds):
        match kind:
            case "user":
                lines.append(dump(log.user(f"user {number}")))
            case "says":
                lines.append(dump(log.says(f"agent {number}", message_id=f"m{number // 3}")))
            case "thinks":
                lines.append(dump(log.thinks("hm")))
            case "call":
                calls += 1
                lines.append(dump(log.calls(f"t{calls}", "Bash", command=f"run {number}")))
            case "result":
                lines.append(dump(log.result(f"t{calls}", f"result {number}")))
            case "error":
                lines.append(dump(log.says("API Error", isApiErrorMessage=True)))
            case "odd":
                lines.append(b"odd\n")
            case "repeat":
                lines.append(lines[-1])
            case "glued":
                lines.append(
                    json.dumps(log.says(f"left {number}")).encode() + dump(log.user(f"right {number}"))
                )
            case "long":
                lines.append(dump(log.user("x" * 30_000)))
            case _:
                lines.append(dump(log.record("progress")))
    return b"".join(lines)


@settings(max_examples=20, deadline=None)
@given(steps, st.lists(st.integers(0, 10**7), max_size=5))
def test_many_small_imports_equal_one(kinds: list[str], places: list[int]) -> None:
    whole = script(kinds)
    # Between two objects on one line a reader cannot know that more will follow, so do not cut there.
    cuts = sorted({place % len(whole) for place in places})
    cuts = [cut for cut in cuts if whole[cut - 1 : cut + 1] != b"}{"]
    with tempfile.TemporaryDirectory() as folder:
        often, once = GrowingLog(Path(folder, "often")), GrowingLog(Path(folder, "once"))
        for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            often.grow_by(whole[start:end])
        result, single = often.run(), once.grow_by(whole)
        assert (result.turns_total, result.odd_lines) == (single.turns_total, single.odd_lines)
        (left,), (right,) = (list_transcripts(each.workspace) for each in (often, once))
        one = read_transcript(often.files, left.path)
        other = read_transcript(once.files, right.path)
        assert one.turns == other.turns
        tokens = ("tokens_in", "tokens_out", "started", "model")
        assert [one.header.get(key) for key in tokens] == [other.header.get(key) for key in tokens]
        assert often.content().split(b"---\n")[2] == once.content().split(b"---\n")[2]


def test_injected_knowledge_is_not_imported(growing: GrowingLog, log: ClaudeCode) -> None:
    growing.grow(log.user("{rag-context}\nold\n{/rag-context}\nnew"), log.says("{knowledge}x{/knowledge}yes"))
    (info,) = list_transcripts(growing.workspace)
    blocks = [turn.blocks for turn in read_transcript(growing.files, info.path).turns]
    assert blocks == [(Text("new"),), (Text("yes"),)]
