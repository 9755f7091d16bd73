"""What an agent is told anyway, by rules and by its own files, and need not be told again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.errors import AutopoiesisError
from engine.rules.agent_files import NAMES, sentences_of
from engine.rules.subject import stems
from engine.store.named_file import read_below

_SHARE = 0.8
"""Share of a sentence's words from which another one says the same."""
_FEWEST = 2
"""Words that say what a sentence is about; with fewer it is not compared."""


class Stated:
    """Recognises texts of which every sentence is stated already."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._known = [
            words for text in texts for sentence in sentences_of(text) if (words := stems(sentence))
        ]

    def says(self, text: str) -> bool:
        """Whether all that a text says is known."""
        said = [words for each in sentences_of(text) if len(words := stems(each)) >= _FEWEST]
        return bool(self._known) and bool(said) and all(map(self._is_known, said))

    def _is_known(self, words: frozenset[str]) -> bool:
        return any(len(words & known) >= _SHARE * len(words) for known in self._known)


def agent_files_in(folder: str) -> Iterator[str]:
    """The texts of the agents' files in a project's folder, such as ``CLAUDE.md``; none of a relative one."""
    for name in NAMES if os.path.isabs(folder) else ():  # noqa: PTH117
        try:
            found = read_below(Path(folder), name.split("/"))
        except (OSError, AutopoiesisError):
            continue  # often a link to another of these files
        if found is not None:
            yield found[0].decode("utf-8", "replace")
