"""``access``: tokens for other people, and the record of what they asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from engine.engine import Engine
from engine.gateways.people import AccessLog, People
from tests.cli.conftest import Command

AT = datetime(2026, 6, 12, 18, tzinfo=UTC)


def test_the_command_grants_lists_revokes_and_shows_the_record(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    assert "no one but you" in apo("-C", root, "access").out
    granted = apo("-C", root, "access", "grant", "anna").out.splitlines()
    assert granted[0].startswith("anna may: read, propose.")
    person = People(root).of_token(granted[1])
    assert person is not None and person.name == "anna"
    made = apo("-C", root, "access", "grant", "ben", "--may", "capture", "--json").json
    assert made["person"]["may"] == ["capture"] and People(root).of_token(made["token"])
    listed = apo("-C", root, "access").out
    assert "anna" in listed and "read, propose" in listed and granted[1] not in listed
    people = apo("-C", root, "access", "--json").json["people"]
    assert [each["name"] for each in people] == ["anna", "ben"]
    with Engine.open(root, clock=lambda: AT) as engine:
        AccessLog(engine.files, engine.clock).append("anna", "mcp search")
    assert "anna  mcp search" in apo("-C", root, "access", "log", "anna").out
    assert "no requests" in apo("-C", root, "access", "log", "ben").out
    assert apo("-C", root, "access", "revoke", "anna").code == 0 and People(root).of_token(granted[1]) is None
    assert apo("-C", root, "access", "revoke", "anna").code == 1
    assert apo("-C", root, "access", "grant", "two words").code == 1
