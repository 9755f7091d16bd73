"""Items that wait for a person, because whoever speaks through them may be nobody we know (M3).

What the agent says in words of its own counts as its own, whatever it had read before: nothing in a
transcript tells a conclusion from a rumour that was taken over.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.activation.function_words import WORDS
from engine.context.voices import (
    Voices,
    heard,
    is_from_tool,
    is_instruction,
    plain,
    telling_words,
    why_doubtful,
    words_of,
)
from engine.knowledge.item import Item, Voice
from engine.redaction.detect import redact

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import SourceText

_STEM = 5
"""Letters in which two forms of a word agree."""
_GROUNDED = 0.4
"""Share of an item's telling words that a person or the agent must have used themselves."""
_SPOKEN = 0.5
"""The same of what is said about a person's wishes, which only that person can know."""


def why_held(item: Item, source: SourceText) -> str:
    """Why an item waits for a person; empty when it may be written.

    Args:
        item: The item.
        source: The conversation that it was taken out of.
    """
    if redact(f"{item.path} {item.text}")[1]:
        return "holds what looks like a secret"
    why = why_doubtful(item.text, source.said)
    if why:
        return why
    if is_instruction(item.path):
        return "names a path that looks like an instruction to a model"
    if item.voice == "tool":
        return "comes from tool output"
    words = _telling(item.text)
    if _share(words, source.said) < _GROUNDED:
        return "is in words that neither a person nor the agent used"
    text, known = plain(item.text), heard(source.said)
    if any(name not in known.person.text and name not in known.agent.text for name in _NAME.findall(text)):
        return "names something that neither a person nor the agent named"
    if _WISH.search(text) and _share(words, source.said, agent=False) < _SPOKEN:
        return "says what a person wants, and no person said it"
    return ""


def voice_of(item: Item, source: SourceText) -> Voice:
    """Who said what an item says, by its words; empty where nobody did."""
    if is_from_tool(plain(item.text), source.said):
        return "tool"
    words = _telling(item.text)
    if _share(words, source.said) < _GROUNDED:
        return ""
    person, agent = _share(words, source.said, agent=False), _share(words, source.said, person=False)
    return "person" if person >= agent else "agent"


def _telling(text: str) -> set[str]:
    """The words that say what a text is about; everyday ones only where there are no others."""
    words = words_of(plain(text))
    telling = telling_words(words)
    return telling - _everyday() or telling or set(words)


@lru_cache(maxsize=1)
def _everyday() -> frozenset[str]:
    return frozenset(word for words in WORDS.values() for word in words.split())


def _share(words: set[str], said: Voices, *, person: bool = True, agent: bool = True) -> float:
    """Share of words that a person or the agent used, in whatever form; 1 where there are none."""
    known = heard(said)
    stems = [_stems(known.person.words)] if person else []
    stems += [_stems(known.agent.words)] if agent else []
    found = sum(any(word[:_STEM] in those for those in stems) for word in words)
    return found / len(words) if words else 1.0


@lru_cache(maxsize=4)
def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in words)


_NAME = re.compile(r"(?=\S*[a-z]{2})(?:\w+(?:[-./@:]\w+)+|\w+_\w+)")
_WISH = re.compile(
    r"\b(?:user|person|owner|customer|client|developer|human|benutzer|nutzer|kunde|utilisateur|usuario)s?\b"
    r".{0,40}\b(?:prefer|want|like|wish|expect|need|authori[sz]e|approve|allow|agree|trust|bevorzug|will|möchte"
    r"|wünscht|erlaubt|préfère|veut|prefiere|quiere)\w{0,4}\b"
)
