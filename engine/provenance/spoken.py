"""Separates who wrote what in a conversation: quoted, pasted and reported text has another author (M3)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from engine.context.quoting import bare
from engine.provenance.tools import brings_outside, reads_document
from engine.provenance.voices import (
    SENTENCE_END,
    Passages,
    Voices,
    distinctive_words,
    particulars,
    plain,
    runs_of,
    words_of,
)
from engine.redaction.detect import redacted
from engine.startup.lazy import expression
from engine.transcripts.escape import Fences
from engine.transcripts.turn import ANSWER, COMMAND, PLAN, QUOTED, TOOL, KnowledgeChange, Text, ToolCall, Turn
from engine.transcripts.typed import Passage, Pastes, passages_of, quotations_in, without_quotations

_QUOTED_AGAIN = 0.6
"""Share of a quotation's word runs above which it quotes an earlier turn of the agent."""
_LABEL = 100
"""Characters of a source's label."""
MAX_READS = 5
"""Number of outside sources that are listed, first read first."""


def voices_of(turns: Iterable[Turn], outside: str = "", local: str = "", author: str = "") -> Voices:
    """Attributes what was said in some turns.

    The following has no author in the conversation and is attributed to tools: quotations; what a person did
    not plainly type; words in tool output, however they are cut up; and decoded text from any of these. The
    paths, names and figures in the output of the agent's own commands are attributed to no one.

    Args:
        outside: Text that tools brought from outside and that is not in the turns.
        local: Output of the agent's own commands that is not in the turns.
        author: Another person whose conversation it is; nothing in it is the user's or their agent's.
    """
    collected = _Collector(others=[outside] if outside else [])
    collected.show(local)
    turns = tuple(map(bare, turns))
    if author:
        collected.read(f"a conversation of {author}", "\n".join(map(_all_of, turns)))
        turns = ()
    for turn, after in zip_longest(turns, turns[1:]):
        collected.add(turn, after)
    tool = "\n".join(filter(None, collected.others))
    read = (tool, *collected.documents, *collected.results, *collected.shown)
    decoded = "\n".join(_decoded("\n".join(read)))
    return Voices(
        "\n".join(collected.person),
        "\n".join(collected.agent),
        f"{tool}\n{decoded}" if decoded else tool,
        stated="\n".join(map(_without_questions, collected.person)),
        pasted=tuple(collected.pasted),
        trusted="\n".join(collected.trusted),
        results="\n".join(collected.results),
        documents="\n".join(collected.documents),
        shown="\n".join(collected.shown),
        reads=tuple(dict.fromkeys(collected.reads))[:MAX_READS],
    )


