"""The prompt of the message before: of a person, in the same conversation."""

from __future__ import annotations

from engine.context.compiled import Compiled
from engine.engine import Engine


def messages(engine: Engine) -> list[str]:
    """The keys of a person's turns in the conversation that has the most of them, oldest first."""
    engine.refresh_index()  # so that the same is found every time
    by_path: dict[str, list[str]] = {}
    for entry in engine.feed(10_000):
        if entry.kind == "user" and entry.key:
            by_path.setdefault(entry.key.partition("#")[0], []).append(entry.key)
    return max(by_path.values(), key=len)


def text_of(compiled: Compiled | None) -> str:
    """The text of a prompt, empty for none."""
    return compiled.text if compiled is not None else ""


def test_it_is_that_of_the_message_before(engine: Engine) -> None:
    first, second, *_ = messages(engine)
    before, earlier = engine.compile_before(second), engine.compile_of(first)
    assert text_of(before) == text_of(earlier) != ""


def test_for_an_agents_turn_it_is_that_before_the_message_it_answered(engine: Engine) -> None:
    first, second, *_ = messages(engine)
    path, _, number = second.partition("#")
    answer = f"{path}#{int(number) + 1}"
    assert text_of(engine.compile_of(answer)) == text_of(engine.compile_of(second)) != ""
    assert text_of(engine.compile_before(answer)) == text_of(engine.compile_of(first)) != ""


def test_the_first_message_has_none_before_it(engine: Engine) -> None:
    assert engine.compile_before(messages(engine)[0]) is None


def test_what_is_no_turn_has_none(engine: Engine) -> None:
    assert engine.compile_before("raw/conversations/nothing.md#3") is None
    assert engine.compile_before("") is None


def test_lines_and_keeping_go_through_the_engine(engine: Engine) -> None:
    compiled = engine.compile_of(messages(engine)[-1])
    assert compiled is not None
    soul = next(each for each in compiled.sections if each.label == "identity:SOUL.md")
    lines = (engine.workspace.root / soul.source).read_text(encoding="utf-8").split("\n")
    numbers = engine.lines_of(soul)
    shown = [line for line in soul.text.split("\n") if line]
    assert [lines[number - 1] for number in numbers if number and lines[number - 1]] == shown
    assert engine.keep_prompt("scratch/prompt.md", compiled.text)
    assert (engine.workspace.root / "scratch/prompt.md").read_text(encoding="utf-8") == compiled.text
