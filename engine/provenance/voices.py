"""Who said what in a conversation, and how a text is compared with it (robustness M3)."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.startup.lazy import expression
from engine.transcripts.typed import Passage

_RUN = 3
"""Length of the word runs that are compared: three equal words in a row are rarely chance."""
_COPIED = 0.5
"""Share of a text's runs found in tool output above which the text counts as copied."""
_ONLY_THERE = 0.5
"""The same for the distinctive words that only a tool has used."""
_MIN_WORDS = 2
_REPEATED = 0.5
"""Share of a sentence's distinctive words found in one sentence read earlier above which it repeats it."""
SHOWN = 0.75
"""The same for a run of words in tool output, which may be no sentence."""
MIN_DISTINCTIVE = 3
"""Distinctive words below which the author of a sentence cannot be determined."""
_WINDOW = 40
"""Words in which a sentence of tool output is looked for."""
_STEM = 5
"""Leading letters that two forms of a word share."""


@dataclass(frozen=True, slots=True)
class Voices:
    """What each party said in some turns."""

    person: str  # what people plainly typed
    agent: str
    tool: str  # text by others: tool output, pasted and quoted text, system messages
    stated: str = ""  # ``person`` without questions
    trusted: str = ""
    """The part of ``agent`` written before it first read text from outside, or reporting its own commands."""
    results: str = ""  # names and figures in input and output of the agent's own commands
    documents: str = ""  # sentences in them and in documents, which anyone may have written
    shown: str = ""  # the whole of them: what is left of a sentence that was cut up
    reads: tuple[str, ...] = ()  # where text from outside came from, in order
    pasted: tuple[Passage, ...] = ()  # what people may have typed or pasted; ``tool`` has it, too


def is_from_tool(text: str, voices: Voices) -> bool:
    """True if a plain text says what a tool said and no person did."""
    words, known = words_of(text), index_voices(voices)
    tool, person, agent = known.tool, known.person, known.agent
    # Text that the agent repeats from a tool is still the tool's; text by a person is theirs.
    runs = _runs(words) - person.runs
    if runs and len(runs & tool.runs) >= _COPIED * len(_runs(words)):
        return True
    distinctive = distinctive_words(words) or set(words)
    only_there = (distinctive & tool.words) - person.words - agent.words
    return len(only_there) >= max(_MIN_WORDS, _ONLY_THERE * len(distinctive))


@dataclass(frozen=True, slots=True)
class VoiceIndex:
    """What one voice said, prepared for comparison."""

    text: str  # as ``plain`` gives it
    words: frozenset[str]
    runs: frozenset[tuple[str, ...]]  # all three-word runs
    stems: frozenset[str]


class Passages:
    """Sentences that were read, and runs of words in tool output, indexed by their words."""

    def __init__(self) -> None:
        self._least: list[float] = []  # the share from which a passage is repeated
        self._by_stem: dict[str, list[int]] = {}

    def add(self, text: str) -> None:
        """Adds the sentences of a text."""
        for sentence in SENTENCE_END.split(text):
            self._add(sentence, _REPEATED)

    def add_shown(self, text: str) -> None:
        """Adds the words of tool output, whatever stands between them."""
        for window in windows_of(text):
            self._add(window, SHOWN)

    def _add(self, text: str, least: float) -> None:
        stems = stems_of(text)
        if len(stems) >= MIN_DISTINCTIVE:
            for stem in stems:
                self._by_stem.setdefault(stem, []).append(len(self._least))
            self._least.append(least)

    def repeats(self, words: Iterable[str]) -> bool:
        """True if a single passage has most of the words; false if there are too few words to tell."""
        stems = set(map(stem_of, words))
        if len(stems) < MIN_DISTINCTIVE:
            return False
        counts = Counter(place for stem in stems for place in self._by_stem.get(stem, ()))
        return any(count >= self._least[place] * len(stems) for place, count in counts.items())


def stems_of(text: str) -> set[str]:
    """The stems of the words that tell what a text is about."""
    return set(map(stem_of, distinctive_words(words_of(plain(text)))))


def windows_of(text: str) -> Iterator[str]:
    """Overlapping runs of a text's words, whatever stands between them."""
    words = _LETTERS.findall(text)
    for start in range(0, len(words), _WINDOW // 2):
        run = words[start : start + _WINDOW]
        yield "".join(word if _NO_BLANKS.match(word) else f" {word} " for word in run)
        if start + _WINDOW >= len(words):
            break


@dataclass(frozen=True, slots=True)
class VoicesIndex:
    """What all voices said, prepared for comparison."""

    person: VoiceIndex
    agent: VoiceIndex
    tool: VoiceIndex
    results: VoiceIndex
    trusted: VoiceIndex  # ``Voices.stated`` and ``trusted``
    passages: Passages  # the sentences of ``Voices.tool`` and ``documents``, and what ``shown`` has


@lru_cache(maxsize=2)
def index_voices(voices: Voices) -> VoicesIndex:
    """Indexes what was said; cached, since one conversation is compared with many texts."""
    passages = Passages()
    passages.add(voices.tool)
    passages.add(voices.documents)
    passages.add_shown(voices.shown)
    trusted = "\n".join((voices.stated, voices.trusted))
    return VoicesIndex(
        _index(voices.person),
        _index(voices.agent),
        _index(voices.tool),
        _index(voices.results),
        _index(trusted),
        passages,
    )


def _index(said: str) -> VoiceIndex:
    text = plain(said)
    words = words_of(text)
    return VoiceIndex(text, frozenset(words), frozenset(_runs(words)), frozenset(map(stem_of, words)))


def words_of(text: str) -> list[str]:
    """The words and numbers of a plain text; letter pairs in scripts that do not separate words."""
    return [part for word in _WORD.findall(text) for part in (_pairs(word) if WIDE.search(word) else (word,))]


def _pairs(word: str) -> list[str]:
    return [word[start : start + 2] for start in range(max(1, len(word) - 1))]


def stem_of(word: str) -> str:
    """The leading letters that all forms of a word share."""
    return word[:_STEM]


def runs_of(text: str) -> frozenset[tuple[str, ...]]:
    """All three-word runs of a text."""
    return frozenset(_runs(words_of(plain(text))))


def particulars(text: str) -> frozenset[str]:
    """The paths, identifiers and figures in a text, as ``plain`` gives them."""
    read = plain(text)
    return frozenset((*(name.strip(".:-/") for name in _NAME.findall(read)), *_FIGURE.findall(read)))


def distinctive_words(words: Iterable[str]) -> set[str]:
    """The words that tell what a text is about."""
    return {word for word in words if len(word) > 3 or any(map(str.isdigit, word)) or WIDE.search(word)}


def plain(text: str) -> str:
    """A text with case and compatibility forms folded, no invisible characters, and single blanks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        for character in set(folded):
            if unicodedata.category(character) == "Cf":
                folded = folded.replace(character, "")
    return " ".join(folded.split())


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)}


_NAME = expression(r"(?<!\w)(?=\S{0,400}[a-z]{2})(?:\w+(?:[-./@:]\w+)+|\w+_\w+)")
SENTENCE_END = expression(r"(?<=[.!?])[\"'”’)]*\s+|\n|(?<=[。！？])")
_FIGURE = expression(r"\d+(?:[.,]\d+)*")
_WORD = expression(r"[^\W_]+")
_NO_BLANKS = expression(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_LETTERS = expression(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W\d_]+(?:['’-][^\W\d_]+)*")
WIDE = expression(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
