"""Checks that the files a topic subscribes to exist, and suggests others if not (spec 2.2)."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.errors import PathRefused
from engine.store.sparse import hidden
from engine.topics.fields import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.store.paths import Workspace
    from engine.topics.fields import Fields

_MAX_FILES = 5_000
_GLOB_SIGNS = frozenset("*?[")


def check_subscription(path: str, line: int, fields: Fields, workspace: Workspace | None) -> bool:
    """Checks one subscription, reports its problems, and returns whether to keep it.

    A missing file is kept, since it may be created later.

    Args:
        path: A relative path of an allowed form.
        workspace: ``None`` to check the form only.
    """
    is_glob = bool(_GLOB_SIGNS & set(path))
    if workspace is None:
        if is_glob:
            _report_glob(path, line, fields, ())
        return not is_glob
    try:
        real = workspace.resolve(path)
    except PathRefused as error:
        what = f"subscription {shown(path)} is refused: {error.what}"
        fields.report(line, what, error.hint or "use a path relative to the workspace")
        return False
    if real.is_file():
        return True
    if is_glob:
        _report_glob(
            path,
            line,
            fields,
            tuple(islice((known for known in _files(workspace) if PurePosixPath(known).match(path)), 20)),
        )
        return False
    if real.is_dir():
        inside = sorted(f"{path}/{entry.name}" for entry in real.iterdir() if entry.suffix == ".md")
        hint = f"list its files one by one: {_listed(inside)}" if inside else "list files one by one"
        fields.report(line, f"subscription {shown(path)} is a folder", hint, "warning")
        return False
    if real.exists():
        fields.report(line, f"subscription {shown(path)} is not a regular file", "use a text file")
        return False
    if hidden(workspace.root, [path]):
        return True
    likely = _nearest(path, workspace)
    hint = f"did you mean {likely}?" if likely else "create the file or remove the line"
    fields.report(line, f"subscription {shown(path)} does not exist", hint, "warning")
    return True


def _report_glob(path: str, line: int, fields: Fields, matching: tuple[str, ...]) -> None:
    hint = "list the files one by one" + (f": {_listed(list(matching))}" if matching else "")
    fields.report(line, f"subscription {shown(path)} is a glob, which is not supported", hint, "warning")


def _listed(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _nearest(path: str, workspace: Workspace) -> str:
    import difflib  # noqa: PLC0415 — 3 ms, for missing files only

    wanted = PurePosixPath(path)
    by_name: dict[str, list[str]] = {}
    for known in sorted(_files(workspace)):
        by_name.setdefault(PurePosixPath(known).stem.casefold(), []).append(known)
    for stem in difflib.get_close_matches(wanted.stem.casefold(), by_name, n=1, cutoff=0.7):
        in_folder = [known for known in by_name[stem] if PurePosixPath(known).parent == wanted.parent]
        return (in_folder or by_name[stem])[0]
    return ""


def _files(workspace: Workspace) -> Iterator[str]:
    """The Markdown files that a topic can subscribe to, at most ``_MAX_FILES``."""
    return islice(_walk(workspace), _MAX_FILES)


def _walk(workspace: Workspace) -> Iterator[str]:
    for top in (workspace.knowledge, workspace.presets, workspace.topics):
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            relative = PurePosixPath(os.path.relpath(folder, workspace.root))
            yield from (str(relative / name) for name in sorted(names) if name.endswith(".md"))
