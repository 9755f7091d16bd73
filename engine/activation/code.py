"""Code in a message: fenced blocks with their language, and code without a fence (spec 4.2).

Code and its language are recognized by line patterns that rarely occur in prose; a block is in the language
of most of its lines. There is no model and no parser.

Limits, measured on excerpts of GitHub Linguist's sample files in 15 common languages: with twelve lines 91 %
are found and 59 % get the right language, with six 82 % and 44 %; 9 % get a wrong one. Of 30,000 messages by
people, 13 are mistaken for code. Code that fits several languages has no known language. A single line is
code if it has a clear sign; code within a line of prose never is, with or without backticks. Only the first
600 lines between two fences are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from engine.activation.scan import Scan, compiled
from engine.startup.records import dataclass
from engine.topics.fields import aliases, word_set

_MAX_LINES = 600
# Code in the first language often fits the second as well.
_WIDER = {"typescript": "javascript", "cpp": "c"}

_CANONICAL = aliases(
    {
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
)
_NOT_CODE = word_set("text txt plain plaintext none output log markdown quote mermaid")

# Lines without any of these marks are code only if they begin with one of the words.
_MARKS = r"[(){}\[\];=<>$#@:|/\\\"'`]|--"
_KEYWORDS = (
    "import ", "return", "package ", "SELECT ", "select ", "FROM ", "from ", "WHERE ", "where ", "JOIN ",
    "fi", "done", "sudo ", "print ", "end", "else", "git ", "npm ", "pip ", "docker ", "kubectl ", "cargo ",
    "module ", "using ", "open ", "cd ", "do", "then", "esac", "begin", "pass", "break", "continue",
    "require",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code in a message: its span, and its language in lower case, empty if unknown."""

    language: str
    start: int
    end: int


@dataclass(slots=True)
class _Run:
    """Consecutive lines that look like code."""

    start: int
    end: int  # end of the last line
    points: int = 0
    votes: Counter[str] = field(default_factory=Counter)  # number of clear lines by language

    @property
    def language(self) -> str:
        """The language of most clear lines; empty without any."""
        votes = self.votes.copy()
        for narrow, wide in _WIDER.items():
            if votes[narrow]:
                votes[narrow] += votes.pop(wide, 0)
        return votes.most_common(1)[0][0] if self.votes else ""


def canonical(language: str) -> str:
    """The usual name of a language: ``py`` and ``Python3`` are ``python``."""
    plain = language.strip().lower().lstrip(".")
    return _CANONICAL.get(plain, plain)


def matches_language(block: CodeBlock, wanted: Sequence[str]) -> bool:
    """Whether a block is in one of the languages of a ``code`` trigger, if it has any."""
    if not wanted:
        return True
    names = {canonical(language) for language in wanted}
    return block.language in names or (block.language == "c" and "cpp" in names and "c" not in names)


def code_blocks(scan: Scan) -> list[CodeBlock]:
    """All code of a message in order: fenced blocks, and clear code outside of them."""
    blocks: list[CodeBlock] = []
    for info, start, end in scan.fences:
        language = _fence_language(info)
        if language in _NOT_CODE:
            continue
        if not language:
            runs = _runs(scan.text, start, end)
            language = max(runs, key=lambda run: run.points).language if runs else ""
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
    """The code in ``text[start:end]``, or YAML if there is none."""
    runs = _runs(text, start, end)
    found = [CodeBlock(run.language, run.start, run.end) for run in runs if run.votes or run.points >= 4]
    if found or (":\n" not in text[start:end] and "- " not in text[start:end]):
        return found
    from engine.activation.code_lines import settings  # noqa: PLC0415 — most messages need none of it

    return [CodeBlock("yaml", *span) for span in settings(text, start, end)]


def _runs(text: str, start: int, end: int) -> list[_Run]:
    """Runs of lines that look like code, each with at most one line between that does not."""
    lines = text[start:end].split("\n")[:_MAX_LINES]
    bare = [_bare(line) for line in lines]
    if not any(bare):
        return []
    from engine.activation.code_lines import classify, is_prose  # noqa: PLC0415 — most messages need none of it

    runs: list[_Run] = []
    apart = 2
    at = start
    for line, stripped in zip(lines, bare, strict=True):
        points, language = classify(stripped) if stripped else (0, "")
        if points:
            if apart > 1:
                runs.append(_Run(at, at))
            run, apart = runs[-1], 0
            run.end = at + len(line)
            run.points += points + (not language and line.startswith(("    ", "\t")))
            if language:
                run.votes[language] += 1
        elif line.strip():
            apart += 2 if is_prose(line.strip()) else 1
        at += len(line) + 1
    return runs


def _bare(line: str) -> str:
    """A line stripped of white space and quotation marks; empty if it cannot be code."""
    bare = line[:400].strip()
    if not bare.startswith(">>>"):
        bare = bare.lstrip(">").strip()
    # A backslash before a parenthesis is a formula.
    is_likely = (compiled(_MARKS).search(bare) or bare.startswith(_KEYWORDS)) and "\\(" not in bare
    return bare if is_likely else ""
