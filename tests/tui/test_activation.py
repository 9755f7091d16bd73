"""The activation panel: what hit, what was scored, what the gate said, and what would have flipped it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.activation.trace import Message, Trace, TriggerHit
from engine.feed import FeedEntry
from tests.tui.conftest import Run
from tests.tui.fake_engine import (
    NOW,
    QUIET_TOPICS,
    REVIEW,
    mail_trace,
    review_compiled,
    review_trace,
    row,
    steer_trace,
)
from tui.draw import CUT
from tui.render.activation import draw_activation, message_rows
from tui.render.explain import detail, explain
from tui.render.table import Table, tabulate
from tui.roles import PLAIN, Roles
from tui.shown import Shown

ROLES = Roles.of(dict.fromkeys(Roles.__dataclass_fields__, "#112233") | {"tier1": "#00ffff"})


def shown(trace: Trace) -> Shown:
    """A message of the feed with its trace."""
    entry = FeedEntry(NOW, "user", trace.message.text, "", "a#0")
    return Shown("feed", trace.message.text, entry, trace, review_compiled())


def drawn(trace: Trace, width: int = 90, height: int = 30, **table: object) -> str:
    """The panel as text."""
    panel = draw_activation(shown(trace), tabulate(trace, **table), 0, width, height, PLAIN)  # type: ignore[arg-type]
    return "\n".join(line.text for line in panel.lines)


def explained(trace: Trace, topic: str, *, full: bool = False) -> str:
    """The explanation of a topic as text."""
    found = trace.row(topic)
    assert found is not None
    return "\n".join(line.text for line in explain(shown(trace), found, 90, PLAIN, full=full))


def test_the_funnel_counts_every_step() -> None:
    text = drawn(review_trace(), width=110)
    assert "42 topics ▸ 3 tier 1 ▸ 3 scored ▸ 1 asked ▸ 2 active" in text
    assert "1.5 ms + gate 208 ms · $0.0002" in text


def test_matched_spans_stand_out_in_the_message() -> None:
    trace = review_trace()
    (line, *_more) = message_rows(shown(trace), tabulate(trace), 80, 3, ROLES)
    marked = [text for text, style in line.pieces if style.color == ROLES.tier1.color]
    assert marked == ["review", "PR"]


def test_a_long_message_is_shown_where_it_was_hit() -> None:
    text = "word " * 400 + "please review this" + " tail" * 400
    start = text.index("review")
    hit = TriggerHit(0, "pattern", "review", start, start + 6)
    trace = replace(review_trace(), message=Message(text), rows=(row("deploy", hits=(hit,)),))
    rows = message_rows(shown(trace), tabulate(trace), 80, 1, PLAIN)
    assert len(rows) == 1
    assert "please review this" in rows[0].text
    assert rows[0].text.startswith("…")


def test_hits_outside_the_text_break_nothing() -> None:
    hits = (TriggerHit(0, "glob", "src/app.py"), TriggerHit(1, "pattern", "x", 500, 900))
    trace = replace(review_trace(), rows=(row("deploy", hits=hits),))
    assert "✓ src/app.py, x" in drawn(trace, width=120)
    assert REVIEW in drawn(trace, width=120)


def test_rows_without_a_chance_are_folded_and_counted() -> None:
    text = drawn(review_trace())
    assert "37 more below their cut" in text
    assert QUIET_TOPICS[0] not in text
    assert QUIET_TOPICS[0] in drawn(review_trace(), unfolded=True)


def test_a_fold_with_other_verdicts_does_not_call_them_cut() -> None:
    quiet = review_trace().rows[-1]
    trace = replace(review_trace(), rows=(*review_trace().rows[:3], replace(quiet, verdict="off")))
    assert "1 more that are not active" in drawn(trace)


def test_the_gauge_carries_both_cuts() -> None:
    (line,) = [line for line in drawn(review_trace()).splitlines() if "release-notes" in line]
    assert line.count(CUT) == 2
    (line,) = [line for line in drawn(review_trace()).splitlines() if "deploy" in line]
    assert line.count(CUT) == 1


def test_verdicts_differ_by_sign_and_word() -> None:
    text = drawn(mail_trace("Two e-mails came in", NOW))
    assert "● email-triage" in text and "✗ release-notes" in text and "! deploy" in text
    assert " no " in text and "fail" in text


def test_small_scores_get_a_scale_of_their_own() -> None:
    rows = (row("deploy", score=0.11, activate_at=0.2, gate_at=0.05, hits=(TriggerHit(0, "url", "x"),)),)
    assert "tier 2 0–.25" in drawn(replace(review_trace(), rows=rows))
    assert "tier 2 0–1" in drawn(review_trace())


def test_the_explanation_has_every_tier_the_rule_and_the_flip() -> None:
    text = explained(review_trace(), "github-pr-review")
    assert "github-pr-review active: two triggers hit" in text
    assert "below .34 it would have been dropped" in text
    assert "pattern “review” at 8–14 · keywords “PR” at 19–21" in text
    assert ".81" in text and ".66" in text and ".74" in text
    assert "high ≥.62" in text and "asks from .34" in text
    assert "topics/github-pr-review.md 198 tok" in text
    assert "knowledge/procedures/code-review.md 402 tok" in text


def test_the_verdict_is_not_said_twice() -> None:
    trace = replace(review_trace(), rows=(row("deploy", verdict="active", why="active without the gate: x"),))
    assert explained(trace, "deploy").startswith("deploy active without the gate: x")


def test_the_gate_is_quoted_with_what_it_took() -> None:
    text = explained(review_trace(), "code-style")
    assert "YES .91 · anthropic claude-haiku-4-5 · 208 ms · $0.0002 · a review touches style" in text
    assert "remembered" in explained(mail_trace("e-mails", NOW), "release-notes")
    assert "no answer within 4 s" in explained(mail_trace("e-mails", NOW), "deploy")


def test_the_long_explanation_draws_the_rule_as_a_scale() -> None:
    lines = explained(review_trace(), "code-style", full=True).splitlines()
    (scale,) = [line for line in lines if "dropped" in line and "asked" in line]
    marker = lines[lines.index(scale) + 1]
    at = marker.index("▲")
    first, second = [index for index, sign in enumerate(scale) if sign == CUT]
    assert first < at < second


def test_a_rule_that_never_asks_or_never_activates_says_so() -> None:
    never = replace(review_trace(), rows=(row("deploy", gate_at=None, activate_at=None),))
    assert "never asks · never without the gate" in " ".join(explained(never, "deploy").split())
    assert CUT not in explained(never, "deploy", full=True)


def test_a_steering_hint_is_shown() -> None:
    assert "steer code-style: use the logger, not print()" in drawn(steer_trace('print "done"', NOW))


def test_the_page_has_the_whole_message_and_explanation() -> None:
    trace = review_trace()
    text = "\n".join(line.text for line in detail(shown(trace), trace.rows[0], 80, PLAIN))
    assert REVIEW in text and "dropped" in text


@pytest.mark.parametrize("height", [4, 8, 12, 20, 36, 60])
@pytest.mark.parametrize("width", [30, 44, 60, 76, 120])
def test_the_layout_never_outgrows_its_size_and_shows_the_selection(width: int, height: int) -> None:
    trace = review_trace()
    for selected in (0, 4, 41):
        table = tabulate(trace, unfolded=True, selected=selected)
        panel = draw_activation(shown(trace), table, 0, width, height, PLAIN)
        assert len(panel.lines) <= height
        assert panel.first <= panel.chosen < panel.first + panel.count
        assert trace.rows[selected].topic[:6] in panel.lines[panel.chosen].text


def test_the_table_moves_no_more_than_it_must() -> None:
    trace = review_trace()
    table = tabulate(trace, unfolded=True, selected=20)
    panel = draw_activation(shown(trace), table, 18, 80, 20, PLAIN)
    assert panel.top == 18


def test_nothing_to_show_says_what_to_do() -> None:
    panel = draw_activation(Shown(), Table(), 0, 60, 10, PLAIN)
    assert any("press i" in line.text for line in panel.lines)


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
        assert driven.engine.asked("label") == [
            ("label", key, "code-style", True),
            ("label", key, "release-notes", False),
        ]
        assert "release-notes: noise" in driven.text


async def test_a_click_selects_a_topic(run: Run) -> None:
    async with run() as driven:
        panel = driven.bench.activation
        offset = (10, panel.drawn().first + 2 + 1)
        await driven.pilot.click("#activation", offset=offset)
        await driven.settle()
        assert panel.selected is not None and panel.selected.topic == "release-notes"
