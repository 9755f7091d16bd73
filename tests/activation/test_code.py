"""Code in messages: fenced, or clearly recognizable without a fence (spec 4.2)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.activation.code import CodeBlock, canonical, code_blocks, matches_language
from engine.activation.scan import Scan
from tests.cases import each_case


def languages(text: str) -> list[str]:
    return [block.language for block in code_blocks(Scan(text))]


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
        ("```\nfn main() { let mut x = 5; }\n```", "rust"),
        ("```\nhello there\n```", ""),
    ],
)
def test_a_fence_names_its_language(fence: str, language: str) -> None:
    assert languages(f"Look:\n\n{fence}\n") == [language]


def test_the_span_of_a_fenced_block_is_its_code() -> None:
    text = "a\n```py\nx = 1\n```\nb"
    block = code_blocks(Scan(text))[0]
    assert text[block.start : block.end] == "x = 1\n"


@each_case("text", ["```text\nx\n```", "```plain\nx\n```", "`inline` code", "~~~markdown\n# x\n~~~"])
def test_fences_marked_as_text_and_inline_code_are_not_code_blocks(text: str) -> None:
    assert languages(text) == []


@each_case(
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
        (">>> import os\n>>> os.getcwd()\n'/home'", "python"),
        ("df = pd.read_csv('a.csv')\ndf.groupby('x').sum()", "python"),
        ("if x == 3:\n    return None\nelse:\n    raise ValueError('x')", "python"),
        ("document.getElementById('x').addEventListener('click', () => {\n  alert(1);\n});", "javascript"),
        ("TypeError: x is undefined\n    at foo (/app/index.js:3:5)", "javascript"),
        ("function foo(a: string): number {\n  return a.length;\n}", "typescript"),
        ("if err != nil {\n\treturn nil, err\n}", "go"),
        ('let x: Vec<u8> = vec![1, 2];\nprintln!("{}", x.len());', "rust"),
        ("error[E0382]: borrow of moved value: `x`\n --> src/main.rs:4:5", "rust"),
        ("List<String> xs = new ArrayList<>();\nfor (String s : xs) { foo(s); }", "java"),
        ('Exception in thread "main" java.lang.Error\n\tat com.acme.Foo.bar(Foo.java:12)', "java"),
        ("using System;\nclass B { static void Main() { Console.WriteLine(1); } }", "csharp"),
        ("struct foo *p = malloc(sizeof(*p));\np->x = 1;", "c"),
        ("class Foo\n  def bar\n    puts 'x'\n  end\nend", "ruby"),
        ("$x = array(1, 2);\nforeach ($x as $y) { echo $y; }", "php"),
        ("fun main() {\n    val x = 3\n    println(x)\n}", "kotlin"),
        ("func foo(a: Int) -> Int {\n    return a\n}", "swift"),
        ("select *\nfrom users\nwhere id = 3\norder by name;", "sql"),
        ("cd /tmp && ls -la | grep foo", "bash"),
        ("curl -X POST https://x.org/api -d '{\"a\":1}'", "bash"),
        ("npm run build", "bash"),
        ("user@host:~$ ls\nfoo bar", "bash"),
        ("Get-ChildItem | Where-Object { $_.Length -gt 10 }", "powershell"),
        ('services:\n  web:\n    image: nginx:1.25\n    ports:\n      - "80:80"', "yaml"),
        ("- name: test\n  run: pytest -q\n- name: lint\n  run: ruff check", "yaml"),
        ('[project]\nname = "x"\nversion = "1.0"', "toml"),
        ('main :: IO ()\nmain = putStrLn "hi"', "haskell"),
        ("df <- read.csv('x.csv')\nsummary(df)", "r"),
        ("defmodule Foo do\n  def bar(x), do: x\nend", "elixir"),
        ("local x = require('foo')\nfunction bar() return x end", "lua"),
        ('resource "aws_instance" "a" {\n  ami = "x"\n}', "terraform"),
    ],
)
def test_unfenced_code_is_recognized_by_clear_syntax(text: str, language: str) -> None:
    assert languages(text) == [language]


@each_case(
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
        "git is a tool",
        "npm is slow today",
        "make sure - to check the build",
        "make a transfer of $200 from my account & tell me",
        "find me a car from 2/28 - 3/1 in reno",
        "a := b means definition",
        "Name: Anna\nAge: 30\nCity: Vienna",
        "From: Anna <anna@x.org>\nTo: Bob <bob@x.org>\nSubject: Hi",
        "|a|b|\n|-|-|\n|1|2|\n|x -> y|z|",
        "import duties are high, and class starts at 9:",
        "Our plan:\n1. import data\n2. export data (soon)\n3. done",
        "foo() and bar() are both slow",
        "$ 5 are fine",
        "call me (maybe)",
    ],
)
def test_prose_with_punctuation_is_not_code(text: str) -> None:
    assert languages(text) == []


@each_case(("alias", "name"), [("PY", "python"), ("c++", "cpp"), ("C#", "csharp"), ("golang", "go")])
def test_aliases_map_to_one_language(alias: str, name: str) -> None:
    assert canonical(alias) == name
    assert matches_language(CodeBlock(name, 0, 1), [alias])


def test_a_trigger_without_languages_matches_any_code() -> None:
    assert matches_language(CodeBlock("", 0, 1), [])
    assert not matches_language(CodeBlock("", 0, 1), ["python"])
    assert not matches_language(CodeBlock("go", 0, 1), ["python", "rust"])


def test_code_between_prose_is_located() -> None:
    text = "Can you fix this?\n\ndf = pd.read_csv('a.csv')\n\ndf.head()\nprint(df)\n\nIt is slow, I think."
    block = code_blocks(Scan(text))[0]
    assert text[block.start : block.end].startswith("df = ")
    assert text[block.start : block.end].endswith("print(df)")


def test_two_code_snippets_are_two_blocks() -> None:
    prose = "This one I have from the other team, see below."
    assert languages(f"def f(x):\n    return x\n\n{prose}\n\nSELECT a FROM b") == ["python", "sql"]


def test_quoted_code_is_code() -> None:
    assert languages("> def f(x):\n>     return x") == ["python"]


def test_syntax_shared_by_several_languages_names_none() -> None:
    assert languages("}\n\nfoo(x);\nbar(x, y);\n}") == [""]


def test_the_language_of_an_unlabelled_fence_is_detected() -> None:
    assert languages("```\nif x == 3:\n    return None\nelse:\n    raise ValueError('x')\n```") == ["python"]


SCRIPT = """
import sys
from engine.activation.code import code_blocks
from engine.activation.scan import Scan
tables = ("code_lines",)
found = code_blocks(Scan(%r))
print(len(found), [name for name in tables if f"engine.activation.{name}" in sys.modules])
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did we decide about the office", "0 []"),
        ("def f(x):", "1 ['code_lines']"),
    ],
)
def test_language_tables_are_loaded_only_for_possible_code(text: str, expected: str) -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT % text], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == expected, ran.stderr


@each_case(
    "text",
    [
        "a(b) " * 4_000,
        "x = (1)\n" * 2_500,
        "{;" * 10_000,
        "a===b " * 3_000,
        "- " * 9_000,
        "a:\n  b: c\n" * 2_000,
        "git " + "- " * 9_000,
        ("ab cd " * 60 + "(\n") * 50,
        "<a " * 6_000,
        "```\nx = 1\n" * 2_000,
        "\\(" * 9_000,
        ("pub fn a<" * 30 + "\n") * 100,
        (".a " * 100 + "{\n") * 100,
        ('"a": ' * 80 + "\n") * 100,
    ],
)
def test_hostile_text_is_scanned_quickly(text: str) -> None:
    from time import process_time

    started = process_time()
    code_blocks(Scan(text))
    assert process_time() - started < 2
