"""Run commands of one kind repeatedly while other processes write too."""

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

Result = tuple[int, str, str]


def run_command(root: Path, *arguments: str) -> Result:
    """Run one command; return its exit code, output and errors."""
    sys.argv = ["autopoiesis", "-C", str(root), *arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(cli)
    return code, out.getvalue(), err.getvalue()


def session(root: Path, name: str, count: int) -> Iterator[Result]:
    """Capture a conversation from start to commit."""
    session_id = f"ses_{name}{count}"
    yield run_command(root, "session", "start", "--id", session_id)
    yield run_command(root, "session", "message", session_id, "user", f"{name} {count}")
    yield run_command(root, "session", "end", session_id)


def imported(root: Path, name: str, count: int) -> Iterator[Result]:
    """Import a log of another program, a new one each time."""
    log = root.parent / f"{name}-{count}.jsonl"
    record = {
        "type": "user", "uuid": "u1", "sessionId": f"{name}-{count}", "timestamp": "2026-02-16T18:00:00.000Z",
        "message": {"role": "user", "content": f"{name} {count}"},
    }  # fmt: skip
    log.write_text(json.dumps(record) + "\n")
    yield run_command(root, "import", "claude-code", str(log))


def configured(root: Path, _name: str, count: int) -> Iterator[Result]:
    """Change a setting that other processes change too."""
    yield run_command(root, "config", "set", "cache.anthropic_ttl", ("5m", "1h")[count % 2])


def tuned(root: Path, name: str, count: int) -> Iterator[Result]:
    """Change the thresholds of a topic that no other process changes."""
    yield run_command(root, "tune", name, "--gate", "0.2", "--activate", f"0.{50 + count % 40}", "--apply")


KINDS = (session, imported, configured, tuned)


def main(root: Path, number: int, until: float) -> None:
    """Print the result of every command as a JSON list on its own line.

    Args:
        root: The workspace.
        number: Number of this process, which determines its kind of command.
        until: Number of rounds if at most 1,000; otherwise the time to stop, in seconds since 1970.
    """
    count = 0
    while count < until if until <= 1_000 else time.time() < until:
        for result in KINDS[number % len(KINDS)](root, f"w{number:02}", count):
            print(json.dumps(result), flush=True)
        count += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
