"""The activation panel: hits, scores, gate answers and counterfactuals."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest

from engine.activation.trace import (
    Contribution,
    GateAnswer,
    GateOutcome,
    Message,
    Span,
    TopicTrace,
    Trace,
    TriggerHit,
    Verdict,
)
from engine.events import FileChanged
from engine.live.feed import FeedEntry
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import (
    NOW,
    QUIET_TOPICS,
    REVIEW,
    FakeEngine,
    mail_trace,
    review_compiled,
    review_trace,
    row,
)
from tests.tui.probability_data import TEXT, probability_row, probability_trace
from tui.cli.activation import trace_lines
from tui.render.activation import draw_activation
from tui.render.draw import FILL, TICK
from tui.render.explain import Form, detail, explain
from tui.render.message import (
    Marks,
    message_block,
    message_rows,
    word_texts,
)
from tui.render.roles import PLAIN
from tui.render.shown import Shown
from tui.render.table import SIGNS, Table, tabulate

FORMS: tuple[Form, ...] = ("full", "close", "brief", "briefest")


def shown_message(trace: Trace) -> Shown:
    """A message from the feed with its trace."""
    entry = FeedEntry(NOW, "user", trace.message.text, "", "a#0")
    return Shown("feed", trace.message.text, entry, trace, review_compiled())


def panel_text(trace: Trace, width: int = 90, height: int = 30, **table: object) -> str:
    """The panel as text."""
    panel = draw_activation(shown_message(trace), tabulate(trace, **table), 0, width, height, PLAIN)  # type: ignore[arg-type]
    return "\n".join(line.text for line in panel.lines)


def row_of(trace: Trace, topic: str) -> TopicTrace:
    """The row of an existing topic."""
    found = trace.row(topic)
    assert found is not None
    return found


def explanation(trace: Trace, topic: str, form: Form = "brief", width: int = 90) -> str:
    """The explanation of a topic as text."""
    lines = explain(shown_message(trace), row_of(trace, topic), width, PLAIN, form)
    return "\n".join(line.text for line in lines)


def line_with(text: str, words: str) -> str:
    """The first line that starts with a label or a signal's name."""
    return next(line for line in text.splitlines() if line.strip().startswith(words))


def test_a_long_message_is_shown_around_its_hits() -> None:
    text = "word " * 400 + "please review this" + " tail" * 400
    start = text.index("review")
    hit = TriggerHit(0, "pattern", "review", start, start + 6)
    trace = replace(review_trace(), message=Message(text), rows=(row("deploy", hits=(hit,)),))
    rows = message_rows(shown_message(trace), tabulate(trace), 80, 1, PLAIN)
    assert len(rows) == 1
    assert "please review this" in rows[0].text
    assert rows[0].text.startswith("…")


def test_hits_outside_the_text_are_harmless() -> None:
    hits = (TriggerHit(0, "glob", "src/app.py"), TriggerHit(1, "pattern", "x", 500, 900))
    trace = replace(review_trace(), rows=(row("deploy", hits=hits),))
    assert "✓ src/app.py, x" in panel_text(trace, width=120)
    assert REVIEW in panel_text(trace, width=120)


def test_folded_rows_with_other_verdicts_are_not_called_below_threshold() -> None:
    quiet = review_trace().rows[-1]
    trace = replace(review_trace(), rows=(*review_trace().rows[:3], replace(quiet, verdict="off")))
    assert "1 more that are not active" in panel_text(trace)


def test_small_scores_get_their_own_scale() -> None:
    rows = (row("deploy", score=0.11, activate_at=0.2, gate_at=0.05, hits=(TriggerHit(0, "url", "x"),)),)
    assert "tier 2  cos 0–.25" in panel_text(replace(review_trace(), rows=rows))
    assert "tier 2  cos 0–1" in panel_text(review_trace())


