"""Code in a message: fenced blocks with their language, and code without a fence (spec 4.2).

The language of unfenced code is told by syntax that hardly occurs in prose. Guessing by statistics was
measured to be wrong in eight cases of ten, so what is not clear stays code of no known language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from engine.activation.scan import Scan
from engine.topics.fields import word_set

_MOST_LINES = 600
_ALIASES = {
    "python": "py python3 python2 py3 ipython pycon gyp",
    "javascript": "js node nodejs jsx mjs cjs ecmascript",
    "typescript": "ts tsx mts cts",
    "bash": "sh shell zsh console shellsession shell-session ksh terminal cmdline",
    "cpp": "c++ cxx cc hpp",
    "csharp": "c# cs dotnet",
    "fsharp": "f# fs",
    "go": "golang",
    "rust": "rs",
    "ruby": "rb",
    "kotlin": "kt kts",
    "yaml": "yml",
    "markdown": "md mdx",
    "dockerfile": "docker containerfile",
    "makefile": "make mk",
    "powershell": "ps1 pwsh posh",
    "html": "xhtml htm",
    "json": "json5 jsonc",
    "sql": "mysql postgresql postgres psql sqlite plpgsql tsql",
    "diff": "patch udiff",
    "haskell": "hs",
    "objective-c": "objc objectivec obj-c",
    "terraform": "tf hcl",
    "latex": "tex",
    "elixir": "ex exs",
    "clojure": "clj cljs",
    "perl": "pl pm",
}
_NOT_CODE = word_set("text txt plain plaintext none output log markdown quote mermaid")

# Per language: lines that say so by themselves, and lines that do so together with another.
_CLEAR: tuple[tuple[str, str], ...] = (
    (
        "python",
        r"(?:async )?def \w+\(.*\).*:\s*(?:#.*)?$|class \w+(?:\([\w., =]*\))?:$|from [\w.]+ import [\w(*]",
    ),
    (
        "python",
        r"Traceback \(most recent call last\):|if __name__ == |@(?:property|staticmethod|dataclass)\b",
    ),
    ("python", r"except(?: [\w.]+(?: as \w+)?)?:$|elif .+:$|print [\"'].*[\"']\s*$|with open\(.*\) as \w+:$"),
    (
        "typescript",
        r"(?:export )?(?:interface|type|enum) \w+(?:<.*>)? (?:= )?\{|(?:const|let) \w+: [\w<>\[\]|]+ =",
    ),
    ("typescript", r"import type .+ from [\"']|(?:public|private|readonly) \w+: \w+;"),
    ("javascript", r"(?:const|let|var) (?:\w+|\{.*\}|\[.*\]) = |(?:async )?function\*? ?\w*\(.*\) ?\{"),
    ("javascript", r"import .+ from [\"'].+[\"'];?$|module\.exports\b|console\.(?:log|error|warn)\("),
    ("javascript", r".*\((?:\w+(?:, ?\w+)*)?\) => [{(\w]|require\([\"'].+[\"']\)"),
    ("go", r"package \w+$|func (?:\(\w+ \*?\w+\) )?\w+\(.*\).*\{$|\w+(?:, \w+)? := .+"),
    (
        "rust",
        r"(?:pub )?fn \w+(?:<.*>)?\(.*\).*[{;]?$|let mut \w+|impl(?:<.*>)? \w+.*\{|"
        r"use (?:std|crate)::|#\[derive\(",
    ),
    (
        "java",
        r"public (?:static |final )*(?:class|interface|void|int|String)\b|System\.out\.print|import java[x.]",
    ),
    ("csharp", r"using System[\w.]*;|namespace [\w.]+;?$|Console\.Write(?:Line)?\("),
    ("cpp", r"#include <(?:iostream|vector|string|map|memory|algorithm)>|using namespace std;|.*\bstd::\w+"),
    ("c", r"#include (?:<\w+\.h>|\"\w+\.h\")|int main\((?:void|int argc.*)?\)|#define \w+"),
    ("ruby", r"require_relative ['\"]|attr_(?:accessor|reader|writer) :|.* do \|\w+(?:, ?\w+)*\|$"),
    ("php", r"<\?php|\$\w+ = .+;$|(?:public |private )?function \w+\(.*\$\w+.*\)"),
    ("kotlin", r"(?:suspend )?fun \w+\(.*\).*[{=]|(?:val|var) \w+: \w+\??(?: =|$)|data class \w+\("),
    ("swift", r"(?:func \w+\(.*\) -> \w+ \{|guard let \w+ =|import (?:UIKit|SwiftUI|Foundation)$)"),
    (
        "sql",
        r"(?i:select .+ from [\w\".]+|insert into \w+ ?\(|update \w+ set \w+ ?=|create (?:table|index) \w+|"
        r"delete from \w+ where )",
    ),
    (
        "bash",
        r"#!.*/(?:env )?(?:ba|z|k)?sh\b|\$ (?:\w|\./)[\w./-]*(?: .*)?$|(?:sudo|apt-get|export) [\w=./-]+|"
        r"if \[\[? .* \]\]?; then",
    ),
    ("html", r"<!DOCTYPE html|<(?:html|head|body|div|span|script|table|ul|form|p|a)\b[^<>]*>.*|</\w+>$"),
    (
        "css",
        r"(?:[.#][\w-]+|body|html|h[1-6]|p|a|ul|li|div|span|button|input|table)(?:[ ,>:.#]+[\w-]+)* \{$|"
        r"@media .*\{",
    ),
    ("dockerfile", r"FROM [\w./-]+(?::[\w.-]+)?(?: AS \w+)?$|(?:ENTRYPOINT|CMD) \[|COPY (?:--\S+ )?\S+ \S+$"),
    ("diff", r"diff --git |@@ -\d+(?:,\d+)? \+\d+|(?:---|\+\+\+) [ab]/"),
    ("json", r"\"[\w .-]+\": (?:[\"\d{\[-]|true|false|null).*,?$|[{\[].*\"\w+\" ?: .+[}\]]$"),
    ("", r".*[{;]\s*$"),
)
_WEAK: tuple[tuple[str, str], ...] = (
    (
        "python",
        r"import [\w.]+(?: as \w+)?$|return\b.*|(?:for|while|if|try|else)\b.*:$|self\.\w+.*|raise \w+|@\w+.*",
    ),
    ("python", r"\w+(?:\.\w+)* ?[+-]?= ?.+[^;]$|print\(.*\)$|yield\b.*|assert .+|# .*"),
    ("javascript", r"return\b.*;$|\}\)?;?$|\} else \{|\w+(?:\.\w+)*\(.*\);$|// .*"),
    (
        "bash",
        r"(?:fi|done|esac)$|echo .+|cd \S+$|(?:git|npm|pip|docker|kubectl|curl|make|cargo|uv) [\w./-].*",
    ),
    ("css", r"[a-z-]+: [^;]+;$"),
    ("", r".*[;{}]\s*$|.*\w\(.*\)\s*$|\s*[})\]]+[;,]?\s*$"),
)
_MARKS = re.compile(r"[(){}\[\];=<>$#@:]")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code in a message: its language in the usual lower-case name, empty when unknown, and its place."""

    language: str
    start: int
    end: int


