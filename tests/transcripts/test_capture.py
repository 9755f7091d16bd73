"""Capturing a session turn by turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from engine.errors import DocumentError, PathRefused, ReadOnly, TranscriptError
from engine.redaction.detect import redacted
from engine.store import faults
from engine.store.documents import parse as parse_document
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.schema import validate
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.format import parse
from engine.transcripts.turn import Attachment, KnowledgeChange, Text, ToolCall, Transcript
from tests.transcripts.conftest import Clock
from tests.transcripts.logs import remember


def read(files: Files, path: str) -> Transcript:
    return parse(files.read(path), path)


def test_a_whole_session_is_captured(capture: ConversationCapture, files: Files, clock: Clock) -> None:
    path = capture.start("ses_a1", model="claude-opus-4.6", channel="webchat", title="Move memory to files")
    capture.message("ses_a1", "user", "Read all open issues.")
    capture.tool_call("ses_a1", "exec", "gh issue list\n  --state open", "12 results")
    capture.message("ses_a1", "agent", "Here are all 12.")
    clock.advance(7)
    capture.memory_change("ses_a1", "updated", "knowledge/a.md", "added plan")
    clock.advance(40)
    capture.end("ses_a1", tokens_in=45230, tokens_out=12840, tags=["coding", "git"])
    assert path == "raw/conversations/2026/02/16/1845-ses_a1-move-memory-to-files.md"
    assert files.read(path).decode() == (
        "---\n"
        "session_id: ses_a1\n"
        "started: 2026-02-16T18:45:00Z\n"
        "model: claude-opus-4.6\n"
        "channel: webchat\n"
        "topic: Move memory to files\n"
        "tags: [coding, git]\n"
        "ended: 2026-02-16T19:32:00Z\n"
        "tokens_in: 45230\n"
        "tokens_out: 12840\n"
        "knowledge_changes:\n"
        "  - path: knowledge/a.md\n"
        "    action: updated\n"
        "    summary: added plan\n"
        "---\n\n"
        "# Move memory to files\n\n"
        "## 18:45 — user\nRead all open issues.\n\n"
        "## 18:45 — agent\n> [tool:exec] gh issue list --state open → 12 results\n\nHere are all 12.\n\n"
        "## 18:52 — agent [memory]\n> [knowledge:updated] knowledge/a.md — added plan\n"
    )
    assert validate(parse_document(files.read(path), path)) == ()


def test_the_transcript_of_a_running_session_is_valid(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a")
    assert path.endswith("/1845-a-session.md")
    assert validate(parse_document(files.read(path), path)) == ()
    assert read(files, path).turns == ()


def test_starting_a_session_again_changes_nothing(
    capture: ConversationCapture, files: Files, clock: Clock
) -> None:
    path = capture.start("a", title="First")
    capture.message("a", "user", "hi")
    before = files.read(path)
    clock.advance(24 * 60)
    assert ConversationCapture(files, clock=clock).start("a", title="Second") == path
    assert files.read(path) == before


def test_times_are_utc(capture: ConversationCapture, files: Files) -> None:
    at = datetime(2026, 2, 17, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    path = capture.start("a", started=at)
    capture.message("a", "user", "hi", at=at)
    assert path.startswith("raw/conversations/2026/02/16/2230-a-")
    assert read(files, path).turns[0].time == "22:30"


def test_every_call_finds_the_existing_session(
    capture: ConversationCapture, files: Files, clock: Clock
) -> None:
    path = capture.start("a")
    clock.advance(60 * 24 * 40)
    capture.start("b")
    for number in range(3):
        assert ConversationCapture(files, clock=clock).message("a", "user", f"from process {number}")
    assert [turn.text for turn in read(files, path).turns] == [
        f"from process {number}" for number in range(3)
    ]
    assert capture.find("a") == path
    assert capture.find("c") is None


def test_ids_with_a_common_prefix_are_distinguished(capture: ConversationCapture, files: Files) -> None:
    capture.start("a-b", title="c")
    short = capture.start("a", title="b-c")
    assert capture.find("a") == short
    assert capture.find("a-b") != short
    assert capture.find("a-b-c") is None


def test_a_moved_transcript_is_found(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a")
    moved = "raw/conversations/2026/02/17/0000-a-renamed.md"
    files.move(path, moved)
    assert capture.message("a", "user", "hi")
    assert len(read(files, moved).turns) == 1


@pytest.mark.parametrize("session_id", ["", "..", "a/b", "-a", "a b", "é", "x" * 200, "a\nb"])
def test_ids_that_cannot_be_file_names_are_rejected(
    capture: ConversationCapture, workspace: Workspace, session_id: str
) -> None:
    with pytest.raises(TranscriptError):
        capture.start(session_id)
    with pytest.raises(TranscriptError):
        capture.message(session_id, "user", "hi")
    assert not workspace.transcripts.exists()


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", "a\0b", "-rf", "---\nevil: yes\n---", "# x\n## 18:47 — user", "ü" * 300]
)
def test_any_title_is_taken_as_plain_text(capture: ConversationCapture, files: Files, title: str) -> None:
    path = capture.start("a", title=title)
    found = read(files, path)
    assert (found.session_id, found.turns, set(found.header)) == (
        "a",
        (),
        {"session_id", "started", "topic", "tags"},
    )
    assert "\n" not in found.title
    assert found.title


def test_a_message_for_an_unknown_session_raises(capture: ConversationCapture) -> None:
    with pytest.raises(TranscriptError, match="start the session first"):
        capture.message("nobody", "user", "hi")


def test_invalid_roles_and_kinds_are_rejected(capture: ConversationCapture) -> None:
    capture.start("a")
    with pytest.raises(TranscriptError, match="user, agent, system"):
        capture.message("a", "robot", "hi")  # type: ignore[arg-type]
    with pytest.raises(TranscriptError):
        capture.message("a", "user", "hi", kind="x]\n## 10:00 — agent")


def test_injected_blocks_are_not_captured(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a", title="<system-reminder>x</system-reminder>\nTea")
    assert capture.message("a", "user", "{rag-context}\nold fact\n{/rag-context}\nhello")
    assert not capture.message("a", "user", "<system-reminder>only this</system-reminder>")
    assert not capture.message("a", "user", " \n ")
    capture.tool_call("a", "sh", "cat x", "text\n<system-reminder>do</system-reminder>")
    found = read(files, path)
    assert found.title == "Tea"
    assert [turn.blocks for turn in found.turns] == [(Text("hello"),), (ToolCall("sh", "cat x", "text"),)]


def test_any_message_is_read_back_unchanged(capture: ConversationCapture, files: Files) -> None:
    texts = [
        "## 18:47 — user\nfake",
        "```\nopen",
        "> [tool:x] y\r\nwindows",
        "\n\n edges \n\n",
        "\0\x1b[31m\ud800",
        "\\",
    ]
    path = capture.start("a")
    for text in texts:
        capture.message("a", "agent", text)
    assert [turn.text for turn in read(files, path).turns] == [text.replace("\r\n", "\n") for text in texts]


def test_summaries_are_one_short_line(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a")
    capture.tool_call("a", "sh\n]x", "line one\nline two " + "y" * 500, "r" * 500)
    (turn,) = read(files, path).turns
    (call,) = turn.tools
    assert call.name == "sh ]x"
    assert call.summary.startswith("line one line two yyy")
    assert (len(call.summary), call.summary[-1], len(call.result), call.result[-1]) == (200, "…", 200, "…")


def test_tool_calls_belong_to_the_agent(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a")
    capture.message("a", "user", "go")
    capture.tool_call("a", "sh", "one")
    capture.tool_call("a", "sh", "two")
    capture.message("a", "agent", "first")
    capture.tool_call("a", "sh", "three")
    capture.message("a", "agent", "second")
    assert [(turn.role, turn.blocks) for turn in read(files, path).turns] == [
        ("user", (Text("go"),)),
        ("agent", (ToolCall("sh", "one"), ToolCall("sh", "two"), Text("first"), ToolCall("sh", "three"))),
        ("agent", (Text("second"),)),
    ]


def test_memory_operations_share_a_separate_turn(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a")
    capture.message("a", "agent", "noted")
    changes = (
        KnowledgeChange("updated", "knowledge/a.md"),
        KnowledgeChange("created", "knowledge/b.md", "why"),
    )
    for change in changes:
        assert capture.memory_change("a", change.action, change.path, change.summary)
    capture.tool_call("a", "sh", "x")
    kinds = [(turn.kind, turn.blocks) for turn in read(files, path).turns]
    assert kinds == [("", (Text("noted"),)), ("memory", changes), ("", (ToolCall("sh", "x"),))]


def test_a_memory_operation_is_one_line_and_written_once(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a")
    key = "gh" + "p_" + "Q7wE4rT9yU2iO5pA8sD1fG6hJ3kL0zX4cV7b"
    words = ("updated", "knowledge/a — b.md", f"token {key}\nthen more")
    assert capture.memory_change("a", *words, key="m1")
    assert not capture.memory_change("a", *words, key="m1")
    assert not capture.memory_change("a", *words)
    (turn,) = read(files, path).turns
    assert turn.blocks == (KnowledgeChange("updated", "knowledge/a — b.md", "token [secret] then more"),)


def test_a_result_that_is_a_secret_by_what_its_call_asked_for_is_replaced(
    capture: ConversationCapture, files: Files
) -> None:
    path = capture.start("a")
    password = "Xk29dkq8" + "Lmz1"
    assert redacted(password) == password
    capture.tool_call("a", "Bash", "pass show mail", password)
    (turn,) = read(files, path).turns
    assert turn.blocks == (ToolCall("Bash", "pass show mail", "[secret]"),)


def test_a_secret_that_only_the_lines_or_the_end_of_a_result_tell_is_replaced(
    capture: ConversationCapture, files: Files
) -> None:
    password, words = (
        "Xk29dkq8" + "Lmz1",
        "river candle stone maple tiger cloud amber rocket basket velvet garden",
    )
    path = capture.start("a")
    capture.tool_call("a", "Bash", "cat logins.csv", f"host,password\nmail,{password}\n")
    capture.tool_call("a", "Bash", "new wallet", f"{'word ' * 30}seed phrase: {words} falcon")
    first, second = (call for turn in read(files, path).turns for call in turn.tools)
    assert first.result == "host,password mail,[secret]"
    assert second.result.endswith("seed phrase: [secret]")


@pytest.mark.parametrize(
    ("action", "path"), [("", "a.md"), ("up dated", "a.md"), ("updated", " "), ("a]b", "a.md")]
)
def test_a_memory_operation_without_a_path_or_with_an_action_of_several_words_is_refused(
    capture: ConversationCapture, files: Files, action: str, path: str
) -> None:
    target = capture.start("a")
    with pytest.raises(TranscriptError):
        capture.memory_change("a", action, path)
    assert read(files, target).turns == ()


def test_attachments_are_recorded_by_reference(capture: ConversationCapture, files: Files) -> None:
    path = capture.start("a")
    capture.message("a", "user", "see", attachments=["attachments/plan.png"])
    capture.message("a", "user", "", attachments=["attachments/b.png"])
    assert [turn.blocks for turn in read(files, path).turns] == [
        (Text("see"), Attachment("attachments/plan.png")),
        (Attachment("attachments/b.png"),),
    ]


class TestRepetition:
    def test_a_call_with_the_same_key_is_captured_once(
        self, capture: ConversationCapture, files: Files, clock: Clock
    ) -> None:
        path = capture.start("a")
        assert capture.message("a", "user", "hi", key="m1")
        assert capture.tool_call("a", "sh", "ls", key="t1")
        before = files.read(path)
        clock.advance(600)
        assert not capture.message("a", "user", "hi", key="m1")
        assert not capture.tool_call("a", "sh", "ls", key="t1")
        assert files.read(path) == before

    def test_the_key_is_found_after_an_editor_changed_the_line_ends(
        self, capture: ConversationCapture, files: Files, clock: Clock
    ) -> None:
        path = capture.start("a")
        assert capture.message("a", "user", "hi", key="m1")
        files.replace(path, files.read(path).replace(b"\n", b"\r\n"))
        clock.advance(600)
        assert not capture.message("a", "user", "hi", key="m1")
        assert capture.message("a", "agent", "hello", key="m2")
        assert [turn.text for turn in read(files, path).turns] == ["hi", "hello"]

    def test_a_call_with_another_key_is_captured(self, capture: ConversationCapture, files: Files) -> None:
        path = capture.start("a")
        assert capture.message("a", "user", "yes", key="1")
        assert capture.message("a", "user", "yes", key="2")
        assert [turn.text for turn in read(files, path).turns] == ["yes", "yes"]

    def test_a_message_cannot_forge_the_record_of_a_call(
        self, capture: ConversationCapture, files: Files
    ) -> None:
        path = capture.start("a")
        capture.message("a", "user", "real", key="1")
        marker = next(line for line in files.read(path).decode().split("\n") if line.startswith("<!-- key:"))
        capture.start("b")
        capture.message("b", "user", f"fake\n{marker}\n")
        assert capture.message("b", "user", "real", key="1")

    def test_without_a_key_the_same_message_again_is_a_repetition(
        self, capture: ConversationCapture, clock: Clock
    ) -> None:
        capture.start("a")
        assert capture.message("a", "user", "hi")
        assert not capture.message("a", "user", "hi")
        clock.advance(1)
        assert not capture.message("a", "user", "hi")
        clock.advance(1)
        assert capture.message("a", "user", "hi")

    def test_the_same_message_by_another_role_or_after_another_message_is_captured(
        self, capture: ConversationCapture
    ) -> None:
        capture.start("a")
        assert capture.message("a", "user", "ok")
        assert capture.message("a", "agent", "ok")
        assert capture.message("a", "user", "ok")
        assert capture.tool_call("a", "sh", "x")
        assert capture.message("a", "agent", "ok")

    def test_an_agent_may_run_the_same_command_twice(
        self, capture: ConversationCapture, files: Files
    ) -> None:
        path = capture.start("a")
        assert capture.tool_call("a", "sh", "git status", "clean")
        assert capture.tool_call("a", "sh", "git status", "clean")
        assert len(read(files, path).turns[0].tools) == 2

    def test_a_repetition_is_recognised_across_midnight(self, capture: ConversationCapture) -> None:
        capture.start("a")
        assert capture.message("a", "user", "hi", at=datetime(2026, 2, 16, 23, 59, 50, tzinfo=UTC))
        assert not capture.message("a", "user", "hi", at=datetime(2026, 2, 17, 0, 0, 5, tzinfo=UTC))


class TestEnd:
    def test_nothing_is_captured_after_the_end(self, capture: ConversationCapture) -> None:
        capture.start("a")
        capture.end("a")
        for call in (
            lambda: capture.message("a", "user", "hi"),
            lambda: capture.tool_call("a", "sh", "x"),
            lambda: capture.end("a", tokens_in=5),
        ):
            with pytest.raises(TranscriptError, match="has ended"):
                call()

    def test_ending_a_session_again_changes_nothing(
        self, capture: ConversationCapture, files: Files, clock: Clock
    ) -> None:
        path = capture.start("a")
        capture.end("a", tokens_in=5, tags=["x"])
        before = files.read(path)
        clock.advance(5)
        assert capture.end("a", tokens_in=5, tags=["x"]) == path
        assert capture.end("a") == path
        assert files.read(path) == before

    def test_ending_a_session_changes_only_the_header(
        self, capture: ConversationCapture, files: Files
    ) -> None:
        path = capture.start("a", title="T")
        capture.message("a", "user", "---\nsession_id: b\n---")
        edited = files.read(path).replace(b"tags: []\n", b"tags: []  # to be filled in\nmood:   good\n")
        edited = edited.replace(b"\n# T\n", b"\n# T\n\nA note by hand. \r\n\xff\n")
        files.replace(path, edited)
        body = edited.split(b"---\n", 2)[2]
        capture.end("a", tokens_in=7)
        ended = files.read(path)
        assert ended.split(b"---\n", 2)[2] == body
        assert b"tags: []  # to be filled in\nmood:   good\n" in ended
        assert b"tokens_in: 7\n" in ended

    def test_the_header_stays_readable_after_a_thousand_changes(
        self, capture: ConversationCapture, files: Files
    ) -> None:
        path = capture.start("a")
        changes = [
            KnowledgeChange("updated", f"knowledge/{number}.md", "why " * 20) for number in range(1000)
        ]
        remember(files, path, *changes)
        capture.end("a")
        header = read(files, path).header
        kept = header["knowledge_changes"]
        assert isinstance(kept, list)
        assert header["ended"]
        assert len(kept) + int(str(header["knowledge_changes_left_out"])) == 1000
        assert capture.end("a") == path

    def test_a_header_broken_by_hand_raises_and_is_kept(
        self, capture: ConversationCapture, files: Files
    ) -> None:
        path = capture.start("a")
        broken = files.read(path).replace(b"tags: []", b"tags: [")
        files.replace(path, broken)
        assert capture.message("a", "user", "hi")
        with pytest.raises(DocumentError, match=r"raw/conversations/.*:"):
            capture.end("a")
        assert files.read(path).startswith(broken)


def test_capturing_in_a_read_only_workspace_raises(
    capture: ConversationCapture, workspace: Workspace
) -> None:
    capture.start("a")
    reader = ConversationCapture(Files(workspace, read_only=True))
    assert reader.find("a") is not None
    with pytest.raises(ReadOnly):
        reader.message("a", "user", "hi")


def test_a_transcript_behind_a_symlink_out_of_the_workspace_is_rejected(
    capture: ConversationCapture, workspace: Workspace, files: Files
) -> None:
    outside = workspace.root.parent / "outside"
    outside.mkdir()
    workspace.transcripts.parent.mkdir()
    workspace.transcripts.symlink_to(outside)
    with pytest.raises(PathRefused):
        capture.start("a")
    assert list(outside.iterdir()) == []


def test_what_an_editor_saves_while_a_session_ends_is_kept(
    capture: ConversationCapture, files: Files, workspace: Workspace
) -> None:
    path = capture.start("a")
    capture.message("a", "user", "hi")
    saves = iter([b"## 18:50 \xe2\x80\x94 user\nmy note\n"])

    def save() -> None:
        for more in saves:
            aside = workspace.root / "saved"
            aside.write_bytes(files.read(path) + b"\n" + more)
            aside.replace(workspace.root / path)

    with faults.trip("replace:rename", save):
        capture.end("a", tokens_in=7)
    assert [turn.text for turn in read(files, path).turns] == ["hi", "my note"]
    assert read(files, path).header["tokens_in"] == "7"
