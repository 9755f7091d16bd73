"""The plot of scores: both halves, scale, thresholds and sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from engine.activation.policy import Thresholds
from themes.loader import BUNDLED, load_theme
from tui.render.draw import Row
from tui.render.roles import PLAIN, Roles
from tui.screens.tune.draw import GUTTER, RISING, Plot, bins_for, column, draw_plot

ROLES = Roles.of(load_theme(BUNDLED / "dark.yaml").colours)
TODAY = Thresholds(0.3, 0.6)


def plot(
    useful: tuple[int, ...], noise: tuple[int, ...], now: Thresholds = TODAY, held: str = "activate"
) -> Plot:
    return Plot(useful, noise, TODAY, now, held)  # type: ignore[arg-type]


def texts(lines: list[Row]) -> list[str]:
    return [line.text for line in lines]


def test_bars_are_drawn_in_eighths() -> None:
    numbers = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    lines = draw_plot(plot(numbers, (0,) * 10, Thresholds(None, None)), 10 + GUTTER + 1, 6, ROLES)
    tops = {sign for line in lines[:-1] for sign in line.text[GUTTER:] if sign in RISING[1:8]}
    assert len(tops) >= 4


def test_hanging_bars_are_reversed_rising_bars_unless_without_colour() -> None:
    numbers = tuple(range(1, 11))
    coloured = draw_plot(plot((0,) * 10, numbers), 40, 8, ROLES)
    assert any(style.reverse for line in coloured for _text, style in line.pieces)
    plain = draw_plot(plot((0,) * 10, numbers), 40, 8, PLAIN)
    assert not any(style.reverse for line in plain for _text, style in line.pieces)
    assert any("▀" in line.text for line in plain)


def test_one_decision_among_many_is_still_visible() -> None:
    lines = draw_plot(plot((1000,) + (0,) * 8 + (1,), (0,) * 10, Thresholds(None, None)), 60, 10, ROLES)
    nearest = next(at for at, line in enumerate(lines) if "─" in line.text) - 1
    assert RISING[1] in lines[nearest].text or RISING[2] in lines[nearest].text
    assert "√count" in lines[0].text


def test_the_scale_is_linear_unless_a_bar_dwarfs_the_others() -> None:
    lines = draw_plot(plot((20, 10, 15), (5, 5, 5)), 60, 12, ROLES)
    assert "√" not in lines[0].text and "count" in lines[0].text


def test_the_held_threshold_is_heavy_and_between_arrows() -> None:
    drawn = texts(draw_plot(plot((4,) * 20, (4,) * 20), 64, 12, ROLES))
    assert "◂ active .60 ▸" in drawn[-1] and " gate .30 " in drawn[-1]
    at = GUTTER + column(0.6, 40)
    assert drawn[3][at] == "┃" and drawn[3][GUTTER + column(0.3, 40)] == "│"
    drawn = texts(draw_plot(plot((4,) * 20, (4,) * 20, held="gate"), 64, 12, ROLES))
    assert "◂ gate .30 ▸" in drawn[-1] and drawn[3][at] == "│"


def test_never_is_at_the_right_end() -> None:
    drawn = texts(draw_plot(plot((4,) * 20, (4,) * 20, Thresholds(0.3, None)), 64, 12, ROLES))
    assert "active never" in drawn[-1]
    assert drawn[3][GUTTER + 40] == "┃"
    assert column(None, 40) == 40 and column(1.0, 40) == 39


@pytest.mark.parametrize("labelled", [0, 5, 40, 311, 5000, 100_000])
@pytest.mark.parametrize("width", [24, 43, 64, 124])
def test_bins_fill_the_width_and_fewer_decisions_have_wider_ones(width: int, labelled: int) -> None:
    bins = bins_for(width, labelled)
    assert 1 <= bins <= width - GUTTER - 1
    assert bins <= bins_for(width, labelled * 4 + 10)
    assert bins * (max(8, width - GUTTER - 1) // bins) > (width - GUTTER - 1) * 0.6


MARK = st.one_of(st.none(), st.floats(0, 1))
COUNTS = st.lists(st.integers(0, 5000), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(COUNTS, st.integers(20, 140), st.integers(1, 30), MARK, MARK, st.booleans(), st.booleans())
def test_any_plot_fits(
    numbers: list[int],
    width: int,
    height: int,
    gate: float | None,
    activate: float | None,
    swap: bool,
    held: bool,
) -> None:
    bins = min(len(numbers), bins_for(width, sum(numbers)))
    useful, noise = tuple(numbers[:bins]), tuple(reversed(numbers[:bins]))
    if swap:
        noise = (0,) * bins
    lines = draw_plot(
        plot(useful, noise, Thresholds(gate, activate), "gate" if held else "activate"), width, height, ROLES
    )
    assert len(lines) <= height
    body = lines[:-1] if len(lines) > 2 else lines
    for line in body:
        assert line.cells == cell_len(line.text) <= max(width, GUTTER + 9)
