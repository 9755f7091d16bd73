"""Completions through the ``claude`` command: an answer or a clear error, and no process left behind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from engine.activation.gate import Gate, GateQuestion, ModelGate
from engine.errors import GateError
from engine.providers import asking
from engine.providers.chat import Usage
from engine.providers.claude_code import WITHIN_VARIABLE, ClaudeCode
from engine.providers.keys import GATE
from engine.settings.model import GateSettings
from tests.providers.claude_command import (
    HANGS,
    Install,
    is_written,
    printing,
    wait_until_exists,
    wait_until_gone,
)
from tests.providers.conftest import KEY, complete, completed
from tests.providers.deadlines import LATER, passed_once

YES = json.dumps(
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "YES",
        "stop_reason": "end_turn",
        "total_cost_usd": 0.0012,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 20, "output_tokens": 4},
    }
)


async def test_the_answer_is_returned_with_tokens_and_price(claude: Install) -> None:
    claude(printing(YES))
    done = await completed(ClaudeCode(purpose=GATE))
    assert (done.text, done.model, done.cut) == ("YES", "haiku", False)
    assert (done.usage, done.cost_usd) == (Usage(23, 20, output_tokens=4), 0.0012)


async def test_the_command_runs_isolated_without_tools_and_gets_the_prompt_on_stdin(
    claude: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CLAUDECODE", "OPENAI_API_KEY", "GEMINI_API_KEY", "AUTOPOIESIS_GATE_API_KEY"):
        monkeypatch.setenv(variable, "set")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "its-own")
    log = claude(
        'printf "%s\\n" "$@" > "$LOG/argv"; cat > "$LOG/stdin"; env > "$LOG/env"; pwd > "$LOG/cwd"\n'
        f'ls -A > "$LOG/files"; cat prefix.txt > "$LOG/prefix"\n{printing(YES)}'
    )
    prompt = "Does $(touch /tmp/x) `this` fit?\n-p --tools Bash ü\ud800"
    await asking.complete(ClaudeCode("opus", purpose=GATE), "You judge.", prompt, max_tokens=1, timeout=20)
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
    assert "--no-session-persistence" in argv and "--strict-mcp-config" in argv
    assert '{"disableAllHooks":true}' in argv
    assert "--include-partial-messages" not in argv
    assert not any("touch" in argument or "judge" in argument for argument in argv)
    assert (log / "prefix").read_text() == "You judge."
    assert (log / "stdin").read_text() == prompt.replace("\ud800", "?")
    environment = dict(line.split("=", 1) for line in (log / "env").read_text().splitlines() if "=" in line)
    assert environment["ANTHROPIC_API_KEY"] == "its-own" and environment[WITHIN_VARIABLE] == "1"
    assert not {"CLAUDECODE", "OPENAI_API_KEY", "GEMINI_API_KEY", "AUTOPOIESIS_GATE_API_KEY"} & set(
        environment
    )
    assert (log / "files").read_text().split() == ["prefix.txt"]
    assert environment["MAX_THINKING_TOKENS"] == "0"
    assert not Path((log / "cwd").read_text().strip()).exists()


async def test_a_missing_command_is_named_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(WITHIN_VARIABLE, raising=False)
    with pytest.raises(GateError, match="the claude command was not found on PATH") as caught:
        await complete(ClaudeCode(purpose=GATE))
    assert "install Claude Code" in caught.value.hint and "gate.provider: local" in caught.value.hint


async def test_a_command_that_cannot_be_started_raises(claude: Install) -> None:
    claude("", interpreter="/nowhere/to/be/found")
    with pytest.raises(GateError, match="cannot be started: No such file or directory"):
        await complete(ClaudeCode(purpose=GATE))


async def test_a_model_name_that_cannot_be_an_argument_raises(claude: Install) -> None:
    claude(printing(YES))
    with pytest.raises(GateError, match=r"cannot be started: gate\.model cannot be passed to a command"):
        await complete(ClaudeCode("ha\0iku", purpose=GATE))


async def test_a_hanging_command_is_killed_at_the_deadline_with_its_children(claude: Install) -> None:
    log = claude(HANGS)
    with (
        passed_once(lambda: is_written(log / "leader")),
        pytest.raises(GateError, match="no answer within 600 s") as caught,
    ):
        await complete(ClaudeCode(purpose=GATE), timeout=LATER)
    assert "gate.claude_code_deadline_s" in caught.value.hint
    await wait_until_gone(log, "leader", "child")


async def test_cancelling_kills_the_command_and_its_children(claude: Install) -> None:
    log = claude(HANGS)
    task = asyncio.ensure_future(complete(ClaudeCode(purpose=GATE), timeout=600))
    await wait_until_exists(log / "leader")
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=60.0)
    assert done and task.cancelled()
    await wait_until_gone(log, "leader", "child")


async def test_cancelling_during_startup_kills_the_command_and_its_children(
    claude: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = claude(HANGS)
    start = asyncio.create_subprocess_exec

    async def slowly(*argv: str, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*argv, **options)
        await wait_until_exists(log / "leader")
        task.cancel()
        await asyncio.sleep(0)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    task = asyncio.ensure_future(complete(ClaudeCode(purpose=GATE), timeout=600))
    done, _ = await asyncio.wait([task], timeout=60.0)
    assert done and task.cancelled()
    await wait_until_gone(log, "leader", "child")


async def test_a_child_keeping_the_output_open_is_killed_at_the_deadline(claude: Install) -> None:
    log = claude(f'sleep 600 & echo $! > "$LOG/child"\n{printing(YES)}')
    with (
        passed_once(lambda: is_written(log / "child")),
        pytest.raises(GateError, match="no answer within 600 s"),
    ):
        await complete(ClaudeCode(purpose=GATE), timeout=LATER)
    await wait_until_gone(log, "child")


@pytest.mark.parametrize(
    "output",
    ["", "YES", YES[:60], "[]", "null", "[" * 50_000, '{"type": "result"}', '{"type": "result", "result": 7}',
     '{"type": "system", "result": "YES"}', f"{YES}\n{YES}"],
    ids=["empty", "plain", "cut", "list", "null", "deep", "nothing", "number", "other", "two"],
)  # fmt: skip
async def test_invalid_output_is_an_error(claude: Install, output: str) -> None:
    claude(printing(output))
    with pytest.raises(GateError, match="the reply could not be read"):
        await complete(ClaudeCode(purpose=GATE))


@pytest.mark.parametrize("script", ["yes nonsense", "head -c 3000000 /dev/zero"])
async def test_endless_output_is_aborted(claude: Install, script: str) -> None:
    log = claude(f'echo $$ > "$LOG/leader"\n{script}')
    with pytest.raises(GateError, match="wrote more than 1 MiB"):
        await complete(ClaudeCode(purpose=GATE))
    await wait_until_gone(log, "leader")


async def test_much_output_on_stderr_does_not_block_the_answer(claude: Install) -> None:
    claude(f"head -c 3000000 /dev/zero >&2\n{printing(YES)}")
    assert await complete(ClaudeCode(purpose=GATE)) == "YES"


async def test_a_command_that_closes_stdin_may_still_answer(claude: Install) -> None:
    claude(f"exec 0<&-\n{printing(YES)}")
    done = await asking.complete(ClaudeCode(purpose=GATE), "S", "P" * 2_000_000, max_tokens=1, timeout=20)
    assert done.text == "YES"


@pytest.mark.parametrize(
    ("script", "what", "hint"),
    [
        (
            printing('{"type":"result","is_error":true,"result":"Invalid API key · Please run /login"}')
            + "\nexit 1",
            "failed with status 1: Invalid API key · Please run /login",
            "run claude once to log in",
        ),
        (
            printing('{"type":"result","is_error":true,"result":"API Error: 529 overloaded"}'),
            "failed: API Error: 529 overloaded",
            "run claude -p hello to see what it says",
        ),
        (
            "echo \"error: unknown option '--tools'\" >&2; exit 1",
            "this version does not know --tools",
            "update",
        ),
        (
            "printf 'out of\\033[31m\\nluck' >&2; exit 3",
            "failed with status 3: out of [31m luck",
            "run claude",
        ),
        ("exit 7", "failed with status 7", "run claude -p hello"),
        ("kill -9 $$", "failed with status -9", "run claude -p hello"),
        (f"{printing(YES)}\nexit 1", "failed with status 1: YES", "run claude"),
    ],
    ids=["login", "overloaded", "old", "stderr", "silent", "killed", "answer-but-failed"],
)
async def test_an_error_has_a_reason_and_a_hint(claude: Install, script: str, what: str, hint: str) -> None:
    claude(script)
    with pytest.raises(GateError) as caught:
        await complete(ClaudeCode(purpose=GATE))
    assert caught.value.what == what and hint in caught.value.hint
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"])
async def test_output_that_quotes_the_key_is_not_shown(
    claude: Install, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, KEY)
    claude(f'echo "bad key ${variable}" >&2; exit 1')
    with pytest.raises(GateError) as caught:
        await complete(ClaudeCode(purpose=GATE))
    assert caught.value.what == "failed with status 1"
    assert KEY not in repr(vars(ClaudeCode(purpose=GATE)))


async def test_a_nested_call_is_refused(claude: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    log = claude('touch "$LOG/started"')
    monkeypatch.setenv(WITHIN_VARIABLE, "1")
    with pytest.raises(GateError, match="called from within one of our own calls"):
        await complete(ClaudeCode(purpose=GATE))
    assert not (log / "started").exists()


def test_the_command_has_its_own_deadline(claude: Install) -> None:
    claude("sleep 600")
    settings = GateSettings(deadline_s=600, claude_code_deadline_s=0.3)
    gate = Gate(ModelGate(ClaudeCode(purpose=GATE)), settings)
    (outcome,) = gate.ask([GateQuestion("review this", "a", "about", "Name: a")])
    gate.close()
    assert outcome is not None and outcome.answer == "failed" and "no answer within 0.3 s" in outcome.reason
