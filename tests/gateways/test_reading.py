"""Reading a file in parts through the memory tools loses nothing, and proposals hold something."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.engine import Engine
from engine.errors import HarvestRefused
from engine.gateways.memory import Memory
from tests.gateways.conftest import workspace

PLACE = "knowledge/reference/long.md"
_NEXT = re.compile(r"continue with line=(?P<line>\d+)(?: skip=(?P<skip>\d+))?")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Engine.open(workspace(tmp_path_factory.mktemp("reading") / "memory")) as engine:
        yield Memory(engine)


def read_in_parts(memory: Memory) -> str:
    text, line, skip = "", 1, 0
    while True:
        part = memory.read(PLACE, line, 100, skip)
        text += part.text
        found = _NEXT.fullmatch(part.note)
        if found is None:
            return text
        line, skip = int(found["line"]), int(found["skip"] or 0)
        text += "" if skip else "\n"


@given(st.lists(st.sampled_from([0, 1, 40, 99, 100, 101, 250]), min_size=1, max_size=9))
def test_the_parts_of_a_file_are_the_whole_of_it(memory: Memory, lengths: list[int]) -> None:
    whole = "\n".join(chr(ord("a") + number) * length for number, length in enumerate(lengths))
    memory._engine.files.replace(PLACE, f"{whole}\n".encode())
    assert read_in_parts(memory) == whole


@pytest.mark.parametrize("text", [" ", "\u200b", "\ud800", "- ", "```"])
def test_a_proposal_without_words_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(HarvestRefused, match="says nothing"):
        memory.remember(text, "fact", agent="codex")
