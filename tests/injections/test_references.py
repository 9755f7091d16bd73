"""Reference counts follow the log through all changes of its files, at little cost."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import DocumentError
from engine.injections import injections
from engine.injections.injections import REFERENCES_PATH, References
from engine.store import monthly
from engine.store.faults import fail, trip
from engine.store.files import Files
from engine.store.monthly import open_month
from tests.injections.conftest import JUNE, Log


def reader(log: Log) -> References:
    return References(log.files, log.log.months)


def test_an_empty_log_has_no_counts(log: Log) -> None:
    assert log.counts() == {} and not (log.root / REFERENCES_PATH).exists()


def test_a_file_counts_once_per_prompt(log: Log) -> None:
    log.use("a.md", "a.md", "b.md", useful=[True, True, False])
    log.clock.now += timedelta(days=2)
    log.use("a.md", useful=[True], finished=False)
    log.use("b.md")
    found = reader(log)
    assert dict(found.counts()) == {"a.md": 2}


def test_counts_are_the_same_object_until_the_log_changes(log: Log) -> None:
    found = reader(log)
    log.use("a.md", useful=[True])
    first = found.counts()
    assert found.counts() is first and first == {"a.md": 1}
    log.use("a.md", useful=[True])
    assert found.counts() == {"a.md": 2} and first == {"a.md": 1}
    with pytest.raises(TypeError):
        first["a.md"] = 9  # type: ignore[index]


@pytest.fixture
def cached(log: Log, monkeypatch: pytest.MonkeyPatch) -> Log:
    """A log of two months with cached counts."""
    monkeypatch.setattr(injections, "_UNSAVED_LIMIT", 1)
    log.use("a.md", useful=[True])
    log.clock.now = datetime(2026, 7, 2, tzinfo=UTC)
    log.use("a.md", "b.md", useful=[True, True])
    assert log.counts() == {"a.md": 2, "b.md": 1}
    assert (log.root / REFERENCES_PATH).exists()
    return log


def test_cached_counts_are_not_read_again(cached: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injections, "_count", lambda *_: pytest.fail("a note was read again"))
    assert cached.counts() == {"a.md": 2, "b.md": 1}


def test_only_appended_lines_are_read(cached: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    original = injections._count

    def count(uses: Counter[str], line: bytes) -> None:
        read.append(line)
        original(uses, line)

    monkeypatch.setattr(injections, "_count", count)
    cached.use("c.md", useful=[True])
    assert cached.counts() == {"a.md": 2, "b.md": 1, "c.md": 1} and len(read) == 1


def test_a_missing_month_no_longer_counts(cached: Log) -> None:
    cached.month().unlink()
    assert cached.counts() == {"a.md": 1, "b.md": 1}
    cached.month("2026-07").unlink()
    assert cached.counts() == {}


def test_a_truncated_or_replaced_month_is_read_again(cached: Log) -> None:
    month = cached.month("2026-07")
    whole = month.read_bytes()
    month.write_bytes(whole[:-20])
    assert cached.counts() == {"a.md": 1}
    month.write_bytes(whole)
    assert cached.counts() == {"a.md": 2, "b.md": 1}
    month.write_bytes(whole.replace(b"b.md", b"d.md"))
    os.utime(month, ns=(1, 1))
    assert cached.counts() == {"a.md": 2, "d.md": 1}


def test_an_unreadable_month_counts_again_once_readable(cached: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    found = reader(cached)
    assert dict(found.counts()) == {"a.md": 2, "b.md": 1}

    def refuse(files: Files, relative: str) -> int:
        if relative.endswith("2026-07.jsonl"):
            raise DocumentError("cannot be read", where=relative)
        return open_month(files, relative)

    with monkeypatch.context() as patch:
        patch.setattr(monthly, "open_month", refuse)
        cached.use("c.md", useful=[True])
        assert dict(found.counts()) == {"a.md": 1} == cached.counts()
    cached.use("c.md", useful=[True])
    assert dict(found.counts()) == {"a.md": 2, "b.md": 1, "c.md": 2} == cached.counts()


def test_a_new_month_is_read(cached: Log) -> None:
    cached.month("2025-01").write_bytes(cached.month("2026-07").read_bytes())
    assert cached.counts() == {"a.md": 3, "b.md": 2}


def test_a_partial_line_counts_once_complete(cached: Log) -> None:
    found = reader(cached)
    note = cached.month().read_bytes().splitlines(keepends=True)[-1]
    with cached.month("2026-07").open("ab", buffering=0) as file:
        file.write(note[:-9])
        assert found.counts() == {"a.md": 2, "b.md": 1}
        file.write(note[-9:])
    assert found.counts() == {"a.md": 3, "b.md": 1} == cached.counts()


def test_a_clock_that_is_set_back_loses_no_counts(cached: Log) -> None:
    cached.clock.now = datetime(2026, 1, 5, tzinfo=UTC)
    cached.use("b.md", useful=[True])
    found = reader(cached)
    assert dict(found.counts()) == {"a.md": 2, "b.md": 2}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b"{" * 5000,
        b'{"form":2,"read":{"logs/injections-2026-06.jsonl":[1]},"uses":{}}',
    ],
)
def test_a_damaged_cache_is_rebuilt(cached: Log, data: bytes) -> None:
    (cached.root / REFERENCES_PATH).write_bytes(data)
    assert cached.counts() == {"a.md": 2, "b.md": 1}
    assert json.loads((cached.root / REFERENCES_PATH).read_bytes())["form"] == 2


def test_a_wrong_cache_of_another_log_does_not_count(cached: Log) -> None:
    tree = json.loads((cached.root / REFERENCES_PATH).read_bytes())
    for mark in tree["read"].values():
        mark[1] += 1
        mark[3] += 1
    tree["uses"] = {"lie.md": 99}
    (cached.root / REFERENCES_PATH).write_text(json.dumps(tree))
    assert cached.counts() == {"a.md": 2, "b.md": 1}


def test_a_full_disk_or_read_only_workspace_only_loses_the_cache(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(injections, "_UNSAVED_LIMIT", 1)
    log.use("a.md", useful=[True])
    with trip("temp:write", fail(28)):
        assert log.counts() == {"a.md": 1}
    read_only = References(Files(log.files.workspace, read_only=True), log.log.months)
    assert read_only.counts() == {"a.md": 1}
    assert not (log.root / REFERENCES_PATH).exists()


@settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["use", "cut", "drop", "keep", "back", "next"]))
    )
)
def test_cached_counts_equal_a_full_count(
    log: Log, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(injections, "_UNSAVED_LIMIT", 1)
    for path in (log.root / "logs").glob("*"):
        path.unlink()
    log.clock.now = JUNE
    lasting = reader(log)
    for name, step in steps:
        months = sorted((log.root / "logs").glob("*.jsonl"))
        if step == "use":
            log.use(f"{name}.md", useful=[True])
        elif step == "cut" and months:
            os.truncate(months[-1], months[-1].stat().st_size * 2 // 3)
        elif step == "drop" and months:
            months[0].unlink()
        elif step in ("back", "next"):
            log.clock.now += timedelta(days=31 if step == "next" else -31)
        counts = dict(lasting.counts())
        if step != "keep":
            (log.root / REFERENCES_PATH).unlink(missing_ok=True)
        assert counts == log.counts()


def test_only_long_logs_are_cached(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.use("a.md", useful=[True])
    assert log.counts() == {"a.md": 1} and not (log.root / REFERENCES_PATH).exists()
    with log.month().open("ab") as file:
        file.write(b"\n" * injections._UNSAVED_LIMIT)
    assert log.counts() == {"a.md": 1} and (log.root / REFERENCES_PATH).exists()
    monkeypatch.setattr(injections, "_count", lambda *_: pytest.fail("a note was read again"))
    assert log.counts() == {"a.md": 1}