def canonical(language: str) -> str:
    """The usual name of a language: ``py`` and ``Python3`` are ``python``."""
    plain = language.strip().lower().lstrip(".")
    return _canonical_names().get(plain, plain)


def matches_language(block: CodeBlock, wanted: Sequence[str]) -> bool:
    """Whether a block is in one of the languages a ``code`` trigger names; any block where it names none."""
    if not wanted:
        return True
    names = {canonical(language) for language in wanted}
    return block.language in names or (block.language == "c" and "cpp" in names and "c" not in names)


def code_blocks(scan: Scan) -> list[CodeBlock]:
    """All code of a message in order: fenced, and unfenced where it is clear."""
    blocks: list[CodeBlock] = []
    for info, start, end in scan.fences:
        language = _fence_language(info)
        if language in _NOT_CODE:
            continue
        if not language:
            inside = _unfenced(scan.text, start, end)
            language = inside[0].language if inside else ""
        blocks.append(CodeBlock(language, start, end))
    at = 0
    for _, start, end in [*scan.fences, ("", len(scan.text), len(scan.text))]:
        blocks += _unfenced(scan.text, at, start)
        at = end
    return sorted(blocks, key=lambda block: block.start)


def _fence_language(info: str) -> str:
    word = re.split(r"[\s,:]", info.strip().lstrip("{").strip(), maxsplit=1)[0]
    return canonical(word.rstrip("}"))


