"""The cost of broken prefixes: counted while a cache would still be valid, by the cause."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.stability.conftest import DIGEST, MEMORY, SOUL, Desk


def test_an_unchanged_prefix_causes_no_misses(desk: Desk) -> None:
    for _ in range(4):
        desk.turn()
    found = desk.log.misses(300)
    assert (found.turns, found.followed, found.kept, found.broken, found.lost) == (4, 3, 3, 0, 0)
    assert found.culprits == () and found.dollars is None


def test_a_break_is_counted_by_the_file_that_caused_it(desk: Desk) -> None:
    desk.turn()
    sizes = desk.log.last(1)[0].prefix
    identity, project, _ = (boundary.tokens for boundary in sizes.boundaries)
    for number in range(2):
        desk.write(DIGEST, f"- digest {number}\n")
        desk.turn()
    desk.write(MEMORY, "# Memory\n- b fact\n")
    desk.turn()
    found = desk.log.misses(300, lambda tokens: tokens / 1000)
    assert (found.followed, found.kept, found.broken) == (3, 0, 3)
    assert [each.lost for each in found.culprits] == sorted(
        (each.lost for each in found.culprits), reverse=True
    )
    memory, digest = sorted(found.culprits, key=lambda each: each.layer)
    assert (memory.layer, memory.name, memory.source, memory.times) == (6, "project context", MEMORY, 1)
    assert (digest.layer, digest.source, digest.times) == (7, DIGEST, 2)
    # The part before the boundary is still served from the cache.
    whole = [use.prefix.tokens for use in desk.log.last()]
    assert memory.lost == min(whole[2:]) - identity
    assert digest.lost == sum(min(pair) - project for pair in pairwise(whole[:3]))
    assert found.lost == memory.lost + digest.lost
    assert found.dollars == pytest.approx(found.lost / 1000)
    assert memory.last == desk.now


def test_after_the_cache_has_expired_nothing_is_lost(desk: Desk) -> None:
    desk.turn()
    desk.write(SOUL, "I am not.\n")
    desk.turn(after=301)
    assert (desk.log.misses(300).followed, desk.log.misses(300).broken) == (0, 0)
    assert (desk.log.misses(3600).followed, desk.log.misses(3600).broken) == (1, 1)


def test_discussions_are_counted_separately(desk: Desk) -> None:
    desk.turn("ses_a")
    desk.write(SOUL, "I am another.\n")
    desk.turn("ses_b")
    found = desk.log.misses(300)
    assert (found.turns, found.followed) == (2, 0)


def test_a_prefix_just_sent_by_another_discussion_counts_as_cached(desk: Desk) -> None:
    desk.turn("ses_a")
    desk.write(SOUL, "I am another.\n")
    desk.turn("ses_b")
    desk.turn("ses_a")
    found = desk.log.misses(300)
    assert (found.followed, found.kept, found.broken) == (1, 1, 0)


def test_an_edit_undone_in_time_hits_the_cache_again(desk: Desk) -> None:
    desk.turn()
    desk.write(SOUL, "I am another.\n")
    desk.turn(after=200)
    desk.write(SOUL, "---\ntype: identity\n---\n\nI am.\nI answer.\n")
    desk.turn(after=50)
    assert desk.log.misses(300).broken == 1
    assert desk.log.misses(220).broken == 2


def test_tokens_without_a_price_have_no_total(desk: Desk) -> None:
    desk.turn()
    desk.write(SOUL, "I am another.\n")
    desk.turn()
    found = desk.log.misses(300, lambda _tokens: None)
    assert found.lost > 0 and found.dollars is None and found.culprits[0].dollars is None
