"""The prefix in pieces: joined it is the prompt, and every boundary pays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.context.compiled import Compiled
from engine.discussions.request import LEAST_MORE, prefix_hash, request_for
from engine.engine import Engine
from engine.providers.chat import ChatRequest

EMPTY = Compiled("", 0, 0, 0, (), (), (), 0, (), (), 0)


def request(text: str, stable: int, boundaries: tuple[int, ...], least: int) -> ChatRequest:
    """Tokens are characters."""
    compiled = replace(EMPTY, text=text, stable_prefix_length=stable, boundaries=boundaries)
    return request_for(compiled, least=least, count=len, max_tokens=9, ttl="5m", generation=2)


def lengths(made: ChatRequest) -> list[int]:
    return [len(piece) for piece in made.prefix]


def test_each_boundary_that_pays_ends_a_piece() -> None:
    made = request("x" * 6000, 5000, (1500, 3000, 5000), 1024)
    assert lengths(made) == [1500, 1500, 2000] and len(made.rest) == 1000
    assert (made.ttl, made.max_tokens) == ("5m", 9)


def test_the_key_follows_the_prefix() -> None:
    one, other = request("x" * 6000, 5000, (), 9), request("x" * 5000 + "y", 5000, (3000,), 9)
    assert one.cache_key == other.cache_key != request("y" * 6000, 5000, (), 9).cache_key
    assert one.cache_key.endswith(".2") and len(one.cache_key) <= 64 and "x" not in one.cache_key


def test_a_piece_below_the_least_is_part_of_the_next() -> None:
    assert lengths(request("x" * 6000, 5000, (500, 3000, 5000), 1024)) == [3000, 2000]


def test_a_boundary_close_to_another_does_not_pay() -> None:
    assert lengths(request("x" * 6000, 5000, (3000, 3000 + LEAST_MORE - 1, 5000), 1024)) == [3000, 2000]
    assert lengths(request("x" * 6000, 5000, (3000, 5000 - LEAST_MORE + 1), 1024)) == [3000, 2000]


def test_a_prefix_that_is_too_short_asks_for_nothing() -> None:
    made = request("x" * 900, 800, (300, 800), 1024)
    assert (lengths(made), made.ttl, made.cache_key) == ([800], None, "")


def test_without_a_prefix_there_is_only_the_rest() -> None:
    made = request("hello", 0, (), 10)
    assert (made.prefix, made.rest, made.ttl, prefix_hash(made)) == ((), "hello", None, "")


@given(
    st.text(max_size=2000),
    st.integers(0, 2000),
    st.sets(st.integers(-5, 2100), max_size=6),
    st.integers(0, 900),
)
def test_nothing_is_lost_and_three_are_the_most(text: str, stable: int, cuts: set[int], least: int) -> None:
    stable = min(stable, len(text))
    made = request(text, stable, tuple(cuts), least)
    assert "".join(made.prefix) == text[:stable] and made.rest == text[stable:]
    assert len(made.prefix) <= 3 and all(made.prefix)
    ends = [sum(lengths(made)[: count + 1]) for count in range(len(made.prefix))]
    assert all(end >= least for end in ends[:-1])
    assert all(end in cuts for end in ends[:-1])
    assert (made.ttl is not None) == (stable >= least)


def test_a_real_prompt_is_cut_at_its_layers(indexed_sample: Path) -> None:
    with Engine.open(indexed_sample) as engine:
        for budget in (2048, 8192):
            compiled = engine.compile("Good morning.", budget=budget)
            made = request_for(compiled, least=512, count=lambda text: len(text) // 4, max_tokens=9, ttl="1h")
            assert "".join(made.prefix) + made.rest == compiled.text
            assert len(made.prefix) > 1, budget
            assert all(piece.endswith("\n") for piece in made.prefix)
