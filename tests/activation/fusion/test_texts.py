"""By which texts a topic is known."""

from __future__ import annotations

from engine.activation.fusion.fitted import (
    ABOUT_LIMIT,
    EXAMPLES_LIMIT,
    TopicTexts,
    texts_of,
)
from engine.activation.labelled import Labelled
from tests.activation.support import topic


def test_everything_written_in_the_file_counts() -> None:
    known = topic(
        "github-pr_review",
        "Read the diff.",
        title="Reviewing",
        description=" How pull requests are reviewed. ",
        examples=("please review my PR",),
    )
    assert texts_of(known, headings=("Checklist", "Style")) == TopicTexts(
        "github-pr_review",
        "github pr review. Reviewing. How pull requests are reviewed.",
        "Read the diff.\nChecklist\nStyle",
        ("please review my PR",),
    )


def test_a_name_that_says_it_all_is_said_once() -> None:
    assert texts_of(topic("refund", title="refund", description="")).label == "refund"


def test_labelled_messages_are_examples_and_counter_examples() -> None:
    known = topic("refund", examples=("money back",))
    labelled = Labelled(useful=("old one", "new one", "money back"), noise=("never mind", "new one", "no"))
    texts = texts_of(known, labelled)
    assert texts.examples == ("money back", "new one", "old one")
    assert texts.against == ("no", "never mind")


def test_of_many_examples_the_written_and_then_the_latest_count() -> None:
    known = topic("refund", examples=tuple(f"written {number}" for number in range(60)))
    texts = texts_of(known, Labelled(tuple(f"said {number}" for number in range(64))))
    assert len(texts.examples) == EXAMPLES_LIMIT
    assert texts.examples[59:] == ("written 59", "said 63", "said 62", "said 61", "said 60")


def test_long_instructions_are_cut() -> None:
    assert len(texts_of(topic("t", "word " * 5_000)).about) == ABOUT_LIMIT
