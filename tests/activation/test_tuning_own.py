"""Thresholds in a topic's file, their rounding, and the file that they are written to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.activation.policy import Thresholds, thresholds_of
from engine.activation.tuning.table import (
    OwnThresholds,
    own_thresholds,
    rounded,
    thresholds_in,
    today,
    with_thresholds,
)
from engine.errors import DocumentError, TopicError
from engine.settings.model import WatcherSettings
from engine.topics.model import PRIORITY_ORDER, Topic
from tests.activation.support import topic
from tests.activation.tuning_cases import CALIBRATED, SPEC
from tests.cases import each_case

PRIORITIES = [topic("t", priority=priority) for priority in PRIORITY_ORDER]
thresholds = st.integers(0, 100).map(lambda threshold: threshold / 100)


@pytest.mark.parametrize("known", PRIORITIES, ids=lambda known: known.priority)
@pytest.mark.parametrize("watchers", [CALIBRATED, SPEC], ids=["calibrated", "spec"])
@settings(max_examples=30, deadline=None)
@given(pair=st.tuples(thresholds, thresholds).map(sorted))
@example(pair=[0.3, 0.3])
def test_thresholds_in_a_file_are_the_effective_thresholds(
    known: Topic, watchers: WatcherSettings, pair: list[float]
) -> None:
    wanted = Thresholds(*pair)
    written = own_thresholds(known, watchers, wanted).on(known)
    assert today(written, watchers) == wanted
    assert own_thresholds(written, watchers, wanted).on(known) == written


@each_case("known", PRIORITIES)
@each_case("watchers", [CALIBRATED, SPEC])
def test_thresholds_equal_to_the_tables_need_no_line(known: Topic, watchers: WatcherSettings) -> None:
    assert own_thresholds(known, watchers, today(known, watchers)) == OwnThresholds()
    threshold = replace(known, similarity_threshold=0.33, activation_threshold=0.77)
    assert own_thresholds(threshold, watchers, today(known, watchers)) == OwnThresholds()


def test_a_redundant_line_is_kept_while_its_threshold_is_unchanged() -> None:
    known = topic("t", priority="high", similarity_threshold=0.15)
    now = today(known, SPEC)
    assert own_thresholds(known, SPEC, now) == OwnThresholds(0.15, None)
    assert thresholds_of(known, SPEC, matched=True) != thresholds_of(
        topic("t", priority="high"), SPEC, matched=True
    )
    assert own_thresholds(known, SPEC, Thresholds(0.15, 0.8)) == OwnThresholds(0.15, 0.8)
    assert own_thresholds(known, SPEC, Thresholds(0.2, 0.8)) == OwnThresholds(0.2, 0.8)


def test_never_is_written_as_the_highest_threshold() -> None:
    known = topic("t")
    assert own_thresholds(known, CALIBRATED, Thresholds(0.25, None)) == OwnThresholds(None, 1.0)
    assert own_thresholds(known, CALIBRATED, Thresholds(None, 0.5)) == OwnThresholds(0.5, 0.5)
    assert own_thresholds(known, CALIBRATED, Thresholds(None, None)) == OwnThresholds(1.0, 1.0)
    assert own_thresholds(known, SPEC, Thresholds(0.15, None)) == OwnThresholds()


@each_case(
    ("value", "short"),
    [
        (0.34, 0.34),
        (0.1 + 0.2, 0.3),
        (0.3333333, 0.3333),
        (0.3330001, 0.333),
        (0.34004, 0.34),
        (0.99996, 1.0),
        (None, None),
        (0.0, 0.0),
    ],
)
def test_thresholds_are_rounded_to_the_digits_they_need(value: float | None, short: float | None) -> None:
    assert rounded(value) == short


FILE = b"""---
type: topic   # a playbook
priority: high
similarity_threshold: 0.2   # after the flood
triggers:
  - {type: keywords, words: [menu]}
# the end
---

# Lunch

## Instructions

Book a table.
"""


@each_case("newline", [b"\n", b"\r\n"])
@each_case("bom", [b"", b"\xef\xbb\xbf"])
def test_only_the_threshold_lines_of_a_file_change(newline: bytes, bom: bytes) -> None:
    data = bom + FILE.replace(b"\n", newline)
    known = topic("lunch")
    new = with_thresholds(data, known, OwnThresholds(0.34, 0.62))
    assert thresholds_in(new, known.path) == OwnThresholds(0.34, 0.62)
    kept = [line for line in new.split(newline) if b"_threshold" not in line]
    assert kept == [line for line in data.split(newline) if b"_threshold" not in line]
    assert b"similarity_threshold: 0.34   # after the flood" in new
    assert with_thresholds(new, known, OwnThresholds(0.2, None)) == data


def test_an_invalid_header_is_never_rewritten() -> None:
    broken = FILE.replace(b"[menu]", b"[menu")
    with pytest.raises((DocumentError, TopicError)) as caught:
        with_thresholds(broken, topic("lunch"), OwnThresholds(0.3, 0.6))
    assert "topics/lunch.md" in str(caught.value)


def test_a_misplaced_threshold_is_still_recognized() -> None:
    nested = b"---\ntype: topic\ntriggers:\n  similarity_threshold: 0.4\n  patterns: [menu]\n---\n# Lunch\n"
    known = topic("lunch", similarity_threshold=0.4)
    assert thresholds_in(nested, known.path) == OwnThresholds(0.4, None)
    assert thresholds_in(
        with_thresholds(nested, known, OwnThresholds(0.5, None)), known.path
    ) == OwnThresholds(0.5, None)
    with pytest.raises((TopicError, DocumentError)):
        with_thresholds(nested, known, OwnThresholds(None, None))
