"""Whole turns against fakes of each provider: five turns share one prefix, and no key is stored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.context.compiled import Compiled
from engine.discussions.turn import Sent
from engine.engine import Engine
from tests.providers.chat_service import ChatService
from tests.providers.conftest import KEY, json_response
from tests.providers.responses_service import ResponsesService

MESSAGES = (
    "Can you review the PR that just came in?",
    "Good morning. Anything new?",
    "The database is down, all pages give 500.",
    "Please cut release 0.15.1.",
    "Who is Wren?",
)


@pytest.fixture
def engine(sample: Path, chat: ChatService) -> Iterator[Engine]:
    """An engine whose chats go to the fake server."""
    with Engine.open(sample) as opened:
        opened.config = replace(
            opened.config,
            chat=replace(
                opened.config.chat,
                provider=chat.name,  # type: ignore[arg-type]  # one of them
                model="some-model",
                base_url="" if isinstance(chat, ResponsesService) else chat.address,
                deadline_s=30,
            ),
            cache=replace(opened.config.cache, gemini=False),
        )
        yield opened


def talk(engine: Engine, chat: ChatService) -> list[Sent]:
    session, sent = "", []
    chat.respond_with(*(chat.stream_reply("Answer ", f"{number}.") for number in range(1, 6)))
    for message in MESSAGES:
        sent.append(engine.discussions.sending().send(message, session_id=session))
        session = sent[-1].session_id
    return sent


def test_five_turns_with_other_topics_send_the_same_prefix(engine: Engine, chat: ChatService) -> None:
    sent = talk(engine, chat)
    assert [each.problem for each in sent] == [""] * 5
    assert [each.reply.text for each in sent] == [f"Answer {number}." for number in range(1, 6)]
    assert len({each.trace.active for each in sent}) > 2
    prefixes = [chat.system(body) for body in chat.bodies]
    assert len(prefixes) == 5 and len(set(prefixes)) == 1
    for body, each in zip(chat.bodies, sent, strict=True):
        length = each.compiled.stable_prefix_length
        assert chat.system(body) == each.compiled.text[:length]
        assert chat.message(body) == each.compiled.text[length:]
        if chat.name == "anthropic":
            check_breakpoints_at_layer_ends(body["system"], each.compiled)
    assert "Answer 4." in chat.message(chat.bodies[4]) and MESSAGES[3] in chat.message(chat.bodies[4])
    assert sent[-1].cache.calls == sent[-1].cache.hits == 5
    usage = sent[-1].reply.usage
    assert (usage.input_tokens, usage.cached_tokens) == (300, 200)
    assert usage.cache_write_tokens == (0 if chat.name == "gemini" else 70)
    # Cost and input are logged.
    calls = [record for record in engine.costs.log.records() if record.operation == "chat"]
    assert [(call.provider, call.discussion) for call in calls] == [(chat.name, sent[0].session_id)] * 5
    assert [call.usage.cached_tokens for call in calls] == [200] * 5
    assert len(engine.prefixes.last(10, sent[0].session_id)) == 5
    conversation = engine.conversations.of_session(sent[0].session_id)
    assert [turn.role for turn in conversation.turns] == ["user", "agent"] * 5


def check_breakpoints_at_layer_ends(system: list[dict[str, Any]], compiled: Compiled) -> None:
    """Only Anthropic gets explicit cache breakpoints."""
    ends, at = [], 0
    for block in system:
        at += len(block["text"])
        assert block["cache_control"]["type"] == "ephemeral"
        ends.append(at)
    assert 1 <= len(ends) <= 3
    assert set(ends) <= set(compiled.boundaries) and ends[-1] == compiled.stable_prefix_length


def test_no_key_is_stored(engine: Engine, chat: ChatService, capfd: pytest.CaptureFixture[str]) -> None:
    answers = {
        "": chat.stream_reply("Fine."),
        "refused": json_response(chat.error(f"Incorrect API key provided: {KEY}."), 401),
        "torn": chat.stream_events([*chat.head(), chat.piece("Half of")]),
        "nonsense": json_response([KEY]),
    }
    chat.respond_with(*answers.values())
    sent = [engine.discussions.sending().send("Good morning.") for _ in answers]
    assert [bool(each.problem) for each in sent] == [bool(error) for error in answers]
    for each in sent:
        engine.capture.end(each.session_id)
    engine.repository.commit([each.path for each in sent], "conversations")
    engine.close()
    assert KEY in str(chat.headers), "the test would prove nothing if the key had not been sent"
    output = "".join(capfd.readouterr()) + repr(sent)
    assert KEY not in output and KEY[:16] not in output
    root = engine.workspace.root
    for path in root.rglob("*"):
        if path.is_file():
            assert KEY[:16].encode() not in path.read_bytes(), path
    history = subprocess.run(
        ["git", "log", "-p", "--all"], cwd=root, capture_output=True, check=True, text=True, errors="replace"
    )
    assert KEY[:16] not in history.stdout


@pytest.mark.parametrize("chat", ["responses"], indirect=True)
def test_tool_results_are_sent_without_secrets_and_each_call_is_logged(
    engine: Engine, chat: ChatService
) -> None:
    location = engine.knowledge_entries.scan().entries[0].location
    secret = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5q" * 4
    with (engine.workspace.root / location).open("a") as file:
        file.write(f"\nThe key is {secret}.\n")
    read = chat.stream_events(chat.tool_call("read", json.dumps({"path": location})))
    chat.respond_with(read, chat.stream_reply("Done."))
    sent = engine.discussions.sending().send("What do you know?")
    answer = chat.turns(chat.bodies[1])[-1]["output"]
    assert (sent.problem, sent.reply.text) == ("", "Done.")
    assert "The key is [secret]." in answer and secret not in str(chat.bodies)
    records = [record for record in engine.costs.log.records() if record.discussion == sent.session_id]
    assert [(record.operation, record.usage.input_tokens) for record in records] == [("chat", 300)] * 2


@pytest.mark.parametrize("chat", ["gemini"], indirect=True)  # Its client imports quickly.
def test_ctrl_c_ends_the_reply_and_keeps_the_text_so_far(sample: Path, chat: ChatService) -> None:
    chat.respond_with(chat.drip("Good morning to you."))
    command = [sys.executable, "-m", "tui.cli", "-C", str(sample), "send", "Good morning."]
    with subprocess.Popen(
        [*command, "--provider", "gemini", "--model", "some-model"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.read(12) == "Good morning"
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 1 and "autopoiesis: gemini: stopped" in error
    assert not chat.release.is_set()
    (transcript,) = (
        path
        for path in (sample / "raw/conversations").rglob("*.md")
        if "[cut off: gemini: stopped]" in path.read_text()
    )
    assert "Good morning to you.\n\n[cut off" in transcript.read_text()
