"""Named caches at a service, by content: discussions with the same prefix share one.

Named caches are billed for as long as they exist. One is created when a prefix is sent a second time within
the cache's lifetime, and by a single process; until then, the others send the prefix.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import AutopoiesisError
from engine.providers.caches import StoredCache
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files

PATH = "logs/named-caches.json"
KEPT = 200
"""Maximum number of prefixes kept; the least recently sent go first."""
MAKING_S = 60
"""Seconds after which another process's creation of a cache is considered abandoned."""

_LIMIT = 1024 * 1024


class Taken(NamedTuple):
    """The cache for a prefix, if any, and what the caller should do."""

    held: StoredCache | None = None
    make: bool = (
        False  # there is none and one would pay off: the caller creates it, and no other process does
    )
    look: bool = False  # one may exist at the service, since the response to an earlier attempt was lost


@dataclass(frozen=True, slots=True)
class _Row:
    """A prefix: when it was last sent, its cache, and who has been creating one since when."""

    seen_at: datetime
    name: str = ""
    expires_at: datetime | None = None
    tokens: int = 0
    making_since: datetime | None = None
    is_lost: bool = False


@dataclass(eq=False)
class SharedCaches:
    """Reads and changes the records of named caches. Safe to use from several processes.

    ``on_problem`` is called when the file cannot be read; caches are then recreated.
    """

    files: Files
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]

    def take(self, key: str, ttl_s: int) -> Taken:
        """The cache for a prefix about to be sent; the key identifies service, model and prefix."""
        now = self.clock()
        with self._rows() as rows:
            before = rows.get(key)
            row = rows[key] = _Row(now) if before is None else replace(before, seen_at=now)
            if row.name and row.expires_at is not None and row.expires_at > now:
                return Taken(StoredCache(row.name, row.expires_at, row.tokens))
            if before is None or now - before.seen_at >= timedelta(seconds=ttl_s):
                return Taken()
            since = row.making_since
            if since is not None and now - since < timedelta(seconds=MAKING_S):
                return Taken()
            rows[key] = replace(row, making_since=now)
            return Taken(make=True, look=row.is_lost or since is not None)

    def made(self, key: str, stored: StoredCache) -> None:
        """Records that a cache was created or extended."""
        with self._rows() as rows:
            rows[key] = _Row(self.clock(), stored.name, stored.expires_at, stored.tokens)

    def failed(self, key: str) -> None:
        """Records that no cache was created, as far as is known."""
        with self._rows() as rows:
            rows[key] = _Row(self.clock(), is_lost=True)

    def gone(self, name: str) -> None:
        """Records that a cache has ended."""
        with self._rows() as rows:
            for key, row in rows.items():
                if row.name == name:
                    rows[key] = _Row(row.seen_at)

    @contextmanager
    def _rows(self) -> Iterator[dict[str, _Row]]:
        """The rows, written back if changed. A failed write is reported and never fails the reply."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self.files.lock())
            except AutopoiesisError as error:
                self.on_problem(f"{PATH}: {error}")
                yield {}
                return
            rows = self._read()
            before = dict(rows)
            yield rows
            if rows == before:
                return
            kept = sorted(rows.items(), key=lambda item: item[1].seen_at)[-KEPT:]
            text = json.dumps({key: asdict(row) for key, row in sorted(kept)}, indent=1, default=_written)
            try:
                self.files.replace(PATH, f"{text}\n".encode())
            except AutopoiesisError as error:
                self.on_problem(str(error))

    def _read(self) -> dict[str, _Row]:
        try:
            data = json.loads(self.files.read(PATH, limit=_LIMIT))
            return {key: typed(_Row, tree) for key, tree in data.items()}
        except FileNotFoundError:
            return {}
        except (OSError, AutopoiesisError, ValueError, TypeError, AttributeError, RecursionError) as error:
            self.on_problem(f"{PATH}: cannot be read ({error}); named caches will be recreated")
            return {}


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
