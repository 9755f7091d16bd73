"""The sample's ledger is accurate: its entries agree with the files and the history."""

from __future__ import annotations

import functools
import hashlib
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

from engine.costs.costs import Costs
from engine.errors import WorkspaceError
from engine.knowledge.category_files import CATEGORY_FILES, entries
from engine.knowledge.digest import digest_of
from engine.knowledge.harvest.reading import MAX_TEXT_BYTES, read_source
from engine.knowledge.harvest.report import HarvestRequest
from engine.knowledge.item import CATEGORIES, Item, item_id
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.ledger import LedgerEntry, Status
from engine.settings.model import Config, GitSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository
from engine.workspace import sample_past
from engine.workspace.initialise import initialise

SAMPLE = Path(str(resources.files("engine"))) / "sample"
DUMP = "conversations/2026-06-03-nsl-console-dump.txt"
WAITING = {
    "conversations/2026-06-11-rollup-comparison.jsonl",
    "conversations/2026-06-11-vestrand-gateway-call.md",
    "conversations/kvalnes-modem-checklist.txt",
}


class Opened:
    """A workspace and its knowledge."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace.open(root)
        self.files = Files(self.workspace)
        self.repository = Repository(self.workspace)
        self.problems: list[str] = []
        config = Config(git=GitSettings(auto_commit=True))
        clock = functools.partial(datetime.now, UTC)
        self.knowledge = Knowledge(
            self.files,
            self.repository,
            lambda: config,
            lambda: Costs(self.files, lambda: config.costs, clock, self.problems.append),
            clock,
            self.problems.append,
        )

    def entries(self) -> dict[str, LedgerEntry]:
        return self.knowledge.ledger.entries()

    def entry_named(self, name: str) -> tuple[str, LedgerEntry]:
        return next((key, entry) for key, entry in self.entries().items() if entry.name == name)

    def kinds(self) -> dict[str, str]:
        return {each.path: each.kind for each in self.knowledge.harvest.survey().candidates}

    def remaining(self) -> set[str]:
        folder = self.workspace.root / "conversations"
        return {f"conversations/{path.name}" for path in folder.iterdir()}

    def provenances(self) -> Iterator[tuple[str, str, str]]:
        """Path, line and source conversation of every knowledge line."""
        paths = [file.path for file in CATEGORY_FILES]
        notes = sorted((self.workspace.root / "knowledge/files").glob("*.md"))
        for path in [*paths, *map(self.workspace.relative, notes)]:
            for entry in entries(self.files.read(path), path):
                yield path, entry.raw, entry.source


@pytest.fixture
def opened(sample: Path) -> Opened:
    return Opened(sample)


def test_every_conversation_exists_or_is_in_history_and_every_line_is_present(opened: Opened) -> None:
    checked = list(opened.knowledge.verify())
    assert all(each.sound for each in checked)
    assert Counter(each.source for each in checked) == {"in history": 18, "there": 1}
    states = Counter(line.state for each in checked for line in each.lines)
    assert set(states) == {"there"}
    assert states["there"] > 60


def test_an_entry_lists_and_counts_all_lines_from_its_conversation(opened: Opened) -> None:
    found = opened.entries()
    assert {entry.status for entry in found.values()} == set(get_args(Status))
    given: dict[str, list[tuple[str, str]]] = {}
    for path, line, source in opened.provenances():
        given.setdefault(source, []).append((path, line))
    for entry in found.values():
        stem = entry.name.rpartition(".")[0]
        assert [(line.path, line.text) for line in entry.lines] == given.get(stem, []), entry.path
        assert entry.total == len(entry.lines)
        assert set(entry.items) == set(CATEGORIES)
        assert bool(entry.lines) == (entry.status == "harvested"), entry.path
    ids = [line.id for entry in found.values() for line in entry.lines]
    assert len(set(ids)) == len(ids)


def test_lines_carry_the_day_of_their_harvest(opened: Opened) -> None:
    for entry in opened.entries().values():
        assert all(line.text.endswith(f", {entry.at[:10]}]") for line in entry.lines), entry.path


def test_lines_have_the_ids_that_a_harvest_would_assign(opened: Opened) -> None:
    _, spike = opened.entry_named("2026-06-02-revision-writer-spike.jsonl")
    fact = Item(
        "facts",
        "Revisions must follow the order of files within one gauge; the order across gauges does not matter.",
    )
    assert [line.id for line in spike.lines] == [item_id(fact, "2026-06-02-revision-writer-spike")]
    _, rehearsal = opened.entry_named("2026-06-09-revision-backfill-rehearsal.md")
    done = Item("tasks_done", "Rehearsal of 0043 and runbook, #429.")
    assert item_id(done, "2026-06-09-revision-backfill-rehearsal") in {line.id for line in rehearsal.lines}
    _, duplicates = opened.entry_named("2026-05-18-duplicate-minutes.md")
    note = Item(
        "files",
        "Before #402 the read offset lived in memory, so the newest file was read again after each "
        "reconnect.",
        "tidemark/ingest/sftp_pull.py",
    )
    assert item_id(note, "2026-05-18-duplicate-minutes") in {line.id for line in duplicates.lines}


def test_only_reclaimed_conversations_are_marked_deleted_and_waiting_ones_remain(opened: Opened) -> None:
    for entry in opened.entries().values():
        assert entry.deleted == (entry.status in ("harvested", "deleted-unharvested")), entry.path
    assert opened.remaining() == WAITING


def test_a_ledger_can_be_rebuilt_from_the_history(opened: Opened) -> None:
    before = opened.entries()
    opened.files.replace("knowledge/ledger.json", b"{")
    opened.knowledge.ledger.rebuild()
    assert opened.entries() == before


@pytest.mark.parametrize("name", ["2026-05-22-wal-postmortem.md", "2026-05-23-hosts-inventory.jsonl"])
def test_a_reclaimed_conversation_is_restored_byte_for_byte(opened: Opened, name: str) -> None:
    key, entry = opened.entry_named(name)
    assert opened.knowledge.reclaimer.restore(key) == entry.path
    data = opened.files.read(entry.path)
    assert hashlib.sha256(data).hexdigest() == key
    stem, suffix = name[11:].split(".")
    transcripts = list((opened.workspace.root / "raw/conversations/2026/05/22").glob(f"*-{stem}.md"))
    source = transcripts[0] if suffix == "md" else SAMPLE / "reclaimed" / name
    assert data == source.read_bytes()
    _, restored = opened.entry_named(name)
    assert (restored.restored, restored.deleted) == (True, False)


def test_the_oversized_conversation_is_restored_in_full(opened: Opened) -> None:
    key, entry = opened.entry_named(Path(DUMP).name)
    assert MAX_TEXT_BYTES < entry.size < 3 * MAX_TEXT_BYTES // 2
    opened.knowledge.reclaimer.restore(key)
    data = opened.files.read(DUMP)
    assert (len(data), hashlib.sha256(data).hexdigest()) == (entry.size, key)


@pytest.mark.parametrize("path", sorted((SAMPLE / "reclaimed").iterdir()), ids=lambda path: path.name)
def test_the_shipped_conversations_can_be_parsed(path: Path, opened: Opened) -> None:
    opened.files.create(f"conversations/{path.name}", path.read_bytes())
    source = read_source(opened.files, f"conversations/{path.name}")
    assert {"user", "agent"} <= {turn.role for turn in source.turns}
    assert len(source.turns) >= 2


def test_no_conversation_is_live_right_after_creating_a_sample(tmp_path: Path) -> None:
    initialise(tmp_path / "memory", sample=True)
    assert set(Opened(tmp_path / "memory").kinds().values()) == {"harvest"}


def test_a_waiting_conversation_is_dated_before_its_failed_harvest(
    opened: Opened,
) -> None:
    def changed(path: str) -> datetime:
        return datetime.fromtimestamp((opened.workspace.root / path).stat().st_mtime, UTC)

    _, failed = opened.entry_named("kvalnes-modem-checklist.txt")
    harvested = datetime.fromisoformat(failed.at)
    assert harvested - timedelta(days=1) < changed(failed.path) < harvested
    for path in WAITING - {failed.path}:
        assert changed(path).date() == date(2026, 6, 11)


def test_a_harvest_without_a_model_proposes_the_marked_items_and_skips_a_known_one(
    opened: Opened,
) -> None:
    before = {each.id for each in opened.knowledge.review.queue.waiting()}
    report = opened.knowledge.harvest.run(HarvestRequest())
    assert (report.stopped, opened.problems, sum(report.items.values())) == ("", [], 0)
    _, call = opened.entry_named("2026-06-11-vestrand-gateway-call.md")
    assert (call.provider, call.known) == ("markers", 1)
    proposed = [each for each in opened.knowledge.review.queue.waiting() if each.id not in before]
    assert sorted(each.group for each in proposed if each.source == call.path) == [
        "decisions", "decisions", "facts",
    ]  # fmt: skip
    assert {each.origin.day for each in proposed if each.source == call.path} == {"2026-06-11"}
    assert all(each.sound for each in opened.knowledge.verify())


def test_the_digest_matches_its_category_files(opened: Opened) -> None:
    given = {file.path: entries(opened.files.read(file.path), file.path) for file in CATEGORY_FILES}
    assert opened.files.read("knowledge/digest.md") == digest_of(given)
    assert not opened.knowledge.digest.regenerate()


def test_deleting_the_digest_turns_it_off_even_without_history(opened: Opened) -> None:
    (opened.workspace.root / ".git").rename(opened.workspace.root.parent / "elsewhere")
    assert not opened.knowledge.digest.is_off()
    opened.files.remove("knowledge/digest.md")
    assert opened.knowledge.digest.is_off()
    assert not opened.knowledge.digest.regenerate()


def test_the_ledger_is_accurate_with_moved_dates(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    initialise(root, sample=True, today=date(2026, 3, 1))
    opened = Opened(root)
    checked = list(opened.knowledge.verify())
    assert all(each.sound for each in checked)
    assert {line.state for each in checked for line in each.lines} == {"there"}
    _, entry = opened.entry_named("2026-02-08-wal-postmortem.md")
    assert entry.at.startswith("2026-02-08T21:40")
    assert entry.total == 7


@pytest.fixture
def without_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git does not know who the user is."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("EMAIL", "")
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")


@pytest.mark.usefixtures("without_identity")
def test_a_sample_without_an_identity_is_committed_as_its_own(tmp_path: Path) -> None:
    report = initialise(tmp_path / "memory", sample=True, today=date(2026, 6, 12))
    assert report.problems == []
    by = subprocess.run(
        ["git", "-C", tmp_path / "memory", "log", "-1", "--format=%an <%ae>"], capture_output=True, text=True
    )
    assert by.stdout.strip() == "Sample <sample@example.org>"


@pytest.mark.usefixtures("without_identity")
def test_without_a_commit_conversations_are_kept_as_their_only_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.workspace.initialise._SAMPLE_IDENTITY", {})
    report = initialise(tmp_path / "memory", sample=True, today=date(2026, 6, 12))
    assert [problem.path for problem in report.problems] == [".git"]
    opened = Opened(tmp_path / "memory")
    assert not any(entry.deleted for entry in opened.entries().values())
    assert {each.source for each in opened.knowledge.verify()} == {"there"}
    kinds = Counter(opened.kinds().values())
    assert kinds == {"prune": 17, "harvest": 3, "keep": 1}


def test_a_conversation_without_a_shipped_text_is_reported_by_name(opened: Opened) -> None:
    outcomes = b"""{"conversations": [{"path": "conversations/2026-06-01-nobody-knows.md",
        "status": "harvested", "at": "2026-06-01T21:40:00+00:00"}]}"""
    with pytest.raises(WorkspaceError, match="2026-06-01-nobody-knows"):
        sample_past.restore_past(opened.files, outcomes, {})
