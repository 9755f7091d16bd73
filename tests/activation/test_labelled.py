"""Messages labelled by people are gathered from the decision log, once per change."""

from __future__ import annotations

import os
import shutil
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.activation import labelled
from engine.activation.decisions import Decision, DecisionLog
from engine.activation.labelled import LABELLED_PATH, MESSAGES_LIMIT, OPENED_LIMIT, Labelled, LabelledMessages
from engine.activation.trace import Direction, Verdict
from tests.activation.support import Clock, row, trace, workspace_files
from tests.cases import each_case

MARCH = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MARKS = (b"[1]", b"[-1,0,0,0]", b"[1e999,0,0,0]", b"[%d,0,0,0]" % 10**30, b"[5,0,0,0]")
TEXTS = (b'{"useful":"x","noise":[],"opened":[]}', b'{"useful":[3],"noise":[],"opened":[]}')


class Workspace:
    """A decision log that counts how often it was read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock()
        self.files = workspace_files(root)
        self.log = DecisionLog(self.files, clock=self.clock)
        self.reads = 0
        self._count = 0

    def decide(
        self, text: str, topic: str = "refund", direction: Direction = "input", *, session: str = ""
    ) -> Decision:
        """Log a decision as for a message."""
        self._count += 1
        at = self.clock.now + timedelta(seconds=self._count)
        verdict: Verdict = "offered" if session else "active"
        made = trace(row(topic, 0.4, verdict), text=text, at=at, direction=direction, session_id=session)
        return self.log.ensure(made, topic)

    def label(self, text: str, useful: bool | None = True, topic: str = "refund") -> Decision:
        return self.log.label(self.decide(text, topic), useful)

    def offer(self, session: str, *texts: str, opened: int) -> None:
        """Log that an agent was offered the topic with messages, and opened it with the first of them."""
        for place, text in enumerate(texts):
            name = self.decide(text, session=session)
            if place < opened:
                self.log.label(name, True, "agent")

    def gather(self) -> dict[str, Labelled]:
        """Gather as a newly started process would."""
        log = DecisionLog(self.files, clock=self.clock)
        original = log.read

        def read() -> Any:
            self.reads += 1
            return original()

        log.read = read  # type: ignore[method-assign]
        return LabelledMessages(log, self.files)()

    def month(self, name: str = "2026-02") -> Path:
        return self.root / "logs/decisions" / f"{name}.jsonl"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_labels_of_a_person_are_gathered_by_topic(workspace: Workspace) -> None:
    assert workspace.gather() == {} and not (workspace.root / LABELLED_PATH).exists()
    workspace.label("money back please")
    workspace.label("never mind", useful=False)
    workspace.label("ship it", topic="deploy")
    workspace.decide("not labelled")
    assert workspace.gather() == {
        "refund": Labelled(("money back please",), ("never mind",)),
        "deploy": Labelled(("ship it",)),
    }


def test_other_labels_and_the_agents_own_output_do_not_count(workspace: Workspace) -> None:
    workspace.log.label(workspace.decide("from use"), True, "use")
    workspace.log.label(workspace.decide("from a gate"), False, "gate")
    workspace.log.label(workspace.decide("said by the agent", direction="output"), True)
    workspace.log.label(workspace.decide("   "), True)
    assert workspace.gather() == {}


def test_what_an_agent_opened_is_gathered_apart_from_labels(workspace: Workspace) -> None:
    workspace.offer("a", "my money", "the till", opened=1)
    workspace.offer("b", "only this", opened=1)
    assert workspace.gather() == {"refund": Labelled(opened=("my money", "only this"))}
    workspace.label("only this", useful=False)
    assert workspace.gather() == {"refund": Labelled((), ("only this",), ("my money",))}, "a person's counts"


def test_an_agent_that_opens_nearly_everything_in_a_session_teaches_nothing(workspace: Workspace) -> None:
    workspace.offer("a", "one", "two", "three", opened=3)
    workspace.offer("b", "four", "five", "six", opened=2)
    assert workspace.gather() == {"refund": Labelled(opened=("four", "five"))}


def test_only_the_latest_of_many_messages_are_kept_without_duplicates(workspace: Workspace) -> None:
    for number in range(OPENED_LIMIT + 2):
        workspace.offer(f"s{number}", f"opened {number}", opened=1)
    for number in range(MESSAGES_LIMIT + 6):
        workspace.label(f"message {number}")
    workspace.label("message 10")
    (found,) = workspace.gather().values()
    assert len(found.useful) == MESSAGES_LIMIT
    assert found.useful[-2:] == (f"message {MESSAGES_LIMIT + 5}", "message 10")
    assert found.useful.count("message 10") == 1
    assert found.opened == tuple(f"opened {number}" for number in range(2, OPENED_LIMIT + 2))


def test_the_log_is_reread_only_for_a_new_label(workspace: Workspace) -> None:
    workspace.decide("not labelled")
    assert workspace.gather() == workspace.gather() == {} and workspace.reads == 1
    workspace.label("money back")
    workspace.reads = 0
    expected = workspace.gather()
    assert workspace.reads == 1
    for number in range(5):
        workspace.decide(f'the word "label" {number}')
        assert workspace.gather() == expected
    assert workspace.reads == 1
    workspace.label("another")
    assert workspace.gather() != expected
    assert workspace.reads == 2
    workspace.gather()
    assert workspace.reads == 2


def test_a_changed_removed_or_restored_month_is_detected(workspace: Workspace) -> None:
    """Even though the label of a decision may be in another month's file."""
    name = workspace.decide("in february")
    workspace.clock.now = MARCH
    workspace.label("in march")
    workspace.log.label(name, False)
    both = {"refund": Labelled(("in march",), ("in february",))}
    assert workspace.gather() == both
    data = workspace.month("2026-03").read_bytes()
    workspace.month("2026-03").write_bytes(data.replace(b"in march", b"changed!"))
    os.utime(workspace.month("2026-03"), ns=(1, 1))
    assert workspace.gather() == {"refund": Labelled(("changed!",), ("in february",))}
    workspace.month("2026-03").write_bytes(data)
    assert workspace.gather() == both
    elsewhere = workspace.root / "elsewhere.jsonl"
    workspace.month().rename(elsewhere)
    assert workspace.gather() == {"refund": Labelled(("in march",))}
    elsewhere.rename(workspace.month())
    assert workspace.gather() == both
    shutil.rmtree(workspace.root / "logs/decisions")
    assert workspace.gather() == {}


