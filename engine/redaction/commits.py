"""The check of every file before it is committed: a secret in the history is there for good.

What the newest commit holds already is reported by ``secrets scan``; only what a commit would add is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.redaction.detect import Secret, secrets_in

_LOOKED_AT_FOR_ZEROS = 8000
CURE = "take it out; if it is none, commit the file yourself: git commit --no-verify"


def secrets_of(data: bytes) -> tuple[Secret, ...]:
    """What looks like a secret in a file; nothing in a binary file, by git's rule."""
    return secrets_in(_text(data))


def refusals(path: str, data: bytes, before: Callable[[], bytes | None]) -> Iterator[tuple[int, str]]:
    """Why a file is not to be committed, without the secrets themselves; nothing when it may be.

    ``before`` gives the bytes in the newest commit; ``None`` where that has no such file.

    Yields:
        A line, from 1, or 0 for the file's name; and what is wrong with it, as a clause.
    """
    if secrets_in(path) and before() is None:
        yield 0, "its name holds what looks like a secret"
    text = _text(data)
    found = secrets_in(text)
    old = _text(before() or b"") if found else ""
    known = {old[each.start : each.end] for each in secrets_in(old)}
    for each in found:
        if text[each.start : each.end] not in known:
            yield each.line, f"holds what looks like a {each.kind}"


def refuse_secrets(path: str, data: bytes, before: Callable[[], bytes | None]) -> str:
    """Why a file is not to be committed, in one sentence; empty when it may be. Arguments as ``refusals``."""
    found = list(refusals(path, data, before))
    if not found:
        return ""
    line, what = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{f'line {line} ' if line else ''}{what}{more}; {CURE}"


def _text(data: bytes) -> str:
    return "" if b"\0" in data[:_LOOKED_AT_FOR_ZEROS] else data.decode("utf-8", "replace")
