"""Replies without a model: the lines of the prompt that match the message best, with their sources.

Nothing is connected and nothing is invented. A word shared with the message counts more the fewer lines
contain it; the same prompt always gets the same reply.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.providers.keys import CHAT
from engine.search.query import STOP_WORDS, literal_terms, words

LINES = 6
"""Maximum lines in a reply."""

_CHARACTERS = 300
_NEAR = 0.4
"""Minimum score of a line as a share of the best line's."""
_MARKER = re.compile(r"<!-- (.*) -->")
_PLACE = re.compile(r"§(\d+)(?:-\d+)?(?= |$) ?(.*)")
_UNTOLD = ("system:", "identity:", "discussion", "steering", "topic:", "history:")
"""Sections that are not memory: instructions and the conversation itself."""


@dataclass(frozen=True, slots=True)
class _Line:
    source: str
    text: str
    words: frozenset[str]


class LocalChat:
    """Answers from the prompt alone; a ``ChatProvider``. Without ``count``, all token counts are 0."""

    name = "local"
    model = "local"
    address = ""
    purpose = CHAT
    takes_tools = False

    def __init__(self, count: Callable[[str], int] | None = None) -> None:
        self._count = count

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """As ``ChatProvider.chat``; never fails."""
        prompt = "".join((*request.prefix, request.rest))
        pieces = list(_answer(prompt))
        for piece in pieces:
            on_text(piece)
        text = "".join(pieces)
        usage = (
            Usage() if self._count is None else Usage(self._count(prompt), output_tokens=self._count(text))
        )
        return ChatReply(text, usage, self.model)

    async def aclose(self) -> None:
        """Does nothing: no connection is ever open."""


def _answer(prompt: str) -> Iterator[str]:
    context, _, message = prompt.rpartition("<!-- message -->\n")
    found = _nearest(list(_lines(context)), message)
    if not found:
        yield "No model was used (chat.provider: local), and nothing in the prompt matches the message."
        return
    yield "No model was used (chat.provider: local); these lines of the prompt match the message best:\n"
    for line in found:
        yield f"\n- {line.source} — {line.text}"


def _nearest(lines: list[_Line], message: str) -> list[_Line]:
    terms = frozenset(literal_terms(message)) - STOP_WORDS
    common = Counter(word for line in lines for word in line.words & terms)
    weights = {word: math.log1p(len(lines) / count) for word, count in common.items()}
    scored = [
        (math.fsum(weights[word] for word in sorted(line.words & terms)), place, line)
        for place, line in enumerate(lines)
    ]
    scored.sort(key=lambda each: (-each[0], each[1]))
    best = scored[0][0] if scored else 0.0
    near = [line for score, _, line in scored if score and score >= _NEAR * best]
    return list({(line.source, line.text): line for line in near}.values())[:LINES]


def _lines(context: str) -> Iterator[_Line]:
    """The lines of memory sections, each with its file and, if known, its line number."""
    source, place = "", ""
    within = False
    for text in context.split("\n"):
        if text in ("{rag-context}", "{/rag-context}"):
            within, source, place = text == "{rag-context}", "", ""
        elif marker := _MARKER.fullmatch(text):
            source, place = _source(marker[1], within), ""
        elif within and (mark := _PLACE.fullmatch(text)):
            place = f":{mark[1]}"
            if mark[2]:
                yield from _line(source, place, mark[2])
        else:
            yield from _line(source, place, text)


def _source(label: str, within: bool) -> str:
    if within:
        return label.partition(" · ")[0]
    return "" if label.startswith(_UNTOLD) else label.partition(":")[2] or label


def _line(source: str, place: str, text: str) -> Iterator[_Line]:
    text = text.strip()
    if source and text and text not in ("{knowledge}", "{/knowledge}"):
        shown = text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"
        yield _Line(source + place, shown.removeprefix("- "), frozenset(words(text)))