@each_case(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"form": 0, "read": {}, "topics": {}}',
        *(
            b'{"form": %d, "read": %s, "topics": %s}' % (labelled._FORM, read, topics)
            for read, topics in (
                (b"[]", b"{}"),
                (b"{}", b"[]"),
                *((b'{"logs/decisions/2026-02.jsonl": %s}' % mark, b"{}") for mark in MARKS),
                *((b"{}", b'{"refund": %s}' % texts) for texts in TEXTS),
            )
        ),
    ],
)
def test_a_damaged_cache_is_gathered_again(workspace: Workspace, damage: bytes) -> None:
    workspace.label("money back")
    expected = workspace.gather()
    (workspace.root / LABELLED_PATH).write_bytes(b"%08x\n" % zlib.crc32(damage) + damage)
    workspace.reads = 0
    assert workspace.gather() == workspace.gather() == expected
    assert workspace.reads == 1


def test_an_unreadable_log_keeps_the_labels_found_before(workspace: Workspace) -> None:
    workspace.label("money back")
    expected = workspace.gather()
    workspace.month("2026-03").mkdir()
    assert workspace.gather() == expected
    workspace.month("2026-03").rmdir()
    os.mkfifo(workspace.month("2026-03"))
    assert workspace.gather() == expected
    (workspace.root / LABELLED_PATH).unlink()
    assert workspace.gather() == {}
    workspace.month("2026-03").unlink()
    assert workspace.gather() == expected, "what could not be read was not cached"
