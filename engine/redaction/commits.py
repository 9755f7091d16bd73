"""Checks files for secrets before they are committed: a secret in the history stays there.

Only new secrets are refused; those already in the newest commit are reported by ``secrets scan``. What a
person declared to be no secret is in ``logs/``, as hashes, and so applies on every machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

from engine.errors import AutopoiesisError
from engine.redaction.detect import Secret, secrets_in

ALLOWED = "logs/secrets_allowed.jsonl"
"""One line for each finding that is no secret, with the hash of its text."""
HINT = "replace it: autopoiesis secrets redact FILE; if it is no secret: autopoiesis secrets allow FILE:LINE"
NAME_HINT = "rename the file; if its name is no secret: autopoiesis secrets allow FILE"

_BINARY_CHECK_BYTES = 8000


def secrets_of(data: bytes) -> tuple[Secret, ...]:
    """Likely secrets in a file; none in a binary file, by git's rule."""
    return secrets_in(text_of(data))


def text_of(data: bytes) -> str:
    """The text of a file, in which bytes that are not UTF-8 are kept; empty for a binary file."""
    return "" if b"\0" in data[:_BINARY_CHECK_BYTES] else data.decode("utf-8", "surrogateescape")


def digest(text: str) -> str:
    """The hash by which a finding is allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


class CommitCheck:
    """Finds the secrets in files that may not be committed.

    Args:
        read: Reads a file of the workspace; raises ``FileNotFoundError`` if there is none.
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read

    def secrets(self, text: str) -> tuple[Secret, ...]:
        """Likely secrets in a text, except allowed ones."""
        found = secrets_in(text)
        allowed = self._allowed() if found else frozenset()
        return tuple(each for each in found if digest(text[each.start : each.end]) not in allowed)

    def refusals(
        self, path: str, data: bytes, before: Callable[[], bytes | None]
    ) -> Iterator[tuple[int, str]]:
        """Why a file may not be committed, without quoting the secrets; empty if it may be.

        ``before`` returns the file in the newest commit, or ``None``.

        Yields:
            A line number, from 1, or 0 for the file's name; and the problem, as a clause.
        """
        if self.secrets(path) and before() is None:
            yield 0, "its name contains what looks like a secret"
        text = text_of(data)
        found = self.secrets(text)
        old = text_of(before() or b"") if found else ""
        known = {old[each.start : each.end] for each in secrets_in(old)}
        for each in found:
            if text[each.start : each.end] not in known:
                yield each.line, f"contains what looks like a secret ({each.kind})"

    def __call__(self, path: str, data: bytes, before: Callable[[], bytes | None]) -> str:
        """Why a file may not be committed, as one line; empty if it may be. Arguments as ``refusals``."""
        found = list(self.refusals(path, data, before))
        if not found:
            return ""
        line, what = found[0]
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        return f"{f'line {line} ' if line else ''}{what}{more}; {HINT if line else NAME_HINT}"

    def _allowed(self) -> frozenset[str]:
        try:
            lines = self._read(ALLOWED).splitlines()
        except (OSError, AutopoiesisError):
            return frozenset()
        found = set()
        for line in lines:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict) and isinstance(record.get("sha256"), str):
                found.add(record["sha256"])
        return frozenset(found)
