"""Injected knowledge is removed from messages, so that memory never learns from itself."""

from __future__ import annotations

from hypothesis import given

from engine.transcripts.format import strip_injected
from tests.cases import each_case
from tests.transcripts.strategies import nasty_text


@each_case("name", ["knowledge", "rag-context", "file-knowledge", "my-rules"])
@each_case("attributes", ["", " path=a.py", " n=3 of 4"])
def test_injected_knowledge_is_removed(name: str, attributes: str) -> None:
    text = f"before\n\n{{{name}{attributes}}}\nremember: tea\n{{/{name}}}\n\nafter"
    assert strip_injected(text) == "before\n\nafter"


@each_case("name", ["system-reminder", "command-name", "command-args", "local-command-stdout"])
def test_blocks_of_the_agents_program_are_removed(name: str) -> None:
    assert strip_injected(f"<{name}>x\ny</{name}>\nwhat I typed") == "what I typed"


def test_a_block_inside_a_line_is_removed() -> None:
    assert strip_injected("a {knowledge}x{/knowledge} b") == "a b"
    assert strip_injected("a<system-reminder>x</system-reminder>b") == "ab"


def test_several_and_nested_blocks_are_removed() -> None:
    text = (
        "{knowledge}a {knowledge}b{/knowledge} {rag-context}c{/rag-context}{/knowledge}one\n"
        "{rag-context}d{/rag-context}\n"
        "two"
    )
    assert strip_injected(text) == "one\n\ntwo"


def test_a_message_of_injected_blocks_only_becomes_empty() -> None:
    assert strip_injected("<system-reminder>\nx\n</system-reminder>\n") == ""


@each_case(
    "text",
    [
        "plain  text\n\n\n\nwith gaps \n",
        "{knowledge} never ends, and these are a person's words",
        "ends {/knowledge} without a beginning",
        "the `{knowledge}` marker is closed by `{/knowledge}`, `<system-reminder>` by `</system-reminder>`",
        "{knowledgeable}x{/knowledgeable} <commander>y</commander>",
        "<!-- a comment of the writer's -->\n<!-- TODO: later -->",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert strip_injected(text) == text


def test_markers_between_sections_of_a_prompt_are_removed() -> None:
    text = (
        "<!-- identity:SOUL.md -->\nsoul\n<!-- topic:email-triage -->\ntriage\n"
        "<!-- user 18:45 -->\nhi\n<!-- message -->\nyo"
    )
    assert strip_injected(text) == "soul\ntriage\nhi\nyo"


@given(nasty_text, nasty_text)
def test_nothing_injected_survives(before: str, after: str) -> None:
    stripped = strip_injected(f"{before}\n{{rag-context}}\nsecret-fact\n{{/rag-context}}\n{after}")
    assert "secret-fact" not in stripped
    assert strip_injected(stripped) == stripped


def test_many_markers_are_processed_quickly() -> None:
    text = "{knowledge}" * 20_000 + "x" + "{/knowledge}" * 20_000
    assert strip_injected(text) == ""
