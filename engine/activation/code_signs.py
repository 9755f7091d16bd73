"""Tells lines of code from prose, by their shapes and by weaker signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from engine.activation.code_shapes import SHAPES
from engine.activation.scan import compiled

_TOOLS = (
    "git|npm|npx|yarn|pnpm|pip3?|python3?|docker(?:-compose)?|podman|kubectl|helm|curl|wget|cmake|cargo|uv|brew|"
    "apt|apt-get|dnf|systemctl|ssh|scp|rsync|tar|chmod|chown|mkdir|rm|cp|mv|ls|cd|grep|sed|awk|xargs|terraform|"
    "ansible|gcloud|gh|pytest|ruff|mypy|mvn|psql|openssl"
)
_TOOLS_THAT_ARE_WORDS = "make|go|node|find|cat|head|tail|echo|java|gradle|source|aws|kill|sort|test"
_ORDERS = (
    r"git (?:add|commit|push|pull|clone|fetch|checkout|rebase|merge|status|log|diff|stash)|"
    r"(?:npm|yarn|pnpm) (?:install|ci|run|test|start)|pip3? install|brew install|uv (?:run|sync|add)|"
    r"docker(?:-compose| compose)? (?:run|build|ps|up|down|pull)|kubectl (?:get|apply|describe|logs)|"
    r"cargo (?:build|run|test)|go (?:build|run|test|get|mod)"
)
_COMMAND = (
    rf"(?:sudo )?(?:{_TOOLS}|{_TOOLS_THAT_ARE_WORDS}) "
    r"(?=.*(?:(?:^| )--?[a-zA-Z][\w-]*(?:[ =]|$)| \| ?[a-z]| && |\$[A-Za-z_({]))"
    rf"|(?:sudo )?(?:{_TOOLS}) (?=.*(?: [~.]?/?[\w.-]*[a-z][\w.-]*/[\w./*-]+| > ?\S|\*\.\w))"
    rf"|(?:{_ORDERS})(?: [\w.\[\]=@:/-]+){{0,2}}$"
)
_WEAK = (
    r".*[;{}]\s*$|.*\w\(.*\)\s*[;,]?$|[})\]]+[;,)]*$|(?://|/\*|\*/|--|\# ?\w).*|.*(?:=>|->|&&|\|\||\(|\[)$|"
    r"[\w.$@\[\]'\"]+ ?(?:[-+*/|.?]?=|<-|:=) ?\S.*|"
    r"(?:if|for|while|switch|else|elif|elsif|match|case|when|try|catch|foreach|until|unless)\b.*"
    r"(?:[{:)]| do| then)$|"
    r"(?:end|fi|done|else|begin|then|do|esac|pass|break|continue|return|nil|\"\"\")$|return\b.*|raise \w+|"
    r"@\w+.*|(?:import|using|open|use) [\w.]+(?: as \w+)?;?$|</?\w+.*>$|\|> \S.*|\| \S.*->.*|\.\w+\(.*|"
    r"self\.\w+.*|yield\b.*|assert .+|[\w-]+: [^;]+;$|echo .+|def \w+[?!]?$|"
    r"(?:class|module) [A-Z]\w+(?: < \w+)?$|puts .+|"
    r"(?i:(?:select|from|where|order by|group by|(?:left |inner )?join|values|having|and|on) "
    r"[\w.*=<>'\"(), ]+;?$)"
)
_PAIRS = r"[^\W\d_]{2,} [^\W\d_]{2,}"
_SIGNS_OF_CODE = r"[(){}\[\];=<>$#@:|/\\\"'`]|--"
_CALL = r"[\w.]+ = [\w.]+\(.*\);?$"

_SETTING = r"[ \t]*(?:- ){0,3}(?:[a-z][\w./-]{0,40}:(?: [^\n]*)?|- \S[^\n]*|\#[^\n]*|---)"
_SETTINGS = rf"(?m)^{_SETTING}$(?:\n+{_SETTING}$)+"
_NESTED = (
    r"(?m)^[ \t]*(?:- )?[a-z][\w./-]*:(?: [|>]-?)?\n[ \t]*(?:[ \t]{2}|- )\S|"
    r"^[ \t]*- [a-z][\w./-]*: [^\n]+\n[ \t]+[a-z][\w./-]*: "
)


def judged(lines: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
    """How much each line looks like code, 0 to 2, and the languages it speaks for.

    Args:
        lines: Without white space around them. An empty one is not code.
    """
    signs = _likely_signs(lines)
    return [_judged(line, signs) if line else (0, ()) for line in lines]


def is_prose(line: str) -> bool:
    """Whether a line reads like a part of a sentence."""
    pairs = len(compiled(_PAIRS).findall(line))
    return (pairs >= 3 and line[-1:] in ".!?:,") or (pairs >= 2 and not compiled(_SIGNS_OF_CODE).search(line))


def _judged(line: str, signs: Sequence[_Sign]) -> tuple[int, tuple[str, ...]]:
    if _is_command(line):
        return 2, ("bash",)
    found = [language for sign in signs if sign.shape.match(line) for language in sign.languages]
    if found:
        return 2, tuple(dict.fromkeys(found))
    if is_prose(line) or compiled(_WEAK).match(line) is None:
        return 0, ()
    # The result of a call that gets a name says more than other weak signs.
    return 1 + (compiled(_CALL).match(line) is not None), ()


def _likely_signs(lines: Sequence[str]) -> list[_Sign]:
    """The signs that lines may have, by the texts each sign needs."""
    text = "\n".join(["", *filter(None, lines)]).lower()
    return [
        _Sign(languages, compiled(shape))
        for languages, hints, shape in _signs()
        if any(hint in text for hint in hints)
    ]


def _is_command(line: str) -> bool:
    """Whether a line calls a program, with what does not occur in a sentence: an option, a pipe, a path."""
    first = line.removeprefix("sudo ").partition(" ")[0]
    return first in _programs() and line[-1] not in "?!" and compiled(_COMMAND).match(line) is not None


def settings(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where YAML stands in ``text[start:end]``: three lines or more of keys and items, some below others."""
    if ":" not in text[start:end]:
        return []
    runs = compiled(_SETTINGS).finditer(text, start, end)
    return [run.span() for run in runs if run[0].count("\n") >= 2 and compiled(_NESTED).search(run[0])]


class _Sign(NamedTuple):
    """Lines of one shape that are code by themselves: the shape, and the languages they speak for."""

    languages: tuple[str, ...]
    shape: re.Pattern[str]


@cache
def _signs() -> tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...]:
    return tuple(
        (
            tuple(languages.split()),
            tuple(f"\n{hint[1:]}" if hint[0] == "^" else hint for hint in hints.split("¦")),
            "|".join(shapes),
        )
        for languages, hints, shapes in SHAPES
    )


@cache
def _programs() -> frozenset[str]:
    names = f"{_TOOLS}|{_TOOLS_THAT_ARE_WORDS}|pip|pip3|python|python3|docker|docker-compose"
    return frozenset(names.split("|"))
