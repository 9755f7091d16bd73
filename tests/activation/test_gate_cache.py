"""Cached gate answers: on disk, bounded, and never a cause of errors."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from engine.activation.gate_cache import CACHE_PATH, GateCache
from engine.activation.trace import GateOutcome
from engine.store.faults import fail, trip
from tests.activation.support import workspace_files

YES = GateOutcome("yes", "openai", "m", probability=0.75, reason="said yes", latency_ms=120, cost_usd=0.01)


def lines(root: Path) -> list[bytes]:
    return (root / CACHE_PATH).read_bytes().splitlines()


def test_an_answer_is_read_back_as_cached(tmp_path: Path) -> None:
    GateCache(workspace_files(tmp_path)).put([("k1", YES), ("k2", GateOutcome("no", "ask"))])
    cache = GateCache(workspace_files(tmp_path))
    assert cache.get("k1") == GateOutcome(
        "yes", "openai", "m", cached=True, probability=0.75, reason="said yes"
    )
    again = cache.get("k2")
    assert again is not None and again.answer == "no" and again.cached
    assert cache.get("k3") is None


def test_the_answers_to_a_message_are_one_append(tmp_path: Path) -> None:
    cache = GateCache(workspace_files(tmp_path))
    cache.put([("k1", YES), ("k2", YES)])
    cache.put([])
    assert len(lines(tmp_path)) == 2


def test_the_most_recently_used_answers_are_kept_and_the_file_is_bounded(tmp_path: Path) -> None:
    cache = GateCache(workspace_files(tmp_path), limit=10)
    cache.put([("kept", YES)])
    for number in range(45):
        assert cache.get("kept") is not None
        cache.put([(f"k{number}", YES)])
        assert len(lines(tmp_path)) <= 20
    restarted = GateCache(workspace_files(tmp_path), limit=10)
    assert restarted.get("k44") is not None and restarted.get("k0") is None
    assert restarted.get("kept") is not None


def test_a_new_answer_replaces_the_old_one(tmp_path: Path) -> None:
    cache = GateCache(workspace_files(tmp_path))
    cache.put([("k", YES)])
    cache.put([("k", GateOutcome("no", "openai"))])
    again = GateCache(workspace_files(tmp_path)).get("k")
    assert again is not None and again.answer == "no"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\n\n",
        b"{\n",
        b'{"key": 7, "answer": "yes", "provider": "x"}\n',
        b'{"key": "k9", "answer": "maybe", "provider": "x"}\n',
        b'{"key": "k9", "answer": ["yes"], "provider": "x"}\n',
        b"[]\nnull\n7\n",
        b"\xff\xfe\x00\n",
        b"[" * 50_000 + b"\n",
        b'{"key": "k9", "answer": "yes", "prov',
    ],
)
def test_only_damaged_lines_are_lost(tmp_path: Path, damage: bytes) -> None:
    GateCache(workspace_files(tmp_path)).put([("k1", YES)])
    path = tmp_path / CACHE_PATH
    path.write_bytes(path.read_bytes() + damage)
    cache = GateCache(workspace_files(tmp_path))
    assert cache.get("k1") is not None and cache.get("k9") is None
    cache.put([("k2", YES)])
    assert GateCache(workspace_files(tmp_path)).get("k2") is not None


def test_a_write_error_is_reported_once(tmp_path: Path) -> None:
    problems: list[str] = []
    cache = GateCache(workspace_files(tmp_path, read_only=True), on_problem=problems.append)
    cache.put([("k1", YES)])
    cache.put([("k2", YES)])
    assert cache.get("k1") is not None and cache.get("k2") is not None
    assert len(problems) == 1 and problems[0].startswith("gate answers are kept in memory only: ")


def test_a_full_disk_leaves_the_file_unchanged(tmp_path: Path) -> None:
    problems: list[str] = []
    cache = GateCache(workspace_files(tmp_path), on_problem=problems.append)
    cache.put([("k1", YES)])
    with trip("append:write", fail(errno.ENOSPC)):
        cache.put([("k2", YES)])
    assert len(lines(tmp_path)) == 1 and len(problems) == 1
    cache.put([("k3", YES)])
    assert len(lines(tmp_path)) == 2


def test_a_folder_in_place_of_the_cache_file_is_tolerated(tmp_path: Path) -> None:
    problems: list[str] = []
    (tmp_path / CACHE_PATH).mkdir(parents=True)
    cache = GateCache(workspace_files(tmp_path), on_problem=problems.append)
    assert cache.get("k") is None
    cache.put([("k", YES)])
    assert cache.get("k") is not None
    assert len(problems) == 1
