"""The prefix split at cache boundaries: joined it is the prompt, and every boundary is worth its cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.context.compiled import Compiled
from engine.discussions.named import LEAST_MORE, prefix_hash, request_for
from engine.engine import Engine
from engine.providers.chat import ChatRequest

EMPTY = Compiled("", 0, 0, 0, (), (), (), 0, (), (), 0)


def request(text: str, stable: int, boundaries: tuple[int, ...], least: int) -> ChatRequest:
    """Builds a request, counting one token per character."""
    compiled = replace(EMPTY, text=text, stable_prefix_length=stable, boundaries=boundaries)
    return request_for(compiled, least=least, count=len, max_tokens=9, ttl="5m", generation=2)


def piece_lengths(built: ChatRequest) -> list[int]:
    return [len(piece) for piece in built.prefix]


def test_each_worthwhile_boundary_ends_a_piece() -> None:
    built = request("x" * 6000, 5000, (1500, 3000, 5000), 1024)
    assert piece_lengths(built) == [1500, 1500, 2000] and len(built.rest) == 1000
    assert (built.ttl, built.max_tokens) == ("5m", 9)


def test_the_cache_key_depends_only_on_the_prefix_and_generation() -> None:
    one, other = request("x" * 6000, 5000, (), 9), request("x" * 5000 + "y", 5000, (3000,), 9)
    assert one.cache_key == other.cache_key != request("y" * 6000, 5000, (), 9).cache_key
    assert one.cache_key.endswith(".2") and len(one.cache_key) <= 64 and "x" not in one.cache_key


def test_a_piece_below_the_minimum_is_merged_into_the_next() -> None:
    assert piece_lengths(request("x" * 6000, 5000, (500, 3000, 5000), 1024)) == [3000, 2000]


def test_a_boundary_close_to_another_is_skipped() -> None:
    assert piece_lengths(request("x" * 6000, 5000, (3000, 3000 + LEAST_MORE - 1, 5000), 1024)) == [3000, 2000]
    assert piece_lengths(request("x" * 6000, 5000, (3000, 5000 - LEAST_MORE + 1), 1024)) == [3000, 2000]


def test_a_short_prefix_requests_no_caching() -> None:
    built = request("x" * 900, 800, (300, 800), 1024)
    assert (piece_lengths(built), built.ttl, built.cache_key) == ([800], None, "")


def test_an_empty_prefix_leaves_only_the_rest() -> None:
    built = request("hello", 0, (), 10)
    assert (built.prefix, built.rest, built.ttl, prefix_hash(built)) == ((), "hello", None, "")


@given(
    st.text(max_size=2000),
    st.integers(0, 2000),
    st.sets(st.integers(-5, 2100), max_size=6),
    st.integers(0, 900),
)
def test_splitting_loses_nothing_and_yields_at_most_three_pieces(
    text: str, stable: int, cuts: set[int], least: int
) -> None:
    stable = min(stable, len(text))
    built = request(text, stable, tuple(cuts), least)
    assert "".join(built.prefix) == text[:stable] and built.rest == text[stable:]
    assert len(built.prefix) <= 3 and all(built.prefix)
    ends = [sum(piece_lengths(built)[: count + 1]) for count in range(len(built.prefix))]
    assert all(end >= least for end in ends[:-1])
    assert all(end in cuts for end in ends[:-1])
    assert (built.ttl is not None) == (stable >= least)


def test_a_real_prompt_is_split_at_its_layers(sample: Path) -> None:
    with Engine.open(sample) as engine:
        for budget in (2048, 8192):
            compiled = engine.compile("Good morning.", budget=budget)
            built = request_for(
                compiled, least=512, count=lambda text: len(text) // 4, max_tokens=9, ttl="1h"
            )
            assert "".join(built.prefix) + built.rest == compiled.text
            assert len(built.prefix) > 1, budget
            assert all(piece.endswith("\n") for piece in built.prefix)
