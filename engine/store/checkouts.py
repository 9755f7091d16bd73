"""Which repository a folder belongs to: the same for subfolders, linked work trees and clones of one remote.

Only ``.git``, ``commondir`` and ``config`` are read, a few kilobytes of each: git does not run, so nothing a
stranger's repository configures does. Folders that no longer exist, or exist on another machine, are told by
their path.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.git_folder import common_folder, remotes, repository_folder

_DEPTH = 64
"""Folders looked at upwards; deeper ones are not worked in."""
_LONGEST = 400
_DRIVE = expression(r"[A-Za-z]:(?=[\\/])")
_HOME = expression(r"/(?:home|Users)/[^/]+(?=/|$)|/root(?=/|$)")
_ADDRESS = expression(r"[A-Za-z][\w+.-]*://(?:[^/]*@)?(?P<host>[^/:]*)(?::\d*)?(?P<path>/.*)")
_SHORT_ADDRESS = expression(r"(?:[^/@:]+@)?(?P<host>[^/@:]{2,}):(?P<path>.+)")
_ALIAS = expression(r"(\.(?!xn--)[a-z]+)-.*")
"""No top-level domain has a hyphen: ``github.com-work`` is a name in a person's SSH settings."""
WORK_TREES = (
    # Below or beside the main checkout, whose path they tell:
    "{main}/.claude/worktrees/*",  # Claude Code
    "{main}/.worktrees/*",
    "{main}/.conductor/*",  # Conductor up to 0.24
    "{main}/.letta/worktrees/*",
    "{beside}-worktrees/*",
    "{beside}.worktrees/*",
    "{beside}_worktrees/*",
    # In a folder of the program that makes them, which tells the repository's name:
    "conductor/workspaces/{name}/*",
    ".cursor/worktrees/{name}/*",
    ".superset/worktrees/{name}/*",
    ".grok/worktrees/{name}/*",
    "copilot-worktrees/{name}/*",
    "opencode/worktree/{name}/*",
    ".codex/worktrees/*/{name}",
    "vibe-kanban/worktrees/*/{name}",
)
"""Where agents and people put linked work trees: ``*`` is the name of one."""
_MADE = {"main": "(.+?)", "beside": "(.+?/[^/.][^/]*?)", "name": "([^/]+)"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session took place."""

    key: str
    """The repository: its remote without protocol and user, ``github.com/acme/shop``; without a remote the
    path of its main checkout, and without git that of the folder, with ``~`` for the home folder. For work
    trees that are gone, if only their repository's name is known, a pattern of them all,
    ``~/conductor/workspaces/shop/*``."""
    root: str = ""  # path of its main checkout, likewise; empty if it is not known
    top: str = ""  # path of the checkout, likewise; that of a linked work tree differs from ``root``
    is_repository: bool = False  # whether ``key`` is known to be one


def place_of(folder: str, url: str = "") -> Place | None:
    """The place of a working folder, which need not exist; ``None`` if it is unknown.

    Args:
        url: Of the remote, if the session's log names it. It was recorded then, so it counts more than what
            the folder contains now.
    """
    named = _remote_key(url, "")
    path = _DRIVE.sub("", folder, count=1).replace("\\", "/") if _DRIVE.match(folder) else folder
    if not path.startswith("/") or "\0" in path or len(path) > 4096:
        return Place(named, is_repository=True) if named else None
    path = os.path.normpath(path)
    found = _checkout(path)
    if found is None and (main := main_checkout(path)):
        path, found = main, _checkout(main)
    if found is None or (named and named != found.key):
        return Place(named or shown_path(path), is_repository=bool(named))
    return found


def shown_path(path: str) -> str:
    """A path with ``~`` for the home folder, whose name differs between machines."""
    home = os.path.expanduser("~")  # noqa: PTH111 — a string, on every message
    if home != "/" and (path == home or path.startswith(f"{home}/")):
        return f"~{path[len(home) :]}"
    return _HOME.sub("~", path, count=1) if _HOME.match(path) else path


def exists(shown: str) -> bool:
    """Whether there is a folder at a path as shown."""
    return os.path.isdir(os.path.expanduser(shown))  # noqa: PTH111, PTH112 — as above


def _checkout(path: str) -> Place | None:
    """The repository that contains a path; ``None`` if there is none.

    That of the home folder, if it is one for settings files, does not contain all work below it.
    """
    here = Path(os.path.realpath(path))
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 — as above
    for top in (here, *here.parents)[:_DEPTH]:
        if top == home != here:
            return None
        if not os.path.lexists(top / ".git"):
            continue
        folder = repository_folder(top)
        if not os.path.lexists(folder / "HEAD"):
            # The main checkout of a linked work tree may be gone, or mounted elsewhere in a container.
            main, is_linked, _ = str(folder).partition("/.git/worktrees/")
            if not is_linked:
                continue
            shown = shown_path(main)
            return Place(shown, shown, shown_path(str(top)), is_repository=True)
        common = common_folder(folder)
        root = top if common == folder else _work_tree(common)
        urls = remotes(common)
        url = urls.get("origin") or next(iter(urls.values()), "")
        shown = shown_path(str(root))
        return Place(_remote_key(url, str(root)) or shown, shown, shown_path(str(top)), is_repository=True)
    return None


def _work_tree(common: Path) -> Path:
    """The main checkout of a git folder; a bare repository is its own, or lies hidden in its folder."""
    return (
        common.parent if common.name.startswith(".") else common.with_name(common.name.removesuffix(".git"))
    )


def main_checkout(path: str) -> str:
    """The main checkout of a linked work tree that is gone, by where such work trees are put, or a pattern of
    all work trees there where only the repository's name is known; empty for other folders.
    """
    for layout, known in _layouts():
        if (found := known.fullmatch(path)) is None:
            continue
        if "{name}" in layout:
            return found[1] + layout.format(name=found[2])
        if shown_path(found[1]) not in ("~", "/"):
            return found[1]
    return ""


@cache
def _layouts() -> list[tuple[str, re.Pattern[str]]]:
    return [(layout, re.compile(_layout(layout))) for layout in WORK_TREES]


def _layout(layout: str) -> str:
    parts = re.split(r"({\w+}|\*)", layout)
    made = "".join("[^/]+" if part == "*" else _MADE.get(part[1:-1]) or re.escape(part) for part in parts)
    return f"{'(.*?/)' if '{name}' in layout else ''}{made}(?:/.*)?"


def _remote_key(url: str, root: str) -> str:
    """A remote as ``host/owner/name``, or the path of one on this machine; empty if it is odd.

    User names, passwords and ports are left out, and capitals, which hosts ignore.
    """
    text = url.strip()
    if not text or len(text) > _LONGEST or not text.isprintable():
        return ""
    found = _ADDRESS.fullmatch(text) or (None if text.startswith("/") else _SHORT_ADDRESS.fullmatch(text))
    host = found["host"].lower() if found else ""
    path = found["path"] if found else text
    if not host:  # ``file://`` or a path, which may be relative to the main checkout
        path = os.path.join(root, os.path.expanduser(path))  # noqa: PTH111, PTH118 — as above
        if not path.startswith("/"):
            return ""
        path = os.path.realpath(path)
        return shown_path(path.removesuffix("/.git").removesuffix(".git"))
    path = re.split(r"[?#]", path.lower(), maxsplit=1)[0]
    parts = [part for part in path.removesuffix("/").removesuffix(".git").split("/") if part]
    if not parts or any(not part.strip(".") for part in parts):  # nothing is called so
        return ""
    return "/".join((_ALIAS.sub(r"\1", host), *(part.lstrip("~") or part for part in parts)))
