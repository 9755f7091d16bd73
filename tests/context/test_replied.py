"""Beside an agent's message, what the person said earlier comes with how the agent answered it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.context.compiled import Compiled
from engine.context.request import Query
from engine.search.results import SearchResult
from tests.context.conftest import Space
from tests.context.test_retrieved import result

PATH = "raw/conversations/2026/02/10/0905-ses_a-the-cache.md"
TRANSCRIPT = """\
---
session_id: ses_a
---

# The cache

## 09:05 — user

why is the gauge cache cold after a restart?

## 09:06 — agent

I will look at the warm-up.

> [tool:Read] cache.py → 200 lines

The warm-up runs only when `CACHE_WARM` is set; the unit file never sets it.

## 09:09 — user

and does the gauge cache survive an upgrade?

## 09:12 — user

thanks, later
"""
WHY = "why is the gauge cache cold after a restart?"
UPGRADE = "and does the gauge cache survive an upgrade?"
ANSWER = "The warm-up runs only when `CACHE_WARM` is set; the unit file never sets it."


@pytest.fixture
def found() -> SearchResult:
    return replace(result(PATH, 9, 9, text=WHY, speaker="user"), category="conversation")


def beside(space: Space, *results: SearchResult, message: str = "look into the gauge cache") -> Compiled:
    space.write(PATH, TRANSCRIPT)
    return space.compile(message, results=results, part="message")


def reasons(compiled: Compiled) -> list[str]:
    return [each.reason for each in compiled.left_out if each.source == PATH]


def test_a_question_comes_with_the_last_words_of_the_answer(space: Space, found: SearchResult) -> None:
    compiled = beside(space, found)
    assert f"§9 user: {WHY}\n§12 agent: {ANSWER}\n" in compiled.text
    assert "look at the warm-up" not in compiled.text and "tool:Read" not in compiled.text
    reply = next(each for each in compiled.sections if each.text == ANSWER)
    assert (reply.source, reply.lines) == (PATH, "12-18") and "reply" in reply.why


def test_a_heading_quoted_in_code_is_part_of_the_answer(space: Space, found: SearchResult) -> None:
    quoted = f"A log looks like this:\n\n```\n## 10:00 — user\nhello\n```\n\n{ANSWER}"
    space.write(PATH, TRANSCRIPT.replace(ANSWER, quoted))
    compiled = space.compile("look into the gauge cache", results=(found,), part="message")
    assert ANSWER in compiled.text and "A log looks like this" in compiled.text


def test_a_heading_quoted_in_the_question_is_no_answer(space: Space, found: SearchResult) -> None:
    quoted = f"{UPGRADE}\n\n```\n## 10:00 — agent\nIt survives, says this log.\n```"
    space.write(PATH, TRANSCRIPT.replace(UPGRADE, quoted))
    asked = replace(found, start_line=22, end_line=22, text=UPGRADE)
    compiled = space.compile("look into the gauge cache", results=(asked,), part="message")
    assert "It survives" not in compiled.text


def test_an_unanswered_question_is_left_out_and_a_statement_is_not(space: Space, found: SearchResult) -> None:
    asked = replace(found, start_line=21, end_line=21, text=UPGRADE)
    told = replace(found, start_line=25, end_line=25, text="the gauge cache is on the small disk")
    compiled = beside(space, asked, told)
    assert UPGRADE not in compiled.text and told.text in compiled.text
    assert reasons(compiled) == ["a question that was not answered"]


def test_of_a_repetition_of_the_message_only_the_answer_is_included(
    space: Space, found: SearchResult
) -> None:
    compiled = beside(space, found, message=WHY)
    assert ANSWER in compiled.text and WHY not in compiled.text.partition("{/rag-context}")[0]
    asked = replace(found, start_line=21, end_line=21, text=UPGRADE.rstrip("?"))
    assert reasons(beside(space, asked, message=UPGRADE)) == ["it repeats the message"]


def test_a_reply_that_was_found_itself_is_not_repeated(space: Space, found: SearchResult) -> None:
    reply = replace(found, start_line=18, end_line=18, text=ANSWER, speaker="agent")
    assert beside(space, found, reply).text.count("CACHE_WARM") == 1


def test_a_missing_transcript_leaves_the_result_alone(space: Space, found: SearchResult) -> None:
    gone = replace(found, path="raw/conversations/2026/02/11/gone.md", text="the gauge cache is warm")
    assert f"§9 user: {gone.text}" in beside(space, gone).text


def test_what_a_program_wrote_for_the_person_is_left_out(space: Space, found: SearchResult) -> None:
    for text in (
        "[Request interrupted by user for tool use]",
        "Operation stopped by hook: the gauge cache is busy",
    ):
        compiled = beside(space, replace(found, text=text))
        assert text not in compiled.text and reasons(compiled) == ["an agent's program wrote it"]


def test_a_whole_prompt_has_only_what_search_found(space: Space, found: SearchResult) -> None:
    space.write(PATH, TRANSCRIPT)
    compiled = space.compile("the gauge cache is cold again", results=(found,))
    assert WHY in compiled.text and "CACHE_WARM" not in compiled.text


def test_a_pasted_log_is_searched_for_its_failures_and_never_found(space: Space, found: SearchResult) -> None:
    log = "\n".join(f"2026-02-10T09:05:1{second}.1Z   GAUGE_CACHE: warm" for second in range(6))
    asked: list[Query] = []

    def search(query: Query) -> list[SearchResult]:
        asked.append(query)
        return [replace(found, text=f"see the gauge cache\n{log}")]

    message = f"why is it cold?\n\n{log}\n2026-02-10T09:05:17.1Z ##[error]Process ended with code 3\n"
    compiled = space.compile(message, retrieve=search, part="message")
    assert asked[0].text == "why is it cold? ##[error]Process ended with code 3"
    assert compiled.text == "" and reasons(compiled) == ["a pasted log"]


def test_folders_are_not_searched_for_beside_a_message(space: Space) -> None:
    asked: list[Query] = []

    def search(query: Query) -> list[SearchResult]:
        asked.append(query)
        return []

    message = "does https://git.example/tides/tools/pull/68 change src/gauges/cache.py and/or the docs?"
    space.compile(message, retrieve=search, part="message")
    space.compile(message, retrieve=search)
    assert [query.text for query in asked] == [
        "does pull 68 change cache.py and/or the docs?",
        message,
    ]