@dataclass(slots=True)
class _Collector:
    """Collects what was said turn by turn; the first fields are those of ``Voices``."""

    person: list[str] = field(default_factory=list)
    agent: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # ``Voices.tool``
    documents: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    pasted: list[Passage] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    """Names used by the person, the agent's trusted sentences and its own commands."""
    fresh: set[str] = field(default_factory=set)
    """Names shown by its own commands since it last read from outside."""
    passages: Passages = field(default_factory=Passages)  # the sentences of ``documents``
    pastes: Pastes = field(default_factory=Pastes)

    def add(self, turn: Turn, after: Turn | None) -> None:
        goes_on = self.pastes.goes_on(turn)
        if turn.kind == TOOL:
            self.read("a tool", turn.text)
            return
        if turn.role == "system" or turn.kind == QUOTED:
            self.others.append(turn.text)
            return
        if turn.role == "user":
            self._person(turn, goes_on=goes_on, is_odd=_is_odd(turn, after))
        for block in turn.blocks:
            if isinstance(block, KnowledgeChange):
                self._say(f"{block.path} {block.summary}")
            elif isinstance(block, ToolCall):
                self._call(block)
            elif isinstance(block, Text) and turn.role == "agent":
                self._agent(block.text)

    def _person(self, turn: Turn, *, goes_on: bool, is_odd: bool) -> None:
        if goes_on or is_odd:
            # A pasted mail that looks like turns gets no answer, so what follows belongs to it.
            self.read("a pasted message", turn.text)
            self.pastes.is_open |= is_odd
            return
        said = (Passage(turn.text),) if turn.kind == ANSWER else passages_of(turn)
        if turn.kind in (COMMAND, PLAN):
            self.others.append(turn.text.partition("\n")[2])
        for passage in said:
            if not passage.why:
                own = without_quotations(passage.text)
                self.person.append(own)
                self.known |= _named(own)
            elif passage.is_uncertain:
                self.pasted.append(passage)
                self.others.append(passage.text)
                self.passages.add(passage.text)
            elif passage.is_quotation and not self._said_before(passage.text):
                self.read("a quotation that was pasted", passage.text)
            elif passage.is_letter or (not passage.is_quotation and is_mostly_prose(passage.text)):
                self.read("a pasted text", passage.text)
            else:
                self.others.append(passage.text)
        self.others += quotations_in(turn.text)

    def _agent(self, text: str) -> None:
        if _CONTINUED.match(text):
            self.read("a summary of an earlier session", text)
            return
        lines = text.split("\n")
        quoted = [bool(_QUOTATION.match(line)) for line in lines]
        self.others.append(
            "\n".join(line for line, is_quoted in zip(lines, quoted, strict=True) if is_quoted)
        )
        self._say("\n".join(line for line, is_quoted in zip(lines, quoted, strict=True) if not is_quoted))

    def _say(self, text: str) -> None:
        self.agent.append(text)
        for sentence in SENTENCE_END.split(text):
            if self._is_backed(sentence) if self.reads else not self._is_repeated(sentence):
                self.trusted.append(sentence)
                self.known |= _named(sentence)

    def _is_repeated(self, sentence: str) -> bool:
        """True if a sentence repeats what a file or a command has said."""
        return self.passages.repeats(distinctive_words(words_of(plain(sentence))))

    def _is_backed(self, sentence: str) -> bool:
        """True if a sentence names something the agent's own commands have shown since it last read from
        outside, and nothing unknown.
        """
        named = particulars(sentence)
        return named <= self.known and any(len(each) > 1 for each in named & self.fresh)

    def read(self, source: str, text: str) -> None:
        """Adds text from outside."""
        self.others.append(text)
        self.reads.append(redacted(source))
        self.fresh.clear()

    def _call(self, call: ToolCall) -> None:
        if brings_outside(call):
            self.read(
                " ".join(f"{call.name} {call.summary}".split())[:_LABEL], f"{call.summary}\n{call.result}"
            )
            return
        if call.name.casefold() in _OWN_WORDS:
            self._say(f"{call.summary}\n{call.result}")
            return
        if not self.reads and not self._is_repeated(call.summary):
            self.trusted.append(call.summary)
        for text, is_document, is_result in (
            (call.summary, is_prose(call.summary), False),
            (call.result, reads_document(call), True),
        ):
            told = " ".join(filter(_PARTICULAR.search, text.split())) if is_document else text
            shown = self.show(told, is_result=is_result)
            if is_document:
                self.documents.append(text)
                self.passages.add(text)
            self.known |= shown
            self.fresh |= shown

    def show(self, output: str, *, is_result: bool = True) -> set[str]:
        """Adds the output of one of the agent's own commands, or the command, and returns the names in it.

        Its paths, names and figures tell of the repository. The author of its other words is unknown; what
        stands between them may be there to hide that they are a sentence.
        """
        sentences = [match[0] for match in _SENTENCES.finditer(output)]
        self.documents += sentences
        for sentence in sentences:
            self.passages.add(sentence)
        if is_result:
            self.shown.append(output)
            self.passages.add_shown(output)
        named = " ".join(filter(_PARTICULAR.search, _NO_NAME.sub(" ", output).split()))
        self.results.append(named)
        return _named(named)

    def _said_before(self, quotation: str) -> bool:
        """True if a person quotes what the agent has said."""
        runs = runs_of(quotation)
        return bool(runs) and len(runs & runs_of("\n".join(self.agent))) >= _QUOTED_AGAIN * len(runs)


def _all_of(turn: Turn) -> str:
    return "\n".join((turn.text, *(f"{call.summary}\n{call.result}" for call in turn.tools)))


def _is_odd(turn: Turn, after: Turn | None) -> bool:
    """True if an undated turn is later than the next one, so its heading is part of a pasted text. Turns far
    apart may have midnight between them.
    """
    if after is None or turn.day or after.day or not turn.time or not after.time:
        return False
    earlier, later = (int(time[:2]) * 60 + int(time[3:5]) for time in (after.time, turn.time))
    return 1 < later - earlier < _MIDNIGHT


