"""A key that stands anywhere in memory leaves it on no way out: to an agent, a client, or another machine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import CallToolResult, TextContent

from engine.agents.hooks import Hooks
from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.gateways.http import HookServer
from engine.gateways.mcp import server_of
from engine.gateways.routes import ENDPOINTS
from engine.redaction.detect import PLACEHOLDER
from engine.rules.rulebook import PATH
from tests.cli.conftest import Command, apo
from tests.gateways.conftest import TOKEN, client_of_server, running

__all__ = ["apo"]

KEY = "gh" + "p_" + "Q7wE4rT9yU2iO5pA8sD1fG6hJ3kL0zX4cV7b"
SESSION = "5c1f3c1e-7d52-4a0e-9b59-1f2f6d0c7a11"
STEERING = "\x1b]52;c;eA==\x07\u202e\x9b2J\U000e0041\U000e0042"
"""Sets a clipboard, reverses text, clears a screen, and hides two letters."""
WORDS = "the zanzibar transfer"
PLANTED = f"For {WORDS} use {KEY} {STEERING}and wait."


@pytest.fixture
def engine(sample: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Engine]:
    """A memory that contains the key in files of all kinds, as a person might have written them."""
    monkeypatch.setattr("engine.agents.switches.settings_folder", lambda: tmp_path / "settings")
    root = sample
    (root / "topics/zanzibar.md").write_text(
        f"---\ntype: topic\ndescription: Deploys with {KEY}.\ntriggers:\n  - type: keywords\n"
        f"    words: [zanzibar]\n---\n\n# Zanzibar\n\n## Instructions\n\n{PLANTED}\n"
    )
    for path in ("knowledge/facts.md", "knowledge/digest.md", "MEMORY.md"):
        place = next(each for each in (root / path, root / "knowledge" / path) if each.parent.is_dir())
        place.write_text(f"{place.read_text() if place.exists() else ''}\n- {PLANTED}\n")
    (root / "knowledge/people").mkdir(exist_ok=True)
    (root / f"knowledge/people/zed-{KEY}.md").write_text(f"# Zed {KEY}\n\n{PLANTED}\n")
    with Engine.open(root) as opened:
        opened.rules.add(f"Always use the token for {WORDS}.")
        rules = (root / PATH).read_text(encoding="utf-8")
        (root / PATH).write_text(rules.replace("the token", KEY), encoding="utf-8")
        opened.refresh_index()
        yield opened


def leaks(text: str) -> list[str]:
    """The lines with the key, or with characters that steer a terminal."""
    hidden = set(STEERING) - set("]52;c;eA==2J")
    return [line for line in text.split("\n") if KEY in line or hidden & set(line)]


def fire(hooks: Hooks, event: str, **fields: Any) -> str:
    payload = {"session_id": SESSION, "hook_event_name": event, "cwd": "/home/robin/tidemark", **fields}
    return hooks.answer("claude-code", json.dumps(payload).encode())


def test_no_hook_tells_an_agent_a_key(engine: Engine) -> None:
    hooks = Hooks(engine)
    answers = [
        fire(hooks, "SessionStart", source="startup"),
        fire(hooks, "UserPromptSubmit", prompt=f"prepare {WORDS} for tomorrow morning"),
    ]
    texts = [json.loads(each)["hookSpecificOutput"]["additionalContext"] for each in answers]
    for text in texts:
        assert "zanzibar" in text and PLACEHOLDER in text, "what was planted is told"
        assert not leaks(text)
    logs = (engine.workspace.root / "logs").rglob("*.jsonl")
    assert not [path for path in logs if KEY in path.read_text("utf-8", "replace")]


ASKED: dict[str, dict[str, Any]] = {
    "recall": {"question": f"how is {WORDS} done?"},
    "search": {"query": "zanzibar"},
    "expand": {"place": "knowledge/facts.md:1-400", "around": 60},
    "read": {"path": "topics/zanzibar.md"},
    "knowledge": {},
    "rules": {},
    "forget_rule": {"rule": f"Always use {KEY}"},
    "remember": {"text": f"For {WORDS}, {KEY} is used.", "kind": "fact"},
    "propose_playbook": {
        "title": "Zanzibar moves",
        "when": f"{WORDS} {KEY}",
        "instructions": KEY,
        "examples": [KEY, "a", "b", "c", "d"],
    },
    "playbook": {"name": "zanzibar"},
}
"""Arguments of every MCP tool."""


async def test_no_mcp_tool_answers_with_a_key(engine: Engine) -> None:
    async with Client(server_of(engine)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert sorted(names) == sorted(ASKED), "a new tool needs arguments here"
        for name in names:
            result = await client.call_tool(name, ASKED[name])
            assert isinstance(result, CallToolResult), name
            text = "\n".join(each.text for each in result.content if isinstance(each, TextContent))
            told = json.dumps(result.structured_content, ensure_ascii=False)
            assert not leaks(text) and KEY not in told, name


SENT: dict[str, object] = {
    "/api/messages": {"session_id": SESSION, "role": "user", "text": f"zanzibar {KEY}"},
    "/api/trace": {"text": f"zanzibar {KEY}"},
    "/api/compile": {"text": f"zanzibar {KEY}"},
    "/api/sessions": {"session_id": SESSION, "title": KEY, "model": KEY, "channel": KEY},
    "/api/sessions/{session}/turns": {
        "turns": [{"role": "agent", "text": "ran", "tool": KEY, "result": KEY}]
    },
    "/api/sessions/{session}/end": {"tags": [KEY]},
    "/api/events/next": {"by": KEY},
    "/api/events/{id}/end": {"said": KEY},
    "/hooks/{source}/{event}": {"text": KEY},
    "/api/cache/{discussion}/invalidate": {},
    "/api/cache/{discussion}/disable": {},
    "/api/cache/{discussion}/enable": {},
}
"""Bodies of every POST endpoint."""


def test_no_http_endpoint_answers_with_a_key(engine: Engine) -> None:
    posts = {each.path for each in ENDPOINTS if each.method == "POST"}
    assert posts <= set(SENT), "a new endpoint needs a body here"
    with running(HookServer(engine, TOKEN, port=0)) as server, client_of_server(server) as client:
        client.post("/api/sessions", json=SENT["/api/sessions"])
        for endpoint in ENDPOINTS:
            path = endpoint.path.replace("{session}", SESSION).replace("{source}", "email")
            path = path.replace("{event}", "new_message").replace("{id}", "1").replace("{discussion}", KEY)
            query = {"q": "zanzibar"} if path == "/api/search" else None
            got = client.request(endpoint.method, path, params=query, json=SENT.get(endpoint.path))
            assert KEY not in got.text, f"{endpoint.method} {path}"
    path = engine.conversations.of_session(SESSION).path
    assert KEY not in path and KEY not in (engine.workspace.root / path).read_text()


def test_a_session_s_metadata_holds_no_key_and_its_transcript_is_committed(engine: Engine) -> None:
    engine.capture.start("s9", title=KEY, model=KEY, channel=KEY, started=datetime(2026, 2, 16, tzinfo=UTC))
    engine.capture.message("s9", "user", "hello")
    path = engine.capture.end("s9", tags=[KEY, "release"])
    text = (engine.workspace.root / path).read_text()
    assert KEY not in text and "release" in text and text.count(PLACEHOLDER) >= 4
    with pytest.raises(AutopoiesisError, match="looks like a secret"):
        engine.capture.start(KEY)


@pytest.mark.parametrize(
    "command",
    [
        ("commit", "-m", KEY, "knowledge/questions.md"),
        ("history", "snapshot", f"v1-{KEY}"),
        ("history", "explore", f"try-{KEY}"),
    ],
    ids=lambda command: command[-1].split("-")[0],
)
def test_git_gets_no_key_from_a_command(
    command: tuple[str, ...], tmp_path: Path, apo: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{variable}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{variable}_EMAIL", "ann@example.org")
    root = tmp_path / "memory"
    assert apo("init", root).code == 0
    (root / "knowledge/questions.md").write_text("- fine\n")
    ran = apo("-C", root, *command)
    kept = [
        subprocess.run(["git", "-C", str(root), *asked], capture_output=True, text=True, check=True).stdout
        for asked in (("log", "--all", "--format=%B%D"), ("for-each-ref",))
    ]
    assert KEY not in "".join(kept)
    assert KEY not in ran.out + ran.err
