"""``events`` and ``serve`` as a person and a service manager use them."""

from __future__ import annotations

import configparser
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2

from tests.cli.conftest import Command
from tests.gateways.conftest import workspace


def test_an_event_is_taken_and_ended(apo: Command, tmp_path: Path) -> None:
    root = workspace(tmp_path / "memory")
    assert apo("-C", root, "events", "next").code == 1
    assert apo("-C", root, "events", "next", "--lease", "inf").code == 2
    assert "no events yet" in apo("-C", root, "events", "list").out
    assert apo("-C", root, "jobs", "run", "topic:evening").code == 0
    taken = apo("-C", root, "events", "next", "--wait", "--by", "me")
    assert "The steps for evening." in taken.out and "the schedule is not running" in taken.err
    (listed,) = apo("-C", root, "events", "list", "--json").json
    assert (listed["state"], listed["by"], listed["id"] in taken.err) == ("taken", "me", True)
    assert apo("-C", root, "events", "next", "--json").json is None
    assert "failed by me: too late" in apo(
        "-C", root, "events", "end", listed["id"], "--failed", "--said", "too late"
    ).out  # fmt: skip
    assert "evening" in apo("-C", root, "events", "list").out


def test_a_unit_quotes_any_workspace_path(apo: Command, tmp_path: Path) -> None:
    printed = apo("-C", tmp_path / 'a "b" 100% $HOME', "serve", "--unit", "--port", "9000").out
    unit = configparser.RawConfigParser()
    unit.read_string(printed)
    assert unit["Service"]["ExecStart"].endswith('/a \\"b\\" 100%% $$HOME" serve --port 9000')


def test_sigterm_stops_serve_cleanly(tmp_path: Path) -> None:
    root = workspace(tmp_path / "memory")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "tui.cli", "-C", str(root), "serve", "--port", "0", "--show-token"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            headers = {"Authorization": f"Bearer {process.stdout.readline().strip()}"}
            address = process.stderr.readline().split()[0].removesuffix("/mcp")
            answer = httpx2.get(f"{address}/api/health", headers=headers, trust_env=False, timeout=30)
            assert answer.json()["schedule"] == "serve"
            process.send_signal(signal.SIGTERM)
            assert (process.wait(timeout=60), process.stderr.read()) == (0, "")
        finally:
            process.kill()