def test_probabilities_keep_their_scale_and_are_labelled() -> None:
    rows = (row("deploy", score=0.01, activate_at=0.2, gate_at=0.05),)
    assert "tier 2  p 0–1" in panel_text(replace(probability_trace(), rows=rows))
    assert "p 0–1" in panel_text(probability_trace(), width=48)
    assert "cos" not in panel_text(probability_trace())


def test_the_explanation_has_every_tier_the_rule_and_the_flip() -> None:
    text = explanation(review_trace(), "github-pr-review")
    assert "github-pr-review active: two triggers hit" in text
    assert "below .34 it would have been dropped" in text
    assert "pattern “review” at 8–14 · keywords “PR” at 19–21" in text
    assert ".81" in text
    assert "high ≥.62" in text and "gate from .34" in text
    assert "topics/github-pr-review.md 198 tok" in text
    assert "knowledge/procedures/code-review.md 402 tok" in text


def test_the_verdict_is_shown_only_once() -> None:
    trace = replace(review_trace(), rows=(row("deploy", verdict="active", why="active without the gate: x"),))
    assert explanation(trace, "deploy").startswith("deploy active without the gate: x")


ANSWERED: dict[GateAnswer, str] = {"yes": "YES", "no": "no", "offered": "offer", "failed": "fail"}


@pytest.mark.parametrize("answer", get_args(GateAnswer))
@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_every_verdict_is_drawn_with_every_answer_of_the_gate(verdict: Verdict, answer: GateAnswer) -> None:
    asked = row("deploy", verdict=verdict, why="see above", gate=GateOutcome(answer, "agent"))
    trace = replace(review_trace(), rows=(asked, *review_trace().rows[1:]))
    for form in FORMS:
        assert ANSWERED[answer] in line_with(explanation(trace, "deploy", form), "gate")
    for width in (40, 60, 90, 120):
        text = panel_text(trace, width=width)
        assert SIGNS[verdict] in text
        assert width < 60 or ANSWERED[answer] in line_with(text.replace("▌", ""), f"{SIGNS[verdict]} deploy")
    assert ["●" if verdict == "active" else "◐" if verdict == "offered" else "○", "deploy"] == trace_lines(
        trace
    )[0][:2]


def test_offers_are_counted_after_what_is_active() -> None:
    offered = row("deploy", verdict="offered", gate=GateOutcome("offered", "agent"))
    trace = replace(review_trace(), rows=(offered, *review_trace().rows[1:]))
    assert "2 active ▸ 1 offered" in panel_text(trace, width=110)
    assert "offered" not in panel_text(review_trace(), width=110)


def test_the_gate_answer_is_quoted_with_its_cost() -> None:
    text = explanation(review_trace(), "code-style")
    assert "YES .91 · anthropic claude-haiku-4-5 · 208 ms · $0.0002 · a review touches style" in text
    assert "remembered" in explanation(mail_trace("e-mails", NOW), "release-notes")
    assert "no answer within 4 s" in explanation(mail_trace("e-mails", NOW), "deploy")


def test_a_rule_that_never_asks_or_never_activates_says_so() -> None:
    never = replace(review_trace(), rows=(row("deploy", gate_at=None, activate_at=None),))
    assert "gate never asked · active only through the gate" in " ".join(explanation(never, "deploy").split())
    text = explanation(never, "deploy", "full")
    assert TICK not in text and "gate never asked · active only through the gate" in " ".join(text.split())
    assert line_with(text, "dropped").split() == ["dropped"]


def test_an_unreachable_gate_is_not_on_the_scale() -> None:
    closed = replace(review_trace(), rows=(row("deploy", gate_at=0.7, activate_at=0.5),))
    assert line_with(explanation(closed, "deploy", "full"), "dropped").split() == ["dropped", ".50", "active"]


