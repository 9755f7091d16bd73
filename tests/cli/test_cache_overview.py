"""``cache list`` and ``cache overview``: what providers cache, and what that saves."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.providers.chat import Usage
from engine.settings.model import CacheSettings
from engine.transcripts.capture import ConversationCapture
from tests.cli.conftest import Command
from tui.render.words import SETTINGS

MEMORY = "knowledge/memory/MEMORY.md"
SESSION, GONE = "ses_over0001", "ses_gone0001"


@pytest.fixture
def used(sample: Path) -> Path:
    """A discussion with a cache and a broken prefix, and one without a transcript."""
    usage = Usage(6912, 5113, 1799, 0, 212)
    with Engine.open(sample) as engine:
        ConversationCapture(engine.files, clock=engine.clock).start(SESSION, title="What Odile asked for")
        engine.compile("What did Odile ask for?", session_id=SESSION, ask=False, record=True)
    file = sample / MEMORY
    file.write_text(file.read_text().replace("Vestrand", "VESTRAND", 1))
    with Engine.open(sample) as engine:
        engine.compile("And when?", session_id=SESSION, ask=False, record=True)
        for session, ttl_s, why in ((GONE, 600.0, "the cache had expired"), (SESSION, 300.0, "")):
            engine.caches.note(
                session,
                provider="anthropic",
                model="claude-sonnet-5-5",
                usage=usage if not why else Usage(6912, 0, 5113, 0, 212),
                prefix="a" * 64,
                sources=(MEMORY,),
                ttl_s=ttl_s,
                why=why,
            )
        engine.costs.log.record("chat", "anthropic", "claude-sonnet-5-5", usage, discussion=SESSION)
    return sample


def test_the_list_names_discussions_by_title_and_transcript(apo: Command, used: Path) -> None:
    lines = apo("-C", used, "cache", "list").out.splitlines()
    assert lines[0].split()[-1] == "title"
    line = next(line for line in lines if SESSION in line)
    assert re.search(r"anthropic +yes, [45]:\d\d left .* 1 of 1 call +What Odile asked for", line)
    assert re.search(rf"{GONE} +anthropic .* 0 of 1 call +– +the cache had expired", "\n".join(lines))
    trees = {tree["discussion_id"]: tree for tree in apo("-C", used, "cache", "list", "--json").json}
    assert trees[SESSION]["title"] == "What Odile asked for" and trees[SESSION]["cached"] is True
    assert (used / trees[SESSION]["path"]).is_file() and trees[GONE]["path"] == ""


def test_the_overview_prints_figures_misses_and_settings(apo: Command, used: Path) -> None:
    ran = apo("-C", used, "cache", "overview")
    assert ran.code == 0 and ran.err == ""
    assert re.search(r"anthropic +1 +6,912 +5,113 +74% +1,799 +\$\d\.\d+ +\$\d\.\d+ +2 +\d+:\d\d\n", ran.out)
    assert re.search(r"gemini +0 +0 +0 +– ", ran.out)
    assert "2 of 2 discussions cached" in ran.out and f"the cache had expired, in {GONE}" in ran.out
    assert "of 1 sent in time for a 5 min cache, 1 had a broken prefix" in ran.out
    assert re.search(rf"1 × +[\d,]+ tokens .*layer 6 \(project context\) +{MEMORY}", ran.out)
    assert re.search(r"cache\.anthropic_ttl +5m", ran.out) and re.search(r"cache\.gemini_long +off", ran.out)


def test_json_contains_every_field(apo: Command, used: Path) -> None:
    found = apo("-C", used, "cache", "overview", "--days", "1", "--json").json
    assert found.keys() == {
        "at", "since", "providers", "discussions", "last_miss", "misses", "provider", "model", "settings",
    }  # fmt: skip
    assert found["since"] == found["at"][:10]
    assert [each["provider"] for each in found["providers"]] == ["anthropic", "gemini", "openai"]
    first = found["providers"][0]
    assert first["input_tokens"] == 6912 and first["hit_rate"] == pytest.approx(5113 / 6912)
    assert 0 < first["seconds_left"] <= 600 and first["cached"] == 2
    assert found["last_miss"]["discussion_id"] == GONE and found["last_miss"]["given_up"] is False
    assert found["misses"]["broken"] == 1 and found["misses"]["culprits"][0]["source"] == MEMORY
    assert found["settings"]["anthropic_ttl"] == "5m"


def test_an_unused_workspace_has_an_empty_overview(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "cache", "overview")
    assert ran.code == 0 and "0 of 0 discussions cached" in ran.out and "0 prompts" in ran.out
    assert apo("-C", sample, "cache", "overview", "--json").json["last_miss"] is None


@pytest.mark.parametrize("days", ["0", "366", "many"])
def test_an_invalid_number_of_days_is_refused(apo: Command, sample: Path, days: str) -> None:
    assert apo("-C", sample, "cache", "overview", "--days", days).code == 2


def test_every_cache_setting_is_listed() -> None:
    assert set(SETTINGS) == {each.name for each in fields(CacheSettings)}


def test_terminal_sequences_in_titles_are_escaped(apo: Command, sample: Path) -> None:
    with Engine.open(sample) as engine:
        ConversationCapture(engine.files, clock=engine.clock).start(
            SESSION, title="[red]\x1b]52;c;x\x07 talk"
        )
        engine.caches.set_enabled(SESSION, False)
    for command in ("list", "overview"):
        assert "\x1b" not in apo("-C", sample, "cache", command).out
