"""By which texts a topic is known."""

from __future__ import annotations

from pathlib import Path

from engine.activation.fusion.fitted import TopicTexts
from engine.activation.fusion.texts import (
    ABOUT_LIMIT,
    EXAMPLES_LIMIT,
    HEADINGS_LIMIT,
    SUBSCRIPTION_BYTES,
    SUBSCRIPTIONS_READ,
    headings_of,
    texts_of,
)
from engine.activation.labelled import Labelled
from tests.activation.support import topic, workspace_files


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


def test_headings_of_subscriptions(tmp_path: Path) -> None:
    (tmp_path / "knowledge").mkdir()
    (tmp_path / "knowledge/a.md").write_text(
        "---\ntitle: x\n---\nintro\n# One\n```\n# no\n```\n## Two\n# One\n"
    )
    (tmp_path / "knowledge/b.md").write_bytes(b"# caf\xff\n#\n")
    (tmp_path / "knowledge/data.json").write_text("# no heading")
    (tmp_path / "knowledge/huge.md").write_text("# huge\n" + "x" * SUBSCRIPTION_BYTES)
    paths = ("a.md", "missing.md", "b.md", "data.json", "huge.md", "../../secret.md", "")
    known = topic("t", subscriptions=tuple(f"knowledge/{path}" for path in paths))
    assert headings_of(known, workspace_files(tmp_path)) == ("One", "Two", "caf\ufffd")


def test_headings_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "many.md").write_text("".join(f"# heading {number}\n" for number in range(500)))
    for number in range(SUBSCRIPTIONS_READ + 1):
        (tmp_path / f"{number}.md").write_text(f"# file {number}\n")
    files = workspace_files(tmp_path)
    assert len(headings_of(topic("t", subscriptions=("many.md",)), files)) == HEADINGS_LIMIT
    each = tuple(f"{number}.md" for number in range(SUBSCRIPTIONS_READ + 1))
    assert headings_of(topic("t", subscriptions=each), files)[-1] == f"file {SUBSCRIPTIONS_READ - 1}"