@pytest.mark.parametrize("width", [30, 44, 60, 90])
@pytest.mark.parametrize(
    ("gate_at", "activate_at"), [(0.0, 0.3), (0.29, 0.31), (0.0, 0.0), (0.99, 1.0), (None, 0.5), (0.5, None)]
)
def test_names_on_the_scale_do_not_overlap(
    gate_at: float | None, activate_at: float | None, width: int
) -> None:
    found = row("deploy", gate_at=gate_at, activate_at=activate_at, score=0.3)
    trace = replace(probability_trace(), rows=(found,))
    lines = explain(shown_message(trace), found, width, PLAIN, "full")
    at = next(number for number, line in enumerate(lines) if line.text.startswith("p "))
    known = {"dropped", "asked", "active", ".00", ".30", ".29", ".31", ".99", "1.00", ".50"}
    assert set(lines[at + 1].text.split()) <= known
    assert lines[at + 1].cells <= width


WEIGHTS = {"trigger": "+2.41", "vectors": "+1.93", "words": "+1.20", "message": "−.62", "bm25": "+.31"}


def test_contributions_are_bars_on_both_sides_of_an_axis() -> None:
    text = explanation(probability_trace(), "github-pr-review", "full").partition("log-odds")[2]
    lines = {name: line_with(text, name) for name in WEIGHTS}
    assert [name for name, weight in WEIGHTS.items() if f" {weight} " not in lines[name]] == []
    (axis,) = {line.rindex(TICK) for line in lines.values()}
    length = {name: line[axis:].count(FILL) for name, line in lines.items()}
    assert length["trigger"] > length["vectors"] > length["words"] > length["bm25"] > 0
    assert length["message"] == 0 and lines["message"][:axis].endswith(FILL)


def test_brief_contributions_are_split_into_for_and_against() -> None:
    text = explanation(probability_trace(), "github-pr-review")
    assert f"for      trigger +2.4 {FILL * 8}   vectors +1.9 {FILL * 6}" in text
    assert f"against  message −.6 {FILL * 2}" in text
    quiet = replace(row_of(probability_trace(), "email-triage"), contributions=())
    assert "against" not in explanation(replace(probability_trace(), rows=(quiet,)), "email-triage")


@pytest.mark.parametrize(
    "weights", [{"words": -1.0}, {"words": 0.0}, {"a": -3.0, "b": 0.01}, {"a": 8.0, "b": -8.0}]
)
@pytest.mark.parametrize("width", [48, 64, 100])
def test_signed_bars_fit_their_width(weights: dict[str, float], width: int) -> None:
    found = probability_row("deploy", 0.8, weights)
    trace = replace(probability_trace(), rows=(found,))
    for form in FORMS:
        for line in explain(shown_message(trace), found, width, PLAIN, form):
            assert line.cells <= width, line.text


def test_each_form_is_shorter_than_the_one_before() -> None:
    texts = [explanation(probability_trace(), "github-pr-review", form) for form in FORMS]
    heights = [text.count("\n") for text in texts]
    assert heights[0] > heights[1] > heights[2] >= heights[3]
    assert texts[2].startswith("github-pr-review active without the gate")
    assert texts[3].startswith("active without the gate")
    for text in texts:
        assert "without the match it would score about .48: the gate would be asked" in " ".join(text.split())


def test_brackets_surround_what_they_mark() -> None:
    (line,) = message_block(
        TEXT, row_of(probability_trace(), "github-pr-review"), 99, 3, PLAIN, marks="brackets"
    )
    assert line.text.startswith("Can you [review] the [PR] that just ‹came› in? It ‹changes› how")


def test_a_long_message_is_cut_to_its_lines_and_says_so() -> None:
    text = "word " * 900 + "please review this" + " tail" * 900
    start = text.index("review")
    found = row("deploy", words=(Span(start, start + 6, 1.0),))
    lines = message_block(text, found, 60, 3, PLAIN)
    assert lines[0].text.startswith("…") and "please review this" in lines[0].text
    assert lines[3].text.endswith("…") and len(lines) == 5


def test_the_window_follows_the_marks_of_the_selected_topic() -> None:
    trace = probability_trace()
    names = [found.topic for found in tabulate(trace).rows]
    table = tabulate(trace, selected=names.index("billing"))
    assert "invoices" in message_rows(shown_message(trace), table, 40, 1, PLAIN)[0].text
    assert "Can you review" in message_rows(shown_message(trace), tabulate(trace), 40, 1, PLAIN)[0].text


