"""git-crypt as git sees it: a content filter, named by attributes, configured in each clone (spec 11).

It is the only filter that is ever run, and only if the user has enabled it (``git.private``). The command in
the repository's configuration is never run; it is only compared with the one that ``git-crypt init`` and
``unlock`` write.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.startup.lazy import expression
from engine.store import programs

PROGRAM = "git-crypt"
LOCKED = "is encrypted and locked"
UNLOCK = "unlock it with: git-crypt unlock KEYFILE"

_HEADER = b"\0GITCRYPT\0"
_FILTER = expression(r"(?:filter\.)?git-crypt(?:-([A-Za-z0-9_-]{1,64}))?")
_COMMAND = expression(r'(["\']?)(?:/[\w@%+=:,./ -]*/)?git-crypt\1 (clean|smudge)(?: --key-name=([\w-]+))?')


def is_encrypted(data: bytes) -> bool:
    """Whether bytes are a file encrypted by git-crypt."""
    return data.startswith(_HEADER)


def key_options(name: str) -> list[str] | None:
    """git-crypt's key options for a filter named ``git-crypt`` or ``git-crypt-NAME``; ``None`` for any other
    filter."""
    match = _FILTER.fullmatch(name)
    return None if match is None else [f"--key-name={match[1]}"] if match[1] else []


def has_key_in(folder: Path, options: list[str]) -> bool:
    """Whether a git folder has the key that the options name; no options mean the default key."""
    name = options[0].partition("=")[2] if options else "default"
    return (folder / "git-crypt/keys" / name).is_file()


def own_filters(configured: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Git settings that run git-crypt for its own filters.

    Includes only filters configured as git-crypt does it whose key is present; empty if it is not installed.

    Args:
        folder: The git folder; in a linked work tree its own one, which has no keys.
    """
    import shlex  # noqa: PLC0415 — only where git is run in such a repository

    program = programs.find(PROGRAM)
    settings: dict[str, str] = {}
    for section in {name.rpartition(".")[0] for name in configured}:
        options = key_options(section)
        if program is None or options is None or f"{section}.process" in configured:
            continue
        found = [_COMMAND.fullmatch(configured.get(f"{section}.{each}", "")) for each in ("clean", "smudge")]
        commands = [(match[2], [f"--key-name={match[3]}"] if match[3] else []) for match in found if match]
        has_key = has_key_in(folder, options)
        if has_key and commands == [("clean", options), ("smudge", options)]:
            for verb in ("clean", "smudge"):
                settings[f"{section}.{verb}"] = shlex.join([program, verb, *options])
            settings[f"{section}.required"] = "true"
    return settings
