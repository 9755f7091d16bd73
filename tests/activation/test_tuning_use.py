"""What an agent's reply shows about the topics active for the message (spec 5.5)."""

from __future__ import annotations

from engine.activation.use import was_used, words_of
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
FOLLOWED = "Rollout announced, smoke tests are green, the canary looks fine."
PATH = "knowledge/procedures/deploy.md"
MANY = " ".join(f"word{number}x" for number in range(150))


@each_case(
    ("known", "message", "reply", "path", "expected"),
    [
        (TOPICS[2], "Can you review the PR that just came in?", REVIEW, "", True),
        (DEPLOY, "Ship it.", FOLLOWED, "", True),
        # Words of the message do not count, nor do a few in a long reply.
        (DEPLOY, "Is the rollout announced, are smoke tests green, how is the canary?", FOLLOWED, "", False),
        (DEPLOY, "Hm?", f"{MANY} smoke canary rollout", "", False),
        (DEPLOY, "Hm?", f"{MANY} {MANY} smoke canary rollout announced queue watch minutes stop", "", True),
        # A tool call on a subscribed file that the message does not name
        (DEPLOY, "Ship it.", "Done.", PATH, True),
        (DEPLOY, "Ship it.", "Done.", f"/home/agent/memory/{PATH}", True),
        (DEPLOY, "Ship it.", "Done.", f"{PATH}.bak", False),
        (DEPLOY, "Ship it.", "Done.", f"other-{PATH}", False),
        (DEPLOY, "Ship it.", "Done.", "deploy.md", False),
        (DEPLOY, f"What does {PATH} say?", "Nothing new.", PATH, False),
    ],
)
def test_what_a_reply_shows(known: Topic, message: str, reply: str, path: str, expected: bool) -> None:
    assert was_used(known, WORDS[known.name], message, reply, [path] if path else []) is expected


def test_words_shared_by_several_topics_do_not_count() -> None:
    sharing = (LUNCH, topic("dinner", LUNCH.instructions), DEPLOY)
    words = words_of(sharing)
    assert not words["lunch"] and words["deploy"]
    reply = "I found a table, read the menu aloud and booked for the whole team."
    assert was_used(LUNCH, WORDS["lunch"], "Hungry?", reply) is True
    assert was_used(LUNCH, words["lunch"], "Hungry?", reply) is False
