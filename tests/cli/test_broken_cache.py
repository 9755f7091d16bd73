"""memory.db is only a cache: if it is unusable, the files are searched, with one warning."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import Command


def a_folder(root: Path, _patch: pytest.MonkeyPatch) -> None:
    (root / "memory.db").mkdir()


def a_pipe(root: Path, _patch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "memory.db")


def unreadable(root: Path, patch: pytest.MonkeyPatch) -> None:
    """Simulate a file of another user; root could read it."""
    (root / "memory.db").write_bytes(b"x")

    def refuse(_path: Path, _wait_s: float = 0) -> apsw.Connection:
        raise apsw.CantOpenError("unable to open database file")

    patch.setattr("engine.search.database.open_writer", refuse)
    patch.setattr("engine.search.database.open_reader", refuse)


def a_full_disk(_root: Path, patch: pytest.MonkeyPatch) -> None:
    def full(_path: Path, _wait_s: float) -> apsw.Connection:
        raise apsw.FullError("database or disk is full")

    patch.setattr("engine.search.database.open_writer", full)


FAULTS = [a_folder, a_pipe, unreadable, a_full_disk]


@pytest.fixture(params=FAULTS, ids=lambda fault: fault.__name__)
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "w"
    (root / "knowledge").mkdir(parents=True)
    (root / "memory-config.yaml").touch()
    (root / "knowledge/facts.md").write_text("# Facts\n\nThe gauge at Nordersiel reads in metres.\n")
    fault: Callable[[Path, pytest.MonkeyPatch], None] = request.param
    fault(root, monkeypatch)
    return root


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("search", "Nordersiel"), "knowledge/facts.md"),
        (("compile", "What does the gauge at Nordersiel read?"), "metres"),
        (("send", "What does the gauge at Nordersiel read?"), "metres"),
        (("trace", "What does the gauge at Nordersiel read?"), "active"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_a_reading_command_searches_the_files_directly(
    apo: Command, broken: Path, words: tuple[str, ...], found: str
) -> None:
    ran = apo("-C", broken, *words)
    assert ran.code == 0 and found in ran.out
    warnings = [line for line in ran.err.splitlines() if "memory.db" in line]
    assert len(warnings) == (words[0] != "trace"), ran.err
    assert all("searching the files directly" in line for line in warnings)
    assert "Traceback" not in ran.err


def test_building_the_index_fails_with_a_hint(apo: Command, broken: Path) -> None:
    ran = apo("-C", broken, "index")
    assert ran.code == 1 and ran.err.startswith("autopoiesis: memory.db: ") and "; " in ran.err
    assert len(ran.err.splitlines()) == 1


def test_the_index_is_rebuilt_once_the_folder_is_gone(apo: Command, tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").touch()
    (tmp_path / "memory.db").mkdir()
    assert apo("-C", tmp_path, "search", "gauge").code == 0
    shutil.rmtree(tmp_path / "memory.db")
    ran = apo("-C", tmp_path, "search", "gauge")
    assert (ran.code, ran.err) == (0, "") and (tmp_path / "memory.db").is_file()
