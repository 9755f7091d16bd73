"""The texts that represent a topic, and the rows of the regression."""

from __future__ import annotations

from engine.activation.labelled import Labelled
from engine.activation.scorer import texts as texts_module
from engine.activation.scorer.texts import (
    ABOUT_LIMIT,
    EXAMPLES_LIMIT,
    LABELLED,
    OPENED,
    WRITTEN,
    Row,
    TopicTexts,
    refused_in,
    rows_of,
    texts_of,
)
from tests.activation.support import topic


def test_all_texts_of_the_file_are_used() -> None:
    known = topic(
        "github-pr_review",
        "Read the diff.",
        title="Reviewing",
        description=" How pull requests are reviewed. ",
        examples=("please review my PR",),
    )
    assert texts_of(known) == TopicTexts(
        "github-pr_review",
        "github pr review. Reviewing. How pull requests are reviewed.",
        "Read the diff.",
        ("please review my PR",),
    )


def test_a_title_equal_to_the_name_is_not_repeated() -> None:
    assert texts_of(topic("refund", title="refund", description="")).label == "refund"


def test_the_latest_labels_come_first_and_a_useful_message_is_no_noise() -> None:
    known = topic("refund", examples=("money back",))
    labelled = Labelled(useful=("old one", "new one", "money back"), noise=("never mind", "new one", "no"))
    texts = texts_of(known, labelled)
    assert texts.useful == ("money back", "new one", "old one")
    assert texts.noise == ("no", "never mind")


def test_a_label_weighs_more_than_what_is_written_and_no_text_counts_twice() -> None:
    texts = texts_of(topic("refund", examples=("money back", "a refund")), Labelled(useful=("money back",)))
    rows = [row for row in rows_of([texts]) if row.topic == 0 and row.text in ("money back", "a refund")]
    assert rows == [Row("money back", 0, LABELLED), Row("a refund", 0, WRITTEN)]


def test_what_an_agent_opened_weighs_less_than_what_is_written() -> None:
    texts = texts_of(topic("refund", examples=("money back",)), Labelled(opened=("money back", "my money")))
    rows = [row for row in rows_of([texts]) if row.topic == 0 and row.text in ("money back", "my money")]
    assert rows == [Row("money back", 0, WRITTEN), Row("my money", 0, OPENED)] and OPENED < WRITTEN < LABELLED


def test_messages_that_ask_for_nothing_are_rows_of_no_topic() -> None:
    nothing = texts_module.nothing()
    assert [row.text for row in rows_of([]) if row.topic is None] == list(nothing)
    assert len(set(nothing)) == len(nothing) > 50


def test_a_topic_has_so_many_examples_at_most_and_fewer_among_many() -> None:
    many = topic("refund", examples=tuple(f"written {number}" for number in range(90)))
    alone = [row for row in rows_of([texts_of(many)]) if row.text.startswith("written")]
    assert len(alone) == EXAMPLES_LIMIT
    crowd = [texts_of(topic(f"t{number}", examples=many.examples)) for number in range(1_000)]
    assert len(rows_of(crowd)) < 5_100


def test_noise_is_refused_only_where_the_message_is_useful_for_no_topic() -> None:
    first, second = (
        texts_of(topic(name), Labelled(useful=useful, noise=noise))
        for name, useful, noise in (("a", ("both",), ("neither",)), ("b", (), ("both", "neither")))
    )
    assert refused_in([first, second]) == {"neither": {0, 1}}


def test_long_instructions_are_truncated() -> None:
    assert len(texts_of(topic("t", "word " * 5_000)).about) == ABOUT_LIMIT
