"""The outline lists all sections and everything left out as plain text within the given width."""

from __future__ import annotations

import pytest

from engine.context.compiled import LeftOut
from engine.context.compiler import CompileRequest
from engine.context.explain import next_line, outline
from engine.search.results import SearchResult
from engine.topics.model import Topic
from engine.transcripts.turn import Text, Turn
from tests.context.conftest import TODAY, Space

LINE = "The build server keeps a warm cache per branch, so a clean checkout takes four minutes.\n"


def full(space: Space, width: int = 100, budget: int = 2048) -> str:
    space.write("knowledge/identity/SOUL.md", "# Soul\n" + LINE)
    space.write("knowledge/memory/MEMORY.md", "# Core Memory\n" + LINE * 60)
    space.write("knowledge/journal/2026-02-17.md", LINE * 3)
    space.write("knowledge/people/ann.md", "# Ann")
    topic = Topic(
        "review", "topics/review.md", "R", "", "Read it.", subscriptions=("knowledge/people/ann.md", "no.md")
    )
    results = tuple(
        SearchResult(
            f"raw/conversations/2026/02/16/{number:04}-ses_{number}-a-rather-long-slug-of-a-session.md",
            5, 9, "conversation", "", "", "", f"{number} {LINE}" * 3, 0.5, 1, None, "index", "by its words",
        )
        for number in range(30)
    )  # fmt: skip
    history = tuple(Turn("user", "10:00", (Text(f"Turn {each}. {LINE}"),)) for each in range(60))
    return outline(
        space.compile(topics=(topic,), results=results, history=history, budget=budget), width=width
    )


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("budget", [2048, 8192])
def test_no_line_is_wider_than_requested(space: Space, width: int, budget: int) -> None:
    lines = full(space, width, budget).splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line != line.rstrip() for line in lines)


def test_layers_are_in_order_with_the_end_of_the_stable_prefix_marked(space: Space) -> None:
    text = full(space)
    marks = [" 5 persona", " 6 project context", "── end of the stable prefix", " 8 discussion", " 9 topics"]
    places = [text.index(f"\n{mark}") for mark in marks]
    assert places == sorted(places)


def test_a_row_has_tokens_priority_kind_source_and_reason(space: Space) -> None:
    rows = [line.split() for line in full(space).splitlines()]
    soul = next(row for row in rows if "knowledge/identity/SOUL.md" in row)
    assert soul[1:4] == ["P0", "identity", "knowledge/identity/SOUL.md"]
    assert int(soul[0]) > 10
    assert " ".join(soul[4:]) == "always in the prompt"


def test_the_outline_has_summary_budget_left_out_and_problems(space: Space) -> None:
    text = full(space)
    assert text.startswith("prompt   1,")
    assert " of 2,048 tokens\n         64 kept for the reply, " in text
    assert "topics   review\n" in text
    assert "history  " in text
    assert "\nbudget by slot\n  P0 system    ▁" in text
    assert "\n  P0 identity  ▇" in text
    assert "\nleft out: " in text
    assert "more search results" in text
    assert "\nproblems: 1\n  - topics/review.md: subscribes to no.md" in text
    assert "no such file (subscribed by review)" in text


def test_missing_topics_and_stable_text_are_stated(space: Space) -> None:
    text = outline(space.compile("Hi"))
    assert "topics   none active\n" in text
    assert "prefix   0 characters, 0 of 2 sections\n" in text
    assert "left out" not in text


def test_control_characters_are_escaped(space: Space) -> None:
    topic = Topic("a\x1b]52;c;x\x07", "topics/a\x1b[2J.md", "A", "", "Do.", subscriptions=("no\r\u202e.md",))
    text = outline(space.compile(topics=(topic,)))
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\x1b[2J" in text


def test_the_density_and_500_more_tokens_have_their_own_lines(space: Space) -> None:
    space.write("knowledge/memory/MEMORY.md", "# Core Memory\n" + LINE * 60)
    space.write("knowledge/journal/2026-02-17.md", LINE * 40)
    history = tuple(Turn("user", "10:00", (Text(f"Turn {each}. {LINE}"),)) for each in range(60))
    compiler = space.compiler()
    compiled = compiler.compile(CompileRequest("Hello", TODAY, history=history, budget=2048))
    text = outline(compiled)
    [more] = [line for line in text.splitlines() if line.startswith("500 more tokens would add: ")]
    assert "history " in more
    assert f"density  {' · '.join(compiled.density.shares)}\n" in text
    short = outline(space.compile("Hi"))
    assert short.endswith("500 more tokens would add nothing\n")
    assert max(map(len, text.splitlines())) <= 100


def test_pieces_without_a_file_are_named_by_their_label() -> None:
    turns = LeftOut("history:3-9", 4, "history", "", "", 60, None, "older", "room")
    found = LeftOut("knowledge:a\x1b.md", 3, "knowledge", "a\x1b.md", "1-2", 1200, 0.5, "needs", "room")
    assert next_line((turns, found)) == "500 more tokens would add: history 3-9 (60), a\\x1b.md:1-2 (1,200)"
    assert next_line(()) == "500 more tokens would add nothing"
