"""The sections of every prompt and their order; file headers are not included."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.context.compiled import Compiled
from engine.context.compiler import CompileRequest
from tests.context.conftest import TODAY, Space


def labels(compiled: Compiled) -> list[str]:
    return [section.label for section in compiled.sections]


def fill(space: Space) -> None:
    for name in ("TOOLS", "SOUL", "ZEAL", "USER", "AGENTS", "BOND"):
        space.write(
            f"knowledge/identity/{name}.md", f"---\ntype: identity\n---\n\n# {name}\n\nI am {name}.\n"
        )
    space.write("knowledge/prompts/system.md", "Answer briefly.")
    space.write(
        "knowledge/memory/MEMORY.md",
        "---\ntype: memory\nline_count: 3\n---\n# Core Memory\n- 2026-02-14: files\n",
    )
    space.write("knowledge/projects/_active.md", "# Active Projects\n- apo\n")
    space.write("knowledge/digest.md", "# Knowledge digest\n## Facts\n- a fact\n")
    space.write("knowledge/journal/2026-02-17.md", "- today\n")
    space.write("knowledge/journal/2026-02-16.md", "- yesterday\n")
    space.write("knowledge/journal/2026-02-15.md", "- before\n")


def test_sections_are_in_the_order_of_their_layers(space: Space) -> None:
    fill(space)
    compiled = space.compile("What is new?", session_id="ses_a1")
    assert labels(compiled) == [
        "system:system.md",
        "identity:SOUL.md",
        "identity:USER.md",
        "identity:AGENTS.md",
        "identity:TOOLS.md",
        "identity:BOND.md",
        "identity:ZEAL.md",
        "memory:MEMORY.md",
        "projects:_active.md",
        "knowledge:digest.md",
        "journal:2026-02-16.md",
        "journal:2026-02-17.md",
        "discussion",
        "message",
    ]
    layers = [section.layer for section in compiled.sections]
    assert layers == [4, 5, 5, 5, 5, 5, 5, 6, 6, 7, 8, 8, 8, 12]
    assert compiled.left_out == ()
    assert compiled.problems == ()


def test_the_text_is_the_sections_with_a_marker_above_each(space: Space) -> None:
    fill(space)
    compiled = space.compile("What is new?", session_id="ses_a1")
    assert compiled.text == "\n\n".join(
        f"<!-- {section.label} -->\n{section.text}" for section in compiled.sections
    )
    assert "<!-- identity:SOUL.md -->\n# SOUL\n\nI am SOUL.\n\n<!-- identity:USER.md -->" in compiled.text
    assert compiled.text.endswith("<!-- message -->\nWhat is new?")
    assert "Today is 2026-02-17. Session ses_a1, turn 1." in compiled.text


def test_headers_are_not_included(space: Space) -> None:
    fill(space)
    text = space.compile().text
    assert "type:" not in text
    assert "line_count" not in text


def test_a_section_knows_its_file_and_size(space: Space) -> None:
    fill(space)
    section = next(each for each in space.compile().sections if each.label == "memory:MEMORY.md")
    assert (section.source, section.lines, section.slot, section.priority) == (
        "knowledge/memory/MEMORY.md",
        "",
        "memory",
        1,
    )
    assert section.text == "# Core Memory\n- 2026-02-14: files"
    assert section.tokens > 5
    assert section.why


def test_an_empty_workspace_compiles_to_date_and_message(space: Space) -> None:
    compiled = space.compile("Hi")
    assert labels(compiled) == ["discussion", "message"]
    assert compiled.stable_prefix_length == 0
    assert compiled.boundaries == ()


def test_an_empty_message_compiles(space: Space) -> None:
    assert space.compile("").text.endswith("<!-- message -->\n")


def test_core_memory_is_only_in_the_main_session(space: Space) -> None:
    fill(space)
    assert "2026-02-14: files" not in space.compile(main_session=False).text


@pytest.mark.parametrize("content", [None, "", "---\ntype: digest\n---\n\n  \n"])
def test_without_a_digest_there_is_no_knowledge_block(space: Space, content: str | None) -> None:
    fill(space)
    (space.root / "knowledge/digest.md").unlink()
    if content is not None:
        space.write("knowledge/digest.md", content)
    assert "{knowledge}" not in space.compile().text


def test_the_digest_cannot_close_its_block(space: Space) -> None:
    space.write("knowledge/digest.md", "- a fact {/knowledge} and more\n")
    text = space.compile().text
    assert "{knowledge}\n- a fact {\\/knowledge} and more\n{/knowledge}\n" in text
    assert text.count("{/knowledge}") == 1


def test_a_digest_over_its_limit_is_cut_inside_the_block(space: Space) -> None:
    space.write("knowledge/digest.md", "".join(f"- fact number {number:03}\n" for number in range(400)))
    compiled = space.compile()
    section = next(each for each in compiled.sections if each.label == "knowledge:digest.md")
    assert len(section.text.encode()) <= 4096 + len("{knowledge}\n\n{/knowledge}")
    assert section.text.endswith(" tokens; the text goes on]\n{/knowledge}")
    assert [left.label for left in compiled.left_out] == ["knowledge:digest.md"]


def test_the_date_selects_the_journals(space: Space) -> None:
    fill(space)
    request = CompileRequest("Hi", TODAY)
    compiler = space.compiler()
    later = compiler.compile(replace(request, today=TODAY.replace(day=18)))
    assert "journal:2026-02-17.md" in labels(later)
    assert "journal:2026-02-16.md" not in labels(later)
    assert "yesterday's journal" in {section.why for section in later.sections}


def test_other_files_in_the_identity_folder_are_ignored(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "soul")
    space.write("knowledge/identity/.tmp-SOUL.md", "half-written")
    space.write("knowledge/identity/portrait.png", b"\x89PNG\0")
    space.write("knowledge/identity/old/SOUL.md", "former soul")
    assert labels(space.compile()) == ["identity:SOUL.md", "discussion", "message"]


def test_crlf_and_a_byte_order_mark_are_normalised(space: Space) -> None:
    space.write(
        "knowledge/identity/SOUL.md", b"\xef\xbb\xbf---\r\ntype: identity\r\n---\r\n# Soul\r\nI am.\r\n"
    )
    assert "<!-- identity:SOUL.md -->\n# Soul\nI am.\n\n" in space.compile().text
