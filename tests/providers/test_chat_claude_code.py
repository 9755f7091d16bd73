"""Chats through the ``claude`` command: its output is streamed, and no process outlives its chat."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from engine.errors import SendFailed
from engine.providers.chat import ChatReply, Usage
from engine.providers.claude_code import WITHIN_VARIABLE, ClaudeCode
from engine.providers.keys import CHAT, PURPOSE_KEY_VARIABLES
from tests.providers.chat_service import REQUEST, Listener, ask
from tests.providers.claude_command import (
    HANGS,
    Install,
    is_written,
    printing,
    wait_until_exists,
    wait_until_gone,
)
from tests.providers.conftest import KEY
from tests.providers.deadlines import LATER, passed_once

USAGE = {
    "input_tokens": 30,
    "cache_read_input_tokens": 200,
    "cache_creation_input_tokens": 70,
    "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 50},
    "output_tokens": 12,
}


def piece(text: str) -> str:
    delta = {"type": "text_delta", "text": text}
    return streamed({"type": "content_block_delta", "index": 0, "delta": delta})


def streamed(event: dict[str, Any]) -> str:
    return json.dumps(
        {"type": "stream_event", "event": event, "session_id": "s1", "parent_tool_use_id": None}
    )


def block(text: str, model: str = "claude-sonnet-5-5") -> str:
    message = {"id": "m1", "model": model, "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "assistant", "message": message})


def result(text: str, **more: Any) -> str:
    return json.dumps(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": text,
            "stop_reason": "end_turn",
            "total_cost_usd": 0.0123,
            "usage": USAGE,
            **more,
        }
    )


INIT = json.dumps({"type": "system", "subtype": "init", "model": "claude-sonnet-5-5", "tools": []})
LOGIN = "Invalid API key · Please run /login"
ODD = '{"type": "assistant", "message": {"content": [7, {"type": "text"}], "model": "m"}}'
START = streamed({"type": "message_start", "message": {"id": "m1", "model": "claude-sonnet-5-5"}})
WHOLE = "\n".join(
    [INIT, START, piece("Ann "), piece("likes tea."), block("Ann likes tea."), result("Ann likes tea.")]
)


async def test_the_reply_is_streamed_with_its_tokens_and_price(claude: Install) -> None:
    claude(printing(WHOLE))
    heard = Listener()
    reply = await ask(ClaudeCode(purpose=CHAT), on_text=heard)
    assert heard.pieces == ["Ann ", "likes tea."]
    assert reply == ChatReply(
        text="Ann likes tea.",
        usage=Usage(300, 200, 70, 50, 12),
        model="claude-sonnet-5-5",
        cut=False,
        cost_usd=0.0123,
    )


async def test_each_piece_is_passed_on_before_the_next_arrives(claude: Install) -> None:
    log = claude(
        f"{printing(piece('one'))}\nwhile [ ! -e $LOG/heard ]; do sleep 0.02; done\n"
        f"{printing(chr(10).join([piece('two'), result('onetwo')]))}"
    )
    reply = await ask(ClaudeCode(purpose=CHAT), on_text=lambda _text: (log / "heard").touch())
    assert reply.text == "onetwo"


async def test_the_command_runs_isolated_without_tools_and_gets_the_prompt_on_stdin(
    claude: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CLAUDECODE", "OPENAI_API_KEY", "GEMINI_API_KEY", *PURPOSE_KEY_VARIABLES):
        monkeypatch.setenv(variable, "set")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "its-own")
    log = claude(
        'printf "%s\\n" "$@" > "$LOG/argv"; cat > "$LOG/stdin"; env > "$LOG/env"\n'
        f'cat prefix.txt > "$LOG/prefix"; stat -c %a . > "$LOG/mode"; pwd > "$LOG/cwd"\n{printing(WHOLE)}'
    )
    prefix = "You are kind. $(touch /tmp/x)\nü\ud800" + "x" * 200_000
    request = replace(REQUEST, prefix=(prefix[:9], prefix[9:]), rest="-p --tools Bash ü\ud800")
    await ask(ClaudeCode("opus", purpose=CHAT), request)
    argv = (log / "argv").read_text().split("\n")[:-1]
    assert argv[0] == "-p"
    for option, value in (
        ("--output-format", "stream-json"),
        ("--max-turns", "1"),
        ("--tools", ""),
        ("--model", "opus"),
        ("--system-prompt-file", "prefix.txt"),
    ):
        assert argv[argv.index(option) + 1] == value
    assert {"--verbose", "--include-partial-messages", "--no-session-persistence"} < set(argv)
    assert not any("kind" in argument or "Bash" in argument for argument in argv)
    assert (log / "stdin").read_text() == "-p --tools Bash ü?"
    assert (log / "prefix").read_text() == prefix.replace("\ud800", "?")
    assert (log / "mode").read_text().strip() == "700"
    environment = dict(line.split("=", 1) for line in (log / "env").read_text().splitlines() if "=" in line)
    assert environment["ANTHROPIC_API_KEY"] == "its-own" and environment[WITHIN_VARIABLE] == "1"
    assert "MAX_THINKING_TOKENS" not in environment
    assert not {"CLAUDECODE", "OPENAI_API_KEY", "GEMINI_API_KEY", *PURPOSE_KEY_VARIABLES} & set(environment)
    assert not Path((log / "cwd").read_text().strip()).exists()


async def test_without_a_prefix_the_command_gets_a_default_instruction(claude: Install) -> None:
    log = claude(f'printf "%s\\n" "$@" > "$LOG/argv"; ls -A | wc -l > "$LOG/files"\n{printing(WHOLE)}')
    await ask(ClaudeCode(purpose=CHAT), replace(REQUEST, prefix=()))
    argv = (log / "argv").read_text().split("\n")
    assert argv[argv.index("--system-prompt") + 1] == "You answer messages."
    assert (log / "files").read_text().strip() == "0"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([result("Ann")], "Ann"),
        ([block("Ann"), result("Ann")], "Ann"),
        ([piece("A"), block("Ann"), result("Ann")], "Ann"),
        ([piece("One."), block("One."), piece("Two."), block("Two."), result("One.")], "One.Two."),
        ([result("")], ""),
        ([piece("a\ud83d"), piece("\ude00"), result("x")], "a\U0001f600"),
        ([piece("tea\ud83d"), result("x")], "tea\ufffd"),
        (["nonsense", "[]", '{"type": 7}', '{"type": "stream_event", "event": []}', result("Ann")], "Ann"),
        ([ODD, result("Ann")], "Ann"),
        (["[" * 50_000, result("Ann")], "Ann"),
    ],
    ids=["result", "block", "rest", "blocks", "empty", "halves", "half", "other", "odd", "deep"],
)  # fmt: skip
async def test_the_text_is_complete_for_any_order_of_lines(
    claude: Install, lines: list[str], text: str
) -> None:
    claude(printing("\n".join(lines)))
    heard = Listener()
    reply = await ask(ClaudeCode(purpose=CHAT), on_text=heard)
    assert reply.text == text == "".join(heard.pieces)


async def test_invalid_bytes_are_tolerated(claude: Install) -> None:
    line = piece("AnnXX").replace("XX", "\\377\\376").replace('"', '\\"')
    claude(f'printf "{line}\\n"\n{printing(result("Ann"))}')
    assert (await ask(ClaudeCode(purpose=CHAT))).text == "Ann\ufffd\ufffd"


@pytest.mark.parametrize(
    "lines",
    [
        [result("Ann", stop_reason="max_tokens")],
        [
            streamed({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
            result("Ann", stop_reason=None),
        ],
    ],
)
async def test_a_reply_cut_at_the_limit_is_marked(claude: Install, lines: list[str]) -> None:
    claude(printing("\n".join(lines)))
    assert (await ask(ClaudeCode(purpose=CHAT))).cut


async def test_a_reply_that_restarts_within_its_text_is_aborted(claude: Install) -> None:
    log = claude(
        f'echo $$ > "$LOG/leader"\n{printing(chr(10).join([piece("Ann li"), block("Bob.")]))}\nsleep 600'
    )
    with pytest.raises(SendFailed, match="the reply was cut off and restarted; try again") as caught:
        await ask(ClaudeCode(purpose=CHAT))
    assert caught.value.partial == "Ann li"
    await wait_until_gone(log, "leader")


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.parametrize(
    ("grace", "why"), [(0.1, "the reply was cut off"), (60, "no answer within")], ids=["drained", "cancelled"]
)
async def test_pipes_held_open_from_outside_are_closed_when_a_reply_is_aborted(
    claude: Install, monkeypatch: pytest.MonkeyPatch, grace: float, why: str
) -> None:
    monkeypatch.setattr("engine.providers.claude_code._GRACE_S", grace)
    outside = (
        "import os, sys, time; os.setsid(); print(os.getpid(), file=sys.stderr, flush=True); time.sleep(600)"
    )
    log = claude(
        f'{sys.executable} -c "{outside}" 2> "$LOG/outside" &\n'
        'while [ ! -s "$LOG/outside" ]; do sleep .01; done\n'
        f"{printing(chr(10).join([piece('Ann li'), block('Bob.')]))}\nsleep 600"
    )
    with pytest.raises(SendFailed, match=why):
        await ask(ClaudeCode(purpose=CHAT), timeout=60 if grace < 1 else 3)
    gc.collect()
    os.kill(int((log / "outside").read_text()), signal.SIGKILL)


async def test_a_killed_command_is_waited_for_though_it_dies_late(
    claude: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = os.killpg
    monkeypatch.setattr("engine.providers.claude_code._GRACE_S", 0)
    monkeypatch.setattr(os, "killpg", lambda group, sign: Timer(0.2, kill, (group, sign)).start())
    monkeypatch.setattr(subprocess.Popen, "kill", lambda process: None)
    log = claude(
        f'echo $$ > "$LOG/leader"\n{printing(chr(10).join([piece("Ann li"), block("Bob.")]))}\nsleep 600'
    )
    with pytest.raises(SendFailed, match="the reply was cut off"):
        await ask(ClaudeCode(purpose=CHAT))
    with pytest.raises(ProcessLookupError):
        os.kill(int((log / "leader").read_text()), 0)


async def test_a_missing_command_is_named_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(WITHIN_VARIABLE, raising=False)
    with pytest.raises(SendFailed, match="the claude command was not found on PATH") as caught:
        await ask(ClaudeCode(purpose=CHAT))
    assert caught.value.where == "chat.provider: claude-code"
    assert "chat.provider: local" in caught.value.hint


async def test_a_command_that_cannot_be_started_raises(claude: Install) -> None:
    claude("", interpreter="/nowhere/to/be/found")
    with pytest.raises(SendFailed, match="cannot be started: No such file or directory"):
        await ask(ClaudeCode(purpose=CHAT))
    claude(printing(WHOLE))
    with pytest.raises(SendFailed, match=r"cannot be started: chat\.model cannot be passed to a command"):
        await ask(ClaudeCode("so\0nnet", purpose=CHAT))


async def test_a_hanging_command_is_killed_at_the_deadline_with_its_children(claude: Install) -> None:
    log, heard = claude(f"{printing(piece('Ann'))}\n{HANGS}"), Listener()
    with (
        passed_once(lambda: heard.pieces and is_written(log / "leader")),
        pytest.raises(SendFailed, match=r"no answer within 600 s; raise chat\.deadline_s") as caught,
    ):
        await ask(ClaudeCode(purpose=CHAT), timeout=LATER, on_text=heard)
    assert caught.value.partial == "Ann"
    await wait_until_gone(log, "leader", "child")


async def test_a_dripping_command_is_killed_at_the_deadline(claude: Install) -> None:
    log = claude('echo $$ > "$LOG/leader"\nwhile true; do printf " "; sleep 0.05; done')
    with (
        passed_once(lambda: is_written(log / "leader")),
        pytest.raises(SendFailed, match="no answer within 600 s"),
    ):
        await ask(ClaudeCode(purpose=CHAT), timeout=LATER)
    await wait_until_gone(log, "leader")


async def test_cancelling_kills_the_command_and_its_children(claude: Install) -> None:
    log = claude(f"{printing(piece('Ann'))}\n{HANGS}")
    task = asyncio.ensure_future(ask(ClaudeCode(purpose=CHAT), timeout=600))
    await wait_until_exists(log / "leader")
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=60.0)
    assert done and task.cancelled()
    await wait_until_gone(log, "leader", "child")


@pytest.mark.parametrize("error", [BrokenPipeError("the pager was closed"), ValueError("a bug")])
async def test_an_exception_in_the_listener_propagates(claude: Install, error: Exception) -> None:
    log = claude(f"{printing(piece('Ann'))}\n{HANGS}")

    def listen(_text: str) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await ask(ClaudeCode(purpose=CHAT), on_text=listen)
    assert caught.value is error
    await wait_until_gone(log, "leader", "child")


@pytest.mark.parametrize(
    ("output", "what", "partial"),
    [
        ("", "the reply could not be read", ""),
        (INIT, "the reply could not be read", ""),
        (f"{piece('Ann')}\n{result('Ann')[:40]}", "the reply was cut off", "Ann"),
    ],
    ids=["empty", "begun", "cut"],
)
async def test_incomplete_output_is_an_error(claude: Install, output: str, what: str, partial: str) -> None:
    claude(printing(output))
    with pytest.raises(SendFailed, match=what) as caught:
        await ask(ClaudeCode(purpose=CHAT))
    assert caught.value.partial == partial


async def test_unlimited_output_is_aborted(claude: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.providers.claude_code.CHAT_LIMIT", 2 << 20)
    log = claude('echo $$ > "$LOG/leader"\nyes nonsense')
    with pytest.raises(SendFailed, match="wrote more than 2 MiB"):
        await ask(ClaudeCode(purpose=CHAT), timeout=LATER)
    await wait_until_gone(log, "leader")


@pytest.mark.parametrize(
    ("script", "what", "hint"),
    [
        (
            printing(f"{block(LOGIN, '<synthetic>')}\n{result(LOGIN, is_error=True)}") + "\nexit 1",
            f"failed with status 1: {LOGIN}",
            "run claude once to log in",
        ),
        (
            printing(result("API Error: 529 overloaded", is_error=True)),
            "failed: API Error: 529 overloaded",
            "run claude -p hello",
        ),
        (printing(result("", subtype="error_during_execution")), "failed", "run claude -p hello"),
        (
            "echo \"error: unknown option '--include-partial-messages'\" >&2; exit 1",
            "this version does not know --include-partial-messages",
            "update",
        ),
        ("exit 7", "failed with status 7", "run claude -p hello"),
    ],
    ids=["login", "overloaded", "subtype", "old", "silent"],
)
async def test_an_error_has_a_reason_and_a_hint(claude: Install, script: str, what: str, hint: str) -> None:
    claude(script)
    with pytest.raises(SendFailed) as caught:
        await ask(ClaudeCode(purpose=CHAT))
    assert caught.value.what == what and hint in caught.value.hint
    assert caught.value.partial == ""


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"])
async def test_output_that_quotes_the_key_is_not_shown(
    claude: Install, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, KEY)
    claude(f'echo "bad key ${variable}" >&2; exit 1')
    with pytest.raises(SendFailed) as caught:
        await ask(ClaudeCode(purpose=CHAT))
    assert caught.value.what == "failed with status 1"
    assert caught.value.__cause__ is None and caught.value.__context__ is None


async def test_a_nested_chat_is_refused(claude: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    log = claude('touch "$LOG/started"')
    monkeypatch.setenv(WITHIN_VARIABLE, "1")
    with pytest.raises(SendFailed, match="called from within a claude-code call"):
        await ask(ClaudeCode(purpose=CHAT))
    assert not (log / "started").exists()
