"""The list of tests that ``make test`` leaves out."""

from __future__ import annotations

import re

from tests import slow

A, B = (("engine/store/files.py", line) for line in (1, 2))
MANY = frozenset(("engine/store/paths.py", line) for line in range(20))


def test_a_slow_test_is_left_out_if_others_reach_nearly_all_its_lines() -> None:
    found = {
        "tests/a.py::test_slowest": (9.0, frozenset({A, B})),
        "tests/a.py::test_alone": (5.0, MANY),
        "tests/a.py::test_many[1]": (0.2, frozenset({A})),
        "tests/a.py::test_many[2]": (0.2, frozenset({B})),
        "tests/a_pictures.py::test_picture": (5.0, frozenset({A})),
        "tests/a.py::test_quick": (0.1, frozenset({A})),
    }
    assert slow.choose(found) == ["tests/a.py::test_slowest"], "then two lines are reached by few"
    found["tests/a.py::test_paths"] = (0.1, frozenset(list(MANY)[:10]))
    assert slow.choose(found) == ["tests/a.py::test_alone", "tests/a.py::test_slowest"]


def test_every_test_in_the_list_exists() -> None:
    for test in slow.LIST.read_text(encoding="utf-8").split():
        path, _, name = test.partition("::")
        file = slow.TESTS.parent / path
        assert file.is_file() and re.search(rf"def {name.rpartition('::')[2]}\b", file.read_text()), (
            f"{test} is no more: take it out of {slow.LIST.name}"
        )
