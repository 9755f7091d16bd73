"""Tells which of a user's messages another record of the same session has too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from engine.transcripts.importers.message_queue import delivers

_QUOTED = re.compile(r"(`{3,})\n(.*)\n\1", re.DOTALL)


class Said:
    """The messages of a user in one record."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._plain = [*map(_plain, texts)]
        self._texts = [*texts]
        self._left = Counter(self._plain)

    def take(self, text: str) -> bool:
        """Whether a message is among them: the same, each only once, or part of a longer one.

        A quoted paste is part of a message that has its text.
        """
        plain = _plain(text)
        if self._left[plain]:
            self._left[plain] -= 1
            return True
        if (quoted := _QUOTED.fullmatch(text)) is not None:
            paste = _plain(quoted[2])
            return any(paste in each for each in self._plain)
        return any(
            whole != plain and delivers(each, text)
            for each, whole in zip(self._texts, self._plain, strict=True)
        )


def _plain(text: str) -> str:
    return " ".join(text.split())
