"""Operations of the write path, run to the end or until an armed fault; also runnable as a program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository

OLD = b"old line\n" * 50
NEW = b"new line\n" * 80
LINE = b"one more line\n"


@dataclass(frozen=True)
class Operation:
    """An operation that writes files.

    Attributes:
        run: Performs the operation; it is idempotent.
        before: The contents of the workspace's files before.
        after: Their contents afterwards. Only files named in either are compared.
    """

    run: Callable[[Files], None]
    before: dict[str, bytes]
    after: dict[str, bytes]


def _append(path: str) -> Callable[[Files], None]:
    def run(files: Files) -> None:
        try:
            text = files.read(path)
        except FileNotFoundError:
            text = b""
        if not text.endswith(LINE):
            files.append(path, LINE)

    return run


def _move(files: Files) -> None:
    if (files.workspace.root / "a/old.md").exists():
        files.move("a/old.md", "b/new.md")


def _remove(files: Files) -> None:
    if (files.workspace.root / "a.md").exists():
        files.remove("a.md")


def _create(files: Files) -> None:
    files.create("deep/er/a.md", NEW)


def _commit(files: Files) -> None:
    Repository(files.workspace).commit(["a.md", "b/c.md"], "memory: test")


OPERATIONS = {
    "replace": Operation(lambda files: files.replace("a.md", NEW), {"a.md": OLD}, {"a.md": NEW}),
    "replace new": Operation(lambda files: files.replace("x/y/a.md", NEW), {}, {"x/y/a.md": NEW}),
    "create": Operation(_create, {}, {"deep/er/a.md": NEW}),
    "append": Operation(_append("a.md"), {"a.md": OLD}, {"a.md": OLD + LINE}),
    "append new": Operation(_append("x/a.md"), {}, {"x/a.md": LINE}),
    "update": Operation(
        lambda files: discard(files.update("a.md", lambda old: NEW)), {"a.md": OLD}, {"a.md": NEW}
    ),
    "move": Operation(_move, {"a/old.md": OLD}, {"b/new.md": OLD}),
    "remove": Operation(_remove, {"a.md": OLD}, {}),
    "commit": Operation(_commit, {"a.md": OLD, "b/c.md": NEW}, {"a.md": OLD, "b/c.md": NEW}),
}


def discard(_: object) -> None:
    """Discard a result."""


def prepare(root: Path, name: str) -> Files:
    """Create a workspace in which the operation can run."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "memory-config.yaml").write_bytes(b"")
    for path, data in OPERATIONS[name].before.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    if name == "commit":
        Repository(Workspace.open(root)).init()
    return Files(Workspace.open(root))


def contents(root: Path, name: str) -> dict[str, bytes]:
    """The contents of the files that the operation writes."""
    operation = OPERATIONS[name]
    paths = [root / path for path in {**operation.before, **operation.after}]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths if path.exists()}


def strays(root: Path) -> list[str]:
    """Temporary files left behind."""
    return sorted(
        path.name for path in root.rglob("*") if path.name.startswith((".tmp-", "autopoiesis-index-"))
    )


if __name__ == "__main__":
    OPERATIONS[sys.argv[2]].run(Files(Workspace.open(sys.argv[1])))
