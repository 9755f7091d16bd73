"""Writes repeatedly with one kind of command, while other processes write too."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tui.cli import cli
from tui.cli.base import run

Said = tuple[int, str, str]


def typed(root: Path, *words: str) -> Said:
    """Exit code, output and errors of one command."""
    sys.argv = ["autopoiesis", "-C", str(root), *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(cli)
    return code, out.getvalue(), err.getvalue()


def session(root: Path, name: str, count: int) -> Iterator[Said]:
    """A conversation from start to commit."""
    identity = f"ses_{name}{count}"
    yield typed(root, "session", "start", "--id", identity)
    yield typed(root, "session", "message", identity, "user", f"{name} {count}")
    yield typed(root, "session", "end", identity)


def imported(root: Path, name: str, count: int) -> Iterator[Said]:
    """A log of another program, which is new each time."""
    log = root.parent / f"{name}-{count}.jsonl"
    record = {
        "type": "user", "uuid": "u1", "sessionId": f"{name}-{count}", "timestamp": "2026-02-16T18:00:00.000Z",
        "message": {"role": "user", "content": f"{name} {count}"},
    }  # fmt: skip
    log.write_text(json.dumps(record) + "\n")
    yield typed(root, "import", "claude-code", str(log))


def configured(root: Path, _name: str, count: int) -> Iterator[Said]:
    """A setting, which others set too."""
    yield typed(root, "config", "set", "cache.anthropic_ttl", ("5m", "1h")[count % 2])


def tuned(root: Path, name: str, count: int) -> Iterator[Said]:
    """Thresholds of a topic of one's own."""
    yield typed(root, "tune", name, "--gate", "0.2", "--activate", f"0.{50 + count % 40}", "--apply")


KINDS = (session, imported, configured, tuned)


def main(root: Path, number: int, until: float) -> None:
    """Prints what every command answered, one JSON list a line.

    Args:
        root: The workspace.
        number: Of this process; its kind follows from it.
        until: How often, where it is at most 1,000; otherwise the time to stop at, seconds since 1970.
    """
    count = 0
    while count < until if until <= 1_000 else time.time() < until:
        for said in KINDS[number % len(KINDS)](root, f"w{number:02}", count):
            print(json.dumps(said), flush=True)
        count += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
