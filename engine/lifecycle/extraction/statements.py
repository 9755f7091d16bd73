"""Finds sentences of the user about a named person.

Favours precision over recall: a sentence must begin with a first and last name, or the name of an existing
page, followed by a verb for what someone is, does or wants. Bare names, programs named like people and
one-off actions are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from engine.store.paths import slugify
from engine.transcripts.turn import COMMAND, Turn
from engine.transcripts.typed import typed_in

MAX_STATEMENTS = 6
"""Maximum statements proposed for a session."""

_MAX_CHARACTERS = 240
_MIN_WORDS = 4
_MANNER = (
    r"prefers?|likes?|hates?|dislikes?|wants? (?:to be|only|no|all)|expects?"
    r"|(?:reads?|answers?|speaks?|writes?)(?! (?:that|us|me|he|she|they|:))"
    r"|bevorzugt|mag|möchte|(?:spricht|antwortet|liest)(?!,)"
)
_BEING = (
    r"is (?:our|the|a|an|my|in|on|at|responsible|away|head|lead)\b|works?|owns?|leads?|manages?|handles?"
    r"|runs?|reports? to|lives?|maintains?|reviews?|approves?|takes? care|knows?"
    r"|ist (?:unser\w*|der|die|ein\w*|mein\w*|für|im|in|bei|zuständig)\b|arbeitet|leitet|betreut"
    r"|kümmert sich|wohnt|kennt"
)
_WORD = r"[A-ZÀ-ÖØ-ÞŁŚŻŽŠČ][\w'’-]+"
_SAID = re.compile(
    rf"(?P<name>{_WORD}(?: (?:van|von|de|der|da|di|du|la|le|bin|al))*(?: {_WORD}){{0,2}})"
    r"(?:,? (?:also|always|usually|still|now|never|only|auch|immer))? "
    rf"(?:(?P<manner>{_MANNER})|(?:{_BEING}))\b.+"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NAME = re.compile(r"(?:[^\W\d_][^\W\d_A-Z]*)(?:['’-][^\W\d_][^\W\d_A-Z]*)*")
_NO_NAME = frozenset(
    """
    the this that these those it he she they we you there here what which who everything something nothing
    please also and but so if when while since because maybe perhaps let make each every all some any no not
    der die das es er sie wir ihr ich bitte auch und aber wenn jeder alle man one someone nobody everyone
    claude codex git github docker python
    """.split()  # noqa: SIM905 — one word a line would hide the module
)


def statements_in(turns: Sequence[Turn], known: Mapping[str, str]) -> Iterator[tuple[str, str, bool]]:
    """Name, sentence, and whether it is about how they communicate; the first ``MAX_STATEMENTS``.

    ``known`` has the slugs of names with a page, including first names; a single word counts as a name only
    if it is one of these.
    """
    found: dict[str, tuple[str, str, bool]] = {}
    for turn in turns:
        if turn.kind == COMMAND:
            continue
        for sentence in map(str.strip, _SENTENCE.split(typed_in(turn))):
            match = _SAID.fullmatch(sentence)
            if match is None or len(sentence) > _MAX_CHARACTERS or sentence.endswith(("?", ":")):
                continue
            name, words = match["name"], match["name"].split()
            is_name = slugify(name) in known or (len(words) > 1 and all(map(_NAME.fullmatch, words)))
            if is_name and words[0].casefold() not in _NO_NAME and len(sentence.split()) >= _MIN_WORDS:
                found.setdefault(sentence, (name, sentence, match["manner"] is not None))
    yield from list(found.values())[:MAX_STATEMENTS]
