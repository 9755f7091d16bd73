"""The hook API over a real socket: the cache endpoints and access control."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.engine import Engine
from engine.errors import GatewayFailed
from engine.gateways.guard import MAX_BYTES
from engine.gateways.http import HookServer
from engine.providers.chat import Usage
from tests.gateways.conftest import NO_CERTIFICATES, TOKEN, running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HookServer]:
    root = tmp_path_factory.mktemp("served")
    (root / "memory-config.yaml").write_text("")
    with Engine.open(root) as engine, running(HookServer(engine, TOKEN, port=0)) as serving:
        engine.caches.note(
            "ses_a",
            provider="anthropic",
            model="claude-sonnet-5-5",
            usage=Usage(9000, 0, 4000, 0, 7),
            prefix="abc",
            sources=("knowledge/digest.md",),
            ttl_s=300,
            why="the first call of the discussion",
        )
        yield serving


@pytest.fixture
def client(server: HookServer) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(
        base_url=server.address, headers=headers, timeout=60, trust_env=False, verify=NO_CERTIFICATES
    ) as client:
        yield client


def test_all_states_are_listed_and_each_is_shown(client: httpx2.Client) -> None:
    listed = client.get("/api/cache")
    assert listed.status_code == 200 and listed.headers["content-type"] == "application/json"
    (state,) = [each for each in listed.json()["discussions"] if each["discussion_id"] == "ses_a"]
    shown = client.get("/api/cache/ses_a").json()
    assert shown.keys() == state.keys()
    assert (shown["provider"], shown["calls"], shown["sources"]) == ("anthropic", 1, ["knowledge/digest.md"])


def test_a_cache_is_invalidated_disabled_and_enabled(client: httpx2.Client) -> None:
    given_up = client.post("/api/cache/ses_a/invalidate").json()
    assert (given_up["cached"], given_up["generation"]) == (False, 1)
    assert given_up["why"] == "invalidated through the hook API"
    assert client.post("/api/cache/ses_a/disable").json()["enabled"] is False
    assert client.get("/api/cache/ses_a").json()["enabled"] is False
    assert client.post("/api/cache/ses_a/enable", json={}).json()["enabled"] is True


@pytest.mark.parametrize("path", ["/api/cache/ses_unknown", "/api", "/", "/api/cache/ses_a/destroy", "/docs"])
def test_unknown_paths_are_404(client: httpx2.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404 and answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/cache"), ("GET", "/api/cache/ses_a/disable"), ("DELETE", "/api/cache/ses_a")],
)
def test_other_methods_are_405(client: httpx2.Client, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 405


@pytest.mark.parametrize("change", ["invalidate", "disable", "enable"])
def test_an_unknown_discussion_is_404_and_not_recorded(client: httpx2.Client, change: str) -> None:
    answer = client.post(f"/api/cache/nope/{change}")
    assert answer.status_code == 404 and answer.json()["error"] == "no such discussion"
    listed = client.get("/api/cache").json()["discussions"]
    assert "nope" not in [each["discussion_id"] for each in listed]


def test_an_invalid_session_is_400(client: httpx2.Client) -> None:
    answer = client.post("/api/cache/..%2e%2ex/disable")
    assert answer.status_code in (400, 404)
    assert client.post("/api/cache/a%20b/disable").status_code == 400


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN],
)
def test_the_token_is_required(server: HookServer, header: str) -> None:
    answer = httpx2.get(
        f"{server.address}/api/cache", headers={"Authorization": header}, timeout=60, trust_env=False
    )
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "ses_a" not in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost:80", "", "127.0.0.1.evil:1"]
)
def test_other_host_names_are_refused(client: httpx2.Client, host: str) -> None:
    assert client.get("/api/cache", headers={"Host": host}).status_code in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "file://"])
def test_other_origins_are_refused(client: httpx2.Client, origin: str) -> None:
    answer = client.get("/api/cache", headers={"Origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_loopback_names_are_accepted(client: httpx2.Client, server: HookServer) -> None:
    assert client.get("/api/cache", headers={"Host": f"LOCALHOST:{server.port}"}).status_code == 200
    origin = f"http://127.0.0.1:{server.port}"
    assert client.get("/api/cache", headers={"Origin": origin}).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_body_must_be_json(client: httpx2.Client, kind: str) -> None:
    answer = client.post("/api/cache/ses_a/enable", content=b"a=b", headers={"Content-Type": kind})
    assert answer.status_code == 415


def test_a_long_body_is_refused_with_and_without_a_content_length(client: httpx2.Client) -> None:
    headers = {"Content-Type": "application/json"}
    whole = b" " * (MAX_BYTES + 1)
    assert client.post("/api/cache/ses_a/enable", content=whole, headers=headers).status_code == 413
    parts = (b" " * 65_536 for _ in range(MAX_BYTES // 65_536 + 1))
    assert client.post("/api/cache/ses_a/enable", content=parts, headers=headers).status_code == 413


def test_an_unfinished_request_does_not_block_others(client: httpx2.Client, server: HookServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
        slow.sendall(b"POST /api/cache/ses_a/enable HTTP/1.1\r\nHost: x\r\nContent-Le")
        assert client.get("/api/cache").status_code == 200


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.binary(max_size=300))
def test_arbitrary_input_does_not_stop_the_server(
    server: HookServer, client: httpx2.Client, data: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(data)
    assert client.get("/api/cache").status_code == 200


def test_a_port_in_use_is_reported(server: HookServer, tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").write_text("")
    with (
        Engine.open(tmp_path) as engine,
        pytest.raises(GatewayFailed, match="cannot listen: Address already"),
    ):
        HookServer(engine, TOKEN, port=server.port)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "::", "example.org"])
def test_other_machines_cannot_be_allowed(tmp_path: Path, host: str) -> None:
    (tmp_path / "memory-config.yaml").write_text("")
    with (
        Engine.open(tmp_path) as engine,
        pytest.raises(GatewayFailed, match="not an address of this machine"),
    ):
        HookServer(engine, TOKEN, host=host, port=0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_the_address_is_where_it_listens(tmp_path: Path, host: str) -> None:
    (tmp_path / "memory-config.yaml").write_text("")
    with Engine.open(tmp_path) as engine, running(HookServer(engine, TOKEN, host=host, port=0)) as server:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx2.get(f"{server.address}/api/cache", headers=headers, trust_env=False).status_code == 200


def test_a_stopped_server_refuses_connections(tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").write_text("")
    with Engine.open(tmp_path) as engine, running(HookServer(engine, TOKEN, port=0)) as server:
        address, headers = f"{server.address}/api/cache", {"Authorization": f"Bearer {TOKEN}"}
        assert httpx2.get(address, headers=headers, timeout=60, trust_env=False).status_code == 200
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(address, timeout=60, trust_env=False)
