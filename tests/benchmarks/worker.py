"""``python -m tests.benchmarks.worker`` runs work in a separate process to measure its memory."""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.importers.run import import_file


def import_log(source: Path, root: Path) -> int:
    """Import a Claude Code log; returns the number of new turns."""
    workspace = Workspace.open(root)
    return import_file("claude-code", source, workspace, Files(workspace)).turns_new


def parse_lines(source: Path, _root: Path) -> int:
    """Parse every line of a log and keep none; returns their number."""
    count = 0
    with source.open("rb") as stream:
        for line in stream:
            json.loads(line)
            count += 1
    return count


def read_through(source: Path, _root: Path) -> int:
    """Read a file to its end; returns its size."""
    size = 0
    with source.open("rb") as stream:
        while chunk := stream.read(1024 * 1024):
            size += len(chunk)
    return size


WORK: dict[str, Callable[[Path, Path], int]] = {
    "import": import_log,
    "parse": parse_lines,
    "read": read_through,
}


def peak_bytes() -> int:
    """The peak resident memory of this process.

    On Linux, ``ru_maxrss`` includes the parent's resident memory at the time of the fork, so the process's
    own figure is used if available.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if found:
        return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(arguments: list[str]) -> None:
    """Run the named work and print seconds, peak bytes and its result as JSON."""
    name, source, root = arguments
    started = time.perf_counter()
    result = WORK[name](Path(source), Path(root))
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes(), "result": result}))


if __name__ == "__main__":
    main(sys.argv[1:])
