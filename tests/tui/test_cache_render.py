"""Drawing of the cache screen's panels: content and width."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from engine.costs.model import Totals
from engine.discussions.overview import CacheOverview, DiscussionCache
from engine.settings.model import CacheSettings
from engine.stability.record import Culprit
from tests.tui.discussion_data import MEMORY, NOW, REVIEW, FakeCaches, cache_misses, invalidated, state
from tui.render.draw import Row
from tui.render.roles import PLAIN
from tui.render.words import last_miss, stays
from tui.screens.cache.figures import (
    SettingLines,
    chat_model,
    cost,
    draw_providers,
    next_minutes,
    percent,
    period,
    place_of,
    saved,
    setting_items,
    setting_text,
    time_left,
)
from tui.screens.cache.lists import (
    CACHED,
    CHANGING,
    OFF,
    UNCACHED,
    Columns,
    draw_culprit,
    draw_details,
    draw_discussion,
    draw_empty,
    draw_error,
    draw_miss,
    draw_none,
    item_of,
    span_of,
    tally,
    time_of,
)

WIDTHS = [36, 54, 56, 76, 116, 196]


def full_overview(**settings: object) -> CacheOverview:
    return FakeCaches().overview(30, replace(CacheSettings(), **settings))  # type: ignore[arg-type]


def text_of(rows: list[Row]) -> str:
    return "\n".join(row.text.rstrip() for row in rows)


def test_the_heading_is_dropped_if_there_is_no_line_for_it() -> None:
    assert len(draw_providers(full_overview(), NOW, 76, 3, PLAIN)) == 3


def test_provider_figures_are_formatted() -> None:
    assert [time_left(each) for each in (None, 0.0, 272.0, 3840.0)] == ["n/a", "–", "4:32", "1:04:00"]
    assert percent(None) == "–" and percent(0.7398) == "74 %"
    assert cost(Totals()) == "–" and cost(Totals(calls=2, unpriced=2)) == "?"
    assert cost(Totals(calls=2, cost_usd=0.5)) == "$0.50"
    assert cost(Totals(calls=2, cost_usd=0.5, unpriced=1)) == "$0.50 +?"
    assert cost(Totals(cost_usd=0.5)) == "$0.50"  # storage alone
    assert saved(Totals()) == "–" and saved(Totals(calls=1, saved_usd=-0.25)) == "−$0.25"
    assert period(1, NOW.date()) == "today (UTC)" and period(7, NOW.date()) == "last 7 days, since 06-12"
    assert chat_model(full_overview()) == "chat model: anthropic, claude-sonnet-5-5"
    assert (
        chat_model(FakeCaches.none("local").overview(30, CacheSettings())) == "chat model: local (no model)"
    )


def test_reasons_get_more_room_if_nothing_is_cached() -> None:
    for width in (56, 76, 116):
        states = [invalidated(f"ses_{number}", f"{MEMORY} changed", 3) for number in range(3)]
        overview = FakeCaches(states).overview(30, CacheSettings())
        items = [item_of(each, NOW) for each in overview.discussions]
        for item in items:
            text = draw_discussion(item, Columns.of(items), width, PLAIN, chosen=False).text
            assert "MEMORY.md changed" in text and text.startswith(f"○ {item.name}")
            assert "…" not in text and "3 of 4 hit" in text


def test_each_state_has_its_sign_and_text() -> None:
    signs = [
        (item.sign, item.cached) for item in (item_of(each, NOW) for each in full_overview().discussions)
    ]
    assert signs == [
        (CACHED, "yes (Anthropic)"),
        (CACHED, "yes (OpenAI)"),
        (UNCACHED, "no"),
        (CACHED, "yes (Gemini)"),
        (OFF, "off"),
        (UNCACHED, "no"),
    ]
    entry = full_overview().discussions[0]
    assert item_of(entry, NOW, "invalidating …").sign == CHANGING
    assert item_of(entry, NOW + timedelta(hours=1)).note == "expired 18:52"
    assert item_of(full_overview().discussions[2], NOW).note == f"{MEMORY} changed"


def test_a_time_on_another_day_shows_the_day() -> None:
    assert time_of(NOW + timedelta(minutes=5), NOW) == "18:52"
    assert time_of(NOW + timedelta(hours=8), NOW) == "06-13 02:47"


def test_the_details_page_shows_all_fields() -> None:
    entry = DiscussionCache(
        invalidated(REVIEW, "invalidated by hand", 6, generation=2, cached_content="cachedContents/x"),
        "Pool",
        "",
    )
    text = text_of(draw_details(entry, NOW, 80, PLAIN))
    for words in (
        "○ no",
        "invalidated by hand",
        "2 times by hand",
        "cachedContents/x",
        "transcript   deleted",
        MEMORY,
    ):
        assert words in text
    nothing = text_of(
        draw_details(DiscussionCache(state("ses_new", provider="", model=""), "", ""), NOW, 80, PLAIN)
    )
    assert nothing.startswith("ses_new") and "provider " not in nothing
    unreported = replace(full_overview().discussions[1])
    assert "not reported by the provider" in text_of(draw_details(unreported, NOW, 80, PLAIN))


def test_the_empty_screen_says_how_caches_are_created() -> None:
    for width in WIDTHS:
        local = draw_empty(FakeCaches.none().overview(30, CacheSettings()), width, PLAIN)
        other = draw_empty(FakeCaches.none("gemini").overview(30, CacheSettings()), width, PLAIN)
        assert all(row.cells <= width for row in (*local, *other))
        flat = " ".join(text_of(local).split())
        assert "ctrl+s to send it" in flat and "The local provider sends nothing" in flat
        assert "Gemini then caches" in " ".join(text_of(other).split())
        assert "ctrl+r tries again" in text_of(draw_error("the disk is full", width, PLAIN))


def test_a_culprit_without_layer_file_or_price_still_has_a_row() -> None:
    unknown = Culprit(0, "", "", 1, 1_200_000, None, NOW)
    narrow = draw_miss(unknown, [unknown], 36, PLAIN, chosen=True).text
    assert narrow.split() == ["?", "unknown", "1×", "1.2M"]
    text = text_of(draw_culprit(unknown, cache_misses(), 76, PLAIN))
    assert "unknown" in text and "unknown price" in text


def test_the_last_miss_is_that_of_the_last_used_discussion() -> None:
    last = last_miss(full_overview())
    assert last is not None and last.given_up and last.entry.state.discussion_id == REVIEW
    caches = FakeCaches()
    caches.states[0] = replace(caches.states[0], why="the cache had expired")
    missed = last_miss(caches.overview(30, CacheSettings()))
    assert missed is not None and not missed.given_up and missed.at == caches.states[0].cached_at
    caches.states = [
        invalidated("ses_off", "switched off", 1, enabled=False),
        state("ses_new", calls=0, why="x"),
    ]
    assert last_miss(caches.overview(30, CacheSettings())) is None


def test_the_tally_and_its_period() -> None:
    assert tally(cache_misses()) == ("11 of 58 avoidable", "48,210 tok lost", "$0.13")
    assert tally(replace(cache_misses(), dollars=None)) == ("11 of 58 avoidable", "48,210 tok lost")
    assert tally(replace(cache_misses(), kept=58)) == ("0 of 58 avoidable",)
    nothing = FakeCaches.none().misses
    assert tally(nothing) == () == span_of(nothing)
    assert span_of(cache_misses()) == ("5 min caches", "this month and last month")
    assert stays(3600) == "1 h" and stays(5400) == "1.5 h"
    assert "sent in time" in text_of(draw_none(cache_misses(), 76, PLAIN))
    assert "avoidable" in text_of(draw_none(nothing, 76, PLAIN))


def test_the_next_ttl_choice() -> None:
    assert [next_minutes(each, False) for each in (1, 15, 30, 45, 60, 240)] == [15, 30, 60, 60, 15, 15]
    assert [next_minutes(each, True) for each in (60, 90, 120, 720, 1440, 10_080)] == [
        120,
        120,
        240,
        1440,
        15,
        15,
    ]
    items = {each.name: each for each in setting_items(CacheSettings(), {})}
    assert items["cache.anthropic"].next is False and items["cache.gemini_long"].next is True
    assert items["cache.anthropic_ttl"].next == "1h" and items["cache.gemini_ttl_minutes"].next == 15
    changing = {each.name: each for each in setting_items(CacheSettings(), {"cache.anthropic_ttl": "1h"})}
    assert changing["cache.anthropic_ttl"].next == "5m" and changing["cache.anthropic_ttl"].changing


def test_every_cache_setting_is_listed() -> None:
    names = {f"cache.{each.name}" for each in fields(CacheSettings)}
    assert {each.name for each in setting_items(CacheSettings(), {})} == names


def test_the_location_of_a_setting_and_its_formatted_value() -> None:
    item = setting_items(CacheSettings(), {})[1]
    assert place_of(item, None) == "memory-config.yaml"
    assert place_of(item, SettingLines()) == "default, not in memory-config.yaml"
    assert place_of(item, SettingLines({item.name: 41})) == "memory-config.yaml:41"
    assert place_of(item, SettingLines(problem="is not UTF-8 text")) == "is not UTF-8 text"
    values = [
        setting_text("cache.openai", True),
        setting_text("cache.anthropic_ttl", "1h"),
        setting_text("cache.gemini_ttl_minutes", 720),
    ]
    assert values == ["on", "1 h", "12 h"]


@given(st.text(max_size=60), st.integers(36, 200))
def test_rows_fit_their_width_for_any_title_model_and_reason(text: str, width: int) -> None:
    known = invalidated("ses_x", text, 3, provider=text, model=text, sources=(text,), calls=1)
    entries = (DiscussionCache(known, text, text), DiscussionCache(state("ses_y", provider=text), text, ""))
    items = [item_of(each, NOW) for each in entries]
    columns = Columns.of(items)
    for item in items:
        assert draw_discussion(item, columns, width, PLAIN, chosen=True).cells <= width
        assert all(row.cells <= width for row in draw_details(item.entry, NOW, width, PLAIN))
    culprit = Culprit(6, text[:16], text, 3, 900, 0.1, NOW)
    assert draw_miss(culprit, [culprit], width, PLAIN, chosen=True).cells <= width
    assert all(row.cells <= width for row in draw_culprit(culprit, cache_misses(), width, PLAIN))
