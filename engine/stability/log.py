"""A log of the prefixes of prompts that were actually used (design 2).

``logs/prefixes-YYYY-MM.jsonl`` has a record for each: hashes and sizes, no text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.stability import Prefix
from engine.errors import AutopoiesisError
from engine.stability.record import Misses, PrefixUse, misses, record_of, use_of
from engine.store.monthly import MonthlyLog

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.store.files import Files

KIND = "prefixes"
_MONTHS = 2
"""Number of log files to read; older prefixes are irrelevant."""


class PrefixLog:
    """Writes and reads the log of prefixes. Safe for several threads and processes.

    ``on_problem`` is called if a prefix cannot be recorded.
    """

    def __init__(
        self,
        files: Files,
        clock: Callable[[], datetime],
        on_problem: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._files = files
        self._clock = clock
        self._on_problem = on_problem
        self._months = MonthlyLog(files, KIND, clock)

    def note(self, compiled: Compiled, discussion: str = "", at: datetime | None = None) -> Prefix | None:
        """Records the prefix of a prompt that is being used.

        ``discussion`` may be empty; ``at`` is UTC, by default now.

        Returns:
            The prefix; ``None`` if it could not be recorded, which is only reported.
        """
        prefix = Prefix.of(compiled)
        use = PrefixUse(self._clock() if at is None else at, discussion, prefix)
        try:
            self._months.append(record_of(use))
        except AutopoiesisError as error:
            self._on_problem(f"the stable prefix was not recorded: {error}")
            return None
        return prefix

    def last(self, count: int | None = None, discussion: str | None = None) -> tuple[PrefixUse, ...]:
        """The last used prefixes, oldest first.

        Args:
            count: Maximum number; by default all of this and the previous month.
            discussion: Only of this session; empty for prompts without one.
        """
        found: list[PrefixUse] = []
        for use in self._backwards():
            if count is not None and len(found) >= count:
                break
            if discussion is None or use.discussion == discussion:
                found.append(use)
        return tuple(reversed(found))

    def misses(self, ttl_s: float, dollars: Callable[[int], float | None] | None = None) -> Misses:
        """The costs of broken prefixes in this and the previous month; arguments as of ``misses.misses``."""
        return misses(reversed(list(self._backwards())), ttl_s, dollars)

    def _backwards(self) -> Iterator[PrefixUse]:
        for record in self._months.backwards(months=_MONTHS):
            use = use_of(record)
            if use is not None:
                yield use
