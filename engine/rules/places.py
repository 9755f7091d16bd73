"""The files a rule is about, if its text names a pattern, an extension or a folder.

Only where that is certain: "run the tests in tests/ before you push" is about every push.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.startup.lazy import expression

_NAME = r"[\w.@-]"
_PLACE = (
    r"[`'\"“]?(?:"
    rf"(?:{_NAME}+/|\*\*/)*{_NAME}*\*{_NAME}*\.[A-Za-z][\w-]*"  # *_test.go, src/**/*.spec.ts
    rf"|(?:{_NAME}+/)+(?:\*\*?)?"  # tests/, src/api/**
    r"|\.[a-z][a-z0-9]{0,5}(?=[`'\"”]? (?:files?|and|or)\b)"  # .tsx files
    r")(?![\w/*{])[`'\"”]?"
)
_ALL = r"(?:(?:all|any|every|each|the|our|my|of|files?|anything|something|code|in|under|inside)\s+)*"
_MORE = rf"(?:(?:,| and| or|, and|, or)\s+(?:in\s+)?{_PLACE})*"
_PLACES = rf"{_ALL}(?P<places>{_PLACE}{_MORE})(?:\s+(?:files?|folders?))?"
_IN = r"(?:in|inside|within|under)"
_POLITE = r"^\W*(?:(?:please|always|also|and|so|ok|we|you|should|must|from now on)[,\s]+)*"
_OFF = r"(?:never|do not|don['’]?t|must not|no|avoid)"
_FORMS = tuple(
    expression(_POLITE + form, re.IGNORECASE)
    for form in (
        rf"(?:{_IN}|for)\s+{_PLACES}(?:\s*[,:–—-])?\s+(?!(?:only|alone)\b)\w",
        rf"{_OFF}\s+(?:ever\s+)?(?:touch|edit|change|modify|delete|remove|rename|reformat"
        rf"|rewrite)\s+{_PLACES}",
        rf"(?:{_OFF}|use|prefer)\s(?:(?!\b(?:except|unless|outside|only|other|but|instead|than"
        r"|before|after|until"
        r"|when|while|if|without|forget|from|into|skip|break|put|save|store|create|the|our|those"
        r"|these)\b)[^.;:,!?])*?"
        rf"\s{_IN}\s+{_PLACES}(?:,? please)?[.!]*$",
    )
)
"""Match "In *.sql files, …", "never touch migrations/" and "no mocks in tests/" up to the files."""


@lru_cache(maxsize=4_096)
def paths_in(rule: str) -> str:
    """The files a rule is about, in the form of ``Rule.path``; empty if the text does not say, or its
    wordings disagree.
    """
    found = {_paths(wording) for wording in rule.split(" / ")}
    return found.pop() if len(found) == 1 else ""


def _paths(wording: str) -> str:
    match = next(filter(None, (form.match(wording) for form in _FORMS)), None)
    if match is None:
        return ""
    words = (word.strip("`'\"“”,") for word in match["places"].split())
    return ",".join(
        dict.fromkeys(_glob(word) for word in words if word.casefold() not in ("and", "or", "in"))
    )


def _glob(place: str) -> str:
    place = place.removeprefix("**/")
    return f"*{place}" if place.startswith(".") and "/" not in place else re.sub(r"/\*+$", "/", place)
