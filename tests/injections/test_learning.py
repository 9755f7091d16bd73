"""Injected prompts are recorded, and replies show which sections were useful."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.activation.trace import Funnel, Message, Trace
from engine.conversations.turns import Exchange
from engine.engine import Engine
from engine.events import ErrorReported
from engine.injections.injections import of_exchange
from engine.injections.log import Injection, message_hash
from engine.store.faults import fail, trip
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from tests.cases import each_case
from tests.injections.conftest import Clock
from tests.waiting import wait_until

SESSION = "ses_inj00001"
QUESTION = "Which port does the broker use?"
HOSTS = "knowledge/reference/hosts.md"
REPLY = "The broker listens on port 8883 with TLS; it was moved from the old rack in March."


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {
        "memory-config.yaml": "",
        HOSTS: "---\nupdated: x\n---\n# Hosts\n\nThe broker listens on port 8883 with TLS.\n"
        "It was moved from the old rack in March.\n",
        "knowledge/people/odile.md": "# Odile\n\nShe asks which port the ferry does use, and for curves.\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.fixture
def engine(root: Path, clock: Clock) -> Iterator[Engine]:
    with Engine.open(root, clock=clock) as opened:
        yield opened


@pytest.fixture
def agent(root: Path, clock: Clock) -> ConversationCapture:
    """Another program that writes to the same workspace."""
    return ConversationCapture(Files(Workspace.open(root)), clock=clock)


def states(engine: Engine) -> dict[str, bool | None]:
    (injection,) = engine.injections.log.last(5)
    return {section.path: section.was_useful for section in injection.sections}


def test_only_prompts_meant_for_use_are_recorded(engine: Engine, root: Path) -> None:
    engine.compile(QUESTION, ask=False)
    engine.try_message(QUESTION, ask=False)
    assert engine.injections.log.last(1) == () and not (root / "logs").exists()
    compiled = engine.compile(QUESTION, ask=False, record=True)
    (injection,) = engine.injections.log.last(1)
    assert (injection.tokens, injection.budget) == (compiled.tokens, compiled.budget)
    assert {section.path for section in injection.sections} == {HOSTS, "knowledge/people/odile.md"}
    assert (injection.session_id, injection.turn) == ("", "")


def test_a_reply_shows_what_was_useful(engine: Engine, agent: ConversationCapture) -> None:
    path = agent.start(SESSION, title="Ports")
    engine.compile(QUESTION, session_id=SESSION, ask=False, record=True)
    (injection,) = engine.injections.log.last(1)
    assert (injection.session_id, injection.turn) == (SESSION, f"{path}#0")
    agent.message(SESSION, "user", f"{QUESTION}\n")
    assert engine.injections.learn_from_use(path, 0) == 0, "there is no reply yet"
    agent.message(SESSION, "agent", REPLY)
    assert engine.injections.learn_from_use(path, 1) == 1
    assert states(engine) == {HOSTS: True, "knowledge/people/odile.md": None}
    assert engine.injections.references() == {HOSTS: 1}
    assert engine.injections.learn_from_use(path, 1) == 0, "use is learned once"
    agent.message(SESSION, "user", "Thanks.")
    assert engine.injections.learn_from_use(path, 2) == 1
    assert states(engine) == {HOSTS: True, "knowledge/people/odile.md": False}
    agent.message(SESSION, "agent", REPLY)
    assert engine.injections.learn_from_use(path, 0) == 0
    assert engine.injections.references() == {HOSTS: 1}


def test_a_later_part_of_the_reply_counts_too(engine: Engine, agent: ConversationCapture) -> None:
    path = agent.start(SESSION, title="Ports")
    engine.compile(QUESTION, session_id=SESSION, ask=False, record=True)
    agent.message(SESSION, "user", QUESTION)
    agent.message(SESSION, "agent", "Let me see.")
    assert engine.injections.learn_from_use(path, 1) == 1
    agent.tool_call(SESSION, "read", f"/srv/memory/{HOSTS}", "40 lines")
    assert engine.injections.learn_from_use(path, 1) == 1
    assert engine.injections.references() == {HOSTS: 1}


def test_use_is_noted_once_across_engines(
    engine: Engine, agent: ConversationCapture, root: Path, clock: Clock
) -> None:
    path = agent.start(SESSION, title="Ports")
    with Engine.open(root, clock=clock) as other:
        other.compile(QUESTION, session_id=SESSION, ask=False, record=True)
    agent.message(SESSION, "user", QUESTION)
    agent.message(SESSION, "agent", REPLY)
    assert engine.injections.learn_from_use(path, 0) == 1
    with Engine.open(root, clock=clock) as other:
        assert other.injections.learn_from_use(path, 0) == 0
        assert other.injections.references() == {HOSTS: 1} == engine.injections.references()


def test_a_message_without_an_injected_prompt_does_not_count(
    engine: Engine, agent: ConversationCapture
) -> None:
    path = agent.start(SESSION, title="Ports")
    engine.compile("Something else?", session_id=SESSION, ask=False, record=True)
    agent.message(SESSION, "user", QUESTION)
    agent.message(SESSION, "agent", REPLY)
    assert engine.injections.learn_from_use(path, 0) == 0 and engine.injections.references() == {}


def test_a_deleted_file_counts_only_when_named(
    engine: Engine, agent: ConversationCapture, root: Path
) -> None:
    path = agent.start(SESSION, title="Ports")
    engine.compile(QUESTION, session_id=SESSION, ask=False, record=True)
    (root / HOSTS).unlink()
    agent.message(SESSION, "user", QUESTION)
    agent.message(SESSION, "agent", REPLY)
    assert engine.injections.learn_from_use(path, 0) == 1 and engine.injections.references() == {}


def test_an_unwritable_log_is_reported_and_the_prompt_compiled(engine: Engine, root: Path) -> None:
    errors: list[str] = []
    engine.subscribe(lambda event: errors.append(event.text) if isinstance(event, ErrorReported) else None)
    engine.refresh_index()
    with trip("create:link", fail(28)):
        assert engine.compile(QUESTION, ask=False, record=True).text
    assert len(errors) == 1 and errors[0].startswith(
        "the prompt was not recorded: logs/injections-2026-06.jsonl"
    )
    with Engine.open(root, read_only=True) as other:
        assert other.compile(QUESTION, ask=False, record=True).text
        assert other.injections.learn_from_use("conversations/x.md", 0) == 0


def test_a_reply_captured_live_counts(root: Path) -> None:
    with Engine.open(root) as engine:
        engine.start()
        agent = ConversationCapture(Files(Workspace.open(root)))
        agent.start(SESSION, title="Live")
        engine.compile(QUESTION, session_id=SESSION, ask=False, record=True)
        agent.message(SESSION, "user", QUESTION)
        agent.message(SESSION, "agent", REPLY)
        wait_until(lambda: engine.injections.references() == {HOSTS: 1})
        assert len(engine.injections.log.last(9)) == 1, "captured turns are not recorded as injections"


AT = datetime(2026, 6, 12, 9, 30, tzinfo=UTC)


def injection(name: str, minutes: float = 0, **values: object) -> Injection:
    at = (AT + timedelta(minutes=minutes)).isoformat()
    fields: dict[str, object] = {
        "session_id": SESSION,
        "turn": "",
        "message_hash": message_hash("yes"),
    } | values
    return Injection(id=name, at=at, tokens=1, budget=2, sections=(), **fields)  # type: ignore[arg-type]


def exchange(key: str = "a.md#2", session: str = SESSION) -> Exchange:
    trace = Trace(Message(" yes ", "input", session, AT), (), Funnel(0, 0, 0, 0, 0))
    return Exchange(key, trace, "", (), finished=False)


@each_case(
    ("unfinished", "expected"),
    [
        ([], None),
        ([injection("a"), injection("b", 1)], "b"),
        ([injection("a"), injection("b", 30)], "a"),
        ([injection("a", 30), injection("b", 40)], "a"),
        ([injection("a", 30, turn="a.md#2"), injection("b")], "a"),
        ([injection("a", turn="a.md#2", is_claimed=True), injection("b", 1)], "a"),
        ([injection("a", turn="a.md#0", is_claimed=True), injection("b", -600)], "b"),
        ([injection("a", session_id="ses_other")], None),
        ([injection("a", message_hash=message_hash("no"))], None),
        ([injection("a", 50, session_id="")], "a"),
        ([injection("a", 70, session_id="")], None),
        ([injection("a", -70, session_id="")], None),
    ],
)
def test_an_exchange_is_matched_to_its_prompt(unfinished: list[Injection], expected: str | None) -> None:
    found = of_exchange(unfinished, exchange())
    assert (found.id if found else None) == expected
