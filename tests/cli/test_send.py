"""``send``, ``cache`` and ``serve`` on the command line; no model is called."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from engine.discussions.sending import Sending
from engine.engine import Engine
from tests.cli.conftest import Command
from tests.discussions.scripted import Purse, Scripted

QUESTION = "What happened when the disk of the database filled up?"


@pytest.fixture
def sent(sample: Path) -> tuple[Path, str]:
    """The sample workspace after two messages to a provider that caches."""
    with Engine.open(sample) as engine:
        provider = Scripted(["One.", "Two."])
        sending = Sending(engine, lambda: provider, Purse(), len)
        session = sending.send("Good morning.").session_id
        sending.send("Anything new?", session_id=session)
    return sample, session


def test_without_a_provider_the_reply_is_the_closest_lines(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "send", QUESTION)
    assert ran.code == 0
    assert ran.out.startswith("No model was used (chat.provider: local)")
    assert "wal-disk-full" in ran.out
    session = re.match(r"(ses_\w+) · local · [\d,]+ tokens in", ran.err)
    assert session is not None
    again = apo("-C", sample, "send", "--session", session[1], "-", stdin="And how was it mended?\n")
    assert again.code == 0 and again.err.startswith(session[1])
    transcript = next((sample / "raw/conversations").glob(f"*/*/*/*{session[1]}*")).read_text()
    assert transcript.count(" — user\n") == transcript.count(" — agent [local]\n") == 2


def test_json_contains_everything_but_the_text_of_the_prompt(apo: Command, sample: Path) -> None:
    tree = apo("-C", sample, "send", QUESTION, "--json").json
    assert tree["provider"] == "local" and tree["problem"] == "" and tree["cost_usd"] == 0
    assert tree["reply"]["text"].startswith("No model was used")
    assert tree["prompt"]["tokens"] > 1_000 and "compiled" not in tree
    assert tree["trace"]["message"]["text"] == QUESTION


def test_refusals_are_one_line(apo: Command, sample: Path) -> None:
    for arguments, message in (
        (["  "], "nothing is said; write a message"),
        (["Hello.", "--session", "ses_unknown"], "ses_unknown"),
    ):
        ran = apo("-C", sample, "send", *arguments)
        assert ran.code == 1 and ran.err.startswith("autopoiesis: ") and message in ran.err
    ran = apo("-C", sample, "send", "Hello.", "--provider", "anthropic")
    assert ran.code == 1 and "ANTHROPIC_API_KEY" in ran.err
    assert apo("-C", sample, "send", "Hello.", "--provider", "nobody").code == 2


def test_cache_states_are_listed_and_shown(apo: Command, sent: tuple[Path, str]) -> None:
    root, session = sent
    listed = apo("-C", root, "cache", "list")
    assert listed.code == 0
    line = next(line for line in listed.out.splitlines() if session in line)
    assert re.search(r"anthropic +yes, [45]:\d\d left +[\d,]+ +1 of 2 calls", line)
    (tree,) = apo("-C", root, "cache", "list", "--json").json
    assert tree["cached"] is True and 0 < tree["seconds_left"] <= 300
    shown = apo("-C", root, "cache", "show", session)
    assert "knowledge/identity/SOUL.md" in shown.out and "claude-sonnet-5-5" in shown.out


def test_a_cache_is_invalidated_disabled_and_enabled(apo: Command, sent: tuple[Path, str]) -> None:
    root, session = sent
    assert "invalidated by hand" in apo("-C", root, "cache", "invalidate", session).out
    assert apo("-C", root, "cache", "disable", session, "--json").json["enabled"] is False
    assert re.search(rf"{session} +anthropic +off", apo("-C", root, "cache", "list").out)
    assert apo("-C", root, "cache", "enable", session, "--json").json["enabled"] is True
    refused = apo("-C", root, "cache", "invalidate", "a b")
    assert refused.code == 1 and "invalid session id" in refused.err


def test_cache_list_shows_a_hint_if_there_are_no_discussions(apo: Command, sample: Path) -> None:
    assert apo("-C", sample, "cache", "list").out.startswith("no discussions yet")
    assert apo("-C", sample, "cache", "list", "--json").json == []


def test_serve_runs_until_it_is_interrupted(sent: tuple[Path, str], tmp_path: Path) -> None:
    root, session = sent
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "tui.cli", "-C", str(root), "serve", "--port", "0", "--show-token"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            token = process.stdout.readline().strip()
            address = process.stderr.readline().split()[0].replace("/mcp", "/api/cache")
            headers = {"Authorization": f"Bearer {token}"}
            answer = httpx2.get(address, headers=headers, trust_env=False, timeout=30)
            assert [each["discussion_id"] for each in answer.json()["discussions"]] == [session]
            assert httpx2.get(address, trust_env=False, timeout=30).status_code == 401
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) in (0, 130)
        finally:
            process.kill()
    assert token == (tmp_path / "autopoiesis" / "hook-token").read_text().strip()
