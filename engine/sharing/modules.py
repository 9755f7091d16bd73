"""Reads submodules from ``.gitmodules`` and the index, as untrusted input (spec 11).

Both come with the repository: submodule names are ignored, a path is accepted only below the folder for
shared knowledge, and an address is used only if the user's settings list it too.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from engine.errors import RepositoryError
from engine.store.files import Files
from engine.store.git import Git
from engine.store.paths import SHARED

FILE = ".gitmodules"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_SECTION = re.compile(rb"^[ \t]*\[")


@dataclass(frozen=True, slots=True)
class Source:
    """A source of shared knowledge."""

    name: str
    address: str = ""  # as written; empty if ``.gitmodules`` has none
    branch: str = ""  # empty for the other repository's current branch

    @property
    def path(self) -> str:
        return f"{SHARED}/{self.name}"


def is_name(text: str) -> bool:
    """True for a valid name of shared knowledge: letters, digits, ``.``, ``_``, ``-``; no ``..``."""
    return _NAME.fullmatch(text) is not None and ".." not in text and not text.endswith((".", ".git"))


def is_branch(text: str) -> bool:
    """True for a valid branch name."""
    return _BRANCH.fullmatch(text) is not None and ".." not in text and not text.endswith((".", "/", ".lock"))


def sources(files: Files, git: Git) -> dict[str, Source]:
    """Declared sources of shared knowledge by path, without other submodules.

    Raises:
        RepositoryError: ``.gitmodules`` cannot be read.
    """
    try:
        data = files.read(FILE)
    except FileNotFoundError:
        return {}
    # From stdin, so that git itself opens no file.
    options = ("--file", "-", "--no-includes", "--null", "--list")
    answer = git.run("config", *options, stdin=data, accept=(0, 1, 128))
    if answer.code == 128:
        raise RepositoryError(f"cannot be read ({answer.message})", where=FILE, hint="correct it")
    found: dict[str, dict[str, str]] = {}
    for line in answer.output.split(b"\0"):
        name, _, value = os.fsdecode(line).partition("\n")
        section, _, variable = name.rpartition(".")
        if section.startswith("submodule."):
            found.setdefault(section, {}).setdefault(variable, value)
    declared: dict[str, Source] = {}
    for each in found.values():
        path = each.get("path", "")
        name = path.removeprefix(f"{SHARED}/")
        if name != path and is_name(name):
            branch = each.get("branch", "")
            declared[path] = Source(name, each.get("url", ""), branch if is_branch(branch) else "")
    return declared


def links(git: Git) -> dict[str, str]:
    """The recorded commits of all submodules in the index, by path."""
    listed = git.run("ls-files", "--stage", "-z").output.split(b"\0")
    found = (line.partition(b"\t") for line in listed if line.startswith(b"160000 "))
    return {os.fsdecode(path): head.split()[1].decode() for head, _, path in found}


def with_source(data: bytes | None, source: Source) -> bytes:
    """``.gitmodules`` with a source added."""
    branch = f"\tbranch = {source.branch}\n" if source.branch else ""
    added = (
        f'[submodule "{source.path}"]\n\tpath = {source.path}\n\turl = {_quoted(source.address)}\n{branch}'
    )
    before = data or b""
    return before + (b"" if before.endswith(b"\n") or not before else b"\n") + added.encode()


def without_source(data: bytes | None, source: Source) -> bytes | None:
    """``.gitmodules`` with a source removed; ``None`` if nothing is left."""
    kept: list[bytes] = []
    section: list[bytes] = []
    wanted = re.compile(rb"^[ \t]*path[ \t]*=[ \t]*\"?" + re.escape(source.path.encode()) + rb"\"?[ \t]*$")
    for line in [*(data or b"").splitlines(keepends=True), b"["]:
        if _SECTION.match(line):
            if not any(wanted.match(each.rstrip(b"\r\n")) for each in section):
                kept += section
            section = []
        section.append(line)
    return b"".join(kept) or None


def _quoted(address: str) -> str:
    escaped = address.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if re.search(r'[\\";#\s]', address) else address
