"""A stored fit is loaded unchanged or not at all."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy

from engine.activation.scorer.fit import fit
from engine.activation.scorer.fitted import ARRAYS, Fitted
from engine.activation.scorer.store import FIT_PATH, FitStore
from engine.activation.scorer.texts import TopicTexts
from tests.activation.scorer.support import DEPLOY, HOLIDAY, REFUND, FakeVectors
from tests.activation.support import workspace_files
from tests.cases import each_case

NAME = "0" * 64
SIZE = FakeVectors.dimensions


@cache
def three_fitted() -> Fitted:
    examples = {"refund": REFUND, "deploy": DEPLOY, "holiday": HOLIDAY}
    return fit([TopicTexts(name, name, "", of) for name, of in examples.items()], FakeVectors())


def same(left: Fitted, right: Fitted) -> bool:
    return left.names == right.names and all(
        getattr(left, name).dtype == getattr(right, name).dtype
        and numpy.array_equal(getattr(left, name), getattr(right, name))
        for name in ARRAYS
    )


def saved_fit(root: Path) -> tuple[FitStore, Path, Fitted]:
    """A store with a fit of three topics, its file, and the fit."""
    store = FitStore(workspace_files(root))
    store.save(NAME, three_fitted())
    return store, root / FIT_PATH, three_fitted()


def test_a_fit_is_loaded_unchanged(tmp_path: Path) -> None:
    store, _, fitted = saved_fit(tmp_path)
    for name in (NAME, ""):
        loaded = store.load(name, SIZE)
        assert loaded is not None and same(loaded, fitted)


def test_a_different_fit_is_not_loaded(tmp_path: Path) -> None:
    store, _, _ = saved_fit(tmp_path)
    assert store.load("1" * 64, SIZE) is None
    assert store.load(NAME, SIZE + 1) is None
    (tmp_path / "empty").mkdir()
    assert FitStore(workspace_files(tmp_path / "empty")).load(NAME, SIZE) is None


def test_a_truncated_or_foreign_file_is_not_loaded(tmp_path: Path) -> None:
    store, path, _ = saved_fit(tmp_path)
    data = path.read_bytes()
    head = data.index(b"\n", 9)
    for length in (*range(head + 40), *range(head, len(data), 997), len(data) - 1):
        path.write_bytes(data[:length])
        assert store.load(NAME, SIZE) is None
    for foreign in (data + b"\0", b"", b"\n", b"\0" * 5_000, b"PK\3\4" + b"\0" * 500, b"00000000\n{}"):
        path.write_bytes(foreign)
        assert store.load(NAME, SIZE) is None
    path.write_bytes(data)
    assert store.load(NAME, SIZE) is not None


@each_case("head", [b'{"form":5}', b"{}", b"[]", b"no JSON", b'{"form":6,"names":["refund"]}'])
def test_a_fit_of_another_form_is_not_loaded(head: bytes, tmp_path: Path) -> None:
    store, path, _ = saved_fit(tmp_path)
    data = path.read_bytes()
    rest = head + data[data.index(b"\n", 9) :]
    path.write_bytes(b"%08x\n" % zlib.crc32(rest) + rest)
    assert store.load("", SIZE) is None


@each_case("name", ["offsets", "classes"])
@each_case("value", [-1, 2**31 - 1, 4])
@each_case("place", [0, -1])
def test_out_of_range_indexes_are_not_loaded(name: str, value: int, place: int, tmp_path: Path) -> None:
    store, _, fitted = saved_fit(tmp_path)
    changed = getattr(fitted, name).copy()
    changed[place] = value
    store.save(NAME, replace(fitted, **{name: changed}))
    assert store.load(NAME, SIZE) is None


@each_case("name", ARRAYS)
def test_arrays_of_another_shape_or_type_are_not_loaded(name: str, tmp_path: Path) -> None:
    store, _, fitted = saved_fit(tmp_path)
    found = getattr(fitted, name)
    for other in (found[:-1], found[None], found.astype("float64"), found.astype("U9")):
        store.save(NAME, replace(fitted, **{name: other}))
        assert store.load(NAME, SIZE) is None
