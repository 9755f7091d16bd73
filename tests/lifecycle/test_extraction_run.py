"""Extraction runs: once per session, into this workspace or another, with all kinds of obstacles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.errors import ConfigError, DocumentError, ExtractionRefused, ReadOnly
from engine.jobs.table import upkeep_jobs
from engine.knowledge.item import Item
from engine.lifecycle.extraction import extractor as extractors
from engine.lifecycle.extraction.extractor import SHIPPED, Session, extractors_named
from engine.lifecycle.extraction.run import Runner
from engine.lifecycle.schedule.job import Task
from engine.settings import trust
from engine.store.files import Files
from tests.cases import each_case
from tests.lifecycle.extraction_support import FROM, SESSION, Space, session, space_in

DECISION = "Tide tables are computed in UTC, because summer time moved them."
LESSON = "Compare a computed tide with the printed table before a release."
TALK = session(
    ("user", "Please look at the tide tables of Aubrac."),
    ("user", f"Decision: {DECISION}"),
    ("agent", f"Lesson: {LESSON}\n\nI look at them."),
    project="tidemark",
)


@pytest.fixture
def space(tmp_path: Path) -> Space:
    space = Space(tmp_path)
    space.put(TALK)
    return space


def test_a_second_run_changes_nothing(space: Space) -> None:
    space.run()
    before, head = space.content(), space.git("rev-parse", "HEAD")
    assert space.run().results == ()
    assert (space.content(), space.git("rev-parse", "HEAD")) == (before, head)
    survey = space.runner().survey()
    assert [each.is_done for each in survey.candidates] == [True] and survey.due == ()


def test_sessions_that_add_nothing_are_recorded_in_one_commit(space: Space) -> None:
    for number in range(2, 5):
        space.put(
            session(("agent", "Hm."), session=f"ses_tide000{number}"), SESSION.replace("0001", f"000{number}")
        )
    space.run()
    assert space.git("log", "--format=%s").splitlines() == [
        "extract: nothing new in 3 sessions",
        "extract: decisions: 1, lessons: 1",
        "memory: recap of 1 session",
    ]
    assert "logs/" not in space.git("status", "--porcelain", "--untracked-files=all")
    assert space.run().results == ()


def test_identical_content_at_another_path_is_extracted_once(space: Space) -> None:
    space.put(TALK, SESSION.replace("0912", "0913"))
    report = space.run()
    assert [(each.outcome, each.error) for each in report.results] == [
        ("extracted", ""),
        ("skipped", "the same content was already read at another path"),
    ]
    assert len(space.runner().log.all()) == 6 and space.run().results == ()


def test_a_preview_writes_nothing_and_matches_the_run(space: Space) -> None:
    before = space.content()
    preview = space.runner().preview(SESSION)
    assert space.content() == before
    space.run()
    for edit in preview.plan.edits:
        assert edit.line in (space.root / edit.path).read_text().splitlines()


def test_a_session_that_has_grown_adds_only_what_is_new(space: Space) -> None:
    space.run()
    space.put(f"{TALK}\n## 10:30 — user\nDecision: The print is made on Fridays at noon.\n")
    report = space.run()
    assert sum(len(record.items) for each in report.results for record in each.records) == 1
    page = space.text("projects/tidemark/context.md")
    assert page.count(DECISION) == 1 and "The print is made on Fridays at noon." in page


def test_since_ignores_older_records_and_extracts_again_once(space: Space) -> None:
    space.run()
    page = space.root / "knowledge/projects/tidemark/context.md"
    page.unlink()
    space.now += timedelta(minutes=1)
    since = space.now.isoformat(timespec="microseconds")
    assert space.run(since=since).results and DECISION in space.text("projects/tidemark/context.md")
    assert space.run(since=since).results == ()


def test_extracted_items_can_be_written_to_another_workspace(
    space: Space, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Space(tmp_path_factory.mktemp("other"))
    before = space.content()
    progress: list[tuple[str, int, int]] = []
    report = space.runner(target=other).run(
        on_result=lambda each, done, total: progress.append((each.path, done, total))
    )
    assert progress == [(SESSION, 1, 1)] and report.results[0].commit
    assert space.content() == before
    assert DECISION in other.text("projects/tidemark/context.md")
    assert other.git("log", "--format=%s").startswith("extract: ")
    assert space.runner(target=other).run().results == ()


def test_a_session_of_an_archived_journal_is_written_to_the_archive(space: Space) -> None:
    old = space.put("## 2026-06-12\n\n### tidemark\n\n- Before\n", "archive/journal/2026-06-12.md")
    space.run()
    assert not (space.root / "knowledge/journal").exists()
    text = (space.root / old).read_text()
    assert text.startswith("## 2026-06-12\n\n### tidemark\n\n- Before\n\n### Sessions in tidemark\n")
    assert f"- Decided: {DECISION}" in text


def test_a_running_session_is_skipped_unless_named(space: Space) -> None:
    live = TALK.replace("ended: 2026-06-12T10:00:00Z\n", "").replace("2026-06-12T09:12", "2026-06-20T11:30")
    path = space.put(live, "raw/conversations/2026/06/20/0912-ses_live0001-now.md")
    assert [each.why for each in space.runner().survey().candidates if each.path == path] == [
        "its session has not ended"
    ]
    assert [each.path for each in space.run().results] == [SESSION]
    assert [each.outcome for each in space.runner().run([path]).results] == ["extracted"]
    assert "2026-06-20: " + DECISION not in space.text("projects/tidemark/context.md"), (
        "it was extracted before"
    )


def test_a_full_memory_keeps_its_lines_and_new_items_wait_for_review(space: Space) -> None:
    memory = space.root / "knowledge/memory/MEMORY.md"
    memory.parent.mkdir(parents=True)
    memory.write_text("# Core Memory\n\n## Lessons Learned\n\n" + "- A line.\n" * 196)
    before = memory.read_bytes()
    space.run()
    assert memory.read_bytes() == before
    assert [(path, text) for path, text, _ in space.waiting()] == [("knowledge/memory/MEMORY.md", LESSON)]
    assert "more than 200 lines" in space.waiting()[0][2]


@each_case("data", [b"# Broken\n\n```\nnever closed\n", b"\xff\xfe\x00", b"<<<<<<< HEAD\n- a\n=======\n"])
def test_items_for_a_broken_page_wait_and_a_broken_category_file_stops_the_run(
    tmp_path: Path, data: bytes
) -> None:
    space = space_in(tmp_path)
    space.put(TALK)
    page = space.root / "knowledge/projects/tidemark/context.md"
    page.parent.mkdir(parents=True)
    facts = space.root / "knowledge/facts.md"
    page.write_bytes(data)
    facts.write_bytes(data)
    with pytest.raises(DocumentError, match=r"knowledge/facts\.md"):
        space.run()
    facts.unlink()
    assert space.run().results[0].outcome == "extracted" and page.read_bytes() == data
    assert [(path, text) for path, text, why in space.waiting() if "cannot be written" in why] == [
        ("knowledge/projects/tidemark/context.md", DECISION)
    ]


def test_a_session_changed_during_extraction_is_left_for_the_next_run(space: Space) -> None:
    class Meddling:
        name, version = "decisions", "1"

        def without_model(self, found: Session) -> Iterator[Item]:
            space.put(TALK + "\n")
            yield from SHIPPED["decisions"].without_model(found)

        def task(self, _files: Files) -> str:
            return ""

        def read(self, _row: Any, _session: Session) -> Item:
            raise ValueError("is none")

    report = space.run(extractors=[Meddling()])
    assert [each.outcome for each in report.results] == ["changed"] and not space.text(
        "projects/tidemark/context.md"
    )


@each_case(
    ("text", "why"),
    [
        ("", ""),
        ("just some text without anybody\n", "could not tell who speaks"),
        ("\x01\x02" * 50_000, "is not text"),
    ],
)
def test_empty_and_unreadable_sessions_are_handled(tmp_path: Path, text: str, why: str) -> None:
    space = space_in(tmp_path)
    head = "" if why else "---\nsession_id: ses_x\nended: 2026-06-12T10:00:00Z\n---\n\n# Empty\n"
    space.put(head + text)
    results = space.runner().run([SESSION]).results
    assert [each.error for each in results] == [why] and not space.text("journal/2026-06-12.md")


def test_an_invalid_session_path_is_refused(space: Space) -> None:
    with pytest.raises(ExtractionRefused, match="no such session"):
        space.runner().run(["raw/conversations/none.md"])
    outside = space.runner().run(["../../etc/passwd"]).results
    assert outside[0].outcome == "skipped" and "cannot be read" in outside[0].error
    with pytest.raises(ReadOnly):
        reading = Files(space.files.workspace, read_only=True)
        recaps = space.recaps()
        Runner(reading, reading, [], lambda _p, _m: None, space.clock, print, recaps).run()  # type: ignore[arg-type,return-value]


# Extractors from other packages.


@dataclass(frozen=True)
class Questions:
    """An extractor as a package may provide it."""

    name: str = "questions"
    version: str = "7"

    def task(self, _files: Files) -> str:
        """Returns no task, so that no model is asked."""
        return ""

    def read(self, _row: Any, _session: Session) -> Item:
        """Never called."""
        raise ValueError("is none")

    def without_model(self, found: Session) -> Iterator[Item]:
        """Yields turns that end with a question mark."""
        for turn in found.turns:
            if turn.text.endswith("?"):
                yield Item("questions", turn.text, voice="person")


def install_extractor(monkeypatch: pytest.MonkeyPatch, load: Callable[[], object]) -> list[str]:
    """Installs an extractor; returns the names loaded so far."""
    loaded: list[str] = []

    class Point:
        name = "questions"

        def load(self) -> object:
            loaded.append(self.name)
            return load()

    real = metadata.entry_points

    def entry_points(**wanted: str) -> Any:
        ours = wanted == {"group": extractors.GROUP, "name": "questions"}
        return [Point()] if ours else real(**wanted)

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    return loaded


def test_an_installed_extractor_is_loaded_only_if_a_trusted_workspace_enables_it(
    space: Space, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv(trust.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    loaded = install_extractor(monkeypatch, Questions)
    config = space.root / "memory-config.yaml"
    space.put(session(("user", "Who replaces the tablet of the lock master?")))
    for names in ("[journal, decisions]", "[]", "[facts]"):
        config.write_text(f"extraction:\n  extractors: {names}\n")
        with Engine.open(space.root) as engine:
            assert engine.settings.trust.applies, "shipped extractors need no trust"
            engine.extraction.runner()
    config.write_text("extraction:\n  extractors: [journal, questions]\n")
    with Engine.open(space.root, clock=space.clock) as engine:
        assert not engine.settings.trust.applies
        assert [each.name for each in engine.extraction.extractors()] == list(SHIPPED) and not loaded
        engine.decide_trust(trusted=True)
        assert [each.name for each in engine.extraction.extractors()] == ["journal", "questions"]
        engine.extraction.runner(["questions"]).run()
        with pytest.raises(ExtractionRefused, match="extractor 'people' is not enabled"):
            engine.extraction.runner(["people"])
    assert loaded and f"- Who replaces the tablet of the lock master? {FROM}" in space.text("questions.md")


@each_case(
    "factory",
    [
        lambda: replace(Questions(), name="other"),
        lambda: object(),
        lambda: 1 / 0,
        lambda: replace(Questions(), version=""),
    ],
)
def test_an_invalid_extractor_is_refused(
    monkeypatch: pytest.MonkeyPatch, factory: Callable[[], object]
) -> None:
    install_extractor(monkeypatch, factory)
    with pytest.raises(ConfigError, match="extractor"):
        extractors_named(["questions"])
    with pytest.raises(ConfigError, match="no extractor 'none'"):
        extractors_named(["none"])


def test_a_failing_extractor_does_not_affect_the_others(space: Space) -> None:
    class Failing(Questions):
        def without_model(self, found: Session) -> Iterator[Item]:
            raise RuntimeError("oh no")

    report = space.run(extractors=[Failing(), SHIPPED["decisions"]])
    assert "questions: the extractor failed: RuntimeError: oh no" in report.results[0].error
    assert DECISION in space.text("projects/tidemark/context.md")


def test_an_item_with_an_invalid_page_path_becomes_a_fact(space: Space) -> None:
    class Odd(Questions):
        def without_model(self, found: Session) -> Iterator[Item]:
            paths = ("CLAUDE.md", ".git/config", "knowledge/people/../../x.md", "topics/a.md")
            for number, path in enumerate(paths, 1):
                yield Item(
                    "pages",
                    f"The tide tables of Aubrac are in drawer {number}.",
                    path,
                    "person",
                    section="S",
                )

    before = {name for name in space.content() if not name.startswith(("logs/", "knowledge/"))}
    space.run(extractors=[Odd()])
    assert {name for name in space.content() if not name.startswith(("logs/", "knowledge/"))} == before
    assert not space.waiting()
    assert space.text("facts.md").count("The tide tables of Aubrac") == 4
    assert {name for name in space.content() if name.startswith("knowledge/")} <= {
        "knowledge/facts.md", "knowledge/digest.md", "knowledge/.digest.json",
    }  # fmt: skip


# When an extraction is due.


def test_the_end_of_a_session_extracts_it_only_with_that_trigger(space: Space) -> None:
    for trigger, is_read in (("manual", False), ("hourly", False), ("on_session_end", True)):
        (space.root / "memory-config.yaml").write_text(f"lifecycle:\n  extraction_trigger: {trigger}\n")
        with Engine.open(space.root, clock=space.clock) as engine:
            report = engine.extraction.session_ended(SESSION)
            assert (report is not None) == is_read
    assert DECISION in space.text("projects/tidemark/context.md")
    with Engine.open(space.root, clock=space.clock) as engine:
        problems: list[str] = []
        engine.extraction.on_problem = problems.append
        assert engine.extraction.session_ended("raw/conversations/gone.md") is None
        assert problems == [
            "raw/conversations/gone.md was not extracted: raw/conversations/gone.md: no such session"
        ]


def test_the_hourly_job_reads_what_has_ended_since_its_last_run(space: Space) -> None:
    def job(engine: Engine) -> str:
        (found,) = [each for each in upkeep_jobs(engine) if each.name == "extract"]
        return found.run(Task(space.now))

    with Engine.open(space.root, clock=space.clock) as engine:
        assert job(engine) == "not due"
    (space.root / "memory-config.yaml").write_text("lifecycle:\n  extraction_trigger: hourly\n")
    with Engine.open(space.root, clock=space.clock) as engine:
        assert job(engine).startswith("1 session read")
        assert job(engine) == "0 sessions read, 0 lines written"
        space.now += timedelta(minutes=59, seconds=58)  # the last run took two seconds
        space.put(session(("user", f"Decision: {LESSON}"), session_id="ses_tide0002"), f"{SESSION[:-3]}-2.md")
        assert job(engine).startswith("1 session read")
    assert "<!-- ses_tide0001 " in space.text("journal/2026-06-12.md")
