"""Another process gives the same trace for a message and knows the cached gate answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

REPOSITORY = Path(__file__).parents[2]
MESSAGE = (
    "Can you review the PR that just came in, draft a reply to the email about the deploy, plan the trip to "
    "Lisbon and look at why the tests of the billing service have been failing since yesterday?"
)


def trace(workspace: Path, seed: int) -> dict[str, Any]:
    """The trace of the message from a separate process."""
    done = subprocess.run(
        [sys.executable, "-m", "tui.cli", "-C", str(workspace), "trace", MESSAGE, "--json"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        check=True,
        capture_output=True,
    )
    trace: dict[str, Any] = json.loads(done.stdout)
    return trace


def without_times(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace without timestamps, durations and cache flags."""
    rows = [
        {
            **row,
            "gate": row["gate"] and {**row["gate"], "latency_ms": 0.0, "cached": False},
            "why": row["why"].replace(", cached)", ")"),
        }
        for row in trace["rows"]
    ]
    message = {**trace["message"], "at": ""}
    return {**trace, "message": message, "rows": rows, "tier1_ms": 0.0, "tier2_ms": 0.0, "gate_ms": 0.0}


def configure(workspace: Path, preset: str, gate: str = "") -> None:
    """Set the preset and, if given, the gate's settings."""
    config = workspace / "memory-config.yaml"
    text = re.sub(r"preset: \w+", f"preset: {preset}", config.read_text())
    if gate:
        text = re.sub(r"^gate:\n(?:[ \n].*\n|\n)*", gate, text, flags=re.MULTILINE)
    config.write_text(text)
    assert f"preset: {preset}" in text and gate in text


def test_two_processes_give_the_same_trace(sample: Path) -> None:
    configure(sample, "calibrated")
    first, second = trace(sample, 1), trace(sample, 4242)
    assert without_times(first) == without_times(second)
    assert first["funnel"]["tier1"] > 2 and len(first["rows"]) > 5


def test_gate_answers_are_cached_across_restarts(
    sample: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
    prompts: list[str] = []

    def handle(request: Request) -> Response:
        prompts.append(request.get_json()["messages"][1]["content"])
        said = "YES" if len(prompts) % 2 else "NO"
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return Response(json.dumps(reply), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_handler(handle)
    configure(
        sample,
        "spec",
        f"gate:\n  provider: openai\n  model: m\n  base_url: {httpserver.url_for('/v1')}\n"
        "  deadline_s: 60\n\n",
    )
    first = trace(sample, 1)
    asked = [row for row in first["rows"] if row["gate"]]
    assert len(asked) > 1
    assert not any(row["gate"]["cached"] for row in asked)
    assert len(prompts) == len(asked)
    second = trace(sample, 4242)
    assert len(prompts) == len(asked), "no question was asked again"
    assert all(row["gate"]["cached"] for row in second["rows"] if row["gate"])
    assert without_times(first) == without_times(second)
