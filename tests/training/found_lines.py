"""Lines in which a name stands next to a value, from the sources and documents of installed packages.

A name in them is replaced by that of a secret: with a secret in the place of the value, the line has one
among the words of real code; with the value that stands there, it has what is none.
"""

from __future__ import annotations

import json
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGES = """
    _pytest anthropic anyio attr cffi click cryptography docstring_parser graphql h11 httpcore2 httpx2
    hypothesis jsonschema joblib jwt markdown_it mcp mypy numpy openai packaging pexpect pip pydantic
    pygments requests rich schemathesis setuptools starlette textual urllib3 uvicorn werkzeug yaml
""".split()  # noqa: SIM905 — words of one list
"""Packages of the development environment, whose versions ``constraints.txt`` names."""
_MOST = 120_000
"""Characters of a file that are read: longer ones are tables."""
_PAIR = re.compile(
    r"(?P<name>[A-Za-z_][\w-]{1,40})(?P<joint>[\"'\])]{0,2} ?(?:[:=]|=>|\|) ?|[\"']?, ?(?=[\"']))"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`<>,;]{3,60})(?P=quote)(?=[\s,;)\]}\"']|$)"
)
_WORD = re.compile(r"(?<![\w.-])[a-z]{3,14}(?=[ ,.)])(?! ?[=:|(])")
"""A word that no value is joined to."""
_NUMBERED = re.compile(r"(?<![\w-])[A-Za-z]+-?\d+[A-Za-z\d]*(?!\w)")
_PHRASE = re.compile(r"[a-z]+(?:[-_ ][a-z]+){2,}")


_CHOSEN = re.compile(r"123\d*$|(?:19|20)\d\d$|\d{5}")
"""In words that may be passwords."""


class Found(NamedTuple):
    """A line with a name and a value."""

    before: str
    name: str
    joint: str
    value: str
    after: str


def library() -> Iterator[str]:
    """Sources of Python's library, without its tests."""
    folder = Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        if not {"test", "tests", "site-packages", "lib2to3", "idle_test"} & set(path.parts):
            yield path.read_text(encoding="utf-8", errors="replace")


def packages() -> Iterator[str]:
    """Sources and documents of packages."""
    folder = Path(sysconfig.get_path("purelib"))
    for name in PACKAGES:
        for path in sorted((folder / name).rglob("*")):
            if path.suffix in {".py", ".md", ".rst", ".txt", ".toml", ".yaml"} and "certs" not in path.parts:
                yield path.read_text(encoding="utf-8", errors="replace")[:_MOST]
    for path in sorted(folder.glob("*.dist-info/METADATA")):
        yield path.read_text(encoding="utf-8", errors="replace")


def numbered(texts: list[str]) -> list[str]:
    """Words with digits in them that several texts use, such as ``utf8`` and ``sha256``, in lower case."""
    seen = Counter(
        word
        for text in texts
        for word in {each.lower().replace("-", "") for each in _NUMBERED.findall(text)}
        if len(word) < 17
    )
    return sorted(word for word, count in seen.items() if count > 1 and not _is_chosen(word))


def _is_chosen(word: str) -> bool:
    return (len(word) > 6 and re.fullmatch("[0-9a-f]+", word) is not None) or _CHOSEN.search(word) is not None


def pairs(draw: random.Random, texts: list[str]) -> list[Found]:
    """Some names and values of each text; not those that may be secrets."""
    found: list[Found] = []
    for text in texts:
        lines = [line for line in text.split("\n") if 8 < len(line) < 160]
        for line in draw.sample(lines, min(len(lines), 24)):
            matches = [each for each in _PAIR.finditer(line) if not each["value"].isdigit()]
            if matches:
                match = draw.choice(matches)
                before, after = line[: match.start()], line[match.end() :]
                joint = match["joint"] + match["quote"]
                found.append(Found(before, match["name"], joint, match["value"], match["quote"] + after))
    return list(dict.fromkeys(found))


def named(name: str, like: str) -> str:
    """A name of words joined by ``_``, written as another one is."""
    words = name.split("_")
    if like.isupper():
        return name.upper()
    if "-" in like:
        return "-".join(words)
    if "_" not in like and not like.islower():
        return ("".join(map(str.capitalize, words)), words[0] + "".join(map(str.capitalize, words[1:])))[
            like[0].islower()
        ]
    return name


def secrets(
    draw: random.Random, found: list[Found], make: Callable[[], tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Lines with a secret in the place of the value, and the secret; ``make`` gives a name and a secret."""
    for each in found:
        name, value = make()
        if each.joint[0] != "," and (each.joint[-1] in "\"'`" or not re.search(r"[\s,;)\]}&#]", value)):
            yield f"{each.before}{named(name, each.name)}{each.joint}{value}{each.after}", value


def innocent(draw: random.Random, found: list[Found], key: Callable[[], str]) -> Iterator[str]:
    """Lines without a secret; ``key`` gives the name of a secret that no person chose."""
    for each in found:
        if not _PHRASE.fullmatch(each.value):
            yield f"{each.before}{named(key(), each.name)}{each.joint}{each.value}{each.after}"


def renamed(draw: random.Random, lines: Iterable[str], secret: Callable[[], str]) -> Iterator[str]:
    """Lines in which what ``secret`` gives, the name of one, replaces a word that nothing is joined to."""
    for line in lines:
        words = [word.span() for word in _WORD.finditer(line)]
        if words:
            start, end = draw.choice(words)
            yield f"{line[:start]}{secret()}{line[end:]}"


def typed() -> list[str]:
    """What people tell an agent, in several languages."""
    lines = (Path(__file__).parent / "rules.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]
