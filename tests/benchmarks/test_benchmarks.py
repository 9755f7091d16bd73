"""The benchmarks measure what they claim and run on tiny data; no speed is asserted."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.activation.similarity import TfidfScorer
from engine.context import tokens
from engine.topics.model import Trigger
from engine.transcripts.format import parse
from tests.activation.support import pattern, topic
from tests.benchmarks import __main__ as program
from tests.benchmarks import activation, evaluations, peers, process, retrieval, worker
from tests.benchmarks.inputs import Words, append_lines, log_lines, topics, write_transcripts
from tests.benchmarks.retrieval import Doc
from tests.benchmarks.rows import HEADS, Disagreement, Row, agree, duration, table
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Timings, alternate, once
from tests.cases import each_case


class Clock:
    """A clock that only advances when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_actions_alternate_and_each_gets_its_own_times() -> None:
    clock = Clock()
    calls: list[tuple[str, int]] = []

    def take(name: str, number: int, seconds: float) -> None:
        calls.append((name, number))
        clock.now += seconds

    def before(number: int) -> None:
        take("before", number, 1000)

    one, two = alternate(
        [lambda number: take("a", number, 2.0 + number), lambda number: take("b", number, 0.5)],
        rounds=2,
        warm_up=1,
        before=before,
        clock=clock,
    )
    turns = [(name, number) for number in range(3) for name in ("before", "a", "b")]
    assert calls == turns
    assert one.seconds == (3.0, 4.0)
    assert two.seconds == (0.5, 0.5)


def test_a_single_run_returns_its_time_and_result() -> None:
    clock = Clock()

    def work() -> str:
        clock.now += 7.0
        return "done"

    assert once(work, clock=clock) == (Timings((7.0,)), "done")


@each_case(
    ("seconds", "p50", "p95"),
    [
        ([float(value) for value in range(100, 0, -1)], 50.5, 95.0),
        ([3.0, 1.0, 2.0], 2.0, 3.0),
        ([4.0], 4.0, 4.0),
        ([1.0] * 19 + [9.0], 1.0, 1.0),
        ([1.0] * 18 + [9.0, 9.0], 1.0, 9.0),
    ],
)
def test_median_and_95th_percentile_are_computed(seconds: list[float], p50: float, p95: float) -> None:
    assert (Timings(tuple(seconds)).p50, Timings(tuple(seconds)).p95) == (p50, p95)


def test_times_are_divided_by_the_number_of_items() -> None:
    assert Timings((10.0, 30.0)).per(10) == Timings((1.0, 3.0))


@each_case(
    ("seconds", "text"),
    [
        (4.56e-7, "0.46 µs"),
        (1.234e-5, "12.3 µs"),
        (9.9996e-4, "1.00 ms"),
        (0.0456, "45.6 ms"),
        (0.456, "456 ms"),
        (0.99996, "1.00 s"),
        (123.4, "123 s"),
    ],
)
def test_durations_have_three_figures_and_a_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_ratio_of_a_row_is_how_much_slower_the_product_is() -> None:
    row = Row("append", Timings((3e-3, 1e-3, 2e-3)), "write", Timings((1e-3,)), figures={"files_per_s": 7.0})
    assert row.ratio == pytest.approx(2.0)
    assert row.cells() == ("append", "2.00 ms", "3.00 ms", "write", "1.00 ms", "2×", "")
    tree = row.tree("store")
    assert tree["ours_p50_ms"] == pytest.approx(2.0)
    assert tree["ours_p95_ms"] == pytest.approx(3.0)
    assert tree["peer_p50_ms"] == pytest.approx(1.0)
    assert (tree["area"], tree["name"], tree["files_per_s"], tree["runs"]) == ("store", "append", 7.0, 3)


def test_a_row_without_a_peer_has_no_ratio() -> None:
    row = Row("alone", Timings((1.0,)))
    assert row.ratio is None
    assert row.cells() == ("alone", "1.00 s", "", "", "", "", "")


