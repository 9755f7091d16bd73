"""What was said in a conversation, by whom, and how a text is compared with it (robustness M3)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_RUN = 3
"""Words in a row that are compared: three equal ones are hardly ever chance."""
_COPIED = 0.5
"""Share of a text's runs that stand in tool output from which it counts as copied."""
_ONLY_THERE = 0.5
"""Share of a text's telling words that only a tool has said, likewise."""
_LEAST_WORDS = 2
SAID_AGAIN = 0.5
"""Share of a sentence's telling words in one sentence that was read from which it says that again."""
_LEAST_TELLING = 3
"""Telling words of a sentence below which its author cannot be told."""
_STEM = 5
"""Letters in which two forms of a word agree."""


@dataclass(frozen=True, slots=True)
class Voices:
    """What was said in some turns, by whom."""

    person: str  # what people wrote themselves
    agent: str
    tool: str  # what others wrote: what tools brought, what was pasted and quoted, what systems said
    stated: str = ""  # of ``person``, what is no question
    sound: str = ""
    """Of ``agent``, what it wrote before it read the first text from outside, and what it told of its own
    commands after that."""
    results: str = ""  # what the agent's own commands were given and gave back, without sentences
    told: str = ""  # the sentences of these, and documents: anyone may have written them into a repository
    reads: tuple[str, ...] = ()  # where text from outside came from, in order; empty where there was none


def is_from_tool(text: str, said: Voices) -> bool:
    """Whether a plain text says what a tool said and no person did."""
    words, known = words_of(text), heard(said)
    tool, person, agent = known.tool, known.person, known.agent
    # What the agent repeats from a tool is still the tool's; what a person says is theirs.
    runs = _runs(words) - person.runs
    if runs and len(runs & tool.runs) >= _COPIED * len(_runs(words)):
        return True
    telling = telling_words(words) or set(words)
    only_there = (telling & tool.words) - person.words - agent.words
    return len(only_there) >= max(_LEAST_WORDS, _ONLY_THERE * len(telling))


@dataclass(frozen=True, slots=True)
class Heard:
    """What one voice said, as it is compared."""

    text: str  # in plain letters
    words: frozenset[str]
    runs: frozenset[tuple[str, ...]]  # every three words in a row
    stems: frozenset[str]  # the first letters of its words, in which forms of a word agree


class Passages:
    """The sentences that were read, by the words in them."""

    def __init__(self) -> None:
        self._sizes = 0
        self._with: dict[str, list[int]] = {}

    def add(self, text: str) -> None:
        """Takes in the sentences of a text."""
        for sentence in SENTENCE_END.split(text):
            stems = set(map(stem_of, telling_words(words_of(plain(sentence)))))
            if len(stems) >= _LEAST_TELLING:
                for stem in stems:
                    self._with.setdefault(stem, []).append(self._sizes)
                self._sizes += 1

    def share(self, words: Iterable[str]) -> float:
        """The largest share of some words that one sentence holds; 0 where they are too few to tell."""
        stems = set(map(stem_of, words))
        if len(stems) < _LEAST_TELLING:
            return 0.0
        counts = Counter(place for stem in stems for place in self._with.get(stem, ()))
        return max(counts.values(), default=0) / len(stems)


@dataclass(frozen=True, slots=True)
class AllHeard:
    """What all voices said, as it is compared."""

    person: Heard
    agent: Heard
    tool: Heard
    results: Heard
    firm: Heard
    """What was stated by the person, by the agent before it had read anything from outside, or by the agent's
    own commands."""
    passages: Passages  # the sentences of ``tool`` and ``told``


@lru_cache(maxsize=2)
def heard(said: Voices) -> AllHeard:
    """What was said, ready to be compared; remembered, since many texts are taken out of one conversation."""
    passages = Passages()
    passages.add(said.tool)
    passages.add(said.told)
    firm = "\n".join((said.stated, said.sound, said.results))
    return AllHeard(
        _heard(said.person),
        _heard(said.agent),
        _heard(said.tool),
        _heard(said.results),
        _heard(firm),
        passages,
    )


def _heard(said: str) -> Heard:
    text = plain(said)
    words = words_of(text)
    return Heard(text, frozenset(words), frozenset(_runs(words)), frozenset(map(stem_of, words)))


def words_of(text: str) -> list[str]:
    """The words and numbers of a plain text; where no blanks part words, every two letters are one."""
    return [
        part for word in _WORD.findall(text) for part in (_pairs(word) if _WIDE.search(word) else (word,))
    ]


def _pairs(word: str) -> list[str]:
    return [word[start : start + 2] for start in range(max(1, len(word) - 1))]


def stem_of(word: str) -> str:
    """The letters of a word in which its forms agree."""
    return word[:_STEM]


def runs_of(text: str) -> frozenset[tuple[str, ...]]:
    """Every three words in a row of a text."""
    return frozenset(_runs(words_of(plain(text))))


def particulars(text: str) -> frozenset[str]:
    """What a text names and counts: paths, identifiers, figures; in plain letters."""
    read = plain(text)
    return frozenset((*(name.strip(".:-/") for name in _NAME.findall(read)), *_FIGURE.findall(read)))


def telling_words(words: Iterable[str]) -> set[str]:
    """The words that say what a text is about."""
    return {word for word in words if len(word) > 3 or any(map(str.isdigit, word)) or _WIDE.search(word)}


def plain(text: str) -> str:
    """A text as it reads: compatibility forms and case folded, invisible characters gone, blanks single."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(folded.split())


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)}


_NAME = re.compile(r"(?<!\w)(?=\S{0,400}[a-z]{2})(?:\w+(?:[-./@:]\w+)+|\w+_\w+)")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n|(?<=[。！？])")
"""Where a sentence ends, or a line."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
