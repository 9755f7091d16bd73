"""Other people use a served memory: with tokens of their own, their rights, a record, and over TLS."""

from __future__ import annotations

import asyncio
import json
import ssl
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
import trustme
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from engine.engine import Engine
from engine.errors import GatewayFailed, HarvestRefused, WriteFailed
from engine.gateways import memory
from engine.gateways.guard import MCP
from engine.gateways.http import HookServer, public_origin
from engine.gateways.people import BURST, FILE, PER_SECOND, AccessLog, Allowance, People, Right
from engine.store.user_folder import settings_folder
from tests.gateways.conftest import NO_CERTIFICATES, TOKEN, running
from tests.gateways.test_mcp import call_tool, text_of

AT = datetime(2026, 6, 12, 18, tzinfo=UTC)
TRANSCRIPT = "raw/conversations/2026/06/10/1800-ses_tide-tables.md"
FILES = {
    "memory-config.yaml": "",
    "knowledge/reference/tides.md": "# Tides\n\nThe quokka tide gauge stands at the north pier.\n",
    "knowledge/private/diary.md": "# Diary\n\nThe quokka tide diary is private.\n",
    "knowledge/identity/USER.md": "# About me\n\nThe owner keeps a quokka by the tide pool.\n",
    "knowledge/memory/MEMORY.md": "# Memory\n\nThe quokka tide budget is 400.\n",
    "knowledge/journal/2026-06-10.md": "# 10 June\n\nWalked the quokka at low tide.\n\n"
    "### Sessions in tidemark\n\n#### 18:00–18:10 tidemark <!-- ses_tide 00000000 -->\n- Asked: A recap.\n",
    TRANSCRIPT: "---\nsession_id: ses_tide\nstarted: 2026-06-10T18:00:00Z\nended: 2026-06-10T18:10:00Z\n---\n"
    "\n# Tide tables\n\n**User** (18:00): Where does the quokka tide gauge report to?\n\n"
    "**Agent** (18:01): The quokka tide gauge reports to the harbour office.\n",
}
DEPLOY = """---
type: topic
triggers:
  - type: pattern
    match: deploy
activation: auto
---

# Deploy

## Instructions

On Fridays, wait for the harbour master.
"""
KNOWLEDGE = {"knowledge/reference/tides.md"}
SAID = {TRANSCRIPT, "knowledge/journal/2026-06-10.md"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    root = tmp_path / "memory"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    with Engine.open(root, clock=lambda: AT) as engine:
        engine.refresh_index()
        yield engine


@pytest.fixture
def server(engine: Engine) -> Iterator[HookServer]:
    with running(HookServer(engine, TOKEN, port=0)) as server:
        yield server


def token_for(engine: Engine, *may: Right, name: str = "anna") -> str:
    return People(engine.workspace.root).grant(name, may, AT)[1]


def asking(address: str, token: str, verify: ssl.SSLContext = NO_CERTIFICATES) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return httpx2.Client(base_url=address, headers=headers, timeout=60, trust_env=False, verify=verify)


@asynccontextmanager
async def agent_of(
    address: str, token: str, verify: ssl.SSLContext = NO_CERTIFICATES, **headers: str
) -> AsyncIterator[Client]:
    async with AsyncExitStack() as stack:
        headers |= {"Authorization": f"Bearer {token}"}
        http = httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False, verify=verify)
        await stack.enter_async_context(http)
        yield await stack.enter_async_context(
            Client(streamable_http_client(f"{address}{MCP}", http_client=http))
        )


def requests(engine: Engine, who: str = "") -> list[tuple[str, str]]:
    return [(each.who, each.what) for each in AccessLog(engine.files, engine.clock).last(1_000, who)]


def test_a_token_is_shown_once_and_counts_until_it_is_replaced_or_revoked(tmp_path: Path) -> None:
    people, other = People(tmp_path / "one"), People(tmp_path / "other")
    first, token = people.grant("anna", ["conversations"], AT)
    assert first.may == ("read", "conversations"), "who may read conversations may read the rest"
    path = settings_folder() / FILE
    assert token not in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert people.of_token(token) == first and other.of_token(token) is None
    second, newer = people.grant("anna", ["capture"], AT)
    assert people.of_token(token) is None and people.of_token(newer) == second
    assert people.all() == [second] and not other.revoke("anna") and people.revoke("anna")
    assert people.of_token(newer) is None and people.all() == []
    assert people.grant("ben", ["propose"], AT)[0].may == ("read", "propose"), "MCP is of no use without"
    for name in ("", "two words", "../x", "-anna", "a" * 41, "anna\n"):
        with pytest.raises(GatewayFailed):
            people.grant(name, ["read"], AT)


