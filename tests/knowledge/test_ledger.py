"""The ledger: its JSON format, never treated as empty when damaged, and rebuilt from the history."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest

from engine.errors import LedgerBroken, ReadOnly
from engine.knowledge.item import CATEGORIES
from engine.knowledge.ledger import PATH, Ledger, LedgerEntry, LedgerLine
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository

ENTRY = {"path": "conversations/a.md", "status": "harvested", "at": ""}


def name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def entry(path: str = "conversations/a.md", **more: object) -> LedgerEntry:
    given = {"status": "harvested", "at": "2026-06-12T14:23:45+00:00", "items": {"facts": 2}, **more}
    return LedgerEntry(path, **given)  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "memory-config.yaml").touch()
    workspace = Workspace.open(tmp_path)
    Repository(workspace).init()
    return Files(workspace)


@pytest.fixture
def ledger(files: Files) -> Ledger:
    return Ledger(files, Repository(files.workspace))


def tree(files: Files) -> dict[str, object]:
    return json.loads(files.read(PATH))["entries"]  # type: ignore[no-any-return]


def test_an_entry_has_the_specified_fields(files: Files, ledger: Ledger) -> None:
    ledger.record(name("x"), entry(deleted=True))
    assert tree(files) == {
        name("x"): {
            "path": "conversations/a.md",
            "status": "harvested",
            "at": "2026-06-12T14:23:45+00:00",
            "items": {**dict.fromkeys(CATEGORIES, 0), "facts": 2},
            "deleted": True,
        }
    }


def test_recorded_entries_are_read_back(ledger: Ledger) -> None:
    whole = entry(
        lines=(LedgerLine("a1", "knowledge/facts.md", "- x [from: a, 2026-06-12]"),),
        items={**dict.fromkeys(CATEGORIES, 0), "facts": 1},
        known=1,
        held=("b2",),
        provider="anthropic",
        model="m",
        input_tokens=9,
        output_tokens=3,
        cost_usd=0.25,
        size=100,
        shown=40,
        summarised=True,
    )
    ledger.record(name("x"), whole)
    ledger.record(name("y"), entry("conversations/b.md", status="harvest-failed", error="no JSON"))
    assert ledger.entries() == {
        name("x"): whole,
        name("y"): entry(
            "conversations/b.md",
            status="harvest-failed",
            error="no JSON",
            items={**dict.fromkeys(CATEGORIES, 0), "facts": 2},
        ),
    }
    assert (whole.coverage, whole.total, whole.name) == (0.4, 1, "a.md")


def test_the_sample_ledger_is_valid(sample: Path) -> None:
    found = Ledger(Files(Workspace.open(sample)), Repository(Workspace.open(sample))).entries()
    assert {each.status for each in found.values()} >= {"harvested", "deleted-unharvested"}


def test_unknown_fields_of_an_entry_are_kept(files: Files, ledger: Ledger) -> None:
    ledger.record(name("x"), entry())
    trees = tree(files)
    trees[name("x")]["note"] = "mine"  # type: ignore[index]
    files.replace(PATH, json.dumps({"entries": trees}).encode())
    ledger.change(name("x"), deleted=True)
    assert tree(files)[name("x")]["note"] == "mine"  # type: ignore[index]
    assert ledger.get(name("x")).deleted  # type: ignore[union-attr]


def test_a_workspace_without_a_ledger_has_an_empty_one(ledger: Ledger) -> None:
    assert ledger.entries() == {}
    assert (ledger.view().entries, ledger.view().problem) == ((), "")
    assert ledger.get(name("x")) is None


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"null", b'{"entries": []}', b'{"entries": {"x": {}}}', b"\xff\xfe", b"\0" * 100,
        json.dumps({"entries": {name("x"): {**ENTRY, "status": "gone"}}}).encode(),
        json.dumps({"entries": {name("x"): {**ENTRY, "path": 1}}}).encode(),
        json.dumps({"entries": {name("x"): {**ENTRY, "items": {"facts": "3"}}}}).encode(),
        b'{"entries":' + b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_ledger_is_neither_read_nor_overwritten(files: Files, ledger: Ledger, data: bytes) -> None:
    files.replace(PATH, data)
    for act in (ledger.entries, lambda: ledger.get(name("x")), lambda: ledger.record(name("x"), entry())):
        with pytest.raises(LedgerBroken, match=r"knowledge/ledger\.json.*ledger rebuild"):
            act()
    assert files.read(PATH) == data
    assert ledger.view().entries == () and "knowledge/ledger.json" in ledger.view().problem


def test_a_deleted_ledger_is_not_treated_as_empty(files: Files, ledger: Ledger) -> None:
    ledger.record(name("x"), entry())
    Repository(files.workspace).commit([PATH], "a ledger")
    files.remove(PATH)
    with pytest.raises(LedgerBroken, match="is missing, but the history has it"):
        ledger.entries()
    assert ledger.rebuild() == (1, 1)
    assert ledger.get(name("x")) is not None


def test_a_ledger_is_rebuilt_from_all_versions_and_the_current_file(files: Files, ledger: Ledger) -> None:
    repository = Repository(files.workspace)
    ledger.record(name("old"), entry("conversations/old.md"))
    repository.commit([PATH], "first")
    ledger.record(name("both"), entry("conversations/both.md"))
    repository.commit([PATH], "second")
    ledger.change(name("both"), deleted=True)
    ledger.record(name("new"), entry("conversations/new.md"))
    text = files.read(PATH).decode()
    files.replace(PATH, text.replace(name("old"), "0" * 63 + "x")[:-40].encode())
    with pytest.raises(LedgerBroken):
        ledger.entries()
    count, from_history = ledger.rebuild()
    found = ledger.entries()
    assert count == len(found) >= 2
    assert from_history >= 1
    assert found[name("old")].path == "conversations/old.md"
    assert found[name("both")].deleted, "the readable part of the damaged file is newer than the history"


def test_a_damaged_ledger_is_either_refused_or_complete(files: Files, ledger: Ledger) -> None:
    """40 kinds of damage raise no other error and never produce an entry that was not recorded."""
    for number in range(12):
        ledger.record(name(str(number)), entry(f"conversations/{number}.md", items={"facts": number}))
    Repository(files.workspace).commit([PATH], "twelve")
    whole, known = files.read(PATH), ledger.entries()
    random_ = random.Random(6)
    refused = unseen = 0
    for _ in range(40):
        data = bytearray(whole)
        start = random_.randrange(len(data))
        match random_.randrange(3):
            case 0:
                del data[start:]
            case 1:
                data[start] = random_.randrange(256)
            case _:
                data[start:start] = data[: random_.randrange(200)]
        files.replace(PATH, bytes(data))
        try:
            found = ledger.entries()
        except LedgerBroken:
            refused += 1
        else:
            # A changed letter inside a text cannot be detected; the rest is unchanged.
            unseen += 1
            assert sum(known.get(each) != value for each, value in found.items()) <= 2
        ledger.rebuild()
        assert set(known) <= set(ledger.entries())
    print(f"\n40 damages: {refused} refused, {unseen} still valid")
    assert refused > 20


def test_a_read_only_workspace_records_nothing(files: Files, ledger: Ledger) -> None:
    files.read_only = True
    with pytest.raises(ReadOnly):
        ledger.record(name("x"), entry())


def test_an_odd_file_name_is_recorded(ledger: Ledger) -> None:
    odd = b"conversations/caf\xe9.md".decode("utf-8", "surrogateescape")
    ledger.record(name("x"), entry(odd))
    assert ledger.get(name("x")).path == odd  # type: ignore[union-attr]
