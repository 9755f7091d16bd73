"""Probes are stored, run and explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, DocumentError, ReadOnly
from engine.probes.probes import Evidence, Expectation, parse, typed
from engine.store.paths import Workspace
from tests.cases import each_case
from tests.probes.conftest import Clock

HOSTS, ODILE = "knowledge/reference/hosts.md", "knowledge/people/odile.md"
QUESTION = "Which port does the broker use?"


def only(
    engine: Engine, *expect: Expectation, question: str = QUESTION, budget: int | None = None
) -> Evidence:
    """The result of the first expectation of a new probe."""
    probe = engine.probes.add(question, expect).probe
    return engine.probes.run(engine, [probe.id], budget=budget).results[0].evidence[0]


def test_a_probe_is_added_found_by_a_prefix_of_its_id_and_removed(engine: Engine, root: Path) -> None:
    added = engine.probes.add(QUESTION, [Expectation(HOSTS, "5")], budget=4096, note=" remark ")
    (probe,) = engine.probes.read().probes
    assert probe == added.probe and probe.note == "remark" and engine.probes.find(probe.id[:2]) == probe
    with pytest.raises(AutopoiesisError, match="already has this question"):
        engine.probes.add(f" {QUESTION} ", [Expectation(HOSTS)])
    assert engine.probes.remove(probe.id[:3]).probe == probe
    assert (root / "probes.yaml").read_bytes() == b""
    with pytest.raises(AutopoiesisError, match="no probe"):
        engine.probes.find(probe.id)


def test_an_ambiguous_id_prefix_is_refused(engine: Engine, root: Path) -> None:
    entry = "- {{id: {0}, question: {0}, expect: {{text: x}}}}\n"
    (root / "probes.yaml").write_text("".join(map(entry.format, ("one", "once", "on"))))
    with pytest.raises(AutopoiesisError, match="3 probes match o;"):
        engine.probes.find("o")
    assert engine.probes.find("on").id == "on"
    with pytest.raises(AutopoiesisError, match="no probe"):
        engine.probes.find("")


def test_each_change_of_the_file_is_its_own_commit_and_keeps_comments(engine: Engine, root: Path) -> None:
    repository = engine.repository
    repository.init()
    (root / "probes.yaml").write_text("# mine\n- question: q\n  expect: [{text: x}]\n")
    assert repository.commit(["probes.yaml", HOSTS], "all there is")
    (root / HOSTS).write_text((root / HOSTS).read_text() + "A person's own, not yet committed.\n")
    added = engine.probes.add(QUESTION, [Expectation(HOSTS, "5")])
    (commit,) = repository.log(1)
    assert (added.commit, added.why) == (commit.revision, "")
    assert commit.subject.startswith(f"maintenance: probe add {added.probe.id}: ")
    assert b"own" not in repository.show("HEAD", HOSTS)
    engine.probes.remove(added.probe.id)
    assert (root / "probes.yaml").read_text() == "# mine\n- question: q\n  expect: [{text: x}]\n"


def test_nothing_is_committed_with_auto_commit_off_nor_written_if_read_only(root: Path, clock: Clock) -> None:
    (root / "memory-config.yaml").write_text("git:\n  auto_commit: false\n")
    with Engine.open(root, clock=clock) as engine:
        engine.repository.init()
        assert engine.probes.add(QUESTION, [Expectation(HOSTS)]).why == "git.auto_commit is off"
    with Engine.open(root, clock=clock, read_only=True) as engine, pytest.raises(ReadOnly):
        engine.probes.add("Another?", [Expectation(HOSTS)])


def test_evidence_that_does_not_exist_is_refused(engine: Engine, root: Path) -> None:
    for path, lines in (("knowledge/none.md", ""), (HOSTS, "90-99")):
        with pytest.raises(AutopoiesisError, match="correct it"):
            engine.probes.add(QUESTION, [Expectation(path, lines)])
    for question, expect in ((" ", [Expectation(text="x")]), ("q", [])):
        with pytest.raises(AutopoiesisError, match="needs a question and expected evidence"):
            engine.probes.add(question, expect)
    assert not (root / "probes.yaml").exists()


@each_case(
    ("entry", "problem"),
    [
        ("- just text", "is not a probe"),
        ("- {expect: {text: x}}", "has no question"),
        ("- {question: [a], expect: {text: x}}", "has no question"),
        ("- {question: q}", "expects nothing"),
        ("- {question: q, expect: [x]}", "neither a path nor a text"),
        ("- {question: q, expect: {path: a.md, text: x}}", "either a path"),
        ("- {question: q, expect: {path: a.md, lines: 9-1}}", "is not a range of lines"),
        ("- {question: q, expect: {path: ../../etc/passwd}}", "path: ../../etc/passwd"),
        ("- {question: q, expect: {text: x}, budget: 9}", "is not a number of at least 256 tokens"),
        ("- {question: q, expect: {text: x}, bugdet: 900}", "unknown field bugdet"),
        ("- {id: good, question: q, expect: {text: x}}", "has the same id good as line 1"),
        ("question: q", "is not a list of probes"),
    ],
)
def test_an_invalid_entry_is_a_problem_and_the_others_are_read(entry: str, problem: str) -> None:
    good = "- {id: good, question: fine, expect: {text: x}}\n" if entry.startswith("-") else ""
    found = parse(f"{good}{entry}\n".encode())
    assert [probe.id for probe in found.probes] == (["good"] if good else [])
    (only,) = found.problems
    assert problem in only.what and only.hint and only.line == (2 if good else 1)


def test_a_file_that_is_no_yaml_or_not_utf8_is_a_problem_and_not_edited(engine: Engine, root: Path) -> None:
    for data in (b"- {question: q\n", b"\xff\xfe"):
        (root / "probes.yaml").write_bytes(data)
        known = engine.probes.read()
        assert known.probes == () and len(known.problems) == 1
        with pytest.raises(DocumentError):
            engine.probes.add(QUESTION, [Expectation(HOSTS)])
        assert (root / "probes.yaml").read_bytes() == data


def test_what_a_person_types_is_a_file_or_a_text(root: Path) -> None:
    workspace = Workspace.open(root)
    assert typed(workspace, f"{HOSTS}:3-5") == Expectation(HOSTS, "3-5")
    assert typed(workspace, "path:notes of mine") == Expectation("notes of mine")
    assert typed(workspace, "text:a/b.md") == Expectation(text="a/b.md")
    assert typed(workspace, "port 8883") == Expectation(text="port 8883")


def test_lines_are_found_regardless_of_markup_and_named_with_section_and_rank(engine: Engine) -> None:
    found = only(engine, Expectation(ODILE, "8-9"), question="What does Odile want?")
    assert found.found and found.share == 1 and found.rank == 1 and found.why == ""
    assert found.section.startswith(f"knowledge:{ODILE}")
    assert only(engine, Expectation(text="the RAW   curves of vestrand"), question="Odile’s curves?").found


def test_missing_evidence_says_why(engine: Engine, root: Path) -> None:
    assert "search did not find it" in only(engine, Expectation(text="no such words")).why
    late = only(engine, Expectation(ODILE, "8-9"), question="What does she want?", budget=300)
    assert not late.found and "left out" in late.why
    engine.probes.add("Is it there?", [Expectation(HOSTS, "5")])
    (root / HOSTS).unlink()
    run = engine.probes.run(engine)
    assert run.results[-1].evidence[0].why == f"no readable file {HOSTS}"
    assert run.recall == 0 and not run.results[-1].passed


def test_the_message_itself_is_no_evidence(engine: Engine) -> None:
    assert not only(engine, Expectation(text="xyzzy plugh"), question="What is xyzzy plugh?").found


def test_current_probes_can_run_against_an_old_commit(engine: Engine, root: Path) -> None:
    repository = engine.repository
    repository.init()
    first = repository.commit(["memory-config.yaml", HOSTS], "then")
    (root / HOSTS).write_text((root / HOSTS).read_text().replace("8883", "8884"))
    repository.commit([HOSTS], "another port")
    engine.probes.add(QUESTION, [Expectation(text="port 8883"), Expectation(text="port 8884")])
    commit = engine.revisions.find(str(first))
    assert commit is not None
    with engine.revisions.opened(commit) as past:
        run = engine.probes.run(engine, past=past, budget=1024)
    assert [each.found for each in run.results[0].evidence] == [True, False]
    assert run.results[0].budget == 1024 and run.commit == first
    assert [each.found for each in engine.probes.run(engine).results[0].evidence] == [False, True]
