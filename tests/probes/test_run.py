"""A run reports for all evidence whether and where it is in the prompt, and otherwise why not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.context.compiled import Compiled, LeftOut, Section
from engine.engine import Engine
from engine.errors import AutopoiesisError, BudgetError
from engine.probes.model import Evidence, Expectation, Probe, Result, Run
from engine.probes.places import holds, missing
from engine.probes.probes import ProbedEngine, run
from engine.search.results import SearchResult
from engine.store.files import Files

HOSTS = "knowledge/reference/hosts.md"
BROKER = Expectation(HOSTS, "5-6")
CURVES = Expectation(text="raw curves of Vestrand")


@dataclass
class FakeEngine:
    """An engine whose prompt and search results a test sets."""

    files: Files
    sections: tuple[Section, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    results: tuple[SearchResult, ...] = ()
    asked: list[tuple[int | None, bool]] = field(default_factory=list)
    error: AutopoiesisError | None = None

    def compile(self, text: str, *, budget: int | None = None, ask: bool = True) -> Compiled:
        self.asked.append((budget, ask))
        if self.error is not None:
            raise self.error
        return Compiled(text, 100, budget or 8192, 0, self.sections, self.left_out, (), 0, (), (), 0)

    def search(self, query: str, *, limit: int = 10) -> tuple[SearchResult, ...]:
        return self.results[:limit]


def left(source: str = HOSTS, lines: str = "3-6", reason: str = "needs 40 tokens, 3 left") -> LeftOut:
    return LeftOut(f"knowledge:{source}", 3, "knowledge", source, lines, 40, 0.5, reason)


def result(path: str, first: int, last: int, text: str = "") -> SearchResult:
    return SearchResult(path, first, last, "reference", "", "", "", text, 0.5, 1, None, "index", "")


def evidence_for(engine: ProbedEngine, expectation: Expectation) -> Evidence:
    (found,) = run(engine, [Probe("p", "Which port?", (expectation,))])
    return found.evidence[0]


def test_a_real_engine_finds_existing_evidence(engine: Engine) -> None:
    probes = [
        Probe("broker", "Which port does the broker use?", (BROKER, Expectation(HOSTS))),
        Probe("odile", "What does Odile want?", (CURVES,)),
    ]
    broker, odile = run(engine, probes)
    assert broker.passed and odile.passed
    assert 0 < broker.tokens <= broker.budget == 8192
    lines = broker.evidence[0]
    assert lines.section.startswith(f"knowledge:{HOSTS}:") and lines.tokens > 5
    assert (lines.share, lines.rank, lines.why) == (1.0, 1, "")
    assert broker.evidence[1].share is None
    assert odile.evidence[0].rank == 1


def test_a_run_makes_no_gate_call_and_is_repeatable(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    original = engine.pipeline.process

    def process(message: object, *, record: bool, ask: bool) -> object:
        asked.append(ask or record)
        return original(message, record=record, ask=ask)  # type: ignore[arg-type]

    monkeypatch.setattr(engine.pipeline, "process", process)
    probes = [Probe("broker", "Which port does the broker use?", (BROKER, CURVES))]
    assert run(engine, probes) == run(engine, probes)
    assert asked == [False, False]


def test_a_probe_is_lost_when_its_file_is_deleted(engine: Engine, root: Path) -> None:
    engine.probes.add("Which port does the broker use?", [BROKER])
    engine.probes.add("What does Odile want?", [CURVES])
    first = engine.probes.run(engine)
    assert first.run.recall == 1 and first.comparison.at == "" and first.comparison.compared == 0
    (root / HOSTS).unlink()
    (root / "knowledge/people/odile.md").write_text("# Odile\n")
    second = engine.probes.run(engine)
    assert second.run.recall == 0
    why = [each.why for done in second.run.results for each in done.evidence]
    assert why == [
        f"no readable file {HOSTS}",
        "the text is nowhere in the workspace",
    ]
    assert {turned.expect for turned in second.comparison.lost} == {str(BROKER), str(CURVES)}
    assert second.comparison.compared == 2 and not second.comparison.gained


def test_missing_lines_are_reported(engine: Engine, root: Path) -> None:
    (root / HOSTS).write_text("# Hosts\n")
    assert evidence_for(engine, BROKER).why == f"{HOSTS} has only 1 lines"


def test_evidence_left_out_by_the_compiler_is_reported_with_the_reason(files: Files) -> None:
    fake = FakeEngine(
        files, left_out=(left(lines="8-10"), left()), results=(result("a.md", 1, 2), result(HOSTS, 3, 6))
    )
    found = evidence_for(fake, BROKER)
    assert found.why == f"{HOSTS}:3-6 was left out: needs 40 tokens, 3 left" and found.rank == 2
    text = evidence_for(fake, Expectation(text="port 8883"))
    assert text.why == f"{HOSTS}:3-6 was left out: needs 40 tokens, 3 left" and text.rank is None
    whole = evidence_for(FakeEngine(files, left_out=(left(lines=""),)), BROKER)
    assert whole.why == f"{HOSTS} was left out: needs 40 tokens, 3 left"


def test_evidence_not_found_or_ranked_too_low_is_reported(files: Files) -> None:
    assert evidence_for(FakeEngine(files), BROKER).why == "search did not find it: rank –"
    far = (*[result("a.md", 1, 2)] * 80, result(HOSTS, 6, 9))
    found = evidence_for(FakeEngine(files, results=far), BROKER)
    assert found.rank == 81 and "search ranks it 81, below the results" in found.why
    beyond = (*[result("a.md", 1, 2)] * 200, result(HOSTS, 6, 9))
    assert evidence_for(FakeEngine(files, results=beyond), BROKER).rank is None
    unsearched = LeftOut("knowledge", 3, "knowledge", "", "", 0, None, "not searched: 12 tokens left")
    found = evidence_for(FakeEngine(files, results=far, left_out=(unsearched,)), BROKER)
    assert (
        found.why == "search ranks it 81, but memory was left out of the prompt: not searched: 12 tokens left"
    )


def test_a_partial_match_below_the_threshold_is_reported(files: Files) -> None:
    part = Section(
        f"knowledge:{HOSTS}", 10, 3, "knowledge", HOSTS, "5-5", 7, None, "", "The broker listens on port"
    )
    found = evidence_for(FakeEngine(files, sections=(part,)), BROKER)
    assert found.why == "only 18% of its wording is in the prompt; 60% is needed"
    assert (found.section, found.tokens, found.found) == (f"knowledge:{HOSTS}:5-5", 7, False)


def test_a_budget_error_fails_the_probe_and_the_run_continues(files: Files) -> None:
    error = BudgetError("identity takes 900 tokens", where="context_compiler.token_budget", hint="raise it")
    probes = [Probe("a", "q", (BROKER,), 300), Probe("b", "r", (CURVES,))]
    found = run(FakeEngine(files, error=error), probes)
    assert [each.evidence[0].why for each in found] == [str(error)] * 2
    assert [each.budget for each in found] == [0, 0]
    assert Run.of("", "", found).budget_used == 0


def test_each_probe_uses_its_own_budget_unless_one_is_given(files: Files) -> None:
    probes = [Probe("a", "q", (BROKER,), 300), Probe("b", "r", (CURVES,))]
    fake = FakeEngine(files)
    progress: list[tuple[int, int]] = []
    run(fake, probes, progress=lambda done, total: progress.append((done, total)))
    run(fake, probes, budget=999)
    assert fake.asked == [(300, False), (None, False), (999, False), (999, False)]
    assert progress == [(0, 2), (1, 2), (2, 2)]


def test_the_summary_counts_evidence() -> None:
    evidence = (Evidence("a", True, rank=1), Evidence("b", False, rank=4), Evidence("c", False))
    done = Run.of("at", "c0", (Result("p", "q", 900, 1000, evidence), Result("r", "s", 300, 1000, ())))
    assert (done.expectations, done.found, done.ranked, done.mean_rank) == (3, 1, 2, 2.5)
    assert (
        done.recall == pytest.approx(1 / 3) and done.tokens == 600 and done.budget_used == pytest.approx(0.6)
    )
    empty = Run.of("at", "", ())
    assert (empty.recall, empty.mean_rank, empty.tokens) == (1.0, None, 0)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("knowledge/prompts/system.md", b"Say the MAGIC *word*."),
        (".library/custom/x/SKILL.md", b"the magic\r\nword"),
        ("conversations/a.jsonl", b'{"text": "the magic\\nword"}\n'),
        ("attachments/a.txt", b"\xff magic word"),
    ],
)
def test_a_text_is_searched_in_everything_that_can_be_in_a_prompt(
    files: Files, root: Path, path: str, data: bytes
) -> None:
    assert not holds(files, "magic word")
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)
    assert holds(files, "Magic word")


def test_logs_and_the_probes_file_are_not_evidence(files: Files, root: Path) -> None:
    for path in ("logs/a.md", "scratch/a.md", ".git/a.md", "probes.yaml"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("magic word")
    (root / "knowledge/loop.md").symlink_to("loop.md")
    (root / "knowledge/out.md").symlink_to("/etc/hostname")
    assert missing(files, Expectation(text="magic word")) == "the text is nowhere in the workspace"


def test_missing_files_and_lines_are_reported(files: Files) -> None:
    assert missing(files, BROKER) == ""
    assert missing(files, Expectation(HOSTS, "4")) == f"lines 4 of {HOSTS} contain no words"
    assert missing(files, Expectation(HOSTS, "9-11")) == f"{HOSTS} has only 10 lines"
    assert "no readable file" in missing(files, Expectation("knowledge"))
