"""``python -m tests.benchmarks.worker``: work whose memory is measured, in a process of its own."""

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
    """Imports a session log of Claude Code; gives the turns that are new."""
    workspace = Workspace.open(root)
    return import_file("claude-code", source, workspace, Files(workspace)).turns_new


def parse_lines(source: Path, _root: Path) -> int:
    """Parses every line of a log and keeps none; gives their number."""
    count = 0
    with source.open("rb") as stream:
        for line in stream:
            json.loads(line)
            count += 1
    return count


def read_through(source: Path, _root: Path) -> int:
    """Reads a file to its end; gives its size."""
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
    """The most memory this process has had resident.

    Linux counts towards ``ru_maxrss`` what the parent had resident when it started the process, so its own
    figure is asked for where there is one.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if found:
        return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(arguments: list[str]) -> None:
    """Does the work that is named and prints seconds, peak bytes and its result as JSON."""
    name, source, root = arguments
    started = time.perf_counter()
    result = WORK[name](Path(source), Path(root))
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes(), "result": result}))


if __name__ == "__main__":
    main(sys.argv[1:])
