"""Code in a message: fenced blocks with their language, and code without a fence (spec 4.2).

Whether lines are code is told by shapes that hardly occur in prose. Which language it is, is told by the
words and signs that hold code together, as function words hold a sentence. Both are tables, no model.

Limits, measured on pieces of programs in 31 languages that the tables were not made from: of twelve lines
85 % are named right, of six 75 %, of three 52 %; 7 % are named as another language, a third of them
TypeScript without types as JavaScript. What fits several languages stays code of no known language. A single
line is code where it has a clear sign; code within a line of prose is none, with or without backticks. Read
are the first 600 lines between two fences.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from engine.activation.scan import Scan, compiled
from engine.topics.fields import word_set

_MOST_LINES = 600
_MOST_NAMED = 20
_READ = 6_000
_MOST_COUNTED = 8
_LEAST = 0.8
_AHEAD = 1.25
# What is written in the first of these is often written in the second as well.
_RELATIVES = (("javascript", "typescript"), ("c", "cpp"))

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
    "julia": "jl",
}
_NOT_CODE = word_set("text txt plain plaintext none output log markdown quote mermaid")

# Lines without any of these marks are code only where they begin with one of the words.
_MARKS = r"[(){}\[\];=<>$#@:|/\\\"'`]|--"
_KEYWORDS = (
    "import ", "return", "package ", "SELECT ", "select ", "FROM ", "from ", "WHERE ", "where ", "JOIN ",
    "fi", "done", "sudo ", "print ", "end", "else", "git ", "npm ", "pip ", "docker ", "kubectl ", "cargo ",
    "module ", "using ", "open ", "cd ", "do", "then", "esac", "begin", "pass", "break", "continue",
    "require",
)  # fmt: skip
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"|(?<!\w)'(?:[^'\\\n]|\\.)*'"


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code in a message: its language in the usual lower-case name, empty when unknown, and its place."""

    language: str
    start: int
    end: int


@dataclass(slots=True)
class _Run:
    """Lines in a row that look like code."""

    start: int
    end: int
    """Offset behind the last line."""
    points: int = 0
    votes: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """How many clear lines speak for each language; one that speaks for two counts half for each."""


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
        if not language and len(blocks) < _MOST_NAMED:
            language = _language(scan.text[start:end], {})
        blocks.append(CodeBlock(language, start, end))
    at = 0
    for _, start, end in [*scan.fences, ("", len(scan.text), len(scan.text))]:
        blocks += list(_unfenced(scan.text, at, start)) or _settings(scan.text, at, start)
        at = end
    return sorted(blocks, key=lambda block: block.start)


def _fence_language(info: str) -> str:
    word = re.split(r"[\s,:]", info.strip().lstrip("{").strip(), maxsplit=1)[0]
    return canonical(word.rstrip("}"))


def _unfenced(text: str, start: int, end: int) -> Iterator[CodeBlock]:
    """The code in ``text[start:end]``: lines that look like it, with at most one between that does not."""
    named = 0
    for run in _runs(text, start, end):
        language = ""
        if named < _MOST_NAMED and (run.votes or run.points >= 2):
            language = _language(text[run.start : run.end], run.votes)
            named += 1
        if run.votes or run.points >= (3 if language else 4):
            yield CodeBlock(language, run.start, run.end)


def _runs(text: str, start: int, end: int) -> Iterator[_Run]:
    lines = text[start:end].split("\n")[:_MOST_LINES]
    bare = [_bare(line) for line in lines]
    if not any(bare):
        return
    from engine.activation.code_signs import is_prose, judged  # noqa: PLC0415 — most messages need none of it

    run: _Run | None = None
    apart = 0
    at = start
    for line, (points, languages) in zip(lines, judged(bare), strict=True):
        if points:
            run = run or _Run(at, at)
            run.end = at + len(line)
            run.points += points + (not languages and line.startswith(("    ", "\t")))
            for language in languages:
                run.votes[language] += 1 / len(languages)
            apart = 0
        elif line.strip() and run is not None:
            apart += 2 if is_prose(line.strip()) else 1
            if apart > 1:
                yield run
                run, apart = None, 0
        at += len(line) + 1
    if run is not None:
        yield run


def _bare(line: str) -> str:
    """A line without white space and quotation marks around it; empty where it cannot be code."""
    bare = line[:400].strip()
    if not bare.startswith(">>>"):
        bare = bare.lstrip(">").strip()
    # A backslash before a parenthesis is a formula.
    is_likely = (compiled(_MARKS).search(bare) or bare.startswith(_KEYWORDS)) and "\\(" not in bare
    return bare if is_likely else ""


def _settings(text: str, start: int, end: int) -> list[CodeBlock]:
    if ":\n" not in text[start:end] and "- " not in text[start:end]:
        return []
    from engine.activation.code_signs import settings  # noqa: PLC0415 — most messages need none of it

    return [CodeBlock("yaml", *span) for span in settings(text, start, end)]


def _language(code: str, votes: Mapping[str, float]) -> str:
    """The language that stands out by the pieces of code and by its clear lines; empty where none does."""
    lines = [line.strip() for line in code[:_READ].split("\n")]
    text = compiled(_QUOTED).sub('""', "\n".join(["", *filter(None, lines), ""]))
    scores: dict[str, float] = defaultdict(float)
    for piece, languages in _pieces():
        if piece in text and _stands_alone(piece, text):
            for language in languages:
                scores[language] += 1 / len(languages)
    for language, share in votes.items():
        scores[language] += 2 * min(share, 2.0)
    for one, other in _RELATIVES:
        if scores[other] > 1.1 * scores[one]:
            scores[one] = 0
        elif scores[other] > 0.5 * scores[one]:
            scores[other] = 0
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    best, most = ranked[0]
    return best if most >= _LEAST and most >= _AHEAD * ranked[1][1] else ""


def _stands_alone(piece: str, text: str) -> bool:
    """Whether a piece occurs without a word going on at an end of it that is a letter."""
    before, after = _is_letter(piece[0]), _is_letter(piece[-1])
    if not before and not after:
        return True
    at = text.find(piece)
    for _ in range(_MOST_COUNTED):
        end = at + len(piece)
        if not (before and _is_letter(text[at - 1])) and not (after and _is_letter(text[end])):
            return True
        at = text.find(piece, at + 1)
        if at < 0:
            break
    return False


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


@cache
def _pieces() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The pieces as they stand in a text whose lines are all stripped, with the languages that use them."""
    from engine.activation.code_words import PIECES  # noqa: PLC0415 — most messages need none of it

    owners: dict[str, list[str]] = {}
    for language, pieces in PIECES.items():
        for piece in pieces.split():
            bare = f"\n{piece[1:]}" if piece[0] == "^" and len(piece) > 1 else piece
            bare = f"{bare[:-1]}\n" if piece[-1] == "$" and len(piece) > 1 else bare
            owners.setdefault(bare, []).append(language)
    return tuple((piece, tuple(languages)) for piece, languages in owners.items())


@cache
def _canonical_names() -> dict[str, str]:
    return {alias: language for language, aliases in _ALIASES.items() for alias in aliases.split()}
