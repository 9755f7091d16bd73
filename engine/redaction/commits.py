"""Checks files for secrets before they are committed: a secret in the history stays there.

Only new secrets are refused; those already in the newest commit are reported by ``secrets scan``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.redaction.detect import Secret, secrets_in

_BINARY_CHECK_BYTES = 8000
HINT = "remove it, or if it is not a secret, commit the file yourself: git commit --no-verify"


def secrets_of(data: bytes) -> tuple[Secret, ...]:
    """Likely secrets in a file; none in a binary file, by git's rule."""
    return secrets_in(_text(data))


def refusals(path: str, data: bytes, before: Callable[[], bytes | None]) -> Iterator[tuple[int, str]]:
    """Why a file may not be committed, without quoting the secrets; empty if it may be.

    ``before`` returns the file in the newest commit, or ``None``.

    Yields:
        A line number, from 1, or 0 for the file's name; and the problem, as a clause.
    """
    if secrets_in(path) and before() is None:
        yield 0, "its name contains what looks like a secret"
    text = _text(data)
    found = secrets_in(text)
    old = _text(before() or b"") if found else ""
    known = {old[each.start : each.end] for each in secrets_in(old)}
    for each in found:
        if text[each.start : each.end] not in known:
            yield each.line, f"contains what looks like a secret ({each.kind})"


def refuse_secrets(path: str, data: bytes, before: Callable[[], bytes | None]) -> str:
    """Why a file may not be committed, as one line; empty if it may be. Arguments as ``refusals``."""
    found = list(refusals(path, data, before))
    if not found:
        return ""
    line, what = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{f'line {line} ' if line else ''}{what}{more}; {HINT}"


def _text(data: bytes) -> str:
    return "" if b"\0" in data[:_BINARY_CHECK_BYTES] else data.decode("utf-8", "replace")
