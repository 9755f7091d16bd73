"""The sample's month in git: commits have the right day, follow their source, and add up to the sample."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import RepositoryError
from engine.history.history import History
from engine.history.model import Entry
from engine.knowledge.category_files import CATEGORY_FILES, provenance_of
from engine.store.documents import parse
from engine.store.faults import fail, trip
from engine.store.paths import Workspace
from engine.store.repository import Repository
from engine.workspace.initialise import initialise
from tests.engine.test_sample import SAMPLE, WORKSPACE
from tests.store.history import git

NOW = datetime(2026, 6, 12, 9, tzinfo=UTC)
TODAY = date(2026, 6, 12)
EDITED = re.compile(r" \(Reversed on \S+\)|, merged [0-9-]{10}")
"""Text added later to a line taken from a conversation."""
NAMED = re.compile(r"#\d{3}\b|\b004\d\b|\b0\.1\d\.\d\b|\b[A-Z]{3}-\d\d\b")
"""Names of issues, migrations, versions and gauges."""
PAGES = (
    *(f"knowledge/{name}/" for name in ("people", "procedures", "projects", "reference", "gauge-fleet")),
    "knowledge/mail-context/", "knowledge/tidemark-incidents/", "topics/", "presets/",
)  # fmt: skip
"""Files whose lines have no provenance."""
MONTH_DATA = json.loads((SAMPLE / "month.json").read_text("utf-8"))


@pytest.fixture
def history(sample: Path) -> Iterator[History]:
    with Engine.open(sample, clock=lambda: NOW) as engine:
        yield engine.history


def entries(history: History) -> list[Entry]:
    """The commits, oldest first."""
    return list(reversed(history.timeline(1_000).entries))


def changes(root: Path, entry: Entry) -> list[tuple[str, str, list[str]]]:
    """Status letter, path and new lines of each file changed by a commit."""
    shown = git(root, "show", "--no-renames", "--format=", "--unified=0", entry.revision)
    letters = {each[2:]: each[0] for each in git(root, "show", "--no-renames", "--name-status", "--format=",
                                                 entry.revision).splitlines()}  # fmt: skip
    found = []
    for piece in shown.split("diff --git a/")[1:]:
        path = piece.partition(" b/")[0]
        new = [line[1:] for line in piece.splitlines() if line.startswith("+") and line[:4] != "+++ "]
        found.append((letters[path], path, new))
    return found


def test_commits_are_in_order_and_have_the_day_of_their_content(sample: Path, history: History) -> None:
    made = entries(history)
    assert len(made) > 90 and {each.kind for each in made} >= {
        "conversation",
        "memory",
        "identity",
        "maintenance",
    }
    assert [each.at for each in made] == sorted(each.at for each in made)
    assert git(sample, "log", "--format=%at") == git(sample, "log", "--format=%ct")
    assert (made[0].at.date(), made[-1].at) == (date(2026, 5, 15), datetime(2026, 6, 12, 7, 31, tzinfo=UTC))
    outcomes = 0
    for entry in made:
        for letter, path, lines in changes(sample, entry):
            if path.startswith("raw/"):
                header = parse((sample / path).read_bytes(), path).header
                assert (letter, entry.kind, entry.sessions) == ("A", "conversation", (path,))
                assert datetime.fromisoformat(str(header["ended"])) == entry.at
            elif path.startswith("knowledge/journal/"):
                assert (letter, Path(path).stem) == ("A", entry.at.date().isoformat())
            elif path.startswith(("knowledge/facts", "knowledge/decisions", "knowledge/questions")):
                days = {
                    said[1] for line in lines if (said := provenance_of(line)) and not EDITED.search(line)
                }
                assert days <= {entry.at.date().isoformat()}, path
            else:
                continue
            outcomes += 1
    assert outcomes > 80


def test_a_knowledge_line_is_committed_after_its_source_conversation(sample: Path, history: History) -> None:
    notes = sorted((sample / "knowledge/files").glob("*.md"))
    paths = [
        *(file.path for file in CATEGORY_FILES),
        *(path.relative_to(sample).as_posix() for path in notes),
    ]
    checked, edited = 0, 0
    for path in paths:
        blame = history.blame(path)
        for line in blame.lines:
            if provenance_of(line.text) is None:
                continue
            entry = blame.commit_of(line)
            (taught,) = line.taught
            assert entry is not None and taught.source in ("transcript", "reclaimed"), line.text
            if later := EDITED.search(line.text):
                edited += 1
                first = history.when(line.text[: later.start()]).first
                assert first is not None and first.entry.at < entry.at
                entry = first.entry
            assert taught.path in entry.sessions, line.text
            checked += 1
    assert (checked > 80, edited) == (True, 3)


def test_nothing_is_mentioned_before_a_conversation_introduced_it(sample: Path, history: History) -> None:
    spoken = ("raw/", "conversations/", "knowledge/journal/")
    made = [(entry, changes(sample, entry)) for entry in entries(history)]
    first: dict[str, Entry] = {}
    for entry, changed in made:
        for _, path, lines in changed:
            if path.startswith(spoken):
                first |= {name: entry for name in NAMED.findall("\n".join(lines)) if name not in first}
    seen = 0
    for entry, changed in made:
        for _, path, lines in changed:
            if path.startswith(PAGES):
                named = {name for name in NAMED.findall("\n".join(lines)) if name in first}
                assert [name for name in named if first[name].at > entry.at] == [], f"{entry.at} {path}"
                seen += len(named)
    assert seen > 100


def test_the_repository_is_intact_and_contains_the_sample(sample: Path) -> None:
    assert git(sample, "fsck", "--strict", "--no-dangling") == ""
    assert git(sample, "status", "--porcelain") == ""
    held = set(git(sample, "ls-files").split("\n"))
    shipped = {path.relative_to(WORKSPACE).as_posix() for path in WORKSPACE.rglob("*") if path.is_file()}
    made = {".gitattributes", ".gitignore", "knowledge/.digest.json", "knowledge/ledger.json"}
    assert held == shipped | made
    assert all((sample / path).read_bytes() == (WORKSPACE / path).read_bytes() for path in shipped)
    assert not list((sample / ".git").rglob("*autopoiesis*"))


def test_daily_and_weekly_snapshots_match_the_schedule(sample: Path, history: History) -> None:
    before = {each.tag: each.revision for each in history.snapshots()}
    assert {"memory/milestone/tidemark-0.14.0", "memory/before/0043-rehearsal"} <= before.keys()
    assert history.recall("memory/before/0043-rehearsal", "knowledge/playbooks.md")[1].count(b"**") == 10
    days = [date(2026, 5, 15) + timedelta(days=number) for number in range(28)]
    named = {history.tag_daily(day) for day in days} | {history.tag_weekly(day) for day in days[:24]}
    assert named - {""} == {tag for tag in before if tag.startswith(("memory/daily/", "memory/weekly/"))}
    assert {each.tag: each.revision for each in history.snapshots()} == before
    assert len(named) > 25


def test_an_exploration_branch_exists_and_an_identity_edit_can_be_undone(history: History) -> None:
    (tried,) = history.branches()
    assert (tried.name, tried.ahead, tried.due) == ("explore/three-bullets", 1, False)
    assert [file.path for file in tried.files] == ["knowledge/identity/USER.md"]
    edit = next(each for each in entries(history) if each.title == "no praise, no exclamation marks")
    plan = history.undo_plan(edit.revision)
    assert plan.can_apply and [each.path for each in plan.files] == ["knowledge/identity/SOUL.md"]
    assert "\n+- I open with what went well" in plan.files[0].diff.text


def test_every_entry_of_the_month_data_is_used() -> None:
    shipped = [path.relative_to(WORKSPACE).as_posix() for path in WORKSPACE.rglob("*") if path.is_file()]
    places = [*(WORKSPACE / "raw").rglob("*.md"), *(WORKSPACE / "knowledge/journal").iterdir()]
    said = "".join(path.read_text("utf-8") for path in [*places, *(SAMPLE / "reclaimed").iterdir()])
    for path in (path for each in MONTH_DATA["begins"] for path in each["paths"]):
        assert path.startswith(".git") or any(each.startswith(path) for each in shipped), path
    assert [word for word in MONTH_DATA["words"] if word not in said] == []


def test_the_same_day_gives_the_same_commits_on_any_weekday(tmp_path: Path) -> None:
    sunday = date(2026, 6, 14)
    made = []
    for name in ("one", "two"):
        initialise(tmp_path / name, sample=True, today=sunday)
        made.append(git(tmp_path / name, "for-each-ref"))
        assert git(tmp_path / name, "status", "--porcelain") == ""
    assert made[0] == made[1]
    log = git(tmp_path / "one", "log", "--format=%cs %s")
    rolled = re.findall(r"^(\S+) maintenance: MEMORY.md with the journals of (\S+)$", log, re.MULTILINE)
    days = [date.fromisoformat(day) for day, _ in rolled]
    assert [f"{day:%G-W%V} {day:%u}" for day in days] == [f"{week} 7" for _, week in rolled]
    assert len(days) >= 3
    commits = re.findall(r"^\S+", log, re.MULTILINE)
    assert commits == sorted(commits, reverse=True) and commits[0] == "2026-06-14"


@pytest.mark.parametrize("point", ["commit:object", "commit:reference", "commit:index"])
def test_a_disk_error_while_creating_the_month_loses_nothing(tmp_path: Path, point: str) -> None:
    root = tmp_path / "memory"
    with trip(point, fail(errno.ENOSPC)):
        report = initialise(root, sample=True, today=TODAY)
    assert [problem.severity for problem in report.problems] == ["warning"]
    outcomes = json.loads((SAMPLE / "past.json").read_text("utf-8"))["conversations"]
    talks = [each["path"] for each in outcomes]
    assert all((root / path).is_file() for path in talks), "there is no other copy of them"
    repository = Repository(Workspace.open(root))
    assert (repository.revision() is None) == (point != "commit:index")
    if point == "commit:index":
        with pytest.raises(RepositoryError, match="already has commits"):
            repository.begin([])
        assert repository.state().kind == "ok"
    else:
        initialise(root)
        assert set(talks) <= set(repository.files("HEAD"))
        assert git(root, "status", "--porcelain") == "" == git(root, "fsck", "--no-dangling")
