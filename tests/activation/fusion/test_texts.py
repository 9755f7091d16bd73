"""The texts that represent a topic."""

from __future__ import annotations

from engine.activation.fusion.fitted import (
    ABOUT_LIMIT,
    EXAMPLES_LIMIT,
    TopicTexts,
    texts_of,
)
from engine.activation.labelled import Labelled
from tests.activation.support import topic


def test_all_texts_of_the_file_are_used() -> None:
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


def test_a_title_equal_to_the_name_is_not_repeated() -> None:
    assert texts_of(topic("refund", title="refund", description="")).label == "refund"


def test_labelled_messages_are_examples_and_counter_examples() -> None:
    known = topic("refund", examples=("money back",))
    labelled = Labelled(useful=("old one", "new one", "money back"), noise=("never mind", "new one", "no"))
    texts = texts_of(known, labelled)
    assert texts.examples == ("money back", "new one", "old one")
    assert texts.against == ("no", "never mind")


def test_written_examples_come_first_then_the_latest_labels() -> None:
    known = topic("refund", examples=tuple(f"written {number}" for number in range(60)))
    texts = texts_of(known, Labelled(tuple(f"said {number}" for number in range(64))))
    assert len(texts.examples) == EXAMPLES_LIMIT
    assert texts.examples[59:] == ("written 59", "said 63", "said 62", "said 61", "said 60")


def test_long_instructions_are_truncated() -> None:
    assert len(texts_of(topic("t", "word " * 5_000)).about) == ABOUT_LIMIT
