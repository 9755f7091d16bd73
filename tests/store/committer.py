"""Writes and commits files of its own, and one that all share, in a process that others run beside."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from engine.errors import RepositoryError
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository


def main(root: Path, name: str, until: float) -> None:
    """Prints what was acknowledged, one ``path revision`` a line, and what was not, as ``refused why``.

    Args:
        root: The workspace.
        name: Of this process.
        until: How often, where it is at most 1,000; otherwise the time to stop at, seconds since 1970.
    """
    workspace = Workspace.open(root)
    files, repository = Files(workspace), Repository(workspace)
    count = 0
    while count < until if until <= 1_000 else time.time() < until:
        path = f"knowledge/{name}/{count}.md"
        files.replace(path, f"{name} {count}\n".encode())
        files.append("knowledge/shared.md", f"- {name} {count}\n".encode())
        try:
            revision = repository.commit([path, "knowledge/shared.md"], f"memory: {name} {count}")
            print(path, revision, flush=True)
        except RepositoryError as error:
            print("refused", error, flush=True)
        count += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