def is_prose(line: str) -> bool:
    """True if a line is a sentence rather than code, a path or program output."""
    if len(_WIDE.findall(line)) >= _WIDE_LETTERS:
        return True
    words = line.strip(" \t#/*<!->|\"'").split()
    plain_words = sum(_WORD.fullmatch(word) is not None for word in words)
    return plain_words >= _PROSE_WORDS and plain_words >= _PROSE * len(words) and not _CODE.search(line)


def is_mostly_prose(text: str) -> bool:
    """True if at least half of a text's lines are sentences."""
    lines = [line for line in text.split("\n") if line.strip(" \t`~")]
    return bool(lines) and 2 * sum(map(is_prose, lines)) >= len(lines)


def in_fences(text: str) -> list[bool]:
    """For each line of a text, whether it is inside a fenced code block."""
    spans = Fences(text).blocks()
    span = next(spans, None)
    found: list[bool] = []
    place = 0
    for line in text.split("\n"):
        while span is not None and span[1] <= place:
            span = next(spans, None)
        found.append(span is not None and span[0] <= place)
        place += len(line) + 1
    return found


def _named(text: str) -> set[str]:
    """The names and figures in a text; paths also by their last part."""
    named = particulars(text)
    return {*named, *(each.rpartition("/")[2] for each in named)}


def _without_questions(text: str) -> str:
    """What a person states, without the questions."""
    return " ".join(
        sentence
        for sentence in SENTENCE_END.split(text)
        if not sentence.rstrip("\"')”» ").endswith(("?", "？"))
    )


def _decoded(text: str) -> Iterator[str]:
    for match in _ENCODED.finditer(text):
        run = match[0]
        try:
            if _HEX.fullmatch(run):
                data = bytes.fromhex(run[: len(run) // 2 * 2])
            else:
                data = base64.b64decode(run[: len(run) // 4 * 4], validate=True)
            plain = data.decode("utf-8")
        except (ValueError, binascii.Error):
            continue
        if plain.isprintable():
            yield plain


_SENTENCES = expression(
    r"[^\W\d_]{1,40}(?:[ ,;'’-]{1,2}[^\W\d_]{1,40}){4,200}"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af、，]{8,2000}"
)
"""A run of words long enough to be prose rather than paths, versions or counts."""
_WIDE_LETTERS = 8
_PROSE_WORDS = 5
_PROSE = 0.7
_WORD = expression(r"[(\"“„«'‘¿¡]*[^\W\d_]+(?:['’-][^\W\d_]+)*[)\"”“»'’.,;:!?]*")
_WIDE = expression(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_CODE = expression(
    r"[{};]\s*$|\(\)|=>|==|:=|\s=\s|^\s*(?:def|func|class|import|return|if|for|const|let|var)\b.*[:({]"
)
_CONTINUED = expression(
    r"\s*(?:This session is being continued|(?:#+\s*)?(?:Summary|Zusammenfassung|Résumé|Resumen|Сводка)\b"
    r"[^\n]{0,40}\b(?:conversation|discussion|session|chat|context|so far|previous|prior|earlier|Gespräch"
    r"|Unterhaltung|Sitzung|séance|conversación|sesión|предыдущ|разговор|беседы|диалог|сесси))",
    re.IGNORECASE,
)
"""Start of a summary that replaces dropped turns: who said what is no longer known."""
_MIDNIGHT = 18 * 60
_OWN_WORDS = frozenset({"todowrite", "update_plan", "task", "agent", "askuserquestion", "exitplanmode"})
"""Tools whose arguments and results are the words of the agent or of its sub-agent."""
_NO_NAME = expression(r"[^\W\d_a-zA-Z]+\d*")
"""Letters of which no identifier consists; a figure among them counts nothing."""
_PARTICULAR = expression(r"[\w)][/._:=@\\-]\w|\d|[a-z][A-Z]|^--?\w")
"""Paths, names, options and figures."""
_QUOTATION = expression(r" {0,3}(?:>|\|\s*>)")
_HEX = expression(r"[0-9A-Fa-f]+")
_ENCODED = expression(r"[A-Za-z0-9+/]{24,}")
