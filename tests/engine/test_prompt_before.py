"""The prompt of the previous message of a person in the same conversation."""

from __future__ import annotations

from engine.context.compiled import Compiled
from engine.engine import Engine


def messages(engine: Engine) -> list[str]:
    """The keys of the person's turns in the conversation with the most of them, oldest first."""
    engine.refresh_index()  # so that results are reproducible
    by_path: dict[str, list[str]] = {}
    for entry in engine.feed(10_000):
        if entry.kind == "user" and entry.key:
            by_path.setdefault(entry.key.partition("#")[0], []).append(entry.key)
    return max(by_path.values(), key=len)


def text_of(compiled: Compiled | None) -> str:
    """The text of a prompt; empty if there is none."""
    return compiled.text if compiled is not None else ""


def test_compile_before_gives_the_prompt_of_the_previous_message(engine: Engine) -> None:
    first, second, *_ = messages(engine)
    before, earlier = engine.compile_before(second), engine.compile_of(first)
    assert text_of(before) == text_of(earlier) != ""


def test_for_an_agent_turn_it_is_the_prompt_before_the_answered_message(engine: Engine) -> None:
    first, second, *_ = messages(engine)
    path, _, number = second.partition("#")
    answer = f"{path}#{int(number) + 1}"
    assert text_of(engine.compile_of(answer)) == text_of(engine.compile_of(second)) != ""
    assert text_of(engine.compile_before(answer)) == text_of(engine.compile_of(first)) != ""


def test_the_first_message_has_no_previous_prompt(engine: Engine) -> None:
    assert engine.compile_before(messages(engine)[0]) is None


def test_an_unknown_key_has_no_previous_prompt(engine: Engine) -> None:
    assert engine.compile_before("raw/conversations/nothing.md#3") is None
    assert engine.compile_before("") is None


def test_the_engine_finds_source_lines_and_keeps_prompts(engine: Engine) -> None:
    compiled = engine.compile_of(messages(engine)[-1])
    assert compiled is not None
    soul = next(each for each in compiled.sections if each.label == "identity:SOUL.md")
    lines = (engine.workspace.root / soul.source).read_text(encoding="utf-8").split("\n")
    numbers = engine.lines_of(soul)
    shown = [line for line in soul.text.split("\n") if line]
    assert [lines[number - 1] for number in numbers if number and lines[number - 1]] == shown
    assert engine.keep_prompt("scratch/prompt.md", compiled.text)
    assert (engine.workspace.root / "scratch/prompt.md").read_text(encoding="utf-8") == compiled.text