def test_words_are_listed_strongest_first_and_once() -> None:
    text = "Pay the bill, then file the BILL."
    spans = (Span(0, 3, 0.4), Span(8, 12, 0.9), Span(28, 32, 1.0), Span(20, 400, 1.0))
    assert word_texts(text, row("deploy", words=spans)) == ["BILL", "Pay"]


@pytest.mark.parametrize(
    "text",
    ["[red]$x[/red] [@click=app.quit]", "\x1b[2Jreview\x07", "\u202efdp", "a\r\nb\tc", "\udc9b\ud800 x"],
)
@pytest.mark.parametrize("marks", ["signs", "brackets", "style"])
def test_a_message_is_shown_only_as_text_with_any_marks(text: str, marks: Marks) -> None:
    poison = row(
        "deploy",
        hits=(TriggerHit(0, text, text, 0, 4),),
        words=(Span(2, len(text), 1.0), Span(-4, 2, 1.0), Span(3, 1, 1.0), Span(0, 900, 1.0)),
        contributions=(Contribution(text, 1.0), Contribution("words", -1.0)),
        why=text,
        flip=text,
        rule=text,
    )
    trace = replace(probability_trace(), message=Message(text), rows=(poison,))
    lines = message_block(text, poison, 60, 3, PLAIN, marks=marks)
    if text.isprintable() and marks == "style":
        assert lines[0].text == text
    for form in FORMS:
        lines.extend(explain(shown_message(trace), poison, 60, PLAIN, form))
    for line in lines:
        assert not any(unicodedata.category(sign) in ("Cc", "Cs", "Cf", "Zl", "Zp") for sign in line.text)


def test_topics_the_gate_was_not_asked_about_are_not_folded() -> None:
    trace = probability_trace()
    left = replace(trace.rows[-1], rule="not asked")
    assert left in tabulate(replace(trace, rows=(*trace.rows[:-1], left)), near=0).rows


def test_the_page_has_the_whole_message_and_explanation() -> None:
    trace = review_trace()
    text = "\n".join(line.text for line in detail(shown_message(trace), trace.rows[0], 80, PLAIN))
    assert REVIEW in text and "dropped" in text


@pytest.mark.parametrize("height", [4, 8, 12, 20, 36, 60])
@pytest.mark.parametrize("width", [30, 44, 60, 76, 120])
def test_the_layout_fits_its_size_and_shows_the_selection(width: int, height: int) -> None:
    for trace, selected in [
        (trace, at) for trace in (review_trace(), probability_trace()) for at in (0, 4, 40)
    ]:
        table = tabulate(trace, unfolded=True, selected=selected)
        panel = draw_activation(shown_message(trace), table, 0, width, height, PLAIN)
        assert len(panel.lines) <= height
        assert panel.first <= panel.chosen < panel.first + panel.count
        assert trace.rows[selected].topic[:6] in panel.lines[panel.chosen].text


def test_the_table_scrolls_as_little_as_possible() -> None:
    trace = review_trace()
    table = tabulate(trace, unfolded=True, selected=20)
    panel = draw_activation(shown_message(trace), table, 18, 80, 20, PLAIN)
    assert panel.top == 18


def test_an_empty_panel_says_what_to_do() -> None:
    panel = draw_activation(Shown(), Table(), 0, 60, 10, PLAIN)
    assert any("press i" in line.text for line in panel.lines)


async def test_a_new_memory_points_to_the_import(run: Run) -> None:
    commit = FeedEntry(NOW, "commit", "maintenance: a new memory", "7473ebc")
    hint = "Nothing imported yet: :import takes in your agents' sessions."
    async with run(entries=[commit]) as driven:
        assert hint in driven.text

        step = "it goes as soon as there is a conversation, even while the same row is selected"
        await driven.press("k")
        driven.engine.entries = [FeedEntry(NOW, "user", "Hello", "", "a#0"), commit]
        driven.engine.publish(FileChanged(NOW, "conversations/a.md", "added"))
        await driven.settle()
        assert hint not in driven.text, step
        assert "Not a message, so nothing was scored." in driven.text, step


