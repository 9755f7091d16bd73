"""Session logs of other programs among the conversations are found turn by turn, at their lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search import changes
from engine.search.chunks import MAX_TURN_CHARACTERS, split
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import BagOfWords, put
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump

CLAUDE = f"conversations/{SESSION}.jsonl"
CODEX = f"conversations/rollout-2026-02-16T18-00-30-{SESSION}.jsonl"


def claude_log() -> list[dict[str, Any] | bytes]:
    log = ClaudeCode()
    return [
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        log.user("the linter fails on the cart, can you look?"),
        log.thinks("a secret walrus"),
        log.says("I'll run it."),
        log.calls("t1", "Bash", command="make lint"),
        log.result("t1", "cart.py:3: unused import"),
        log.says("Removed the unused import of the café module."),
        log.user("thanks, and the zeppelin?"),
    ]


def codex_log() -> list[dict[str, Any] | bytes]:
    log = Codex()
    return [
        log.meta(),
        log.message("user", "list the heron files"),
        log.event("user_message", message="list the heron files", images=[]),
        log.event("agent_message", message="Two files about herons."),
        log.message("assistant", "Two files about herons."),
    ]


def test_the_turns_of_claude_code_are_found_at_their_lines(workspace: Workspace, open_index: Open) -> None:
    put(workspace, CLAUDE, dump(*claude_log()))
    index = open_index(workspace, BagOfWords())
    report = index.refresh()
    assert (report.added, report.chunks, report.skipped) == (1, 3, ())
    (best, *_) = index.search("unused import cafe", use_vectors=False)
    assert (best.path, best.category, best.source) == (CLAUDE, "conversation", "index")
    assert (best.start_line, best.end_line) == (4, 7)
    assert (best.heading, best.date) == ("18:03 — agent", "2026-02-16")
    assert best.text.startswith("I'll run it.\n\n> [tool:Bash] make lint → ")
    assert best.text.endswith("Removed the unused import of the café module.")
    assert index.search("zeppelin")[0].start_line == 8
    assert index.search("walrus", use_vectors=False) == []
    assert index.search("lint", category="person") == []
    assert index.verify(repair=False).sound


def test_the_turns_of_codex_are_found(workspace: Workspace, open_index: Open) -> None:
    put(workspace, CODEX, dump(*codex_log()))
    index = open_index(workspace)
    index.refresh()
    found = index.search("heron")
    assert sorted((one.start_line, one.heading) for one in found) == [
        (3, "18:03 — user"),
        (4, "18:04 — agent"),
    ]


def test_what_is_known_of_a_log() -> None:
    contents = split(dump(*claude_log()), CLAUDE, "conversation")
    assert (contents.session_id, contents.date, contents.line_count) == (SESSION, "2026-02-16", 8)
    assert contents.title == "the linter fails on the cart, can you look?"
    assert [piece.speaker for piece in contents.pieces] == ["user", "agent", "user"]
    assert "linter" in contents.pieces[0].about


def test_a_long_turn_is_cut_and_keeps_its_lines() -> None:
    log = ClaudeCode()
    paragraphs = "\n\n".join(f"Paragraph {number} " + "word " * 60 for number in range(80))
    data = dump(log.user("go on"), log.says(paragraphs), log.user("good"))
    pieces = split(data, CLAUDE, "conversation").pieces[1:-1]
    assert len(pieces) > 3
    assert all(len(piece.chunk.text) <= MAX_TURN_CHARACTERS + 1 for piece in pieces)
    assert {(piece.chunk.start_line, piece.chunk.end_line) for piece in pieces} == {(2, 2)}
    assert {piece.speaker for piece in pieces} == {"agent"}


def test_a_turn_of_many_paragraphs_is_one_chunk() -> None:
    log = ClaudeCode()
    paragraphs = "\n\n".join(f"Paragraph {number} " + "word " * 60 for number in range(15))
    (_, piece) = split(dump(log.user("go on"), log.says(paragraphs)), CLAUDE, "conversation").pieces
    assert piece.chunk.text == paragraphs.rstrip()


def test_a_log_that_grows_keeps_what_it_had(workspace: Workspace, open_index: Open) -> None:
    embedder = BagOfWords()
    records = claude_log()
    put(workspace, CLAUDE, dump(*records[:3]) + dump(records[3])[:40])
    index = open_index(workspace, embedder)
    assert index.refresh().chunks == 1
    put(workspace, CLAUDE, dump(*records))
    report = index.refresh(paths=[CLAUDE])
    assert (report.changed, report.chunks, embedder.texts) == (1, 3, 3)


def test_a_log_of_another_program_is_skipped_by_name(workspace: Workspace, open_index: Open) -> None:
    put(workspace, "conversations/other.jsonl", '{"text": "zeppelin"}\n')
    put(workspace, "conversations/new.jsonl", "")
    index = open_index(workspace)
    (skipped,) = index.refresh().skipped
    assert (skipped.path, skipped.why) == ("conversations/other.jsonl", "is a log of no known program")
    assert index.search("zeppelin") == []


def test_a_log_that_is_too_large_is_skipped_by_name(
    workspace: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace, CLAUDE, dump(*claude_log()))
    monkeypatch.setattr(changes, "MAX_BYTES", 1000)
    (skipped,) = open_index(workspace).refresh().skipped
    assert skipped.path == CLAUDE
    assert skipped.why.startswith("is larger than")


def test_escapes_bring_in_nothing_that_cannot_be_stored(workspace: Workspace, open_index: Open) -> None:
    log = ClaudeCode()
    put(workspace, CLAUDE, dump(log.user("zeppelin \ud800 \0 end"), log.says("\udfff")))
    index = open_index(workspace)
    assert index.refresh().skipped == ()
    assert index.search("zeppelin")[0].text.endswith("end")


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["type", "text", "role", "x"]), inner)
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=20),
            st.builds(
                lambda key, value, kind: json.dumps({key: value, "type": kind, "sessionId": "s"}).encode(),
                st.sampled_from(["message", "payload", "summary", "timestamp"]),
                _JSON,
                st.sampled_from(["user", "assistant", "event_msg", "response_item", "summary"]),
            ),
        ),
        max_size=8,
    )
)
def test_any_bytes_are_read_as_a_log(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    contents = split(data, CLAUDE, "conversation")
    for piece in contents.pieces:
        assert 1 <= piece.chunk.start_line <= piece.chunk.end_line <= contents.line_count
        piece.chunk.text.encode()
