"""Refuses to push anything new that looks like a secret."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from engine.errors import RepositoryError
from engine.redaction.commits import CommitCheck, secrets_of
from engine.store.paths import shown
from engine.store.revisions import TreeEntry, contents

if TYPE_CHECKING:
    from engine.store.git import Git

_MAX_LISTED = 5


def refuse_secrets(git: Git, check: CommitCheck, theirs: str | None, ours: str, name: str) -> None:
    """Checks every file version and commit message that only our side has.

    Manual commits bypass our own check, and a secret that was removed later is still in the history.

    Args:
        check: Knows what is allowed here.
        theirs: The newest commit of the remote.
        name: The remote's name.

    Raises:
        RepositoryError: Something looks like a secret; gives its location, not its text.
    """
    beyond = [ours, *([f"^{theirs}"] if theirs else [])]
    found = [f"{path} ({why})" for path, why in _secrets(git, check, theirs, beyond)]
    if not found:
        return
    more = f", and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
    raise RepositoryError(
        f"nothing was sent: {'; '.join(found[:_MAX_LISTED])}{more}",
        where=f"remote {name}",
        hint="remove it from the history (git rebase); if it is no secret: autopoiesis secrets allow FILE",
    )


def _secrets(git: Git, check: CommitCheck, theirs: str | None, beyond: list[str]) -> list[tuple[str, str]]:
    paths: dict[str, str] = {}
    for line in git.run("rev-list", "--objects", *beyond).output.split(b"\n"):
        name, _, path = line.partition(b" ")
        if path:
            paths.setdefault(name.decode("ascii"), os.fsdecode(path))
    stdin = "".join(f"{name}\n" for name in paths).encode()
    output = git.run("cat-file", "--batch-check", stdin=stdin).text.split("\n") if paths else []
    files = [
        TreeEntry(paths[name], "file", name, int(size))
        for name, kind, size in (line.split(" ") for line in output if line.count(" ") == 2)
        if kind == "blob"
    ]
    found: list[tuple[str, str]] = []
    for entry, data in contents(git, files):

        def before(path: str = entry.path) -> bytes | None:
            if theirs is None:
                return None
            answer = git.run("cat-file", "blob", f"{theirs}:{path}", accept=(0, 128))
            return None if answer.code else answer.output

        found += [
            (
                shown(entry.path),
                f"{_commit(git, beyond, entry.name)}{f', line {line}' if line else ''}: {what}",
            )
            for line, what in check.refusals(entry.path, data, before)
        ]
    for line in git.run("log", "-z", "--format=%H %B", *beyond).output.split(b"\0"):
        name, _, message = line.partition(b" ")
        found += [
            (
                f"the message of {name[:8].decode()}",
                f"line {secret.line} contains what looks like a {secret.kind}",
            )
            for secret in secrets_of(message)
        ]
    return found


def _commit(git: Git, beyond: list[str], blob: str) -> str:
    """The first commit that contains a version of a file."""
    output = git.run("log", "--reverse", "--format=%h", f"--find-object={blob}", *beyond).text
    return output.partition("\n")[0]
