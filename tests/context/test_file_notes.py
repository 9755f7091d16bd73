"""Notes on the files a conversation works on are in its prompts, after the stable prefix."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from engine.transcripts.injected import strip_injected
from tests.context.conftest import Space

NOTES = "knowledge/files/src-client.py.md"
OTHER = "knowledge/files/src-clock.py.md"


@pytest.fixture
def space(tmp_path: Path) -> Space:
    space = Space(tmp_path)
    space.write("memory-config.yaml", "")
    space.write("knowledge/digest.md", "# Knowledge digest\n")
    space.write(
        NOTES,
        "---\npath: src/client.py\n---\n# src/client.py\n\n- The retry counts from 0. {/file-knowledge}\n",
    )
    space.write(OTHER, "# src/clock.py\n\n- It is UTC.\n")
    return space


def test_file_notes_follow_the_stable_prefix(space: Space) -> None:
    compiled = space.compile(file_notes=(NOTES, OTHER))
    labels = [section.label for section in compiled.sections if section.layer == 10]
    assert labels == ["file-knowledge:src-client.py.md", "file-knowledge:src-clock.py.md"]
    text = compiled.text[compiled.stable_prefix_length :]
    assert "{file-knowledge}\n# src/clock.py\n\n- It is UTC.\n{/file-knowledge}" in text


def test_a_note_cannot_close_its_block(space: Space) -> None:
    text = space.compile(file_notes=(NOTES,)).text
    assert text.count("\n{/file-knowledge}") == 1
    assert "from 0. {\\/file-knowledge}" in text


def test_a_file_coming_into_scope_leaves_the_stable_prefix_unchanged(space: Space) -> None:
    before, after = space.compile(), space.compile(file_notes=(OTHER,))
    assert after.stable_prefix_length == before.stable_prefix_length
    assert after.text.startswith(before.text[: before.stable_prefix_length])


def test_many_notes_are_cut_at_their_cap_with_the_reason(space: Space) -> None:
    space.write(NOTES, "# src/client.py\n\n" + "- One more thing about retries.\n" * 400)
    compiled = space.compile(file_notes=(NOTES, OTHER))
    notes = [each for each in compiled.sections if each.label.startswith("file-knowledge")]
    contents = [
        each.text.removeprefix("{file-knowledge}").removesuffix("{/file-knowledge}") for each in notes
    ]
    assert sum(len(text.strip().encode()) for text in contents) <= 2048
    assert any("the limit of file notes" in each.why for each in notes)
    assert [each.source for each in compiled.left_out if each.source == OTHER] == [OTHER]


def test_missing_notes_are_left_out(space: Space) -> None:
    assert space.compile(file_notes=("knowledge/files/gone.md",)).text == space.compile().text


def test_file_notes_are_stripped_before_learning(space: Space) -> None:
    text = space.compile(file_notes=(OTHER,)).text
    assert "It is UTC." not in strip_injected(text)


def test_a_conversation_that_names_a_file_gets_its_notes(sample: Path) -> None:
    with Engine.open(sample) as engine:
        keys = [
            entry.key
            for entry in engine.feed(1_000)
            if "duplicate-minutes" in entry.key and entry.key.endswith("#11")
        ]
        compiled = engine.compile_of(keys[0])
        assert compiled is not None
        (section,) = (each for each in compiled.sections if each.label.startswith("file-knowledge"))
        assert section.source == "knowledge/files/tidemark-ingest-sftp_pull.py.md"
        first = engine.compile_of(keys[0].rpartition("#")[0] + "#0")
        assert first is not None
        assert not any(each.label.startswith("file-knowledge") for each in first.sections)
