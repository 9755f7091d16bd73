"""Whether an agent's reply shows that it used a section of its prompt (spec 6.3, ``reference_count``).

A section was used if a tool call opens its file or the reply names it, and the message did not; or if the
reply repeats at least two runs of three consecutive words from it. A run counts if two of its words carry
meaning, one of them with four letters or more, if the message does not contain it, and if at most
``MAX_FILES`` files of the prompt do: a fact is often in a journal, a note and its conversation.

The absence of signs proves nothing: agents also use what they do not repeat, and replies without a word of a
section are as frequent with the section in the prompt as without. So only signs of use are counted. The rule
was chosen on the sample workspace, where it finds signs in 1.2 % of 4,569 injected sections and in 0.1 % of
2,968 sections from prompts of other conversations; it may do worse on other data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.activation.signals import content_words
from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.transcripts.turn import ToolCall

RUN = 3
"""Consecutive words in a run."""
MIN_RUNS = 2
"""Different runs that a reply must repeat."""
MAX_FILES = 3
"""Files of a prompt that may contain a run."""

_PLAYBOOK = expression(r"(?:^|autopoiesis[\W_]{1,3})playbook$")
"""Our tool, as agents name it: ``mcp__autopoiesis__playbook``."""
_FAILED = expression(r"(?:error|exit -?[1-9]\d*|rejected by the user|interrupted by the user)\b")
_READ = 20_000
_MIN_LETTERS = 4
_WORD = expression(r"\w+")


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A section as the agent read it."""

    path: str
    text: str  # empty if it can no longer be read


def were_useful(
    sections: Sequence[ShownSection], message: str, reply: str, paths: Sequence[str] = ()
) -> tuple[bool, ...]:
    """Whether each section of a prompt shows signs of use.

    Args:
        reply: Everything the agent wrote in answer; only the first 20,000 characters are read, as of
            sections.
        paths: Files named by its tool calls.
    """
    runs = [_runs(section.text) for section in sections]
    repeated = _runs(reply) - _runs(message) - _common(sections, runs)
    return tuple(
        _is_named(section.path, message, reply, paths) or len(own & repeated) >= MIN_RUNS
        for section, own in zip(sections, runs, strict=True)
    )


def was_opened(path: str, calls: Iterable[ToolCall]) -> bool:
    """Whether a tool call opened a playbook: our own tool by its name, or any by its file."""
    name, file = PurePosixPath(path).stem, re.compile(rf"(?<![\w.-]){re.escape(path)}(?!\w|[./-]\w)")
    return any(
        (call.summary == name if _PLAYBOOK.search(call.name) else file.search(call.summary))
        and not _FAILED.match(call.result)
        for call in calls
    )


def _is_named(path: str, message: str, reply: str, paths: Sequence[str]) -> bool:
    if path in message:
        return False
    return path in reply or any(found == path or found.endswith(f"/{path}") for found in paths)


def _runs(text: str) -> frozenset[str]:
    words = _WORD.findall(text[:_READ].lower())
    # ``content_words`` have two letters or more and are not function words.
    meant = content_words(" ".join(words))
    is_meant = [word in meant or (word.endswith("s") and word[:-1] in meant) for word in words]
    is_word = [
        meant and len(word) >= _MIN_LETTERS and word.isalpha()
        for word, meant in zip(words, is_meant, strict=True)
    ]
    return frozenset(
        " ".join(words[at : at + RUN])
        for at in range(len(words) - RUN + 1)
        if sum(is_meant[at : at + RUN]) >= RUN - 1 and any(is_word[at : at + RUN])
    )


def _common(sections: Sequence[ShownSection], runs: Sequence[frozenset[str]]) -> frozenset[str]:
    """The runs that occur in too many files to be a sign for one."""
    of_file: dict[str, set[str]] = {}
    for section, found in zip(sections, runs, strict=True):
        of_file.setdefault(section.path, set()).update(found)
    counts = Counter(run for found in of_file.values() for run in found)
    return frozenset(run for run, count in counts.items() if count > MAX_FILES)
