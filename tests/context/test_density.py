"""How much of a prompt answers the message; the rest is in every prompt, or the conversation."""

from __future__ import annotations

from engine.context.assemble import is_conversation, is_for_message
from engine.context.compiled import Density
from engine.search.results import SearchResult
from engine.topics.model import Topic
from engine.transcripts.turn import Text, Turn
from tests.context.conftest import Space

LINE = "The build server keeps a warm cache per branch, so a clean checkout takes four minutes.\n"
FOUND = SearchResult(
    "raw/conversations/2026/02/16/0900-ses_1-cache.md",
    5, 9, "conversation", "", "", "", LINE, 0.5, 1, None, "index", "by its words",
)  # fmt: skip
TOPIC = Topic("review", "topics/review.md", "R", "", "Read the whole diff first.")


def furnished(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "# Soul\n" + LINE)
    space.write("knowledge/memory/MEMORY.md", "# Core Memory\n" + LINE * 3)
    space.write("knowledge/journal/2026-02-17.md", LINE * 3)


def test_a_prompt_for_a_message_that_finds_nothing_is_the_same_for_all(space: Space) -> None:
    furnished(space)
    compiled = space.compile("Hello")
    assert compiled.density.for_message == 0
    assert compiled.density.always > 3 * compiled.density.conversation > 0


def test_what_was_found_and_what_fired_answer_the_message(space: Space) -> None:
    furnished(space)
    plain = space.compile("Why is a clean checkout slow?")
    turn = Turn("user", "10:00", (Text("Morning."),))
    full = space.compile("Why is a clean checkout slow?", results=(FOUND,), topics=(TOPIC,), history=(turn,))
    added = {each.label for each in full.sections} - {each.label for each in plain.sections}
    assert {each.label for each in full.sections if is_for_message(each)} == {
        "topic:review", f"knowledge:{FOUND.path}",
    }  # fmt: skip
    assert {each.label for each in full.sections if is_conversation(each)} == {"history:1", "message"}
    assert added == {"topic:review", f"knowledge:{FOUND.path}", "history:1"}
    assert full.density.always == plain.density.always
    assert full.density.for_message == full.tokens - full.density.always - full.density.conversation > 0


def test_a_rule_counts_where_the_message_calls_for_it(space: Space) -> None:
    space.write("knowledge/rules.md", "# Rules\n\n## In force\n\n- never amend commits\n")
    assert space.compile("What is the weather like?").density.for_message == 0
    called = space.compile("amend commits").density
    assert called.for_message > 0 and called.always > 0


def test_the_parts_add_up_to_the_prompt(space: Space) -> None:
    furnished(space)
    compiled = space.compile("Why?", results=(FOUND,), topics=(TOPIC,))
    assert compiled.density.tokens == compiled.tokens
    shares = ("34 % for this message", "41 % always there", "25 % conversation")
    assert Density(340, 410, 250).shares == shares
    assert Density().shares == ()
