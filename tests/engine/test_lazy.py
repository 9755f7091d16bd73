"""``engine.startup.lazy.expression`` matches like ``re.compile`` but compiles only on first use."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engine.startup.lazy import expression
from tests.cases import each_case

USES: list[tuple[str, tuple[Any, ...]]] = [
    ("search", ("a1 b22",)),
    ("match", ("a1 b22", 1)),
    ("fullmatch", ("A1",)),
    ("split", ("xa1yb22z",)),
    ("findall", ("a1 b22",)),
    ("sub", (r"<\1>", "a1 b22")),
    ("subn", ("-", "a1 b22", 1)),
]


def plain(found: object) -> object:
    return found.span() if isinstance(found, re.Match) else found


@each_case("use", USES)
def test_a_lazy_expression_matches_like_a_compiled_one(use: tuple[str, tuple[Any, ...]]) -> None:
    name, arguments = use
    compiled, lazy = re.compile(r"([a-z])\d+", re.IGNORECASE), expression(r"([a-z])\d+", re.IGNORECASE)
    for _ in range(2):
        assert plain(getattr(lazy, name)(*arguments)) == plain(getattr(compiled, name)(*arguments))
    assert [match[1] for match in lazy.finditer("a1 b22")] == ["a", "b"]
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert repr(lazy) == repr(compiled)


def test_bytes_can_be_searched() -> None:
    assert expression(rb"\d+").findall(b"a1 b22") == [b"1", b"22"]


def test_a_lazy_expression_is_compiled_once_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    original = re.compile

    def counting(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return original(text, flags)

    monkeypatch.setattr("engine.startup.lazy.re.compile", counting)
    lazy = expression(r"[")
    assert compiled == []
    with pytest.raises(re.error):
        lazy.search("a")
    lazy = expression("a")
    assert lazy.search("a") and lazy.search("ba") and not lazy.match("ba")
    assert compiled == ["[", "a"]
