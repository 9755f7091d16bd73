"""Imported again and again while the log grows: the same transcript as if it had been imported once."""

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


class Following:
    """A log, and a workspace into which it is imported."""

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

    def said(self) -> list[str]:
        (info,) = list_transcripts(self.workspace)
        return [turn.text for turn in read_transcript(self.files, info.path).turns]

    def edit(self, old: bytes, new: bytes) -> None:
        (info,) = list_transcripts(self.workspace)
        data = self.files.read(info.path)
        assert old in data
        self.files.replace(info.path, data.replace(old, new))


@pytest.fixture
def following(tmp_path: Path) -> Following:
    return Following(tmp_path / "w")


@pytest.fixture
def log() -> ClaudeCode:
    return ClaudeCode()


def test_a_log_that_grows(following: Following, log: ClaudeCode) -> None:
    results = [
        following.grow(log.user("one")),
        following.grow(log.says("two")),
        following.grow(log.says("and more")),
        following.grow(log.record("progress")),
        following.grow(log.user("three"), log.user("four")),
    ]
    assert [(result.status, result.turns_new, result.turns_total) for result in results] == [
        ("new", 1, 1),
        ("grown", 1, 2),
        ("grown", 0, 2),
        ("unchanged", 0, 2),
        ("grown", 2, 4),
    ]
    assert following.said() == ["one", "two\n\nand more", "three", "four"]
    assert len({result.target for result in results}) == 1


