"""Code in a message: fenced blocks with their language, and inline code (spec 4.2).

Code is what its writer marks as code. A block is in the language that its fence names; one without a name,
and code between backticks in a line, is in none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.activation.scan import Scan
from engine.startup.records import dataclass
from engine.topics.fields import aliases, word_set

_CANONICAL = aliases(
    {
        "python": "py python3 python2 py3 ipython pycon",
        "javascript": "js node nodejs jsx mjs cjs ecmascript",
        "typescript": "ts tsx mts cts",
        "bash": "sh shell zsh console shellsession shell-session ksh terminal",
        "cpp": "c++ cxx cc hpp",
        "csharp": "c# cs dotnet",
        "fsharp": "f# fs",
        "go": "golang",
        "rust": "rs",
        "ruby": "rb",
        "kotlin": "kt kts",
        "yaml": "yml",
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
_NOT_CODE = word_set("text txt plain plaintext none output log markdown md mdx quote mermaid")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code in a message: its span, and its language in lower case, empty if it is not named."""

    language: str
    start: int
    end: int


def canonical(language: str) -> str:
    """The usual name of a language: ``py`` and ``Python3`` are ``python``."""
    plain = language.strip().lower().lstrip(".")
    return _CANONICAL.get(plain, plain)


def matches_language(block: CodeBlock, wanted: Sequence[str]) -> bool:
    """Whether a block is in one of the languages of a ``code`` trigger, if it has any."""
    return not wanted or block.language in {canonical(language) for language in wanted}


def code_blocks(scan: Scan) -> list[CodeBlock]:
    """All code of a message, in order; fences marked as text are not code."""
    blocks = [CodeBlock(_fence_language(info), start, end) for info, start, end in scan.fences]
    blocks = [block for block in blocks if block.language not in _NOT_CODE]
    blocks += [CodeBlock("", start, end) for start, end in scan.inline_code]
    return sorted(blocks, key=lambda block: block.start)


def _fence_language(info: str) -> str:
    word = re.split(r"[\s,:]", info.strip().lstrip("{").strip(), maxsplit=1)[0]
    return canonical(word.rstrip("}"))