def test_the_columns_of_a_table_are_aligned() -> None:
    lines = table([("a", "1.00 ms", "", "peer", "2.00 ms", "0.5×", "note"), ("b", *[""] * 6)]).split("\n")
    assert len(lines) == 3
    assert lines[0].index(HEADS[1]) + len(HEADS[1]) == lines[1].index("1.00 ms") + len("1.00 ms")
    assert lines[2] == "b"


def test_sides_that_disagree_end_a_benchmark() -> None:
    agree(True, "nothing")
    with pytest.raises(Disagreement, match="they differ"):
        agree(False, "they differ")


def test_equal_seeds_give_equal_data(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        words = Words(7, 500)
        paths = write_transcripts(words, tmp_path / name, 2, 1000)
        made.append(
            (
                words.text(300),
                words.questions(3),
                topics(words, 2),
                paths,
                [(tmp_path / name / path).read_bytes() for path in paths],
            )
        )
    assert made[0] == made[1]
    assert Words(8, 500).text(300) != made[0][0]


def test_synthetic_transcripts_are_valid(tmp_path: Path) -> None:
    for path in write_transcripts(Words(7, 500), tmp_path, 3, 2000):
        data = (tmp_path / path).read_bytes()
        turns = parse(data, path).turns
        assert 2000 <= len(data) < 4000
        assert [turn.role for turn in turns] == ["user", "agent"] * (len(turns) // 2)
        assert all(turn.text for turn in turns)


def test_a_synthetic_log_continues_where_it_stopped(tmp_path: Path) -> None:
    lines = log_lines(Words(7, 500))
    log = tmp_path / "log.jsonl"
    first = append_lines(lines, log, 20_000)
    size = log.stat().st_size
    more = append_lines(lines, log, 5_000)
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert size >= 20_000
    assert log.stat().st_size >= size + 5_000
    assert len(records) == first + more
    assert [record["parentUuid"] for record in records[1:]] == [record["uuid"] for record in records[:-1]]


def test_the_pattern_loop_finds_topics_by_words_names_and_expressions() -> None:
    loop = peers.PatternLoop(
        [
            topic("review", triggers=(pattern(r"\breview(?:ed)?\b"),)),
            topic("deploy", triggers=(Trigger("keywords", words=("roll back", "deploy")),)),
            topic("silas", triggers=(Trigger("mention", words=("Silas",)),)),
            topic("quiet", triggers=()),
        ]
    )
    assert loop.match("Silas REVIEWED it, then they deployed") == {"review", "silas"}
    assert loop.match("please Roll back") == {"deploy"}


def test_the_word_table_finds_any_of_the_terms_and_replaces_rows(tmp_path: Path) -> None:
    words = peers.WordTable(tmp_path / "words.db")
    words.insert([("an apple", "", ""), ("a pear", "fruit", ""), ("a stone", "", "")])
    words.optimise()
    assert sorted(words.search(["apple", "fruit"])) == [(1, "an apple"), (2, "a pear")]
    words.put(1, ("a plum", "", ""))
    assert words.search(["apple", "plum"]) == [(1, "a plum")]
    words.close()


def test_the_bare_writes_work(tmp_path: Path) -> None:
    path = tmp_path / "file"
    peers.append(path, b"one\n")
    peers.append(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    peers.replace(path, b"three\n")
    assert path.read_bytes() == b"three\n"
    assert peers.stat_all(tmp_path) == 1


def test_the_bare_tokenizer_agrees_with_the_engine() -> None:
    text = "Größe, naïve café: 12,345 tokens — or so."
    assert peers.token_counter()(text) == tokens.count(text)


def test_a_worker_reports_time_memory_and_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    lines = append_lines(log_lines(Words(7, 500)), log, 5_000)
    worker.main(["parse", str(log), str(tmp_path)])
    report = json.loads(capsys.readouterr().out)
    assert report["result"] == lines
    assert report["peak_bytes"] > 1024 * 1024
    assert set(report) == {"seconds", "peak_bytes", "result"}


@pytest.mark.thorough
@pytest.mark.parametrize("area", [name for name in program.AREAS if name != "process"])
def test_every_area_runs(area: str, tmp_path: Path) -> None:
    rows = list(program.AREAS[area](Setting(tmp_path, quick=True)))
    assert rows
    assert len({(row.name, row.peer) for row in rows}) == len(rows)
    assert any(row.theirs is not None for row in rows)  # what only this program does has no peer


@pytest.mark.thorough
def test_whole_processes_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PEERS", ("pass",))
    rows = list(process.run(Setting(tmp_path, quick=True)))
    assert [(row.name, row.peer) for row in rows] == [
        ("trace TEXT", 'python -c "pass"'),
        ("compile TEXT", 'python -c "pass"'),
    ]


def test_the_program_prints_a_table_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.json"
    assert program.main(["--quick", "--only", "store", "--json", str(target)]) == 0
    tree = json.loads(target.read_text())
    assert {row["area"] for row in tree["rows"]} == {"store"}
    assert tree["evaluations"] == []
    assert tree["machine"]["cores"]
    shown = capsys.readouterr().out
    assert all(row["name"] in shown for row in tree["rows"])


def test_the_program_fails_if_the_two_sides_disagree(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def disagreeing(_setting: Setting) -> Iterator[Row]:
        yield Row("fine", Timings((1.0,)))
        raise Disagreement("one is not the other")

    monkeypatch.setitem(program.AREAS, "store", disagreeing)
    assert program.main(["--quick", "--only", "store"]) == 1
    assert "one is not the other" in capsys.readouterr().out


def test_evaluators_next_to_the_data_are_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    (data / "activation").mkdir(parents=True)
    assert list(evaluations.evaluations(data)) == []
    for name in ("banking77", "clinc150"):
        (data / "activation" / f"{name}.json").write_text("{}")
    (tmp_path / "bench").mkdir()
    script = "import os, sys; print('measured', os.environ['ACT_DATA'], *sys.argv[1:])"
    (tmp_path / "bench/bench_activation.py").write_text(script)
    (tmp_path / "bench/bench_retrieval.py").write_text(script)

    assert program.main(["--only", "activation", "retrieval", "--data", str(data)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("measured")]
    assert all(str(data / "activation") in line for line in lines)
    searched = [line for line in lines if str(data / "retrieval") in line]
    activated = [line for line in lines if line not in searched]
    assert [line.split()[3] for line in activated[:5]] == ["banking77", *["clinc150"] * 4]
    assert all("--split val --scorer tests.benchmarks.activation:make" in line for line in activated)
    assert [line.split()[5] for line in activated[:5]] == ["20", "20", "5", "0", "20"]
    adapters = [line.split()[2].removeprefix(f"{evaluations.RETRIEVERS}:") for line in searched]
    assert adapters[:2] == ["make", "make_fts5"]
    assert adapters[-4:] == ["compiler", "compiler", "compiler_checked", "compiler_checked"]
    assert all(hasattr(retrieval, adapter) for adapter in adapters)
    assert [line.split()[4] for line in searched[-4:]] == ["2048", "8192"] * 2


def test_a_failing_evaluator_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data/activation").mkdir(parents=True)
    (tmp_path / "data/activation/banking77.json").write_text("{}")
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/bench_activation.py").write_text("raise SystemExit(3)")
    target = tmp_path / "out.json"
    arguments = ["--only", "activation", "--data", str(tmp_path / "data"), "--json", str(target)]
    assert program.main(arguments) == 1
    failed = ["activation, banking77, 20 examples, make: exit code 3"]
    assert json.loads(target.read_text())["failed"] == failed
    assert set(failed) <= set(capsys.readouterr().out.splitlines())


def test_activation_scores_are_those_of_tier_2() -> None:
    profiles: dict[str, activation.Profile] = {
        "travel": {"name": "book a flight", "utterances": ["i need a plane ticket", "fly me to rome"]},
        "bank": {"name": "account balance", "utterances": ["how much money do i have"]},
    }
    messages = ["a ticket to rome", "what is my balance", "zzz"]
    for make in (activation.make, activation.make_spec):
        scores = make(profiles).score_batch(messages)
        assert scores.shape == (3, 2)
        assert [row.argmax() for row in scores[:2]] == [1, 0]
        assert scores[2].max() < scores[:2].max(axis=1).min()
    reference = TfidfScorer(
        [
            topic("bank", "account balance\nhow much money do i have"),
            topic("travel", "book a flight\ni need a plane ticket\nfly me to rome"),
        ]
    )
    expected = [list(reference.score(message).values()) for message in messages]
    assert scores.tolist() == expected


def _doc(number: int, session: str, date: str, speaker: str, body: str) -> Doc:
    return {
        "id": f"doc/{number}",
        "session": session,
        "pos": number,
        "date": date,
        "speaker": speaker,
        "body": body,
    }


LONG = "\n\n".join(
    f"Paragraph {number} speaks of gardens and of fences at length. " * 6 for number in range(9)
)
DOCS = [
    _doc(0, "one", "1:56 pm on 8 May, 2023", "Caroline", "I adopted a puppy named Biscuit."),
    _doc(1, "one", "1:56 pm on 8 May, 2023", "Melanie", f"## 09:00 — user\n{LONG}\n\nThe heron was there."),
    _doc(2, "one", "1:56 pm on 8 May, 2023", "Caroline", "My telescope arrives on Thursday."),
    _doc(3, "two", "March-15-2024", "user", "Which database did we choose for the invoices?"),
    _doc(4, "two", "March-15-2024", "assistant", "PostgreSQL, because of its transactions."),
]


@each_case(
    ("query", "doc"),
    [
        ("puppy Biscuit", "doc/0"),
        ("Where was the heron?", "doc/1"),
        ("telescope", "doc/2"),
        ("PostgreSQL transactions", "doc/4"),
        ("March 2024 invoices", "doc/3"),
    ],
)
def test_search_returns_the_ids_of_turns(query: str, doc: str) -> None:
    found = retrieval.make(DOCS)(query, 10)
    assert found[0] == doc
    assert len(set(found)) == len(found)
    assert set(found) <= {doc["id"] for doc in DOCS}


def test_a_turn_of_many_chunks_is_returned_once() -> None:
    assert retrieval.make(DOCS)("gardens fences paragraph", 50).count("doc/1") == 1


def test_the_other_search_adapter_finds_turns() -> None:
    assert retrieval.make_fts5(DOCS)("telescope", 10)[0] == "doc/2"


def test_sessions_become_dated_transcripts() -> None:
    memory = retrieval.Memory(DOCS)
    found = [
        (result.path, result.heading, result.date) for result in memory.engine.search("telescope", limit=1)
    ]
    assert found == [("raw/conversations/2023/05/08/1356-ses_00000.md", "13:57 — user", "2023-05-08")]
    assert memory.engine.search("telescope", limit=1)[0].text == "Caroline: My telescope arrives on Thursday."


def test_a_compiled_prompt_contains_the_evidence_within_its_budget() -> None:
    text = retrieval.compiler(DOCS)("When does my telescope arrive?", 2048)
    assert "My telescope arrives on Thursday." in text
    assert tokens.count(text) <= 2048


def test_a_memory_deletes_its_folder() -> None:
    memory = retrieval.Memory(DOCS)
    root = memory.engine.workspace.root
    assert root.is_dir()
    del memory
    gc.collect()
    assert not root.exists()


@each_case(
    ("date", "moment"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:05 am on 17 December, 2022", datetime(2022, 12, 17, 0, 5, tzinfo=UTC)),
        ("March-05-2024", datetime(2024, 3, 5, tzinfo=UTC)),
        ("2024-03-05", datetime(2024, 3, 5, tzinfo=UTC)),
        ("some day", datetime(2000, 1, 1, tzinfo=UTC)),
    ],
)
def test_dates_are_parsed_as_people_write_them(date: str, moment: datetime) -> None:
    assert retrieval.moment(date) == moment