async def test_going_past_the_fold_unfolds_it(run: Run) -> None:
    async with run() as driven:
        await driven.press("2", *["j"] * 4)
        panel = driven.bench.activation
        assert panel.row_count == 5
        await driven.press("j")
        assert panel.row_count == 42
        assert panel.selected is not None and panel.selected.topic == QUIET_TOPICS[0]
        await driven.press("G")
        assert panel.selected.topic == QUIET_TOPICS[-1]
        assert QUIET_TOPICS[-1] in driven.text
        await driven.press("1", "k", "j", "2")
        assert panel.row_count == 5


async def test_topics_are_filtered_by_name(run: Run) -> None:
    async with run() as driven:
        await driven.press("2", "slash")
        await driven.type("pri")
        assert [found.topic for found in driven.bench.activation.table.rows] == ["pricing", "privacy"]
        await driven.press("enter")
        assert driven.panel() == "activation"
        await driven.press("escape")
        assert driven.bench.activation.row_count == 5


async def test_labels_go_to_the_message_and_topic_in_view(run: Run) -> None:
    async with run() as driven:
        await driven.press("2", "j", "y", "j", "n")
        key = driven.bench.activation.shown.key
        assert driven.engine.calls_of("label") == [
            ("label", key, "code-style", True),
            ("label", key, "release-notes", False),
        ]
        assert "release-notes: noise · .33 → .08" in driven.text
        assert any("release-notes" in line and ".33▸" in line for line in driven.lines), (
            "the score before the label stays in view"
        )
        assert [call[1] for call in driven.engine.calls_of("trace_of")].count(key) >= 2, "it is traced again"


async def test_a_click_selects_a_topic(run: Run) -> None:
    async with run() as driven:
        panel = driven.bench.activation
        offset = (10, panel.drawn.first + 2 + 1)
        await driven.pilot.click("#activation", offset=offset)
        await driven.settle()
        assert panel.selected is not None and panel.selected.topic == "release-notes"


@pytest.fixture
def probability_engine(engine: FakeEngine) -> FakeEngine:
    """An engine whose selected message has a trace with probabilities."""
    at = next(number for number, entry in enumerate(engine.entries) if entry.text == REVIEW)
    entry = replace(engine.entries[at], text=TEXT)
    engine.entries[at] = entry
    engine.traces[entry.key] = probability_trace(entry.at)
    return engine


async def test_the_counterfactual_is_in_view_on_a_small_terminal(
    run: Run, probability_engine: FakeEngine
) -> None:
    async with run(SIZES["80x24"]) as driven:
        await driven.press("2")
        assert "below .55 the gate would be asked; without" in driven.text
        await driven.press("j")
        assert "active without the gate: score .81 ≥ .60" in driven.text
        assert "below .60 the gate would be asked" in driven.text


Picture = Callable[[Driven, str], None]


async def test_probabilities(run: Run, picture: Picture, probability_engine: FakeEngine) -> None:
    async with run(SIZES["80x24"]) as driven:
        await driven.press("2")
        picture(driven, "workbench/likely-80x24")
        await driven.press("plus", "j")
        assert driven.zoomed() == "activation"
        await driven.press("k", "enter")
        picture(driven, "page/why-likely-80x24")


async def test_nothing_is_labelled_that_the_terminal_is_too_small_to_show(run: Run) -> None:
    async with run() as driven:
        await driven.press("2")
        await driven.resize(20, 5)
        await driven.press("y", "j", "n")
        assert not driven.engine.calls_of("label")
        await driven.resize(80, 24)
        await driven.press("y")
        assert len(driven.engine.calls_of("label")) == 1
        await driven.resize(1, 1)
        await driven.press("q")
        assert driven.app.return_code == 0
