"""The caches of all discussions: totals by provider, titles, misses."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from engine.costs.model import CostRecord
from engine.discussions.caches import DiscussionCacheState
from engine.discussions.overview import PROVIDERS, by_provider, with_titles
from engine.discussions.sending import Sending
from engine.engine import Engine
from engine.providers.chat import Usage
from engine.store.paths import Workspace
from tests.discussions.scripted import Purse, Scripted

NOW = datetime(2026, 6, 12, 15, 27, 28, tzinfo=UTC)


def call(provider: str, usage: Usage, usd: float | None = 0.01, operation: str = "chat") -> CostRecord:
    return CostRecord("2026-06-12T15:00:00+00:00", provider, "a-model", operation, usage=usage, cost_usd=usd)  # type: ignore[arg-type]


def cached(name: str, provider: str, left_s: float | None) -> DiscussionCacheState:
    ends = None if left_s is None else NOW + timedelta(seconds=left_s)
    return DiscussionCacheState(name, provider, "a-model", NOW, ends, tokens_cached=5_000)


def test_calls_and_caches_are_totalled_by_provider() -> None:
    records = [
        call("anthropic", Usage(340, 80, 0, 0, 10)),
        call("anthropic", Usage(60, 20, 0, 0, 10)),
        call("openai", Usage(560, 200, 0, 0, 10), usd=None),
        call("gemini", Usage(120, 0, 0, 0, 10)),
        call("gemini", Usage(0, 0, 9_000, 0, 0), 0.5, "cache"),
        call("anthropic", Usage(9_999, 0, 0, 0, 1), operation="gate"),
        call("compatible", Usage(7, 0, 0, 0, 1)),
    ]
    states = [
        cached("ses_a", "anthropic", 272),
        cached("ses_b", "anthropic", 30),
        cached("ses_c", "openai", None),
    ]
    found = {each.provider: each for each in by_provider(records, states, NOW)}

    assert tuple(found) == ("anthropic", "gemini", "openai", "compatible")
    anthropic, gemini, openai = (found[name] for name in PROVIDERS)
    assert (anthropic.totals.input_tokens, anthropic.totals.cached_tokens, anthropic.hit_rate) == (
        400,
        100,
        0.25,
    )
    assert (anthropic.cached, anthropic.seconds_left(NOW)) == (2, 272)
    assert anthropic.seconds_left(NOW + timedelta(seconds=300)) == 0
    # Storage is billed, but no call sent it.
    assert (gemini.totals.input_tokens, gemini.totals.cache_write_tokens, gemini.totals.calls) == (120, 0, 1)
    assert round(gemini.totals.cost_usd, 2) == 0.51
    assert (gemini.hit_rate, gemini.cached, gemini.seconds_left(NOW)) == (0.0, 0, 0.0)
    assert (openai.cached, openai.seconds_left(NOW), openai.totals.unpriced) == (1, None, 1)


def test_a_provider_without_calls_has_no_hit_rate() -> None:
    assert {each.provider: each.hit_rate for each in by_provider((), (), NOW)} == dict.fromkeys(PROVIDERS)


def test_an_expiry_is_given_only_when_all_expiries_are_known() -> None:
    states = [cached("ses_a", "openai", 60), cached("ses_b", "openai", None)]
    (openai,) = (each for each in by_provider((), states, NOW) if each.provider == "openai")
    assert openai.seconds_left(NOW) is None


def test_discussions_take_the_titles_of_their_transcripts(plain: Path) -> None:
    with Engine.open(plain) as engine:
        sent = Sending(engine, Scripted, Purse(), len).send("Refactor the authentication.")
        states = [engine.caches.get(sent.session_id), DiscussionCacheState("ses_gone")]
        here, gone = with_titles(states, engine.workspace)
    assert (here.title, here.path) == ("Refactor the authentication.", sent.path)
    assert (gone.title, gone.path) == ("", "")


def test_a_session_id_with_dashes_is_matched_exactly(tmp_path: Path) -> None:
    folder = tmp_path / "raw/conversations/2026/06/12"
    folder.mkdir(parents=True)
    (tmp_path / "memory-config.yaml").touch()
    for name in ("a", "a-b", "a-b-c"):
        (folder / f"1200-{name}-x.md").write_text(
            f"---\nsession_id: {name}\n---\n\n# about {name}\n\n## 12:00 — user\n\nx\n"
        )
    states = [DiscussionCacheState(name) for name in ("a-b", "a", "b")]
    assert [each.title for each in with_titles(states, Workspace.open(tmp_path))] == [
        "about a-b",
        "about a",
        "",
    ]


def test_the_overview_of_a_workspace(plain: Path) -> None:
    with Engine.open(plain, clock=lambda: NOW) as engine:
        Sending(engine, Scripted, Purse(), len).send("Good morning.")
        engine.costs.log.record("chat", "openai", "gpt-5.6", Usage(2_000, 1_500, 0, 0, 10))
        found = engine.discussions.overview(days=7)
    assert found.since == date(2026, 6, 6)
    assert found.provider == "local"
    assert [each.provider for each in found.providers][:3] == list(PROVIDERS)
    assert next(each for each in found.providers if each.provider == "openai").hit_rate == 0.75
    (discussion,) = found.discussions
    assert discussion.title == "Good morning."
    assert found.misses.turns == 1
