"""What an agent's reply shows about the topics active for the message (spec 5.5)."""

from __future__ import annotations

from pathlib import Path

from engine.activation.use import LONG_REPLY, was_used, words_of
from engine.engine import Engine
from engine.topics.model import Topic, Trigger
from tests.activation.support import pr_topic, topic
from tests.cases import each_case

LUNCH = topic(
    "lunch",
    "Find a table for lunch, read the menu aloud and book for the whole team.",
    description="Where we eat together.",
    triggers=(Trigger("keywords", words=("canteen",)),),
)
DEPLOY = topic(
    "deploy",
    "Announce the rollout, stop the queue, run the smoke tests and watch the canary for ten minutes.",
    subscriptions=("knowledge/procedures/deploy.md",),
)
TOPICS = (LUNCH, DEPLOY, pr_topic())
WORDS = words_of(TOPICS)

REVIEW = (
    "I read the linked issue and then the diff. Tests cover the new branch and the suite is green; no "
    "secrets, no migrations. Two comments per file, the most important one first: the retry never ends when "
    "the server answers 429. I request changes."
)
UNRELATED = (
    "The residual of the gauge at Nordersiel rises since Tuesday because its clock drifts by four seconds an "
    "hour. Odile's corrections assume a fixed offset, so the smoothed curve bends in the wrong direction. I "
    "compared three neighbouring stations, plotted the harmonic constituents, and the phase error grows "
    "linearly from midnight onwards, which wind cannot explain. Replacing the oscillator costs about forty "
    "euros; until somebody drives there, the ingest could subtract a slope estimated from the last "
    "fortnight. Storm surges would stay accurate within two centimetres, though spring tides deserve another "
    "look before anybody relies on those numbers during navigation at night."
)


def used(known: Topic, message: str, reply: str, *paths: str) -> bool | None:
    return was_used(known, WORDS[known.name], message, reply, paths)


def test_a_reply_that_follows_the_instructions_shows_use() -> None:
    assert used(TOPICS[2], "Can you review the PR that just came in?", REVIEW) is True
    assert (
        used(DEPLOY, "Ship it.", "Rollout announced, smoke tests are green, the canary looks fine.") is True
    )


def test_words_of_the_message_do_not_count() -> None:
    message = "Is the rollout announced, are the smoke tests green, how is the canary, can we stop the queue?"
    assert used(DEPLOY, message, "Rollout announced, smoke tests are green, the canary looks fine.") is None


def test_words_shared_by_several_topics_do_not_count() -> None:
    sharing = (LUNCH, topic("dinner", LUNCH.instructions), DEPLOY)
    words = words_of(sharing)
    assert not words["lunch"].distinctive and words["deploy"].distinctive
    reply = "I found a table, read the menu aloud and booked for the whole team."
    assert used(LUNCH, "Hungry?", reply) is True
    assert was_used(LUNCH, words["lunch"], "Hungry?", reply) is None


def test_a_few_words_in_a_long_reply_do_not_show_use() -> None:
    words = " ".join(f"word{number}x" for number in range(150))
    assert used(DEPLOY, "Hm?", f"{words} smoke canary rollout") is None
    assert (
        used(DEPLOY, "Hm?", f"{words} {words} smoke canary rollout announced queue watch minutes stop")
        is True
    )


@each_case(
    ("path", "expected"),
    [
        ("knowledge/procedures/deploy.md", True),
        ("/home/agent/memory/knowledge/procedures/deploy.md", True),
        ("knowledge/procedures/deploy.md.bak", None),
        ("other-knowledge/procedures/deploy.md", None),
        ("deploy.md", None),
    ],
)
def test_a_tool_call_on_a_subscribed_file_shows_use(path: str, expected: bool | None) -> None:
    assert used(DEPLOY, "Ship it.", "Done.", path) is expected


def test_a_file_named_in_the_message_does_not_count() -> None:
    path = "knowledge/procedures/deploy.md"
    assert used(DEPLOY, f"What does {path} say?", "Nothing new.", path) is None


def test_a_long_reply_without_any_word_of_the_topic_shows_no_use() -> None:
    assert used(LUNCH, "What is wrong at Nordersiel?", UNRELATED) is False
    for word in ("canteen", "eat", "lunch", "menu"):
        assert used(LUNCH, "What is wrong?", f"{UNRELATED} {word}") is None, word
    assert used(LUNCH, "What is wrong?", UNRELATED, "notes/menu.md") is None


def test_a_short_reply_shows_nothing() -> None:
    assert used(LUNCH, "What is wrong?", "") is None
    assert used(LUNCH, "What is wrong?", "Done.") is None
    few = " ".join(f"word{number}x" for number in range(LONG_REPLY - 1))
    assert used(LUNCH, "What is wrong?", few) is None
    assert used(LUNCH, "What is wrong?", f"{few} another") is False


def test_use_on_the_sample_is_rarely_decided_and_never_wrong(sample: Path) -> None:
    """The measurement behind the rule's constants, on the sample's conversations."""
    said = []
    with Engine.open(sample) as engine:
        words = words_of(engine.library.topics)
        for path in sorted(engine.conversations.sizes()):
            for exchange in engine.turns.exchanges(path, 0):
                for name in exchange.trace.active:
                    known = engine.topic(name)
                    text = exchange.trace.message.text
                    said.append(was_used(known, words[name], text, exchange.reply, exchange.paths))
    assert len(said) >= 30
    assert 1 <= said.count(True) <= len(said) // 5
    assert said.count(False) <= len(said) // 50
