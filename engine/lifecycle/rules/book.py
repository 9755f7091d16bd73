"""Changes the rules file, and takes back the last change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ChangeRefused
from engine.rules.rulebook import PATH, Rule, Rulebook, bytes_of, rules_in

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Commit, Repository

UNDONE = "Undoes"
"""The trailer that names the commit an undo reverts."""

_LOOKED_BACK = 200


def update(files: Files, change: Callable[[Rulebook], Rulebook]) -> bool:
    """Changes the rules; returns whether they differ. If an editor saves the file in the meantime, ``change``
    is called again with what was saved.

    Raises:
        WriteFailed, ReadOnly: It could not be written.
        DocumentError, PathRefused: It cannot be read.
    """
    is_changed = False

    def changed(data: bytes | None) -> bytes | None:
        nonlocal is_changed
        book = rules_in(data or b"")
        new = change(book)
        is_changed = new.rules != book.rules
        return bytes_of(new) if is_changed else data

    files.update(PATH, changed)
    return is_changed


def last_change(repository: Repository) -> Commit:
    """The last commit of the rules that was not reverted.

    Raises:
        ChangeRefused: There is none.
        RepositoryError: There is no repository, or git failed.
    """
    undone = set[str]()
    for commit in repository.log(_LOOKED_BACK, path=PATH):
        before = [
            line.removeprefix(f"{UNDONE}: ")
            for line in commit.body.split("\n")
            if line.startswith(f"{UNDONE}: ")
        ]
        undone.update(before)
        if not before and commit.revision not in undone:
            return commit
    raise ChangeRefused("no change of the rules to undo", where=PATH)


def revert(files: Files, repository: Repository, expected: str = "") -> tuple[tuple[Rule, ...], str]:
    """Takes back the last change; returns the rules that are different again, and the commit's revision.

    Args:
        expected: The revision the user agreed to revert.

    Raises:
        ChangeRefused: There is none, it is another one than expected, or the file has changed since.
        RepositoryError: There is no repository, or git failed.
        WriteFailed, ReadOnly: It could not be written.
    """
    last = last_change(repository)
    revision = last.revision
    if expected not in ("", revision):
        raise ChangeRefused(f"the last change is another one by now: {last.subject}", where=PATH)
    made, data = repository.show(revision, PATH), b""
    with contextlib.suppress(AutopoiesisError, FileNotFoundError):
        data = repository.show(f"{revision}^", PATH)

    def restored(text: bytes | None) -> bytes:
        if text != made:
            hint = f"commit them first: autopoiesis commit {PATH}"
            raise ChangeRefused("has uncommitted changes", where=PATH, hint=hint)
        return data or bytes_of(Rulebook())

    files.update(PATH, restored)
    old = {rule.id: rule for rule in rules_in(made).rules}
    return tuple(rule for rule in rules_in(data).rules if old.get(rule.id) != rule), revision
