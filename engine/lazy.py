"""Regular expressions that are compiled when a text first asks for them.

A hook of an agent is a new process for each prompt. Of two hundred expressions in the modules that it loads,
it needs some thirty, and to compile the others took a tenth of its time.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class _Pattern:
    """Stands for an ``re.Pattern``."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        # From now on these are found without this method.
        vars(self).update({each: getattr(compiled, each) for each in _METHODS})
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return repr(re.compile(self.pattern, self._flags))


def expression(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What ``re.compile`` gives, except that functions of ``re`` do not take it: call its methods."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