def test_tokens_in_a_file_that_others_can_read_do_not_count(tmp_path: Path) -> None:
    people = People(tmp_path)
    _, token = people.grant("anna", ["read"], AT)
    (settings_folder() / FILE).chmod(0o644)
    assert people.of_token(token) is None
    for refused in (people.all, lambda: people.grant("ben", ["read"], AT), lambda: people.revoke("anna")):
        with pytest.raises(WriteFailed, match=r"others can read it.*chmod 600"):
            refused()
    (settings_folder() / FILE).chmod(0o600)
    assert people.of_token(token) is not None, "nothing was lost"


def test_a_damaged_file_of_tokens_lets_no_one_in_and_is_not_overwritten(tmp_path: Path) -> None:
    people = People(tmp_path)
    _, token = people.grant("anna", ["read"], AT)
    path = settings_folder() / FILE
    whole = path.read_text()
    path.write_text(whole.replace('"form": 1,', '"form": 1'))  # edited by hand
    assert people.of_token(token) is None
    for refused in (people.all, lambda: people.grant("ben", ["read"], AT), lambda: people.revoke("anna")):
        with pytest.raises(WriteFailed, match=r"people\.json.*Expecting ',' delimiter: line \d.*mend it"):
            refused()
    path.write_text(whole)
    assert people.of_token(token) is not None, "nothing was lost"
    path.write_text("[]")
    assert people.of_token(token) is None


@pytest.mark.parametrize(
    "may, shown",
    [(("read",), KNOWLEDGE), (("conversations",), KNOWLEDGE | SAID)],
    ids=["read", "conversations"],
)
async def test_a_person_sees_only_what_their_rights_say(
    engine: Engine, server: HookServer, may: tuple[Right, ...], shown: set[str]
) -> None:
    async with agent_of(server.address, token_for(engine, *may)) as client:
        tools = {each.name for each in (await client.list_tools()).tools}
        assert {"search", "recall", "read", "remember"} < tools
        assert "forget_rule" not in tools
        found = await call_tool(client, "search", query="quokka tide", limit=20)
        assert {row["place"].rpartition(":")[0] for row in found["rows"]} == shown
        for path in FILES.keys() - {"memory-config.yaml"}:
            passage = await call_tool(client, "read", path=path)
            assert ("quokka" in passage["text"]) == (path in shown), path
        recalled = await call_tool(client, "recall", question="Where does the quokka tide gauge report to?")
        said, known = (each in recalled["text"] for each in ("harbour office", "north pier"))
        assert said == (TRANSCRIPT in shown) and (said or known)
        last = await call_tool(client, "recall", question="What did we do in the last session?")
        assert ("A recap" in last["text"]) == (TRANSCRIPT in shown)
        told = json.dumps(recalled) + json.dumps(found)
        assert not any(each in told for each in ("diary", "tide pool", "400"))


async def test_the_owners_agent_sees_everything_but_private_folders(
    engine: Engine, server: HookServer
) -> None:
    async with agent_of(server.address, TOKEN) as client:
        assert "forget_rule" in {each.name for each in (await client.list_tools()).tools}
        found = await call_tool(client, "search", query="quokka tide", limit=20)
        assert {row["place"].rpartition(":")[0] for row in found["rows"]} == FILES.keys() - {
            "memory-config.yaml",
            "knowledge/private/diary.md",
        }
    assert requests(engine) == [], "only what others ask is recorded"


async def test_what_a_person_proposes_waits_with_their_name(engine: Engine, server: HookServer) -> None:
    async with agent_of(server.address, token_for(engine, "read")) as client:
        refused = await client.call_tool("remember", {"text": "The gauge is read at noon"})
        assert refused.is_error and "anna may not propose" in text_of(refused)
    async with agent_of(server.address, token_for(engine, "read", "propose")) as client:
        done = await call_tool(client, "remember", text="The gauge is read at noon")
        assert done["outcome"] == "proposed"
    (waiting,) = engine.knowledge.review.queue.waiting()
    assert (
        waiting.origin.name == "mcp-anna-mcp" and not (engine.workspace.root / "knowledge/facts.md").exists()
    )
    assert ("anna", "mcp remember") in requests(engine)


