"""A process that writes and commits its own files and a shared one, to be run alongside others like it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from engine.errors import RepositoryError
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository


def main(root: Path, name: str, until: float) -> None:
    """Print ``path revision`` for each acknowledged commit and ``refused why`` for each failed one.

    Args:
        root: The workspace.
        name: The name of this process.
        until: The number of commits if at most 1,000, else the time to stop at as a Unix timestamp.
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
