"""``trace`` and ``compile`` on the sample workspace."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.activation.trace import Message, Span, TriggerHit
from engine.context.tokens import count
from tests.cli.conftest import Command
from tests.tui.probability_data import probability_row, probability_trace
from tui.cli.activation import print_trace
from tui.cli.base import emit_json
from tui.render.draw import FILL, TICK

MESSAGE = "Can you review the PR that just came in?"


def test_trace_names_the_topic_the_tiers_and_the_reason(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "trace", MESSAGE, "--json")
    assert ran.code == 0
    trace = ran.json
    assert "github-pr-review" in trace["active"]
    row = next(row for row in trace["rows"] if row["topic"] == "github-pr-review")
    assert row["verdict"] == "active"
    assert {hit["matched"].lower() for hit in row["hits"]} >= {"review", "pr"}
    for hit in row["hits"]:
        if hit["start"] >= 0:
            assert MESSAGE[hit["start"] : hit["end"]] == hit["matched"]
    assert row["score"] and row["rule"] and row["why"]
    assert trace["funnel"]["topics"] == len(trace["rows"])


def test_an_unrelated_message_activates_no_topic(apo: Command, sample: Path) -> None:
    trace = apo("-C", sample, "trace", "Thanks, have a nice evening.", "--json").json
    assert trace["active"] == []


def test_the_workspace_can_follow_the_command_or_be_an_environment_variable(
    apo: Command, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = apo("trace", MESSAGE, "-C", sample, "--json").json["active"]
    monkeypatch.setenv("AUTOPOIESIS_HOME", str(sample))
    assert apo("trace", MESSAGE, "--json").json["active"] == after


def test_trace_prints_a_table(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "trace", MESSAGE)
    assert "● " in ran.out and "github-pr-review" in ran.out and "active" in ran.out


@pytest.fixture
def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> pytest.CaptureFixture[str]:
    """Standard output of 100 columns that is not a terminal."""
    monkeypatch.setenv("COLUMNS", "100")
    return capsys


def test_the_score_column_names_the_kind_of_score(printed: pytest.CaptureFixture[str]) -> None:
    print_trace(probability_trace())
    out = printed.readouterr().out
    assert re.search(r"tier 1 +p +rule", out) and "4 likely or triggered" in out
    print_trace(replace(probability_trace(), deciding="tfidf"))
    out = printed.readouterr().out
    assert re.search(r"tier 1 +cos +rule", out) and "4 similar or triggered" in out


def test_the_table_has_one_line_per_topic(printed: pytest.CaptureFixture[str]) -> None:
    print_trace(probability_trace())
    out = printed.readouterr().out
    assert len(out.splitlines()) == 2 + 1 + 12 + 2
    assert "log-odds" not in out


def test_explain_shows_the_contributions_to_a_score(printed: pytest.CaptureFixture[str]) -> None:
    print_trace(probability_trace(), explained=True)
    out = printed.readouterr().out
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("● github-pr-review active"))
    block = "\n".join(lines[at : lines.index("", at)])
    assert "from trigger +2.4, vectors +1.9" in " ".join(block.split())
    assert "without the match it would score about .48: the gate would be asked" in " ".join(block.split())
    assert "Can you [review] the [PR] that just ‹came› in? It ‹changes› how" in block
    (gauge,) = [line for line in block.splitlines() if line.strip().startswith("p ")]
    assert gauge.count(TICK) == 2 and gauge.endswith(" .91")
    assert re.search(r"dropped +\.20 asked +\.55 active", block)
    assert re.search(rf"trigger +\+2\.41 +{TICK}{FILL}+$", block, re.MULTILINE)
    assert re.search(rf"message +−\.62 +{FILL}+{TICK}$", block, re.MULTILINE)
    assert "pattern “review” at 8–14 · keywords “PR” at 19–21" in block
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in out and "[matched by a trigger], ‹word in favour of the topic›" in out
    assert "5 of 41 topics explained" in out
    assert lines[-1] == "2 of 41 topics active: github-pr-review, billing"


def test_explain_with_all_rows_explains_every_topic(printed: pytest.CaptureFixture[str]) -> None:
    trace = probability_trace()
    print_trace(trace, rows=len(trace.rows), explained=True)
    out = printed.readouterr().out
    assert len(re.findall(r"^[●○✗] \S+ (active|dropped|rejected)", out, re.MULTILINE)) == len(trace.rows)
    assert "topics explained" not in out


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_marks_are_styles_on_a_terminal(monkeypatch: pytest.MonkeyPatch, no_colour: str) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_colour)
    print_trace(probability_trace(), explained=True)
    out = screen.getvalue()
    styles = {
        (code, text)
        for codes, text in re.findall(r"\x1b\[([\d;]+)m(review|came)\x1b\[0m", out)
        for code in codes.split(";")
    }
    assert {("4", "review"), ("3", "came")} <= styles and ("4", "came") not in styles
    assert "[review]" not in out and "underlined: matched by a trigger" in out
    assert bool(re.search(r"\x1b\[[\d;]*3[1-7]m", out)) is not bool(no_colour)


def test_terminal_sequences_in_explanations_are_escaped(printed: pytest.CaptureFixture[str]) -> None:
    text = "\x1b[2Jreview\x07 \u202e[red]x[/red]\ud800"
    bad = probability_row("deploy", 0.9, {text: 1.0}, hits=("review",), words={"[red]x": 1.0}, text=text)
    bad = replace(bad, why=text, flip=text, rule=text, hits=(*bad.hits, TriggerHit(1, text, text, -1, 900)))
    bad = replace(bad, words=(*bad.words, Span(-3, 900, 0.5)))
    print_trace(replace(probability_trace(), message=Message(text), rows=(bad,)), explained=True)
    out = printed.readouterr().out
    assert "[review]" in out and "[red]x" in out
    assert not set("\x1b\x07\u202e\ud800") & set(out)


def test_explain_works_on_the_sample(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "trace", MESSAGE, "--explain")
    assert ran.code == 0
    assert "● github-pr-review active" in ran.out and "[review]" in ran.out and "[PR]" in ran.out
    assert apo("-C", sample, "trace", "", "--explain").code == 0


def test_json_contains_the_explanation(apo: Command, sample: Path) -> None:
    tree = apo("-C", sample, "trace", MESSAGE, "--explain", "--json").json
    assert tree["deciding"] in ("probability", "tfidf")
    row = next(row for row in tree["rows"] if row["topic"] == "github-pr-review")
    assert {"score", "contributions", "words", "gate_at", "activate_at", "why", "flip"} <= row.keys()
    marked = [MESSAGE[span["start"] : span["end"]] for span in row["words"]]
    assert "review" in marked and max(span["weight"] for span in row["words"]) == 1


def test_json_of_a_probability_contains_the_contributions(printed: pytest.CaptureFixture[str]) -> None:
    emit_json(probability_trace())
    first = json.loads(printed.readouterr().out)["rows"][0]
    assert first["contributions"][0] == {"signal": "trigger", "weight": 2.41}
    assert first["words"][0] == {"start": 8, "end": 14, "weight": 1.0}


@pytest.mark.parametrize("budget", [2048, 8192, 32768])
def test_the_prompt_stays_within_its_budget(apo: Command, sample: Path, budget: int) -> None:
    compiled = apo("-C", sample, "compile", MESSAGE, "--budget", str(budget), "--json").json
    assert compiled["tokens"] == count(compiled["text"])
    assert compiled["tokens"] <= budget
    assert compiled["text"].rstrip().endswith(MESSAGE)
    layers = [section["layer"] for section in compiled["sections"]]
    assert layers == sorted(layers)
    for section in compiled["sections"]:
        # The tokens of a search result include the line above it.
        assert section["tokens"] >= count(section["text"])
        assert section["layer"] == 10 or section["tokens"] == count(section["text"])
        assert 0 <= section["priority"] <= 4
        assert section["label"] and section["why"]
        if section["source"] and section["layer"] != 11:
            assert (sample / section["source"]).exists()
    assert {section["label"] for section in compiled["sections"]} >= {
        f"identity:{name}.md" for name in ("SOUL", "USER", "AGENTS", "TOOLS")
    }
    assert 0 < compiled["stable_prefix_length"] < len(compiled["text"])
    assert isinstance(compiled["left_out"], list)


def test_a_small_budget_lists_what_it_leaves_out(apo: Command, sample: Path) -> None:
    compiled = apo("-C", sample, "compile", MESSAGE, "--budget", "2048", "--json").json
    assert compiled["left_out"]
    assert all(left["tokens"] > 0 and left["reason"] for left in compiled["left_out"])


def test_the_same_message_compiles_to_the_same_bytes(apo: Command, sample: Path) -> None:
    first = apo("-C", sample, "compile", MESSAGE, "--json").json
    second = apo("-C", sample, "compile", MESSAGE, "--json").json
    assert first["text"] == second["text"]


def test_another_message_keeps_the_stable_prefix(apo: Command, sample: Path) -> None:
    one = apo("-C", sample, "compile", MESSAGE, "--json").json
    other = apo("-C", sample, "compile", "When was the last backup restored?", "--json").json
    length = one["stable_prefix_length"]
    assert length == other["stable_prefix_length"]
    assert one["text"][:length] == other["text"][:length]


def test_a_budget_below_the_identity_files_is_refused_with_their_names(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "compile", MESSAGE, "--budget", "256")
    assert ran.code == 1
    assert "SOUL.md" in ran.err and "token_budget" in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_compile_reads_standard_input(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "compile", "-", stdin="What broke the ingest queue?")
    assert "What broke the ingest queue?" in ran.out


def test_explain_lists_sections_and_what_was_left_out(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "compile", MESSAGE, "--budget", "2048", "--explain")
    assert "knowledge/identity/SOUL.md" in ran.out and "left out" in ran.out


def test_a_prompt_in_a_pipe_has_no_characters_that_steer_a_terminal(apo: Command, sample: Path) -> None:
    path = sample / "knowledge/identity/USER.md"
    path.write_text(path.read_text() + "\n- Red \x1b[31m, csi \x9b31m, bidi \u202e, tag \U000e0041, a\ttab\n")
    out = apo("-C", sample, "compile", MESSAGE).out
    assert not set("\x1b\x9b\u202e\U000e0041") & set(out) and "a\ttab" in out
