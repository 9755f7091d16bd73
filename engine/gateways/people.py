"""Who may use a served memory: its owner, and people with a token and rights of their own.

Tokens are random, and only their hashes are stored, in the owner's settings folder (``people.json``).
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from engine.errors import GatewayFailed
from engine.store.by_workspace import ByWorkspace, Entry
from engine.store.monthly import MonthlyLog, text_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engine.store.files import Files

FILE = "people.json"
"""In the user's settings folder."""
Right = Literal["read", "conversations", "propose", "capture"]
RIGHTS: tuple[Right, ...] = get_args(Right)
MEANING: dict[Right, str] = {
    "read": "search and read knowledge and playbooks, over MCP",
    "conversations": "also conversations, journals and the archive",
    "propose": "propose facts and playbooks, which wait for the owner's review",
    "capture": "record sessions of their own, which teach nothing without the owner's review",
}
BURST, PER_SECOND = 60, 5
"""Requests of a person at once, and on average."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_STORE = ByWorkspace(FILE, secret=True)


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever sends a request."""

    name: str  # empty: the owner, who may do everything
    may: tuple[Right, ...] = ()
    since: str = ""  # ISO 8601, UTC: when the token was made

    @property
    def is_owner(self) -> bool:
        """Whether it is the owner of the memory."""
        return not self.name

    def can(self, right: Right | None) -> bool:
        """Whether the person has a right; ``None`` is the owner's alone."""
        return self.is_owner or (right is not None and right in self.may)


OWNER = Person("")


class People:
    """The people who may use one workspace's memory, beside its owner."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def all(self) -> list[Person]:
        """Everyone with a token, by name.

        Raises:
            WriteFailed: The file is damaged or others can read it, so none of its tokens counts.
        """
        _STORE.readable()
        found = (person for _, person in _people(_STORE.entry(self._root)))
        return sorted(found, key=lambda each: each.name)

    def grant(self, name: str, may: Collection[Right], at: datetime) -> tuple[Person, str]:
        """Give a person rights, in place of those before, and a new token, which is stored nowhere.

        Who may read conversations or propose something may also read the rest.

        Raises:
            GatewayFailed: The name is not valid.
            WriteFailed: The token cannot be stored, or the file not be read.
        """
        if not _NAME.fullmatch(name):
            raise GatewayFailed(
                "a name has up to 40 letters, digits, dots, hyphens and underscores", where=repr(name)
            )
        token = secrets.token_urlsafe(32)
        wanted = {*may} if {"conversations", "propose"}.isdisjoint(may) else {*may, "read"}
        person = Person(name, _ordered(wanted), at.isoformat(timespec="seconds"))
        row = {"sha256": _hash(token), "may": person.may, "since": person.since}
        _STORE.change(self._root, lambda entry: entry.update({name: row}))
        return person, token

    def revoke(self, name: str) -> bool:
        """Withdraw a person's token, at once; returns whether they had one. Raises ``WriteFailed``."""
        known: list[bool] = []
        _STORE.change(self._root, lambda entry: known.append(entry.pop(name, None) is not None))
        return known[0]

    def of_token(self, token: str) -> Person | None:
        """Whose token it is."""
        return dict(_people(_STORE.entry(self._root))).get(_hash(token))


def _people(entry: Entry) -> Iterator[tuple[str, Person]]:
    for name, row in entry.items():
        if isinstance(row, dict) and isinstance(row.get("sha256"), str) and _NAME.fullmatch(name):
            listed = row.get("may")
            may = _ordered(listed if isinstance(listed, list) else ())
            yield row["sha256"], Person(name, may, str(row.get("since", "")))


def _ordered(rights: Collection[object]) -> tuple[Right, ...]:
    return tuple(right for right in RIGHTS if right in rights)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Allowance:
    """Limits how often each person may ask: ``BURST`` requests at once, then ``PER_SECOND``."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}  # requests left, and when that was

    def take(self, name: str) -> bool:
        """Count a request; false if it is one too many."""
        now = self._clock()
        left, since = self._left.get(name, (float(BURST), now))
        left = min(float(BURST), left + (now - since) * PER_SECOND)
        is_allowed = left >= 1
        self._left[name] = (left - 1 if is_allowed else left, now)
        return is_allowed


@dataclass(frozen=True, slots=True)
class Access:
    """A request of a person."""

    at: datetime  # UTC
    who: str
    what: str  # method and path; of MCP the tool


class AccessLog:
    """What people other than the owner asked for: ``logs/access-YYYY-MM.jsonl``, without what they said."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._months = MonthlyLog(files, "access", clock)
        self._clock = clock

    def append(self, who: str, what: str) -> None:
        """Record a request.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        at = self._clock().isoformat(timespec="seconds")
        self._months.append({"at": at, "who": who, "what": what})

    def last(self, count: int, who: str = "") -> list[Access]:
        """The latest requests, newest first; of one person if named."""
        found: list[Access] = []
        for record in self._months.backwards():
            try:
                at, by, what = (text_in(record.get(key)) for key in ("at", "who", "what"))
                if who in ("", by):
                    found.append(Access(datetime.fromisoformat(at), by, what))
            except (TypeError, ValueError):
                continue  # damaged
            if len(found) == count:
                break
        return found
