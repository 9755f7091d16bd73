"""A team's server is killed again and again: what it confirmed is kept, nothing is kept twice."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from engine.gateways.people import People
from engine.transcripts.format import parse
from tests.gateways.conftest import TOKEN
from tests.waiting import DEADLINE_S

WRITERS, READERS = 8, 4
_SAID = re.compile(r"message-\d+-of-writer-\d+")


class Served:
    """A workspace's server, which can be killed and started again on the same port."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[str] | None = None
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", "tui.cli", "-C", str(self._root), "serve", "--port", str(self.port)]
        environment = {**os.environ, "AUTOPOIESIS_HOOK_TOKEN": TOKEN}
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        assert self._process.stderr is not None
        self.port = urlsplit(self._process.stderr.readline().split()[0]).port or 0
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def kill(self) -> None:
        """Kill it without warning."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    root = tmp_path / "memory"
    (root / "knowledge/reference").mkdir(parents=True)
    (root / "memory-config.yaml").write_text("")
    (root / "knowledge/reference/gauge.md").write_text(
        "# Gauge\n\nThe tide gauge stands at the north pier.\n"
    )
    served = Served(root)
    yield served
    served.kill()


class Client:
    """Sends requests, each as often as it takes until there is an answer."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer; a refusal for asking too often is no answer."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            try:
                status, said = self._send(path, body)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)  # it was killed
                continue
            if status != 429:
                assert status in (200, 201), said
                return json.loads(said)
            time.sleep(0.5)
        raise AssertionError(f"no answer to {path} in {DEADLINE_S} s")

    def give_up(self, path: str, body: dict[str, Any]) -> None:
        """Send a request and do not wait for its answer, as a client does that is killed."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("POST", path, json.dumps(body), self._headers)
        except OSError:
            pass
        finally:
            connection.close()

    def _send(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("POST", path, json.dumps(body), self._headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.mark.parametrize(
    ("seconds", "kills"), [(6, 1), pytest.param(120, 2, marks=pytest.mark.thorough, id="two minutes")]
)
def test_a_team_loses_nothing_when_its_server_is_killed(
    served: Served, tmp_path: Path, seconds: float, kills: int
) -> None:
    people, now = People(tmp_path / "memory"), datetime.now(UTC)
    until = time.monotonic() + seconds
    confirmed: list[str] = []
    dropped: list[str] = []

    def write(number: int) -> None:
        rng = random.Random(number)
        client = Client(served.port, people.grant(f"writer-{number}", ["capture"], now)[1])
        session = f"ses_of-{number}"
        client.post("/api/sessions", {"session_id": session})
        count = 0
        while time.monotonic() < until:
            text, count = f"message-{count}-of-writer-{number}", count + 1
            body = {"session_id": session, "role": "user", "text": f"{text} about the gauge", "key": text}
            if rng.random() < 0.1:
                client.give_up("/api/messages", body)
                dropped.append(text)
            else:
                client.post("/api/messages", body)
                confirmed.append(text)
        client.post(f"/api/sessions/{session}/end", {})

    def read(number: int) -> int:
        client = Client(served.port, people.grant(f"reader-{number}", ["conversations"], now)[1])
        call = {"name": "search", "arguments": {"query": "tide gauge north pier"}}
        count = 0
        while time.monotonic() < until:
            answer = client.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
            places = [row["place"] for row in answer["result"]["structuredContent"]["rows"]]
            assert any(place.startswith("knowledge/reference/gauge.md") for place in places)
            count += 1
        return count

    with ThreadPoolExecutor(WRITERS + READERS) as pool:
        writers = [pool.submit(write, number) for number in range(WRITERS)]
        readers = [pool.submit(read, number) for number in range(READERS)]
        for _ in range(kills):
            time.sleep(seconds / (kills + 1))
            served.kill()
            served.start()
        for writer in writers:
            writer.result()
        assert all(reader.result() for reader in readers)
    kept = Counter[str]()
    for path in (tmp_path / "memory/raw/conversations").rglob("*.md"):
        transcript = parse(path.read_bytes(), str(path))
        kept.update(found for turn in transcript.turns for found in _SAID.findall(str(turn.blocks)))
    assert len(confirmed) >= WRITERS and set(kept.values()) == {1}
    assert set(confirmed) <= kept.keys() <= {*confirmed, *dropped}
