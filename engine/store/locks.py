"""Where a lock file may be: a regular file of the workspace, reached through no link that leads out."""

from __future__ import annotations

from pathlib import Path

from engine.store import descriptors
from engine.store.paths import Workspace, split_relative


def lock_place(workspace: Workspace, relative: str) -> Path:
    """The path of a lock file, free of symlinks; its folder is made if it is missing.

    What opens it must follow no symlink either, should one be put there meanwhile: filelock does not.

    Raises:
        PathRefused: It is not a regular file, or a symlink on the way leads out of the workspace.
        OSError: Its folder cannot be made.
    """
    *parents, name = split_relative(relative)
    folder = workspace.resolve("/".join(parents))
    with descriptors.open_folder(
        workspace.root, folder.relative_to(workspace.root).parts, create=True
    ) as inside:
        descriptors.refuse_odd(name, inside, relative)
    return folder / name
