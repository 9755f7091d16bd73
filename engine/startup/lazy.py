"""Regular expressions that are compiled on first use.

A hook loads modules with two hundred expressions and uses some thirty of them; compiling the rest took a
tenth of its time.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class _Pattern:
    """Stands in for an ``re.Pattern``."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        # From now on these are found without calling this method.
        vars(self).update({each: getattr(compiled, each) for each in _METHODS})
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return repr(re.compile(self.pattern, self._flags))


def expression(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like ``re.compile``, but only the methods work: the functions of ``re`` do not accept it."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
