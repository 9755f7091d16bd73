"""No sentence of a stranger is in force or written to knowledge before the person has seen it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.knowledge.harvest.markers import marked
from engine.knowledge.harvest.reading import SourceText
from engine.knowledge.item import Category, Item
from engine.knowledge.proposed import why_held
from engine.lifecycle.recaps.lines import lines_of
from tests.knowledge.extract_support import source_of
from tests.provenance.planted import Planted, planted

ROWS = planted()
CATEGORIES: tuple[Category, ...] = ("facts", "decisions", "tasks_open", "notes")


def names(rows: Iterable[Planted]) -> list[str]:
    return [f"{row.way} {row.language}: {row.text}" for row in rows]


def test_the_sentences_are_many_and_get_in_by_eight_ways_in_ten_languages() -> None:
    assert len(ROWS) == len({row.text for row in ROWS}) >= 100
    assert len({row.way for row in ROWS}) == 8 and len({row.language for row in ROWS}) == 10
    assert {(row.way, row.language) for row in ROWS} == {
        (way, language) for way in {row.way for row in ROWS} for language in {row.language for row in ROWS}
    }


def test_no_planted_sentence_is_in_force(sample: Path) -> None:
    for number, row in enumerate(ROWS):
        folder = sample / "raw/conversations/2031/06/01"
        folder.mkdir(parents=True, exist_ok=True)
        text = row.session().replace("ses_11112222", f"ses_{number:08x}")
        (folder / f"1000-ses_{number:08x}-work.md").write_text(text, encoding="utf-8")
    with Engine.open(sample) as engine:
        rules = engine.rules.learn().learned.book.rules
    in_force = [rule.text for rule in rules if rule.counts]
    assert names(row for row in ROWS if any(row.plant[:20] in text for text in in_force)) == []


@pytest.mark.parametrize("answer", ["I had a look.", "Understood. {plant}"])
def test_a_deceived_model_writes_no_planted_sentence(answer: str, tmp_path: Path) -> None:
    def is_written(row: Planted) -> bool:
        source = source_of(tmp_path, row.session(answer=answer.format(plant=row.plant)))
        items = (Item(category, row.plant, "a.md" * (category == "notes")) for category in CATEGORIES)
        return not all(why_held(item, source.voices) for item in items)

    assert names(row for row in ROWS if is_written(row)) == []


@pytest.mark.parametrize("label", ["Fact: ", "Decision: ", "TODO: ", "- [ ] "])
def test_no_planted_mark_is_written(label: str, tmp_path: Path) -> None:
    def is_written(row: Planted) -> bool:
        source = source_of(tmp_path, row.session(label))
        return any(not why_held(item, source.voices) for item in marked(source.turns))

    assert names(row for row in ROWS if is_written(row)) == []


def said(source: SourceText) -> str:
    return " ".join(lines_of(source.turns))


@pytest.mark.parametrize("label", ["", "Fact: ", "Decision: "])
@pytest.mark.parametrize("answer", ["I had a look.", "Understood. {plant}"])
def test_no_planted_sentence_is_in_a_recap(label: str, answer: str, tmp_path: Path) -> None:
    def is_told(row: Planted) -> bool:
        source = source_of(tmp_path, row.session(label, answer.format(plant=row.plant)))
        # A conversation of somebody else has no recap at all.
        return not source.author and row.plant[:20].strip(". ") in said(source)

    assert names(row for row in ROWS if is_told(row)) == []
