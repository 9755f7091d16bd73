"""A served workspace with a playbook for mail, one for GitHub and one for the evening."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from engine.engine import Engine
from engine.gateways.http import HookServer

TOKEN = "a-token-of-some-length"
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Loading the system's certificates takes 30 ms per client, and the server uses plain HTTP."""
TRIGGERS = {
    "mail": "type: webhook\n    source: email\n    event: new_message",
    "pulls": "type: webhook\n    source: github\n    event: pull_request",
    "evening": "type: cron\n    schedule: '0 22 * * *'",
    "deploy": "type: pattern\n    match: deploy",
}


def workspace(root: Path, settings: str = "") -> Path:
    """Create a workspace with these playbooks."""
    (root / "topics").mkdir(parents=True)
    (root / "memory-config.yaml").write_text(settings)
    for name, trigger in TRIGGERS.items():
        (root / "topics" / f"{name}.md").write_text(
            f"---\ntype: topic\ntriggers:\n  - {trigger}\nactivation: auto\n---\n\n"
            f"# {name.title()}\n\n## Instructions\n\nThe steps for {name}.\n"
        )
    return root


@contextlib.contextmanager
def running(server: HookServer) -> Iterator[HookServer]:
    """Run a server in a thread."""
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(timeout=60)
        assert not thread.is_alive()


@contextlib.contextmanager
def client_of_server(server: HookServer) -> Iterator[httpx2.Client]:
    """A client that sends the token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(
        base_url=server.address, headers=headers, timeout=60, trust_env=False, verify=NO_CERTIFICATES
    ) as client:
        yield client


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, HookServer]]:
    with Engine.open(workspace(tmp_path_factory.mktemp("gateway") / "memory")) as engine:
        engine.refresh_index()
        engine.start()
        with running(HookServer(engine, TOKEN, port=0)) as server:
            yield engine, server


@pytest.fixture
def client(served: tuple[Engine, HookServer]) -> Iterator[httpx2.Client]:
    with client_of_server(served[1]) as client:
        yield client
