"""What an agent's reply shows about the topics active for the message (spec 5.5)."""

from __future__ import annotations

from engine.activation.use import LONG_REPLY, was_used, words_of
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


FOLLOWED = "Rollout announced, smoke tests are green, the canary looks fine."
PATH = "knowledge/procedures/deploy.md"
MANY = " ".join(f"word{number}x" for number in range(150))
FEW = " ".join(f"word{number}x" for number in range(LONG_REPLY - 1))
WRONG = "What is wrong at Nordersiel?"


@each_case(
    ("known", "message", "reply", "path", "expected"),
    [
        (TOPICS[2], "Can you review the PR that just came in?", REVIEW, "", True),
        (DEPLOY, "Ship it.", FOLLOWED, "", True),
        # Words of the message do not count, nor do a few in a long reply.
        (DEPLOY, "Is the rollout announced, are smoke tests green, how is the canary?", FOLLOWED, "", None),
        (DEPLOY, "Hm?", f"{MANY} smoke canary rollout", "", None),
        (DEPLOY, "Hm?", f"{MANY} {MANY} smoke canary rollout announced queue watch minutes stop", "", True),
        # A tool call on a subscribed file that the message does not name
        (DEPLOY, "Ship it.", "Done.", PATH, True),
        (DEPLOY, "Ship it.", "Done.", f"/home/agent/memory/{PATH}", True),
        (DEPLOY, "Ship it.", "Done.", f"{PATH}.bak", None),
        (DEPLOY, "Ship it.", "Done.", f"other-{PATH}", None),
        (DEPLOY, "Ship it.", "Done.", "deploy.md", None),
        (DEPLOY, f"What does {PATH} say?", "Nothing new.", PATH, None),
        # A long reply without any word of the topic shows no use, a short one nothing.
        (LUNCH, WRONG, UNRELATED, "", False),
        *((LUNCH, WRONG, f"{UNRELATED} {word}", "", None) for word in ("canteen", "eat", "lunch", "menu")),
        (LUNCH, WRONG, UNRELATED, "notes/menu.md", None),
        (LUNCH, WRONG, "", "", None),
        (LUNCH, WRONG, "Done.", "", None),
        (LUNCH, WRONG, FEW, "", None),
        (LUNCH, WRONG, f"{FEW} another", "", False),
    ],
)
def test_what_a_reply_shows(known: Topic, message: str, reply: str, path: str, expected: bool | None) -> None:
    assert was_used(known, WORDS[known.name], message, reply, [path] if path else []) is expected


def test_words_shared_by_several_topics_do_not_count() -> None:
    sharing = (LUNCH, topic("dinner", LUNCH.instructions), DEPLOY)
    words = words_of(sharing)
    assert not words["lunch"].distinctive and words["deploy"].distinctive
    reply = "I found a table, read the menu aloud and booked for the whole team."
    assert was_used(LUNCH, WORDS["lunch"], "Hungry?", reply) is True
    assert was_used(LUNCH, words["lunch"], "Hungry?", reply) is None
