"""The server under load, next to an open workbench: every message is kept, memory is bounded, keys work."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.cli.test_terminal import Terminal
from tests.gateways.conftest import TOKEN

RATE = 500
"""Messages per second that the clients send together; fewer if the answers take longer."""
SECONDS = 60
CLIENTS = 30
"""Each has one connection and one session."""
EACH = RATE * SECONDS // CLIENTS
"""Messages of a client."""
GROWTH_KB = 16
"""The most by which the server's memory may grow per message in the second half, when all models are loaded.
The objects kept of a message take 1 KB, its prompt would take 30; the allocator keeps more than is in use."""
PAUSE_S = 1.0
"""Between two keys."""
KEYS = (("?", True, "Go to the digest"), ("\x1b", False, "Go to the digest"),
        ("i", True, "enter keeps it"), ("\x1b", False, "enter keeps it"))  # fmt: skip
"""Keys of the workbench, and whether a text is on its screen afterwards."""


class Server(NamedTuple):
    """A running ``autopoiesis serve``."""

    process: subprocess.Popen[str]
    host: str  # with its port

    def memory_mb(self) -> int:
        """Its resident memory."""
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) // 1024

    def processor_s(self) -> float:
        """Its processor time so far, which depends less on what else the machine does than waiting times."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def root(sample: Path) -> Iterator[Path]:
    """The sample on a disk; the folders of tests may be in memory, where syncing takes no time."""
    with tempfile.TemporaryDirectory(prefix="autopoiesis-", ignore_cleanup_errors=True) as folder:
        yield Path(shutil.copytree(sample, Path(folder, "memory"), symlinks=True))


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "tui.cli", "-C", str(root), "serve", "--port", "0"]
    environment = {**os.environ, "AUTOPOIESIS_HOOK_TOKEN": TOKEN}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            yield Server(process, urlsplit(process.stderr.readline().split()[0]).netloc)
        finally:
            process.terminate()


@pytest.fixture
def workbench(root: Path) -> Iterator[Terminal]:
    terminal = Terminal(["open", str(root)], 120, 40)
    terminal.until(lambda text: "● live" in text and "topics ▸" in text, "the workbench")
    yield terminal
    terminal.close()


def send(host: str, client: int, waited: list[float]) -> None:
    """Send a client's messages, each after the answer to the one before.

    Args:
        waited: Gets the seconds from each message to its answer.
    """
    connection = http.client.HTTPConnection(host, timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    def post(path: str, body: dict[str, str]) -> None:
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status in (200, 201), said

    post("/api/sessions", {"session_id": f"load-{client}", "title": "Load"})
    start = time.monotonic()
    for number in range(EACH):
        time.sleep(max(0.0, start + number * CLIENTS / RATE - time.monotonic()))
        sent = time.monotonic()
        text = f"message {number} of client {client} about the tide gauge"
        post("/api/messages", {"session_id": f"load-{client}", "role": "user", "text": text})
        waited.append(time.monotonic() - sent)
    post(f"/api/sessions/load-{client}/end", {})
    connection.close()


def press(workbench: Terminal, key: str, is_shown: bool, text: str) -> float:
    """Press a key, wait until it is answered, and return how many seconds that took."""
    started = time.monotonic()
    workbench.process.send(key)
    workbench.until(lambda screen: (text in screen) == is_shown, f"the answer to {key!r}", seconds=60)
    return time.monotonic() - started


def percentiles(seconds: list[float]) -> str:
    cuts = quantiles(seconds, n=100)
    return f"p50 {cuts[49] * 1e3:,.0f} ms, p99 {cuts[98] * 1e3:,.0f} ms"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="memory is read from /proc")
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_many_messages_next_to_a_workbench(root: Path, server: Server, workbench: Terminal) -> None:
    waited: list[list[float]] = [[] for _ in range(CLIENTS)]
    answered: list[float] = []
    memory = [server.memory_mb()]
    started = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(send, server.host, number, each) for number, each in enumerate(waited)]
        for key in itertools.cycle(KEYS):
            answered.append(press(workbench, *key))
            pause = time.monotonic() + PAUSE_S
            while (left := pause - time.monotonic()) > 0:
                workbench.read(left)
            if len(memory) == 1 and sum(map(len, waited)) >= CLIENTS * EACH // 2:
                memory.append(server.memory_mb())
            if all(each.done() for each in clients):
                break
        for each in clients:
            each.result()
    took = time.monotonic() - started
    memory.append(server.memory_mb())
    every = [wait for each in waited for wait in each]
    print(
        f"\n{len(every):,} messages of {CLIENTS} clients in {took:.1f} s, {len(every) / took:.0f} per second:"
        f" {percentiles(every)}; {len(answered)} keys answered: {percentiles(answered)}; server:"
        f" {server.processor_s() / len(every) * 1e3:.1f} ms of a processor per message,"
        f" {' → '.join(map(str, memory))} MB"
    )
    for client in range(CLIENTS):
        (transcript,) = root.glob(f"raw/conversations/**/*load-{client}-load.md")
        found = re.findall(rf"^message (\d+) of client {client} ", transcript.read_text(), re.MULTILINE)
        assert [int(number) for number in found] == list(range(EACH)), f"client {client}"
    assert memory[2] - memory[1] <= GROWTH_KB * len(every) // 2 // 1024