def test_importing_twice_changes_no_byte(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"), log.calls("t", "Bash", command="ls"))
    before, status = following.content(), following.log.stat()
    assert following.run().status == "unchanged"
    assert following.content() == before
    os.utime(following.log, (status.st_atime, status.st_mtime + 60))
    assert following.run().status == "unchanged"
    assert following.content() == before


def test_a_result_reaches_its_call(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("go"), log.calls("t", "Bash", command="ls"))
    assert "> [tool:Bash] ls\n" in following.content().decode()
    result = following.grow(log.result("t", "a.py"))
    assert (result.status, result.turns_new) == ("grown", 0)
    (info,) = list_transcripts(following.workspace)
    assert read_transcript(following.files, info.path).turns[1].blocks == (ToolCall("Bash", "ls", "a.py"),)


def test_half_a_line_is_taken_when_it_is_whole(following: Following, log: ClaudeCode) -> None:
    line = dump(log.user("Grüße"))
    following.grow(log.user("one"))
    for cut in (5, len(line) // 2, len(line) - 3):
        assert following.grow_by(line[:cut]).status == "unchanged"
        with following.log.open("r+b") as stream:
            stream.seek(0, os.SEEK_END)
            stream.truncate(stream.tell() - cut)
    following.grow_by(line[:20])
    assert following.grow_by(line[20:]).status == "grown"
    assert following.said() == ["one", "Grüße"]
    assert following.run().odd_lines == 0


def test_a_last_line_without_an_end_that_is_whole(following: Following, log: ClaudeCode) -> None:
    assert following.grow_by(dump(log.user("one")).rstrip(b"\n")).status == "new"
    following.grow_by(b"\n" + dump(log.user("two")))
    assert following.said() == ["one", "two"]


def test_odd_lines_are_counted_and_skipped(following: Following, log: ClaudeCode) -> None:
    odd = [
        b"no json",
        b'{"half": ',
        b"[1, 2]",
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"n": ' + b"9" * 5000 + b"}",
    ]
    result = following.grow(log.user("one"), *odd, b"", b"  ", {}, {"type": 5, "message": 7}, log.user("two"))
    assert (result.odd_lines, following.said()) == (len(odd), ["one", "two"])
    assert following.run().odd_lines == len(odd)
    assert following.grow(b"worse").odd_lines == len(odd) + 1


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
def test_records_of_another_shape_stop_nothing(following: Following, log: ClaudeCode, message: Any) -> None:
    for kind in ("user", "assistant", "system", "attachment", "summary", "custom-title"):
        following.grow(
            log.record(kind, message=message, attachment=message, customTitle=message, timestamp=message)
        )
    following.grow(log.user("fine"))
    assert following.said()[-1] == "fine"


def test_a_dry_run_writes_nothing(following: Following, log: ClaudeCode) -> None:
    following.log.write_bytes(dump(log.user("one")))
    result = following.run(dry_run=True)
    assert (result.status, result.turns_new) == ("new", 1)
    assert list_transcripts(following.workspace) == []
    following.run()
    before = following.content()
    with following.log.open("ab") as stream:
        stream.write(dump(log.user("two")))
    assert following.run(dry_run=True).status == "grown"
    assert following.content() == before


def test_what_a_person_wrote_into_the_transcript_stays(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"), log.says("two"))
    following.edit(b"two\n", b"two (my note)\n")
    before = following.content()
    assert following.run().status == "unchanged"
    assert following.content() == before
    result = following.grow(log.says("more"), log.user("three"))
    assert (result.status, result.turns_new) == ("grown", 2)
    assert "edited" in result.why
    assert following.said() == ["one", "two (my note)", "more", "three"]
    following.grow(log.user("four"))
    assert following.said() == ["one", "two (my note)", "more", "three", "four"]


def test_what_a_person_wrote_into_the_header_stays(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"))
    following.edit(b"tags: []\n", b"tags: [mine]  # by hand\nmood: good\n")
    assert following.grow(log.user("two")).status == "grown"
    assert b"tags: [mine]  # by hand\nmood: good\n" in following.content()
    assert following.said() == ["one", "two"]


def test_a_header_broken_by_a_person_is_left_alone(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"))
    following.edit(b"tags: []", b"tags: [")
    before = following.content()
    assert following.grow(log.user("two")).status == "skipped"
    assert following.content() == before


def test_a_log_that_was_cut(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"), log.user("two"))
    os.truncate(following.log, len(dump(ClaudeCode().user("one"))))
    result = following.run()
    assert (result.status, result.turns_new, result.turns_total) == ("replaced", 0, 2)
    assert following.said() == ["one", "two"]
    assert following.run().status == "unchanged"
    assert following.grow(log.user("three")).turns_new == 1
    assert following.said() == ["one", "two", "three"]


def test_a_log_read_as_another_programs_is_refused(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"), log.says("two"))
    before = following.content()
    following.log.write_bytes(following.log.read_bytes() + b"\n{cut")
    with pytest.raises(ImportFailed, match="from Claude Code, not Codex"):
        import_file("codex", following.log, following.workspace, following.files)
    assert following.content() == before


def test_another_programs_log_of_the_same_id_is_refused(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"), log.says("two"))
    before = following.content()
    codex = Codex()
    other = write(
        following.log.parent / f"rollout-2026-02-16T18-00-00-{SESSION}.jsonl",
        codex.meta(),
        codex.event("user_message", message="something else"),
    )
    with pytest.raises(ImportFailed, match="from Claude Code, not Codex"):
        import_file("codex", other, following.workspace, following.files)
    assert following.content() == before


@pytest.mark.parametrize("ended", [False, True])
def test_a_log_that_lost_its_last_turn_shortens_nothing(
    following: Following, log: ClaudeCode, ended: bool
) -> None:
    # Both edges of what was read stay as they were, so that the log seems to go on.
    filler = log.record("progress", data="x" * 9000)
    records = [filler, log.user("one"), log.says("two"), filler, log.user("three"), filler]
    following.grow(*records)
    said = dump(records[4])
    lost = said.replace(b'"isSidechain": false', b'"isSidechain":  true')
    following.log.write_bytes(following.log.read_bytes().replace(said, lost))
    if ended:
        os.utime(following.log, (0, 0))
        import_file("claude-code", following.log, following.workspace, following.files)
    else:
        following.grow(log.user("four"))
    assert lost != said and following.said() == ["one", "two", "three", *([] if ended else ["four"])]


def test_a_log_that_was_rewritten(following: Following, log: ClaudeCode) -> None:
    records = [log.user("one"), log.says("two"), log.user("three")]
    following.grow(*records)
    following.log.write_bytes(
        dump({"type": "summary", "summary": "x"}, records[0], log.says("other"), records[2])
    )
    result = following.run()
    assert (result.status, result.turns_new) == ("replaced", 1)
    assert following.said() == ["one", "two", "other", "three"]
    before = following.content()
    assert following.run().status == "unchanged"
    assert following.content() == before


def test_a_session_that_was_captured_live_is_left_alone(following: Following, log: ClaudeCode) -> None:
    capture = ConversationCapture(following.files)
    capture.start(SESSION)
    capture.message(SESSION, "user", "live")
    before = following.content()
    result = following.grow(log.user("live"), log.says("more"))
    assert (result.status, result.turns_total) == ("skipped", 1)
    assert "captured live" in result.why
    assert following.content() == before


def test_a_log_that_was_moved_is_still_the_same(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"))
    following.log = following.log.rename(following.log.parent.parent / following.log.name)
    assert following.grow(log.user("two")).status == "grown"
    assert following.said() == ["one", "two"]


def test_a_transcript_that_was_moved_is_found(following: Following, log: ClaudeCode) -> None:
    target = following.grow(log.user("one")).target
    following.files.move(target, f"raw/conversations/2025/01/01/0000-{SESSION}-elsewhere.md")
    result = following.grow(log.user("two"))
    assert (result.status, result.target) == (
        "grown",
        f"raw/conversations/2025/01/01/0000-{SESSION}-elsewhere.md",
    )


def test_somebody_writes_while_the_log_is_read(following: Following, log: ClaudeCode) -> None:
    target = following.grow(log.user("one")).target
    edits = iter([b"first edit", b"second edit"])

    def interfere() -> None:
        note = next(edits, None)
        if note is not None:
            path = following.workspace.root / target
            path.write_bytes(edit_header(path.read_bytes(), {"note": note.decode()}))

    with faults.trip("lock:acquire", interfere):
        assert following.grow(log.user("two")).status == "grown"
    assert b"note: second edit" in following.content()
    assert following.said() == ["one", "two"]


@pytest.mark.usefixtures("small_memory")
def test_a_full_disk_leaves_what_was_there(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("one"))
    before = following.content()
    with faults.trip("temp:write", faults.fail(28)), pytest.raises(WriteFailed):
        following.grow(log.user("two"))
    assert following.content() == before
    following.run()
    assert following.said() == ["one", "two"]


LONG = "a long text, over and over again\n" * 3_000


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text as long as ``LONG`` finds no room in memory."""
    monkeypatch.setattr(spool, "_BLOCK", 64 * 1024)


@pytest.mark.usefixtures("small_memory")
def test_a_long_log_that_grows(following: Following, log: ClaudeCode) -> None:
    once = Following(following.log.parent.parent / "once")
    parts = [
        dump(log.user(f"{number} {LONG}"), log.says(LONG), log.calls(f"t{number}", "Bash", command="ls"))
        for number in range(3)
    ]
    assert [following.grow_by(part).status for part in parts] == ["new", "grown", "grown"]
    assert following.run().status == "unchanged"
    once.grow_by(b"".join(parts))
    assert following.content().split(b"---\n")[2] == once.content().split(b"---\n")[2]
    assert following.said() == [
        f"{number} {LONG}".strip() if not half else LONG.strip() for number in range(3) for half in (0, 1)
    ]


@pytest.mark.usefixtures("small_memory")
def test_somebody_writes_while_a_long_transcript_is_written(following: Following, log: ClaudeCode) -> None:
    target = following.grow(log.user(LONG), log.says(LONG), log.user("end")).target
    path = following.workspace.root / target
    notes = iter([b"first note", b"second note"])

    def interfere() -> None:
        note = next(notes, None)
        if note is not None:
            # Of the same length, so that only what stands there tells.
            path.write_bytes(path.read_bytes().replace(b"long text", note[:9], 1))

    with faults.trip("temp:write", interfere):
        assert following.grow(log.says("more")).status == "grown"
    assert [following.content().count(note) for note in (b"first not", b"second no")] == [1, 1]
    assert following.said()[-2:] == ["end", "more"]
    assert list(path.parent.iterdir()) == [path]


def test_somebody_writes_a_header_of_the_same_length(following: Following, log: ClaudeCode) -> None:
    path = following.workspace.root / following.grow(log.user("one")).target

    def interfere() -> None:
        path.write_bytes(path.read_bytes().replace(b"channel: claude-code", b"channel: by-hand-now"))

    with faults.trip("lock:acquire", interfere):
        assert following.grow(log.user("two")).status == "grown"
    assert b"channel: by-hand-now\n" in following.content()
    assert following.said() == ["one", "two"]


def test_a_transcript_that_vanishes_while_it_is_written(following: Following, log: ClaudeCode) -> None:
    target = following.grow(log.user("one")).target
    path = following.workspace.root / target

    def vanish() -> None:
        path.unlink(missing_ok=True)

    with faults.trip("lock:acquire", vanish):
        result = following.grow(log.user("two"))
    assert (result.status, result.turns_new, result.target) == ("new", 2, target)
    assert following.said() == ["one", "two"]


@pytest.mark.parametrize("point", ["temp:create", "temp:write"])
@pytest.mark.usefixtures("small_memory")
def test_a_full_disk_while_a_long_log_is_read(following: Following, log: ClaudeCode, point: str) -> None:
    with faults.trip(point, faults.fail(28)), pytest.raises(WriteFailed):
        following.grow(log.user(LONG), log.says(LONG), log.user("end"))
    assert list_transcripts(following.workspace) == []
    assert list((following.workspace.root / "scratch").iterdir()) == []
    assert following.run().status == "new"


@pytest.mark.usefixtures("small_memory")
def test_a_dry_run_of_a_long_log_needs_no_room(following: Following, log: ClaudeCode) -> None:
    following.log.write_bytes(dump(log.user(LONG), log.says(LONG), log.user("end")))
    assert following.run(dry_run=True).turns_new == 3
    assert not (following.workspace.root / "scratch").exists()
    following.run()
    following.files = Files(following.workspace, read_only=True)
    with following.log.open("ab") as stream:
        stream.write(dump(log.says(LONG), log.user(LONG), log.user("more")))
    assert following.run(dry_run=True).turns_new == 3
    with pytest.raises(ReadOnly):
        following.run()


def test_an_agent_that_goes_on_and_on(following: Following, log: ClaudeCode) -> None:
    following.grow(log.user("go"), *(log.says(f"{number}") for number in range(3000)))
    following.grow(log.calls("t", "Bash", command="ls"), log.says("done"), log.result("t", "a.py"))
    text = "\n\n".join(map(str, range(3000)))
    (info,) = list_transcripts(following.workspace)
    turn = read_transcript(following.files, info.path).turns[1]
    assert turn.blocks == (Text(text), ToolCall("Bash", "ls", "a.py"), Text("done"))


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: Path(path).mkdir()])
def test_what_is_no_file_is_not_waited_for(following: Following, make: Any) -> None:
    following.log.unlink()
    make(following.log)
    with pytest.raises(ImportFailed):
        following.run()


def test_all_logs_of_a_machine(tmp_path: Path) -> None:
    following = Following(tmp_path / "w")
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
                result = import_file("claude-code", source, following.workspace, following.files)
                found.append(result.status)
            except ImportFailed:
                found.append("skipped")
        return found

    assert run() == ["new"] * 5 + ["skipped"] * 2
    assert run() == ["unchanged"] * 5 + ["skipped"] * 2
    assert {info.session_id for info in list_transcripts(following.workspace)} == set(ids)


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
def test_many_small_imports_come_to_the_same_as_one(kinds: list[str], places: list[int]) -> None:
    whole = script(kinds)
    # A cut between two objects on one line is the one place where a reader cannot know that more will come.
    cuts = sorted({place % len(whole) for place in places})
    cuts = [cut for cut in cuts if whole[cut - 1 : cut + 1] != b"}{"]
    with tempfile.TemporaryDirectory() as folder:
        often, once = Following(Path(folder, "often")), Following(Path(folder, "once"))
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


def test_injected_knowledge_is_not_learned_again(following: Following, log: ClaudeCode) -> None:
    following.grow(
        log.user("{rag-context}\nold\n{/rag-context}\nnew"), log.says("{knowledge}x{/knowledge}yes")
    )
    (info,) = list_transcripts(following.workspace)
    blocks = [turn.blocks for turn in read_transcript(following.files, info.path).turns]
    assert blocks == [(Text("new"),), (Text("yes"),)]
