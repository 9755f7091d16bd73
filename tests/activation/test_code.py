"""Code in messages: fenced, and unfenced where it is clear (spec 4.2)."""

from __future__ import annotations

import pytest

from engine.activation.code import CodeBlock, canonical, code_blocks, matches_language
from engine.activation.scan import Scan


def languages(text: str) -> list[str]:
    return [block.language for block in code_blocks(Scan(text))]


@pytest.mark.parametrize(
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
        ("```\nfn main() { let mut x = 5; }\n```", "rust"),
        ("```\nhello there\n```", ""),
    ],
)
def test_a_fence_names_its_language(fence: str, language: str) -> None:
    assert languages(f"Look:\n\n{fence}\n") == [language]


def test_the_place_of_a_fenced_block_is_that_of_its_code() -> None:
    text = "a\n```py\nx = 1\n```\nb"
    block = code_blocks(Scan(text))[0]
    assert text[block.start : block.end] == "x = 1\n"


@pytest.mark.parametrize(
    "text", ["```text\nx\n```", "```plain\nx\n```", "`inline` code", "~~~markdown\n# x\n~~~"]
)
def test_what_is_said_not_to_be_code_is_none(text: str) -> None:
    assert languages(text) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("def foo(x):\n    return x + 1", "python"),
        ("It says:\n\nTraceback (most recent call last):\n  File 'a.py'", "python"),
        ("import os\nimport sys", "python"),
        ('print "hello"', "python"),
        ("const x = 5;\nconsole.log(x)", "javascript"),
        ("interface Foo {\n  a: string;\n}", "typescript"),
        ("func main() {\n\tfmt.Println(1)\n}", "go"),
        ("fn main() {\n    let mut x = 5;\n}", "rust"),
        ("public class Foo {\n}", "java"),
        ("#include <stdio.h>\nint main(void) { return 0; }", "c"),
        ("#include <iostream>\nint main() { std::cout << 1; }", "cpp"),
        ("SELECT name FROM users WHERE id = 3", "sql"),
        ("$ git push --force", "bash"),
        ("sudo apt-get install jq", "bash"),
        ("<div class='x'>hello</div>", "html"),
        ("body {\n  color: red;\n}", "css"),
        ('{"a": 1, "b": [2]}', "json"),
        ("diff --git a/x b/x\n@@ -1,2 +1,2 @@", "diff"),
        ("FROM python:3.12\nCOPY . /app", "dockerfile"),
    ],
)
def test_unfenced_code_is_told_by_clear_syntax(text: str, language: str) -> None:
    assert languages(text) == [language]


@pytest.mark.parametrize(
    "text",
    [
        "Please import the goods and return them by Friday.",
        "I have a question: how do I do this; and that (really)?",
        "Can you look at foo(bar) and tell me (maybe) why x = 3?",
        "We met at 10:30; see [link](https://x.org/z) for <details>.",
        "Dear team,\n\nplease note:\nagenda: budget\ntime: 10:00\nplace: room 4\n",
        "- item one: do this\n- item two: do that\n",
        "please select a date from the list",
        "From the kitchen import nothing",
        "let x be the answer",
        "@anna please do this (thanks)",
        "# Heading\n\nSome text (with) things.\n",
        r"- \( P(A) = \frac{4}{52} \)",
        "ok;",
    ],
)
def test_prose_with_signs_in_it_is_no_code(text: str) -> None:
    assert languages(text) == []


@pytest.mark.parametrize(
    ("alias", "name"), [("PY", "python"), ("c++", "cpp"), ("C#", "csharp"), ("golang", "go")]
)
def test_aliases_are_one_language(alias: str, name: str) -> None:
    assert canonical(alias) == name
    assert matches_language(CodeBlock(name, 0, 1), [alias])


def test_a_trigger_without_languages_wants_any_code() -> None:
    assert matches_language(CodeBlock("", 0, 1), [])
    assert not matches_language(CodeBlock("", 0, 1), ["python"])
    assert not matches_language(CodeBlock("go", 0, 1), ["python", "rust"])
