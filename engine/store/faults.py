"""Named fault points in the write path, where tests can inject failures.

Durability can be relied on only if every step of a write has been tested to fail. Each step of
``engine.store`` that changes the disk calls ``reach`` with its name first; outside tests this costs one
lookup in an empty dictionary.

In a test process a point is armed with ``trip``. In a child process it is armed by the environment:
``AUTOPOIESIS_FAULT=append:write:kill`` or ``replace:rename:ENOSPC:3`` (at the third hit).
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Callable, Iterator

VARIABLE = "AUTOPOIESIS_FAULT"

FAULT_POINTS: frozenset[str] = frozenset(
    {
        "folder:create", "folder:fsync",
        "temp:create", "temp:write", "temp:fsync",
        "replace:rename", "replace:folder-fsync",
        "create:link", "create:folder-fsync",
        "append:open", "append:write", "append:fsync",
        "move:rename", "move:folder-fsync",
        "remove:unlink", "remove:folder-fsync",
        "lock:acquire",
        "commit:blobs", "commit:tree", "commit:object", "commit:reference", "commit:index",
        "commit:folder-fsync",
        "tag:reference",
        "sync:fetch", "sync:plan", "sync:apply", "sync:push",
    }
)  # fmt: skip
"""All fault points, as ``<operation>:<step>``; the step is the one about to be taken."""

_armed: dict[str, list[Callable[[], None]]] = {}


def reach(point: str) -> None:
    """Run the action armed at a fault point, if any.

    Raises:
        AssertionError: The point is not in ``FAULT_POINTS``.
    """
    assert point in FAULT_POINTS, f"unknown fault point {point!r}"
    if not _armed:
        return
    for action in list(_armed.get(point, ())):
        action()


@contextlib.contextmanager
def trip(point: str, action: Callable[[], None]) -> Iterator[None]:
    """Run ``action`` whenever ``point`` is reached within the context."""
    assert point in FAULT_POINTS, f"unknown fault point {point!r}"
    _armed.setdefault(point, []).append(action)
    try:
        yield
    finally:
        _armed[point].remove(action)
        if not _armed[point]:
            del _armed[point]


def fail(code: int) -> Callable[[], None]:
    """An action for ``trip`` that raises ``OSError`` with an ``errno`` code."""

    def action() -> None:
        raise OSError(code, os.strerror(code))

    return action


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm_from(setting: str) -> None:
    """Arm the fault given by ``AUTOPOIESIS_FAULT`` for the rest of the process.

    Raises:
        AssertionError: The setting names no known point or action.
    """
    parts = setting.split(":")
    hit = 1
    if parts[-1].isdigit():
        hit = int(parts.pop())
    kind = parts.pop()
    point = ":".join(parts)
    code = getattr(errno, kind, None)
    assert point in FAULT_POINTS, f"{VARIABLE}: unknown fault point {point!r}"
    assert kind == "kill" or isinstance(code, int), f"{VARIABLE}: unknown action {kind!r}"
    act = _kill if code is None else fail(code)
    hits = 0

    def action() -> None:
        nonlocal hits
        hits += 1
        if hits == hit:
            act()

    _armed.setdefault(point, []).append(action)


if os.environ.get(VARIABLE):
    arm_from(os.environ[VARIABLE])
