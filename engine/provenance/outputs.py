"""What the tools of a session printed: a transcript keeps a line of it, the agent's own log all (M3)."""

from __future__ import annotations

import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

from engine.errors import ImportFailed
from engine.provenance.voices import MIN_DISTINCTIVE, SENTENCE_END, SHOWN, WIDE, plain, stems_of, windows_of
from engine.redaction.detect import redacted
from engine.transcripts.chats.labelled import TOOLS
from engine.transcripts.importers.lines import Record, opened, read_lines
from engine.transcripts.importers.session import text_of
from engine.transcripts.importers.state import SOURCE_FIELD, parse_siblings
from engine.transcripts.importers.tools import summary_of
from engine.transcripts.turn import Block, Text, ToolCall, Turn

MOST_CHARACTERS = 8 * 1024 * 1024
"""Characters of output that are read from the logs of a session, which takes about two seconds."""

_FEW = 40
"""Sentences."""

_Printed = dict[tuple[str, str], list[str]]
"""What each call of a tool with a summary printed, the last call first."""


def with_outputs(
    turns: Sequence[Turn], header: Mapping[str, object], said: Iterable[str] | None = None
) -> Sequence[Turn]:
    """The turns of a transcript, each tool call with what it printed of what the agent says in them, if the
    log of the session still has it; the same turns if there is nothing.

    Only for judging who said what. A transcript keeps the first and the last line of an output, and a
    sentence between them would count as the agent's own where it repeats it.

    Args:
        said: What is to be judged, by default all that the agent says, which takes ten times as long.
    """
    if not any(turn.tools for turn in turns):
        return turns
    printed = _printed(header, _Said(_texts_of(turns) if said is None else said))
    return tuple(_completed(turn, printed) for turn in turns) if any(map(any, printed.values())) else turns


def _texts_of(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        if turn.role == "agent":
            yield from (block.text for block in turn.blocks if isinstance(block, Text))


class _Said:
    """Finds the parts of an output in which a sentence of the agent may stand."""

    def __init__(self, texts: Iterable[str]) -> None:
        told = (frozenset(stems_of(each)) for text in texts for each in SENTENCE_END.split(text))
        self._said = said = {each for each in told if len(each) >= MIN_DISTINCTIVE}
        known = Counter(chain.from_iterable(said))
        self._by_stem: dict[str, list[frozenset[str]]] = defaultdict(list)
        for sentence in said:
            # A part that has enough of its words has one of so many, whichever: here the rarest.
            rarest = sorted(sentence, key=lambda stem: (known[stem], stem))
            for stem in rarest[: len(sentence) - ceil(SHOWN * len(sentence)) + 1]:
                self._by_stem[stem].append(sentence)
        self._seen: set[str] = set()

    def parts_of(self, output: str) -> Iterator[str]:
        """The parts that no earlier output has."""
        if self._has_none(output):
            return
        for part in windows_of(output):
            if part not in self._seen and not self._has_none(part):
                self._seen.add(part)
                stems = stems_of(part)
                likely = chain.from_iterable(map(self._by_stem.__getitem__, stems & self._by_stem.keys()))
                if any(len(sentence & stems) >= SHOWN * len(sentence) for sentence in likely):
                    yield part

    def _has_none(self, text: str) -> bool:
        """Whether a text surely has no sentence, as is soon told if they are few: to look for letters takes a
        tenth of the time that it takes to read words.
        """
        if len(self._said) > _FEW:
            return False
        letters = text.lower() if text.isascii() else plain(text)
        if WIDE.search(letters):
            letters += "".join(WIDE.findall(letters))  # whatever stands between them
        return not any(
            sum(stem in letters for stem in sentence) >= SHOWN * len(sentence) for sentence in self._said
        )


def _printed(header: Mapping[str, object], said: _Said) -> _Printed:
    source = header.get(SOURCE_FIELD)
    found: _Printed = defaultdict(list)
    left = MOST_CHARACTERS
    for shown in [*([source] if isinstance(source, str) else ()), *parse_siblings(header)]:
        calls: dict[str, ToolCall] = {}
        with (
            contextlib.suppress(ImportFailed, OSError, ValueError, RuntimeError),
            opened(Path(shown).expanduser()) as stream,
        ):
            for record in chain.from_iterable(line.records for line in read_lines(stream)):
                calls.update(calls_in(record))
                for call_id, text in _results_in(record):
                    if (call := calls.get(call_id)) is not None:
                        parts = "\n".join(said.parts_of(text[: max(left, 0)]))
                        found[call.name, redacted(call.summary)].append(parts)
                        left -= len(text)
                if left <= 0:
                    break
    for texts in found.values():
        texts.reverse()
    return found


def _completed(turn: Turn, printed: _Printed) -> Turn:
    return replace(turn, blocks=tuple(_with_output(block, printed) for block in turn.blocks))


def _with_output(block: Block, printed: _Printed) -> Block:
    if not isinstance(block, ToolCall):
        return block
    texts = printed.get((block.name, redacted(block.summary)))
    more = texts.pop() if texts else ""
    return replace(block, result=f"{block.result}\n{more}") if more else block


def _results_in(record: Any) -> Iterator[tuple[str, str]]:
    """The id of each call whose result is in a log record, with what was printed."""
    for part in objects_in(record):
        call = text_of(part, "tool_use_id") or text_of(part, "call_id")
        if call and ("result" in text_of(part, "type") or "output" in text_of(part, "type")):
            yield call, "\n".join(tool_output(part))


def calls_in(record: Any) -> Iterator[tuple[str, ToolCall]]:
    """The tool calls in a log record, each with the id of its result."""
    for part in objects_in(record):
        name, kind = text_of(part, "name"), text_of(part, "type")
        call = text_of(part, "call_id") or text_of(part, "id")
        if call and (name or "call" in kind) and ("tool_use" in kind or kind.endswith("_call")):
            arguments: Any = part.get("input", part.get("arguments", part.get("action")))
            if isinstance(arguments, str):
                with contextlib.suppress(ValueError, RecursionError):
                    arguments = json.loads(arguments)
            yield call, ToolCall(name or kind, summary_of(name or kind, arguments))


def tool_output(record: Any) -> Iterator[str]:
    """The complete tool output in a log record.

    A transcript keeps only a short line of it, so text planted in the rest is visible only here.
    """
    stack: list[tuple[Any, bool]] = [(record, False)]
    while stack:
        value, within = stack.pop()
        if isinstance(value, str):
            if within:
                yield value
        elif isinstance(value, list):
            stack += [(each, within) for each in reversed(value)]
        elif isinstance(value, dict):
            kind = text_of(value, "type")
            within = within or "result" in kind or "output" in kind or text_of(value, "role") in TOOLS
            stack += [
                (each, within or key in ("toolUseResult", "tool_result", "output"))
                for key, each in reversed(value.items())
                if key not in ("type", "id", "tool_use_id", "call_id", "role", "name")
            ]


def objects_in(record: Any) -> Iterator[Record]:
    """All JSON objects in a record."""
    stack: list[Any] = [record]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += value.values()
        elif isinstance(value, list):
            stack += value