async def test_the_proposals_of_one_person_leave_room_for_those_of_others(
    engine: Engine, server: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MAX_PENDING", 2)
    owners = memory.Memory(engine)

    def outcome(text: str, agent: str, person: str = "") -> str:
        return owners.remember(text, "fact", agent=agent, person=person).outcome

    assert [outcome(f"The gauge at quay {n} is read daily", f"agent {n}", "ann") for n in "12"] == [
        "proposed",
        "proposed",
    ]
    with pytest.raises(HarvestRefused, match="2 proposals of mcp-ann are already pending"):
        outcome("The moon is full", "another agent", "ann")
    assert outcome("The tide table is printed", "agent", "annabel") == "proposed"
    assert outcome("The boat leaves at noon", "ann") == "proposed"
    async with agent_of(server.address, token_for(engine, "read", "propose", name="ann")) as client:
        refused = await client.call_tool("remember", {"text": "The harbour is closed"})
        assert refused.is_error and "autopoiesis review list" in text_of(refused)


def test_a_person_records_sessions_of_their_own_that_teach_nothing(
    engine: Engine, server: HookServer
) -> None:
    engine.capture.start("ses_mine")
    (engine.workspace.root / "topics").mkdir()
    (engine.workspace.root / "topics/deploy.md").write_text(DEPLOY)
    turn = {"role": "user", "text": "From now on always deploy the tide gauge on Fridays."}
    with asking(server.address, token_for(engine, "capture")) as anna, asking(server.address, TOKEN) as owner:
        assert anna.post("/api/sessions", json={"session_id": "ses_hers"}).status_code == 201
        assert anna.post("/api/messages", json={"session_id": "ses_hers", **turn}).status_code == 201
        assert (
            anna.post("/api/sessions/ses_hers/turns", json={"turns": [turn | {"key": "2"}]}).status_code
            == 201
        )
        assert owner.post("/api/messages", json={"session_id": "ses_hers", **turn}).status_code == 201
        for path, body in (
            ("/api/messages", {"session_id": "ses_mine", **turn}),
            ("/api/sessions/ses_mine/turns", {"turns": [turn]}),
            ("/api/sessions/ses_mine/end", {}),
            ("/api/sessions", {"session_id": "ses_mine"}),
        ):
            refused = anna.post(path, json=body)
            assert refused.status_code == 403 and "not one of anna" in refused.json()["error"], path
        assert anna.post("/api/sessions/ses_hers/end", json={}).status_code == 200
        found = engine.capture.find("ses_hers")
        assert found is not None and engine.conversations.author(found) == "anna"
        engine.rules.learn()
        assert not engine.rules.book().rules
        assert engine.trace_turn(f"{found}#0", record=True, ask=True)
        assert not engine.decision_log.last(10)
        assert owner.post("/api/messages", json={"session_id": "ses_mine", **turn}).status_code == 201
        assert owner.post("/api/sessions/ses_mine/end", json={}).status_code == 200
        engine.rules.learn()
        assert [rule.counts for rule in engine.rules.book().rules] == [True], "the same words of the owner"
        assert engine.trace_turn(f"{engine.capture.find('ses_mine')}#0", record=True, ask=True)
        assert [each.topic for each in engine.decision_log.last(10)] == ["deploy"]


def test_rights_that_were_not_given_are_refused_with_the_cure(engine: Engine, server: HookServer) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with asking(server.address, token_for(engine, "capture")) as anna:
        refused = anna.post(MCP, json=call)
        assert refused.status_code == 403 and "access grant anna --may read" in refused.json()["hint"]
        for method, path in (
            ("GET", "/api/search?q=quokka"), ("GET", "/api/sessions"), ("GET", "/api/sessions/ses_tide"),
            ("POST", "/api/compile"), ("POST", "/api/trace"), ("GET", "/api/cache"),
            ("POST", "/api/events/next"), ("POST", "/api/cache/x/invalidate"), ("POST", "/hooks/email/new"),
        ):  # fmt: skip
            refused = anna.request(method, path, json={} if method == "POST" else None)
            assert refused.status_code == 403 and "only the owner" in refused.json()["error"], path
        assert anna.get("/api/health").status_code == 200
    with asking(server.address, token_for(engine, "read")) as anna:
        assert anna.post(MCP, json=call).status_code == 200
        refused = anna.post("/api/sessions", json={})
        assert refused.status_code == 403 and "access grant anna --may capture" in refused.json()["hint"]
        People(engine.workspace.root).revoke("anna")
        assert anna.post(MCP, json=call).status_code == 401, "at once"


def test_requests_are_recorded_without_what_was_said(engine: Engine, server: HookServer) -> None:
    with asking(server.address, token_for(engine, "capture")) as anna:
        anna.post("/api/sessions", json={"session_id": "ses_hers", "title": "zanzibar"})
        anna.get("/api/search?q=zanzibar")
        anna.get(f"/api/sessions/{'x' * 5_000}")
        anna.post(MCP, content="{", headers={"Content-Type": "application/json"})
        anna.post(MCP, json=[{"method": "tools/call"}])
        anna.post(MCP, json={"method": "tools/call", "params": {"name": ["x"]}})
    with asking(server.address, token_for(engine, "read", name="ben")) as ben:
        ben.post(
            MCP, json={"method": "tools/call", "params": {"name": "search", "arguments": {"q": "zanzibar"}}}
        )
    assert requests(engine)[::-1] == [
        ("anna", "POST /api/sessions"), ("anna", "GET /api/search"),
        ("anna", f"GET /api/sessions/{'x' * 5_000}"[:204]), ("anna", "mcp"), ("anna", "mcp"), ("anna", "mcp"),
        ("ben", "mcp search"),
    ]  # fmt: skip
    (month,) = (engine.workspace.root / "logs").glob("access-*.jsonl")
    assert "zanzibar" not in month.read_text()
    with month.open("a") as log:
        log.write('{"who": 1}\n{"at": "soon", "who": "anna", "what": ""}\nnonsense\n')
    assert len(requests(engine, "anna")) == 6 and len(requests(engine, "ben")) == 1


def test_a_request_that_cannot_be_recorded_is_not_answered(engine: Engine, server: HookServer) -> None:
    (engine.workspace.root / "logs").mkdir(exist_ok=True)
    (engine.workspace.root / f"logs/access-{AT:%Y-%m}.jsonl").mkdir()
    with asking(server.address, token_for(engine, "capture")) as anna:
        refused = anna.post("/api/sessions", json={"session_id": "ses_hers"})
        assert refused.status_code == 503 and "could not be recorded" in refused.json()["error"]
    assert engine.capture.find("ses_hers") is None


def test_a_person_who_asks_too_often_waits_and_no_one_else_does(engine: Engine, server: HookServer) -> None:
    with (
        asking(server.address, token_for(engine, "capture")) as anna,
        asking(server.address, token_for(engine, "capture", name="ben")) as ben,
        asking(server.address, TOKEN) as owner,
    ):
        answers = [anna.get("/api/health") for _ in range(4 * BURST)]
        refused = [each for each in answers if each.status_code == 429]
        assert refused and refused[0].headers["Retry-After"] == "1"
        assert ben.get("/api/health").status_code == owner.get("/api/health").status_code == 200


def test_an_allowance_is_spent_and_comes_back() -> None:
    now = 0.0
    allowance = Allowance(lambda: now)
    assert [allowance.take("anna") for _ in range(BURST + 1)] == [True] * BURST + [False]
    assert allowance.take("ben")
    now = 1.0
    assert [allowance.take("anna") for _ in range(PER_SECOND + 1)] == [True] * PER_SECOND + [False]
    now = 1e6
    assert [allowance.take("anna") for _ in range(BURST + 1)] == [True] * BURST + [False]


@asynccontextmanager
async def proxy(certificate: trustme.LeafCert) -> AsyncIterator[tuple[int, list[int]]]:
    """A proxy that terminates TLS and passes on everything else: its port, and where to put the server's."""
    upstream: list[int] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", upstream[0])
        await asyncio.gather(
            pass_on(reader, inner_writer), pass_on(inner_reader, writer), return_exceptions=True
        )

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as listening:
        yield listening.sockets[0].getsockname()[1], upstream


async def test_people_on_other_machines_come_through_a_proxy_with_tls(engine: Engine) -> None:
    authority = trustme.CA()
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    hers, name = token_for(engine, "read"), "memory.example.org"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    def statuses(address: str) -> list[int]:
        others: tuple[dict[str, str], ...] = (
            {},
            {"Origin": f"https://{name}"},
            {"Origin": "https://evil.example"},
            {"Host": "evil.example"},
        )
        with asking(address, hers, trusting) as anna:
            return [anna.post(MCP, json=call, headers={"Host": name, **each}).status_code for each in others]

    async with proxy(authority.issue_cert("localhost")) as (port, upstream):
        address = f"https://localhost:{port}"
        with running(HookServer(engine, TOKEN, port=0, public=public_origin(f"https://{name}/"))) as server:
            upstream.append(server.port)
            async with agent_of(address, hers, trusting, Host=name) as client:
                found = await call_tool(client, "search", query="quokka tide")
                assert {row["place"].rpartition(":")[0] for row in found["rows"]} == KNOWLEDGE
            assert await asyncio.to_thread(statuses, address) == [200, 200, 403, 403]
        with running(HookServer(engine, TOKEN, port=0)) as server:
            upstream[0] = server.port
            assert await asyncio.to_thread(statuses, address) == [403] * 4, "without --public"


def test_the_public_address_needs_tls() -> None:
    assert public_origin(" https://Memory.example.org:443/ ") == "https://memory.example.org"
    assert public_origin("https://[::1]:8443") == "https://[::1]:8443"
    for url in (
        "http://memory.example.org",
        "memory.example.org",
        "https://",
        "https://a/b",
        "https://u@a",
        "https://a:x",
        "https://[",
        "",
    ):
        with pytest.raises(GatewayFailed, match="TLS"):
            public_origin(url)
