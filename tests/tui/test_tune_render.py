"""The lists and figures of the tune screen: order, columns, signed differences and foreign text."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from math import log

import pytest

from engine.activation.policy import Thresholds
from engine.activation.tuning.fit import HeldOut, Proposal
from engine.activation.tuning.replay import Figures, figures, flips, overview, total
from tests.cases import each_case
from tests.tui.tune_data import CALIBRATED, FakeTuning, Kind, decision, decisions, topic
from tui.render.roles import PLAIN
from tui.screens.tune.draw import Changes, cost_per_day, draw_changes, per_day
from tui.screens.tune.lists import (
    DecisionItem,
    Sorting,
    TopicItem,
    TopicList,
    decision_detail,
    decision_row,
    draw_heads,
    draw_topic,
    flipped,
    nearest,
    ordered,
)
from tui.screens.tune.state import LogSnapshot, TuneState

TODAY = Thresholds(0.25, 0.6)


def sample_figures(**changes: object) -> Figures:
    base = Figures(
        precision=0.71, recall=0.88, reached=0.93, quiet=0.6, f1=0.79, labelled=311, messages=551, active=200,
        offered=61, useful=148, noise=163, by_person=60, by_gate=200, by_use=51, useful_active=130,
        noise_active=53, useful_offered=8, noise_offered=12, offers_per_day=14.2, cost_usd_per_day=0.0028,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def topic_list(**changes: object) -> TopicList:
    found = {
        "code-style": sample_figures(),
        "deploy": sample_figures(f1=0.6, offers_per_day=0.04, cost_usd_per_day=0.0, labelled=400),
        "quiet": sample_figures(precision=None, recall=None, f1=None, labelled=0, useful=0, noise=0),
        "good": sample_figures(f1=0.99, offers_per_day=20.0, cost_usd_per_day=0.9, labelled=5),
    }
    items = tuple(TopicItem(name, found[name]) for name in ordered(found, "worst"))
    base = TopicList(items, len(items), total(found.values()), loading=False, costs=True)
    return replace(base, **changes)  # type: ignore[arg-type]


def order(sorting: Sorting, query: str = "") -> tuple[str, ...]:
    return ordered({each.name: each.figures for each in topic_list().items}, sorting, query)


def text_of(view: TopicList, width: int = 60) -> str:
    lines = [*draw_heads(view, width, PLAIN), *(draw_topic(item, view, width, PLAIN) for item in view.items)]
    assert all(line.cells <= width for line in lines)
    return "\n".join(line.text for line in lines)


def test_the_worst_come_first_and_undefined_ones_last() -> None:
    assert [item.name for item in topic_list().items] == ["deploy", "code-style", "good", "quiet"]


@each_case(
    ("sorting", "first"), [("offers", "good"), ("cost", "good"), ("labels", "deploy"), ("name", "code-style")]
)
def test_other_sort_orders(sorting: Sorting, first: str) -> None:
    assert order(sorting)[0] == first


def test_the_filter_matches_part_of_the_name() -> None:
    assert ordered({each.name: each.figures for each in topic_list().items}, "name", "STYLE") == (
        "code-style",
    )


@each_case(
    ("sorting", "columns"),
    [
        ("worst", ["prec", "rec", "F1"]),
        ("offers", ["F1", "offers"]),
        ("cost", ["F1", "cost/d"]),
        ("labels", ["F1", "labels"]),
    ],
)
def test_the_column_sorted_by_is_always_shown(sorting: str, columns: list[str]) -> None:
    text = text_of(topic_list(sorting=sorting), 29)
    assert text.splitlines()[0].split() == ["topic", *columns]
    wide = text_of(topic_list(sorting=sorting), 72).splitlines()[0].split()
    assert wide == ["topic", "prec", "rec", "F1", "offers", "cost/d", "labels"]


def test_the_totals_add_up_and_a_topic_with_moved_thresholds_is_marked() -> None:
    view = topic_list()
    text = text_of(replace(view, items=(replace(view.items[0], moved=True), *view.items[1:])), 72)
    assert text.splitlines()[1].split()[:2] == ["all", "4"] and text.splitlines()[1].endswith(" 933")
    assert "deploy ◂▸" in text and "code-style ◂▸" not in text


@each_case(
    ("value", "text"),
    [(0.0, "0"), (0.04, "<.1"), (0.4, ".4"), (3.24, "3.2"), (14.2, "14"), (12345.0, "12,345")],
)
def test_daily_rates(value: float, text: str) -> None:
    assert per_day(value) == text


@each_case("value", [0.0, 1e-9, 0.0001, 0.0028, 0.5, 12.34, 999.99, 54321.0])
def test_cost_fits_its_column(value: float) -> None:
    assert len(cost_per_day(value)) <= 7


# The comparison.


def sample_changes(**more: object) -> Changes:
    base = Changes(TODAY, Thresholds(0.25, 0.68), "activate", sample_figures(), None, costs=True)
    return replace(base, **more)  # type: ignore[arg-type]


@each_case("width", [36, 42, 64, 120])
def test_the_comparison_fits_and_shows_differences(width: int) -> None:
    after = sample_figures(
        precision=0.83, recall=0.86, quiet=0.65, offers_per_day=17.1, cost_usd_per_day=0.0034
    )
    rows = draw_changes(sample_changes(after=after), width, PLAIN)
    assert all(row.cells <= width for row in rows) and len(rows) == 4
    if width >= 42:
        text = "\n".join(row.text for row in rows)
        assert "+.08" in text and "+.12" in text and "−.02" in text and "+.05" in text and "+3" in text


def test_fewer_gate_calls_are_better_and_less_recall_is_worse() -> None:
    from themes.loader import BUNDLED, load_theme
    from tui.render.roles import Roles

    roles = Roles.of(load_theme(BUNDLED / "dark.yaml").colours)
    after = sample_figures(recall=0.7, offers_per_day=4.0)
    rows = draw_changes(sample_changes(after=after), 64, roles)
    styles = {text: style for row in rows for text, style in row.pieces}
    assert styles["−10"] == roles.active and styles["−.18"] == roles.error


@each_case("width", [42, 44])
def test_long_figures_take_room_from_short_names(width: int) -> None:
    before = sample_figures(cost_usd_per_day=0.004, offers_per_day=1234.0)
    text = "\n".join(row.text for row in draw_changes(sample_changes(before=before), width, PLAIN))
    assert "cost/d $0.0040" in text and "offers   1,234" in text and "…" not in text


def test_the_fit_is_shown_below() -> None:
    held_out = HeldOut(5, sample_figures(precision=0.83), sample_figures())
    fit = Proposal(
        "code-style", TODAY, Thresholds(0.3, 0.64), "", sample_figures(), sample_figures(), held_out
    )
    at = draw_changes(
        sample_changes(now=Thresholds(0.3, 0.64), after=sample_figures(), proposal=fit), 64, PLAIN
    )[4:]
    assert at[0].text.startswith("fit held out, 5 folds: precision .83, today .71")
    moved_on = draw_changes(sample_changes(after=sample_figures(), proposal=fit), 64, PLAIN)[4:]
    assert [row.text for row in moved_on] == ["fit offered .30, active .64 · f shows the fit"]
    refused = replace(fit, thresholds=None, refused="8 labelled messages, at least 10 needed")
    text = " ".join(
        row.text for row in draw_changes(sample_changes(now=TODAY, proposal=refused), 42, PLAIN)[4:]
    )
    assert text.startswith("! no proposal: 8 labelled messages")
    assert "fitting" in draw_changes(sample_changes(now=TODAY, fitting=True), 42, PLAIN)[4].text
    assert "! disk" in draw_changes(sample_changes(now=TODAY, problem="disk full"), 42, PLAIN)[4].text


@each_case("width", [32, 44, 64, 120])
def test_a_caution_is_shown_in_full_before_the_fit(width: int) -> None:
    held_out = HeldOut(5, sample_figures(precision=None), sample_figures())
    fit = Proposal("smalltalk", TODAY, Thresholds(1.0, 1.0), "", sample_figures(), sample_figures(), held_out)
    view = sample_changes(now=Thresholds(1.0, 1.0), after=sample_figures(), proposal=fit, caution=fit.caution)
    rows = draw_changes(view, width, PLAIN)[4:]
    assert fit.caution and len(rows) <= 5 and all(row.cells <= width for row in rows)
    text = " ".join(" ".join(row.text for row in rows).split())
    assert text.startswith(f"! {fit.caution} fit held out")


# Decisions.


def decision_item(**more: object) -> DecisionItem:
    base = DecisionItem(
        0, "abc", "2026-06-12T18:47:00+00:00", "is this idiomatic?", 0.57, "offered", "offered"
    )
    return replace(base, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [28, 42, 60, 100])
@pytest.mark.parametrize("kind", ["", "fixed", "lost", "changed"])
def test_a_row_fits_and_shows_its_kind_by_a_sign(width: int, kind: str) -> None:
    row = decision_row(decision_item(kind=kind, after="quiet"), width, PLAIN)
    assert row.cells <= width
    assert row.text.lstrip()[0] == {"": ".", "fixed": "+", "lost": "−", "changed": "~"}[kind]


def test_messages_are_shown_only_as_text() -> None:
    row = decision_row(decision_item(message="\x1b]0;x\x07[bold]\nsecond line"), 100, PLAIN)
    assert "[bold]" in row.text and "\x1b" not in row.text and "second" not in row.text
    wide = decision_row(decision_item(message="日本語のメッセージもあります" * 9), 61, PLAIN)
    assert wide.cells <= 61


def test_a_decision_in_full() -> None:
    full = decision("code-style", 3, 0.4, True, "gate")
    rows = decision_detail(
        "code-style",
        full,
        decision_item(message="one\n[two]\x1b", useful=True, by="gate", learned=(0.33, 0.71)),
        60,
        PLAIN,
    )
    text = "\n".join(row.text for row in rows)
    assert all(row.cells <= 60 for row in rows)
    for words in (
        "one",
        "[two]",
        "useful · by gate",
        "anthropic claude-haiku-4-5",
        ".57 · by the label .33▸.71",
        "score .40 · gate .25, active .60",
        full.id,
    ):
        assert words in text
    assert "\x1b" not in text


# Which decisions are listed.


def tuning_of(kinds: dict[str, Kind]) -> FakeTuning:
    return FakeTuning(decisions(kinds), [topic(name) for name in kinds], CALIBRATED)


def test_unlabelled_decisions_come_first_and_those_that_nothing_is_made_of_last() -> None:
    table = tuning_of({"deploy": Kind(30, 30, 40)}).table()
    listing = nearest(table, "deploy", TODAY, {}, {})
    assert listing.total == len(listing.items) == 100
    assert Thresholds(0.25, 0.6) == TODAY

    def place(score: float) -> tuple[bool, float]:
        mark = 0.25 if score < 0.25 else 0.6
        return score < 0.25, abs(log(score / (1 - score) / mark * (1 - mark)))

    places = [place(item.score) for item in listing.items]
    unlabelled = [item.useful is None for item in listing.items]
    assert unlabelled == sorted(unlabelled, reverse=True) and sum(unlabelled) == 40
    assert places[:40] == sorted(places[:40]) and places[40:] == sorted(places[40:])
    assert {below for below, _ in places[:40]} == {False, True}


def test_the_screen_opens_on_a_topic_that_can_be_tuned() -> None:
    topics = [topic("deploy"), topic("freeze", activation="manual")]
    kinds = {"deploy": Kind(5, 5, 5), "freeze": Kind(2, 2, 2)}
    table = FakeTuning(decisions(kinds), topics, CALIBRATED).table()
    log = LogSnapshot(table, overview(table), total(overview(table).values()), 0.1)
    for asked, shown in (("freeze", "deploy"), ("deploy", "deploy")):
        state = TuneState(asked)
        state.take(log)
        assert state.topic == shown
    state.choose("freeze")
    state.take(replace(log, table=copy(table)))
    assert state.topic == "freeze"


def test_the_list_is_limited_and_shows_the_total() -> None:
    listing = nearest(tuning_of({"deploy": Kind(300, 300, 0)}).table(), "deploy", TODAY, {}, {}, limit=50)
    assert len(listing.items) == 50 and listing.total == 600


def test_decisions_are_sorted_by_score_if_no_threshold_is_reachable() -> None:
    listing = nearest(tuning_of({"deploy": Kind(5, 5, 5)}).table(), "deploy", Thresholds(None, None), {}, {})
    scores = [item.score for item in listing.items if item.useful is None]
    assert scores == sorted(scores, reverse=True)
    assert {item.before for item in listing.items} == {"quiet"}


def test_a_decision_unaffected_by_thresholds_is_not_listed() -> None:
    forced = FakeTuning(decisions({"deploy": Kind(5, 5, 5)}), [topic("deploy", forced=True)], CALIBRATED)
    assert nearest(forced.table(), "deploy", TODAY, {}, {}).total == 0


def test_flips_are_listed_as_the_engine_found_them() -> None:
    table = tuning_of({"deploy": Kind(60, 60, 60)}).table()
    found = flips(table, "deploy", TODAY, Thresholds(0.4, 0.7), limit=20)
    listing = flipped(table, "deploy", found, {}, {})
    assert listing.total == found.total
    assert [item.row for item in listing.items] == [flip.row for flip in found.rows]
    assert [item.kind for item in listing.items] == [flip.kind for flip in found.rows]


def test_a_label_being_saved_is_already_shown() -> None:
    table = tuning_of({"deploy": Kind(0, 0, 3)}).table()
    name = table.messages[0].hash
    items = nearest(table, "deploy", TODAY, {("deploy", name): False}, {}).items
    shown = next(each for each in items if each.id == name)
    assert (shown.useful, shown.by, shown.saving) == (False, "person", True)


def test_the_figures_in_the_list_are_those_of_the_replay() -> None:
    table = tuning_of({"deploy": Kind(30, 30, 0)}).table()
    assert overview(table)["deploy"] == figures(table, "deploy", TODAY)
