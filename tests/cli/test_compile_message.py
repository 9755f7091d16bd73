"""``compile --message``: the prompt of a recorded message, and its diff from the previous one."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from engine.live.messages import find_message
from tests.cli.conftest import Command


@pytest.fixture
def talk(sample: Path) -> str:
    """The path of a sample conversation with more than two user messages."""
    with Engine.open(sample) as engine:
        for path in sorted(engine.conversations.sizes()):
            conversation = engine.conversations.read(path)
            if conversation and sum(turn.role == "user" and not turn.kind for turn in conversation.turns) > 2:
                return path
    pytest.fail("the sample has no such conversation")


def test_the_prompt_equals_the_one_in_the_workbench(apo: Command, sample: Path, talk: str) -> None:
    with Engine.open(sample) as engine:
        engine.refresh_index()
        message = find_message(engine, talk)
        shown = engine.compile_of(message.key)
    assert shown is not None
    ran = apo("-C", sample, "compile", "--message", talk)
    assert ran.code == 0 and ran.out.rstrip("\n") == shown.text.rstrip("\n")
    assert ran.err.startswith(f"turn {message.turn} of {talk} “{message.text[:20]}")
    tree = apo("-C", sample, "compile", "--message", f"{talk}:{message.turn}", "--json").json
    assert tree["text"] == shown.text and tree["dropped_turns"] == shown.dropped_turns
    assert tree["message"] == {
        "key": message.key,
        "path": talk,
        "session_id": message.session_id,
        "turn": message.turn,
        "text": message.text,
    }
    assert any(section["layer"] == 11 for section in tree["sections"]), "the earlier turns are missing"
    outline = apo("-C", sample, "compile", "--message", talk, "--explain").out
    assert "budget by slot" in outline


def test_last_is_the_latest_message_in_the_feed_or_in_a_session(apo: Command, sample: Path) -> None:
    with Engine.open(sample) as engine:
        last = [entry for entry in engine.feed(20_000) if entry.kind == "user" and entry.key][-1].key
    tree = apo("-C", sample, "compile", "--message", "last", "--json").json
    assert tree["message"]["key"] == last
    session = apo("-C", sample, "session", "list", "--json").json[-1]["session_id"]
    tree = apo("-C", sample, "compile", "--message", "last:1", "--session", session, "--json").json
    assert tree["message"]["session_id"] == session


def test_a_budget_applies(apo: Command, sample: Path, talk: str) -> None:
    words = ("--message", talk, "--budget", "2048")
    assert apo("-C", sample, "compile", *words, "--json").json["budget"] == 2048


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "give either TEXT or --message"),
        (("Hello", "--message", "last"), "give either TEXT or --message"),
        (("--message", "last", "--as-of", "now"), "cannot be used with --as-of, --diff or --record"),
        (("--message", "last", "--diff", "HEAD", "now"), "cannot be used with --as-of, --diff or --record"),
        (("--message", "last", "--record"), "cannot be used with --as-of, --diff or --record"),
        (("--message", "ses_1", "--session", "ses_2"), "--session can only be used with --message last"),
    ],
)
def test_wrong_usage(apo: Command, sample: Path, words: tuple[str, ...], expected: str) -> None:
    ran = apo("-C", sample, "compile", *words)
    assert ran.code == 2 and expected in " ".join(ran.err.split())


def test_terminal_sequences_in_messages_are_escaped(apo: Command, sample: Path) -> None:
    path = "conversations/2026-06-20-odd.md"
    (sample / path).write_text("# Odd\n\n## 10:00 — user\n\x1b]52;c;aGk=\x07 hello\n", encoding="utf-8")
    ran = apo("-C", sample, "compile", "--message", path)
    assert ran.code == 0 and "\x1b" not in ran.err and "hello" in ran.err
