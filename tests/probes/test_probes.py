"""Storing probes, recording runs, and comparing a run with earlier ones."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, DocumentError, ReadOnly, WriteFailed
from engine.probes.model import Evidence, Expectation, Result, Run
from engine.probes.places import typed
from engine.probes.probes import ProbeLog
from engine.store.faults import fail, trip
from engine.store.files import Files
from tests.probes.conftest import Clock

HOSTS = "knowledge/reference/hosts.md"
LOG = "logs/probes-2026-06.jsonl"
QUESTION = "Which port does the broker use?"


def test_a_probe_is_found_by_a_prefix_of_its_id(engine: Engine, root: Path) -> None:
    added = engine.probes.add(QUESTION, [Expectation(HOSTS, "5")], budget=4096, note=" remark ")
    assert added.odd == () and added.probe.note == "remark"
    (probe,) = engine.probes.read().probes
    assert probe == added.probe and engine.probes.find(probe.id[:2]) == probe
    assert engine.probes.remove(probe.id[:3]).probe == probe
    assert (root / "probes.yaml").read_bytes() == b""
    with pytest.raises(AutopoiesisError, match="no probe"):
        engine.probes.find(probe.id)


def test_each_change_of_the_file_is_its_own_commit(engine: Engine, root: Path) -> None:
    assert "is not a git repository" in engine.probes.add("Before?", [Expectation(HOSTS)]).why
    repository = engine.repository
    repository.init()
    assert repository.commit(["probes.yaml", HOSTS], "all there is")
    (root / HOSTS).write_text((root / HOSTS).read_text() + "A person's own, not yet committed.\n")
    added = engine.probes.add(QUESTION, [Expectation(HOSTS, "5")])
    (commit,) = repository.log(1)
    assert (added.commit, added.why) == (commit.revision, "")
    assert commit.subject.startswith(f"maintenance: probe add {added.probe.id}: ")
    assert repository.show("HEAD", "probes.yaml") == (root / "probes.yaml").read_bytes()
    assert b"own" not in repository.show("HEAD", HOSTS)
    long = engine.probes.add("And\n" + "why " * 40 + "?", [Expectation(HOSTS)])
    (commit,) = repository.log(1)
    assert commit.subject.endswith("…") and len(commit.subject) < 90 and commit.body == ""
    removed = engine.probes.remove(long.probe.id)
    assert repository.log(1)[0].revision == removed.commit
    assert repository.log(1)[0].subject.startswith(f"maintenance: probe remove {long.probe.id}: And why")


def test_nothing_is_committed_with_auto_commit_off(root: Path, clock: Clock) -> None:
    (root / "memory-config.yaml").write_text("git:\n  auto_commit: false\n")
    with Engine.open(root, clock=clock) as engine:
        engine.repository.init()
        added = engine.probes.add(QUESTION, [Expectation(HOSTS)])
        assert (added.commit, added.why) == ("", "git.auto_commit is off")
        assert engine.repository.log(1) == []


def test_current_probes_can_run_against_an_old_commit(engine: Engine, root: Path) -> None:
    repository = engine.repository
    repository.init()
    first = repository.commit(["memory-config.yaml", HOSTS], "then")
    (root / HOSTS).write_text((root / HOSTS).read_text().replace("8883", "8884"))
    repository.commit([HOSTS], "another port")
    probe = engine.probes.add(QUESTION, [Expectation(text="port 8883"), Expectation(text="port 8884")]).probe
    engine.probes.run(engine)
    log = (root / LOG).read_bytes()
    commit = engine.revisions.find(str(first))
    assert commit is not None
    with engine.revisions.opened(commit) as past:
        report = engine.probes.recall(past, [probe.id[:4]], budget=1024)
    (result,) = report.run.results
    assert [each.found for each in result.evidence] == [True, False]
    assert result.evidence[1].why == "the text is nowhere in the workspace", "it refers to the old workspace"
    assert result.budget == 1024 and report.run.commit == first
    assert report.comparison.at == "" and (root / LOG).read_bytes() == log, (
        "the run is not recorded in the log"
    )
    assert [each.found for each in engine.probes.run(engine).run.results[0].evidence] == [False, True]


def test_an_ambiguous_id_prefix_is_refused(engine: Engine, root: Path) -> None:
    entry = "- {{id: {0}, question: {0}, expect: {{text: x}}}}\n"
    (root / "probes.yaml").write_text("".join(map(entry.format, ("one", "once", "on"))))
    with pytest.raises(AutopoiesisError, match="3 probes match o; give more of the id"):
        engine.probes.find("o")
    assert engine.probes.find("on").id == "on" and engine.probes.find("one").id == "one"
    with pytest.raises(AutopoiesisError, match="no probe"):
        engine.probes.find("")


def test_missing_evidence_is_refused_unless_forced(engine: Engine, root: Path) -> None:
    for path, lines in (("knowledge/none.md", ""), (HOSTS, "90-99"), (HOSTS, "4")):
        with pytest.raises(AutopoiesisError, match=r"add --force"):
            engine.probes.add(QUESTION, [Expectation(path, lines)])
    assert not (root / "probes.yaml").exists()
    added = engine.probes.add(
        QUESTION, [Expectation("knowledge/none.md"), Expectation(text="nowhere")], force=True
    )
    assert added.odd == (
        "no readable file knowledge/none.md",
        "the text is nowhere in the workspace",
    )
    engine.probes.add("Another?", [Expectation(text="nowhere")])


@pytest.mark.parametrize(
    ("question", "expect", "budget", "message"),
    [
        (" ", [Expectation(text="x")], None, "needs a question"),
        ("q", [], None, "needs expected evidence"),
        ("q", [Expectation(text="x")], 12, "12 is not a valid budget"),
    ],
)
def test_an_invalid_probe_is_refused(
    engine: Engine, question: str, expect: list[Expectation], budget: int | None, message: str
) -> None:
    with pytest.raises(AutopoiesisError, match=message):
        engine.probes.add(question, expect, budget=budget)


def test_a_duplicate_question_is_refused(engine: Engine) -> None:
    engine.probes.add(QUESTION, [Expectation(HOSTS)])
    with pytest.raises(AutopoiesisError, match=r"probes\.yaml:1: already has this question, as [0-9a-f]{6}"):
        engine.probes.add(f" {QUESTION} ", [Expectation(text="x")])
    # A question that differs only in case is another question and must get another id.
    other = engine.probes.add(QUESTION.upper(), [Expectation(HOSTS)]).probe
    assert len(other.id) == 7 and len(engine.probes.read().probes) == 2


def test_valid_entries_of_a_broken_file_run_but_it_is_not_edited(engine: Engine, root: Path) -> None:
    data = f"- {{question: {QUESTION}, expect: {{path: {HOSTS}}}}}\n- question: 'open\n"
    (root / "probes.yaml").write_text(data)
    done = engine.probes.run(engine)
    assert done.run.recall == 1 and done.run.expectations == 1
    assert [problem.line for problem in done.problems if problem.severity == "error"] != []
    with pytest.raises(DocumentError, match=r"probes\.yaml:\d: is not valid YAML"):
        engine.probes.add("More?", [Expectation(HOSTS)])
    with pytest.raises(DocumentError):
        engine.probes.remove(done.run.results[0].id)
    assert (root / "probes.yaml").read_text() == data


def test_a_run_is_recorded_with_its_commit(engine: Engine, root: Path) -> None:
    engine.probes.add(QUESTION, [Expectation(HOSTS, "5-6"), Expectation(text="nowhere")])
    assert engine.probes.run(engine, record=False).run.commit == ""
    assert not (root / LOG).exists()
    for command in (("init", "-q"), ("add", "probes.yaml"), ("commit", "-qm", "probes")):
        subprocess.run(["git", *command], cwd=root, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
    done = engine.probes.run(engine)
    record = json.loads((root / LOG).read_text())
    assert done.run.commit == record["commit"] == head.stdout.strip()
    assert (record["at"], record["recall"], record["asked"]) == ("2026-06-12T09:30:00+00:00", 0.5, None)
    assert [each["found"] for each in record["results"][0]["evidence"]] == [True, False]
    assert "question" not in record["results"][0]
    (earlier,) = engine.probes.latest(engine.probes.read().probes).values()
    assert earlier.found == {f"{HOSTS}:5-6": True, "“nowhere”": False} and earlier.commit == record["commit"]


def test_gained_and_lost_evidence_is_reported_once(engine: Engine, root: Path, clock: Clock) -> None:
    engine.probes.add(QUESTION, [Expectation(text="port 8883"), Expectation(text="port 8884")])
    engine.probes.run(engine)
    hosts = (root / HOSTS).read_text()
    (root / HOSTS).write_text(hosts.replace("8883", "8884"))
    clock.now = datetime(2026, 7, 1, tzinfo=UTC)
    done = engine.probes.run(engine)
    assert [turned.expect for turned in done.comparison.lost] == ["“port 8883”"]
    assert [turned.expect for turned in done.comparison.gained] == ["“port 8884”"]
    assert done.comparison.at == "2026-06-12T09:30:00+00:00"
    assert (root / "logs/probes-2026-07.jsonl").exists()
    again = engine.probes.run(engine).comparison
    assert (again.lost, again.gained, again.compared) == ((), (), 2)
    assert again.at == "2026-07-01T00:00:00+00:00"


def test_runs_are_compared_only_with_the_same_budget(engine: Engine) -> None:
    engine.probes.add(QUESTION, [Expectation(HOSTS, "5-6")])
    engine.probes.run(engine)
    tight = engine.probes.run(engine, budget=256)
    assert tight.run.results[0].budget in (0, 256) and tight.comparison.compared == 0
    assert engine.probes.run(engine, budget=256).comparison.compared == 1
    assert engine.probes.run(engine).comparison.lost == ()


def test_each_probe_is_compared_with_its_own_last_run(engine: Engine) -> None:
    first = engine.probes.add(QUESTION, [Expectation(HOSTS)]).probe
    second = engine.probes.add("What does Odile want?", [Expectation(text="raw curves")]).probe
    engine.probes.run(engine, [first.id])
    assert engine.probes.run(engine, [second.id, second.id]).comparison.compared == 0
    assert engine.probes.run(engine).comparison.compared == 2


def run_of(at: str, found: bool, name: str = "p") -> Run:
    return Run.of(at, "", (Result(name, "q", 1, 2, (Evidence("a.md", found),)),))


def test_damaged_lines_of_the_log_are_skipped(files: Files, root: Path, clock: Clock) -> None:
    log = ProbeLog(files, clock)
    log.record(run_of("2026-06-01T00:00:00+00:00", True), None)
    with (root / LOG).open("ab") as file:
        for line in (
            b"\xff\n",
            b"[]\n",
            b"{}\n",
            b'{"at":1,"commit":"","asked":null,"results":[]}\n',
            b'{"at":"x","commit":"","asked":null,"results":[{"id":[]}]}\n',
            b'{"at":"x","commit":"","asked":null,"results":[{"id":7,"budget":1,"tokens":1,"evidence":[]}]}\n',
            b'{"at":"2026-06-02","commit":"","asked":null,"results":[{"id":"p","budget":"1","tok',
        ):
            file.write(line)
    compared = log.compare(run_of("2026-06-03", False), None)
    assert compared.at == "2026-06-01T00:00:00+00:00" and len(compared.lost) == 1
    log.record(run_of("2026-06-03T00:00:00+00:00", False), None)
    assert log.latest(["p", "none"])["p"].at == "2026-06-03T00:00:00+00:00"
    assert (root / LOG).read_bytes().count(b"\n") == 8 + 1


def test_a_clock_that_is_set_back_does_not_damage_the_log(files: Files, clock: Clock) -> None:
    log = ProbeLog(files, clock)
    log.record(run_of("2026-06-12", True), None)
    clock.now = datetime(2026, 5, 1, tzinfo=UTC)
    log.record(run_of("2026-05-01", False, "q"), None)
    assert {name: each.at for name, each in log.latest(["p", "q"]).items()} == {
        "p": "2026-06-12",
        "q": "2026-05-01",
    }


def test_a_full_disk_is_reported_and_a_read_only_run_is_not_recorded(engine: Engine, root: Path) -> None:
    engine.probes.add(QUESTION, [Expectation(HOSTS)])
    engine.refresh_index()
    with trip("create:link", fail(28)), pytest.raises(WriteFailed, match=r"logs/probes-2026-06\.jsonl"):
        engine.probes.run(engine)
    with Engine.open(root, read_only=True) as other:
        assert other.probes.run(other).run.expectations == 1
        with pytest.raises(ReadOnly):
            other.probes.add("q", [Expectation(HOSTS)])
    assert not (root / LOG).exists()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (HOSTS, Expectation(HOSTS)),
        (f"{HOSTS}:5-6", Expectation(HOSTS, "5-6")),
        (f"./{HOSTS}:5", Expectation(HOSTS, "5")),
        ("knowledge/none.md", Expectation("knowledge/none.md")),
        ("none.txt:3", Expectation("none.txt", "3")),
        ("port 8883", Expectation(text="port 8883")),
        ("at 12:30", Expectation(text="at 12:30")),
        ("Vestrand", Expectation(text="Vestrand")),
        ("8883", Expectation(text="8883")),
        ("text:knowledge/none.md", Expectation(text="knowledge/none.md")),
        ("text: and/or", Expectation(text="and/or")),
        ("path:LICENSE", Expectation("LICENSE")),
        ("path:LICENSE:3", Expectation("LICENSE", "3")),
        ("knowledge/with space.md:2", Expectation("knowledge/with space.md", "2")),
        ("knowledge/odd:7", Expectation("knowledge/odd:7")),
    ],
)
def test_typed_expectations_are_parsed(files: Files, root: Path, text: str, meant: Expectation) -> None:
    (root / "knowledge/with space.md").write_text("a\nb\n")
    (root / "knowledge/odd:7").write_text("a\n")
    assert typed(files.workspace, text) == meant


@pytest.mark.parametrize("text", ["", "text: ", "path:", f"{HOSTS}:9-3", "../a.md", "knowledge/a.md:0"])
def test_an_invalid_expectation_is_refused(files: Files, text: str) -> None:
    with pytest.raises(DocumentError):
        typed(files.workspace, text)