def _unfenced(text: str, start: int, end: int) -> list[CodeBlock]:
    """Runs of lines in ``text[start:end]`` that are code by their look."""
    blocks: list[CodeBlock] = []
    votes: dict[str, int] = {}
    first = last = -1
    at = start
    for line in [*text[start:end].split("\n")[:_MOST_LINES], "."]:
        verdicts = _judged(line)
        if verdicts:
            first = at if first < 0 else first
            last = at + len(line)
            for language, weight in verdicts.items():
                votes[language] = votes.get(language, 0) + weight
        elif line.strip() and first >= 0:
            blocks += _verdict(votes, first, last)
            votes, first = {}, -1
        at += len(line) + 1
    return blocks


def _verdict(votes: dict[str, int], first: int, last: int) -> list[CodeBlock]:
    named = {language: weight for language, weight in votes.items() if language}
    best = max(sorted(named), key=lambda language: named[language], default="")
    if named.get(best, 0) >= 2:
        if best == "javascript" and named.get("typescript", 0) >= 2:
            best = "typescript"
        if best == "c" and named.get("cpp", 0) >= 2:
            best = "cpp"
        return [CodeBlock(best, first, last)]
    return [CodeBlock("", first, last)] if sum(votes.values()) >= 4 else []


def _judged(line: str) -> dict[str, int]:
    """Languages a line speaks for: 2 for a clear sign, 1 for a weak one. Prose speaks for none."""
    bare = line[:400].strip().lstrip(">").strip()
    if "\\(" in bare or not (_MARKS.search(bare) or bare.startswith(_KEYWORD_STARTS)):
        # A backslash before a parenthesis is a formula.
        return {}
    clear, weak = _compiled()
    found: dict[str, int] = {}
    for language, pattern in clear:
        if language not in found and pattern.match(bare):
            found[language] = 2 if language else 1
    is_prose = len(re.findall(r"[^\W\d_]{2,} [^\W\d_]{2,}", bare)) >= 3 and bare[-1:] in ".!?"
    if not is_prose:
        indented = line[:4] == "    " or line[:1] == "\t"
        for language, pattern in weak:
            if language not in found and pattern.match(bare):
                found[language] = 1 + (indented and language == "")
    return found


_KEYWORD_STARTS = (
    "import ",
    "return",
    "package ",
    "SELECT ",
    "select ",
    "FROM ",
    "fi",
    "done",
    "sudo ",
    "print ",
)


@cache
def _compiled() -> tuple[tuple[tuple[str, re.Pattern[str]], ...], tuple[tuple[str, re.Pattern[str]], ...]]:
    return (
        tuple((language, re.compile(pattern)) for language, pattern in _CLEAR),
        tuple((language, re.compile(pattern)) for language, pattern in _WEAK),
    )


@cache
def _canonical_names() -> dict[str, str]:
    return {alias: language for language, aliases in _ALIASES.items() for alias in aliases.split()}
