"""A log of the prefixes of prompts that were actually used (design 2).

``logs/prefixes-YYYY-MM.jsonl`` has a record for each: hashes and sizes, no text. The last texts are in
``scratch/prefixes`` by hash, so that breaks can be located by line; without a text, the section is still
identified by its hash.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.stability import Prefix, encoded, hash_of
from engine.errors import AutopoiesisError
from engine.stability.record import Misses, PrefixUse, first_line, misses, record_of, use_of
from engine.store.monthly import MonthlyLog

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.store.files import Files

KIND = "prefixes"
FOLDER = "scratch/prefixes"
KEPT_TEXTS = 24
"""Number of texts kept: those used last."""

_TEXT_LIMIT = 16 * 1024 * 1024
_MONTHS = 2
"""Number of log files to read; older prefixes are irrelevant."""
_NAME = re.compile(r"([0-9a-f]{64})\.txt")


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

    def prefix_of(self, compiled: Compiled) -> Prefix:
        """The prefix of a prompt just compiled, with the lines of its files."""
        return Prefix.of(compiled, first_line=lambda section: first_line(section, self._files.read))

    def note(self, compiled: Compiled, discussion: str = "", at: datetime | None = None) -> Prefix | None:
        """Records the prefix of a prompt that is being used.

        ``discussion`` may be empty; ``at`` is UTC, by default now.

        Returns:
            The prefix; ``None`` if it could not be recorded, which is only reported.
        """
        prefix = self.prefix_of(compiled)
        use = PrefixUse(self._clock() if at is None else at, discussion, prefix)
        try:
            self._months.append(record_of(use))
            self._keep(prefix)
        except AutopoiesisError as error:
            self._on_problem(f"the stable prefix was not recorded: {error}")
            return None
        return prefix

    def last(self, count: int | None = None, discussion: str | None = None) -> tuple[PrefixUse, ...]:
        """The last used prefixes, oldest first, with their texts if still kept.

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
        known: dict[str, str | None] = {}
        for use in found:
            name = use.prefix.sha256
            if name not in known:
                known[name] = self._text(name)
        return tuple(use.with_text(known[use.prefix.sha256]) for use in reversed(found))

    def misses(self, ttl_s: float, dollars: Callable[[int], float | None] | None = None) -> Misses:
        """The costs of broken prefixes in this and the previous month; arguments as of ``misses.misses``."""
        return misses(reversed(list(self._backwards())), ttl_s, dollars)

    def _backwards(self) -> Iterator[PrefixUse]:
        for record in self._months.backwards(months=_MONTHS):
            use = use_of(record)
            if use is not None:
                yield use

    def _keep(self, prefix: Prefix) -> None:
        """Stores a text, and removes all but the last used ones."""
        if prefix.text is None or not self._files.create(_path(prefix.sha256), encoded(prefix.text)):
            return
        existing = self._kept()
        if len(existing) <= KEPT_TEXTS:
            return
        used: dict[str, None] = {}
        for use in self._backwards():
            used[use.prefix.sha256] = None
            if len(used) >= KEPT_TEXTS:
                break
        for name in sorted(existing - used.keys()):
            # Another process may have removed it in the meantime.
            with contextlib.suppress(FileNotFoundError):
                self._files.remove(_path(name))

    def _kept(self) -> set[str]:
        folder = self._files.workspace.root / FOLDER
        if not self._files.workspace.holds(FOLDER):
            return set()
        try:
            names = [path.name for path in folder.iterdir()]
        except OSError:
            return set()
        return {match.group(1) for match in map(_NAME.fullmatch, names) if match}

    def _text(self, name: str) -> str | None:
        if not _NAME.fullmatch(f"{name}.txt"):
            return None
        try:
            text = self._files.read(_path(name), limit=_TEXT_LIMIT).decode("utf-8", "replace")
        except (AutopoiesisError, OSError):
            return None
        return text if hash_of(text) == name else None


def _path(name: str) -> str:
    return f"{FOLDER}/{name}.txt"
