"""``search``, ``index``, ``topics``, ``decisions`` and ``watch``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy
import pytest

from engine.search.embeddings import LocalEmbedder
from tests.cli.conftest import Command


def test_search_finds_a_line_and_explains_it(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "search", "replication", "slot", "WAL", "--limit", "3", "--json")
    found = ran.json
    assert 1 <= len(found) <= 3
    text = (sample / found[0]["path"]).read_text().splitlines()
    inside = "\n".join(text[found[0]["start_line"] - 1 : found[0]["end_line"]])
    assert "replication_slot" in inside and "wal-disk-full" in found[0]["path"]
    assert found[0]["lexical_rank"] and found[0]["why"]
    explained = apo("-C", sample, "search", "replication slot WAL", "--explain")
    assert found[0]["path"] in explained.out and found[0]["why"] in explained.out


def test_search_takes_every_character_literally(apo: Command, sample: Path) -> None:
    for query in ("don't", "c++", '"', "2026-06-01", "NEAR(", "a AND (", "*", "--", "knowledge:"):
        assert apo("-C", sample, "search", "--", query).code == 0, query


def test_search_can_be_limited_to_a_category(apo: Command, sample: Path) -> None:
    found = apo("-C", sample, "search", "release", "--category", "journal", "--json").json
    assert found and {result["category"] for result in found} == {"journal"}


def test_the_index_is_rebuilt_on_request_and_after_damage(apo: Command, sample: Path) -> None:
    before = apo("-C", sample, "search", "tide", "--json").out
    (sample / "memory.db").write_bytes(b"no database at all" * 500)
    assert apo("-C", sample, "search", "tide", "--json").out == before
    rebuilt = apo("-C", sample, "index", "--rebuild", "--json").json
    assert rebuilt["status"]["state"] == "ready" and rebuilt["refreshed"]["rebuilt"]
    assert "0 added" in apo("-C", sample, "index").out


def test_index_counts_files_and_chunks_by_category(apo: Command, sample: Path) -> None:
    status = apo("-C", sample, "index", "--json").json["status"]
    counts = {each["category"]: each for each in status["categories"]}
    topics = len(list((sample / "topics").glob("*.md")))
    assert counts["topic"]["files"] == topics and counts["conversation"]["chunks"] > 100
    assert sum(each["files"] for each in counts.values()) == status["files"]
    lines = apo("-C", sample, "index").out.splitlines()
    assert ["category", "files", "chunks"] in [line.split() for line in lines]
    assert ["topic", str(topics), f"{counts['topic']['chunks']:,}"] in [line.split() for line in lines]


def test_index_reports_its_state_in_a_read_only_workspace(
    apo: Command, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = os.access

    def unwritable(path: str | Path, mode: int, **more: bool) -> bool:
        return mode != os.W_OK and access(path, mode, **more)

    monkeypatch.setattr("os.access", unwritable)
    (sample / "memory.db").unlink()
    without = apo("-C", sample, "index")
    assert "the workspace is read-only, so the files are searched directly" in without.out
    monkeypatch.setattr("os.access", access)
    apo("-C", sample, "index")
    monkeypatch.setattr("os.access", unwritable)
    ran = apo("-C", sample, "index")
    assert "chunks; the workspace is read-only" in ran.out and "conversation" in ran.out


def test_a_search_without_embeddings_prints_a_warning(
    apo: Command, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert apo("-C", sample, "search", "release").err == ""
    monkeypatch.setattr(LocalEmbedder, "embed", lambda _self, texts: numpy.ones((len(texts), 7)))
    ran = apo("-C", sample, "search", "release")
    assert ran.code == 0 and "release" in ran.out
    assert ran.err.startswith("warning: searched by words only: the embedding model failed")


def test_topics_are_listed_and_shown(apo: Command, sample: Path) -> None:
    listed = apo("-C", sample, "topics", "list", "--json").json
    assert {topic["name"] for topic in listed} >= {"github-pr-review", "email-triage", "german"}
    shown = apo("-C", sample, "topics", "show", "github-pr-review").out
    assert "topics/github-pr-review.md" in shown and "includes knowledge/procedures/code-review.md" in shown
    wrong = apo("-C", sample, "topics", "show", "nonsense")
    assert wrong.code == 1 and "topics list" in wrong.err


def test_a_topic_can_be_switched_on_and_off_by_hand(apo: Command, sample: Path) -> None:
    def active() -> list[str]:
        found = apo("-C", sample, "trace", "Good morning", "--json").json["active"]
        assert isinstance(found, list)
        return found

    assert active() == []
    apo("-C", sample, "topics", "activate", "release")
    assert active() == ["release"]
    apo("-C", sample, "topics", "deactivate", "release")
    assert active() == []
    apo("-C", sample, "topics", "reset", "release")
    assert not apo("-C", sample, "topics", "list", "--json").json[0]["forced"]


def test_decisions_are_logged_on_request_and_labelled(apo: Command, sample: Path) -> None:
    assert "no decisions yet" in apo("-C", sample, "decisions", "list").out
    apo("-C", sample, "trace", "Can you review the PR that just came in?", "--log")
    listed = apo("-C", sample, "decisions", "list", "--json").json
    decision = next(decision for decision in listed if decision["topic"] == "github-pr-review")
    labelled = apo("-C", sample, "decisions", "label", decision["id"][:8], "--noise")
    assert labelled.code == 0 and "noise" in labelled.out
    after = apo("-C", sample, "decisions", "list", "--json").json
    assert next(d for d in after if d["id"] == decision["id"])["useful"] is False
    assert decision["id"] not in {
        d["id"] for d in apo("-C", sample, "decisions", "list", "--unlabelled", "--json").json
    }
    unknown = apo("-C", sample, "decisions", "label", "ffffffffff", "--useful")
    assert unknown.code == 1 and "decisions list" in unknown.err


def test_watch_prints_events(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "watch", "--json", "--seconds", "1")
    assert ran.code == 0
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert {"event": "WatchState", "mode": "live", "why": ""} in events


def test_a_schedule_or_webhook_is_traced_by_name(apo: Command, sample: Path) -> None:
    trace = apo("-C", sample, "trace", "", "--event", "cron:30 15 * * *", "--json").json
    assert "journal-daily" in trace["active"]
    webhook = apo("-C", sample, "trace", "", "--event", "email:new_message", "--json").json
    assert "email-triage" in webhook["active"]
