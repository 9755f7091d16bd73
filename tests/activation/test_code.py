"""Code in messages: fenced blocks and inline code (spec 4.2)."""

from __future__ import annotations

from engine.activation.code import CodeBlock, canonical, code_blocks, matches_language
from engine.activation.scan import Scan
from tests.cases import each_case


def found(text: str) -> list[tuple[str, str]]:
    return [(block.language, text[block.start : block.end]) for block in code_blocks(Scan(text))]


@each_case(
    ("fence", "language"),
    [
        ("```python\nx\n```", "python"),
        ("```py title=a\nx\n```", "python"),
        ("```{.python}\nx\n```", "python"),
        ("~~~JS\nx\n~~~", "javascript"),
        ("````c++\n```\n````", "cpp"),
        ("> ```sh\n> ls\n> ```", "bash"),
        ("```py\nnever closed", "python"),
        ("```brainfuck\n+\n```", "brainfuck"),
        ("```\nfn main() {}\n```", ""),
    ],
)
def test_a_fence_names_its_language(fence: str, language: str) -> None:
    assert [name for name, _ in found(f"Look:\n\n{fence}\n")] == [language]


@each_case(
    "text",
    ["```text\nx\n```", "```plain\nx\n```", "~~~markdown\n# `x`\n~~~", "def f(x):\n    return x", "a ` b"],
)
def test_text_in_a_fence_and_code_without_one_are_not_code(text: str) -> None:
    assert found(text) == []


def test_the_span_of_code_is_what_is_between_its_fences_or_backticks() -> None:
    assert found("a `b` c\n```py\nx = `1`\n```\nd `e`") == [
        ("", "`b`"),
        ("python", "x = `1`\n"),
        ("", "`e`"),
    ]


@each_case(("alias", "name"), [("PY", "python"), ("c++", "cpp"), ("C#", "csharp"), ("golang", "go")])
def test_aliases_map_to_one_language(alias: str, name: str) -> None:
    assert canonical(alias) == name
    assert matches_language(CodeBlock(name, 0, 1), [alias])


def test_a_trigger_without_languages_matches_any_code() -> None:
    assert matches_language(CodeBlock("", 0, 1), [])
    assert not matches_language(CodeBlock("", 0, 1), ["python"])
    assert not matches_language(CodeBlock("go", 0, 1), ["python", "rust"])
