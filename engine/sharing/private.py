"""Private knowledge: plain text on disk, encrypted by git-crypt in every commit (spec 11)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError, RepositoryError
from engine.store import crypt, programs
from engine.store.change import commit_message
from engine.store.encrypted import filters_of
from engine.store.git_folder import repository_folder
from engine.store.paths import PRIVATE, is_private, shown
from engine.store.revisions import blobs, entries

if TYPE_CHECKING:
    from engine.settings.editing import SettingChange
    from engine.store.files import Files
    from engine.store.repository import Repository

ATTRIBUTES = ".gitattributes"
SETTING = "git.private"
_LINES = tuple(f"{folder}/** filter=git-crypt diff=git-crypt" for folder in PRIVATE)
_INSTALL = "install it, e.g.: apt install git-crypt, or brew install git-crypt"

FileState = Literal["encrypted", "in clear", "locked", "waiting", "uncovered"]
"""State in the newest commit; ``locked``: encrypted on disk too. ``waiting``: not committed yet.
``uncovered``: not committed, and ``.gitattributes`` would not encrypt it."""


@dataclass(frozen=True, slots=True)
class PrivateState:
    """State of private files and their encryption."""

    counts: bool  # ``git.private`` is set and the workspace is trusted
    installed: bool
    unlocked: bool  # this clone has the key
    files: dict[str, FileState]
    problem: str = ""  # one clause; empty if there is none
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PrivateSetup:
    """What a setup did."""

    made_key: bool
    revision: str  # the commit; empty if nothing had to change
    encrypted: tuple[str, ...]  # files encrypted from now on
    in_history: tuple[str, ...]  # files that earlier commits contain as plain text, which remains so
    left: dict[str, str]  # files that were not committed, with the reason


@dataclass(eq=False)
class Private:
    """Sets up and inspects the encryption of private files."""

    files: Files
    repository: Repository
    setting: Callable[[], str]
    """Returns the effective value of ``git.private``."""
    change: Callable[[str, object], SettingChange]
    """Changes a setting, by name and value."""

    def state(self) -> PrivateState:
        """The state of private files on disk and in the newest commit.

        Raises:
            RepositoryError: There is no repository.
        """
        git, revision = self.repository.git, self.repository.revision()
        held = {each.path: each.name for each in (entries(git, revision) if revision else ())}
        on_disk = self._on_disk()
        listed = sorted({*on_disk, *held})
        filters = filters_of(git, listed)
        kept = {path for path, name in filters.items() if crypt.key_options(name) is not None}
        wanted = [path for path in listed if path in kept or is_private(path)]
        names = [path for path in wanted if path in held]
        data = dict(zip(names, blobs(git, [held[path] for path in names]), strict=True)) if names else {}
        found: dict[str, FileState] = {}
        for path in wanted:
            if path in held and data.get(path):
                is_sealed = crypt.is_encrypted(data[path] or b"")
                found[path] = (
                    ("locked" if self._is_locked(path) else "encrypted") if is_sealed else "in clear"
                )
            elif path in on_disk:
                found[path] = "waiting" if path in kept else "uncovered"
        is_installed = programs.find(crypt.PROGRAM) is not None
        counts = self.setting() == crypt.PROGRAM
        # A sparse checkout without private files needs no key.
        has_key = self._has_key() or not on_disk & set(wanted)
        problem, hint = _problem(found, counts=counts, installed=is_installed, unlocked=has_key)
        return PrivateState(counts, is_installed, self._has_key(), found, problem, hint)

    def setup(self) -> PrivateSetup:
        """Creates a key if needed, turns on encryption of the private folders and commits their files.

        Raises:
            RepositoryError: git-crypt is missing, failed, or the clone is locked; no commit can be made.
            WriteFailed, ReadOnly: A file was not written.
        """
        self.files.refuse_read_only(ATTRIBUTES)
        self.repository.require()
        git, root = self.repository.git, str(self.repository.workspace.root)
        program = programs.find(crypt.PROGRAM)
        if program is None:
            raise RepositoryError("git-crypt is not installed", hint=_INSTALL)
        before = self.state()
        made = False
        if not before.unlocked:
            if any(each in ("encrypted", "locked") for each in before.files.values()):
                what = f"the private files of this clone are {crypt.LOCKED[3:]}"
                raise RepositoryError(what, hint=crypt.UNLOCK)
            done = git.through(program, "init")
            if done.code:
                raise RepositoryError(f"git-crypt init failed: {done.message}", where=root)
            made = True
        self.files.update(ATTRIBUTES, _with_lines)
        changed = self.change(SETTING, crypt.PROGRAM)
        if changed.ignored:
            raise RepositoryError("the workspace is not trusted", where=root, hint="autopoiesis trust --show")
        # Git would not notice that files committed as plain text now have to be encrypted.
        wanted = sorted({*before.files, *filter(is_private, self._on_disk())})
        here = [path for path in wanted if os.path.lexists(git.root / path)]
        left = self.repository.refusals(here)
        message = commit_message("maintenance", "encrypt private files")
        revision = self.repository.commit([ATTRIBUTES, *(each for each in here if each not in left)], message)
        after = self.state().files
        new = [
            each for each in here if after.get(each) == "encrypted" and before.files.get(each) != "encrypted"
        ]
        in_clear = [path for path, each in before.files.items() if each == "in clear"]
        return PrivateSetup(made, revision or "", tuple(new), tuple(in_clear), left)

    def _on_disk(self) -> set[str]:
        git = self.repository.git
        listed = git.run("ls-files", "-z", "--cached", "--others", "--exclude-standard").output
        paths = (os.fsdecode(each) for each in listed.split(b"\0") if each)
        return {path for path in paths if os.path.lexists(git.root / path)}

    def _is_locked(self, path: str) -> bool:
        try:
            return crypt.is_encrypted(self.files.read(path))
        except (FileNotFoundError, AutopoiesisError):
            return False

    def _has_key(self) -> bool:
        return crypt.has_key_in(repository_folder(self.repository.workspace.root), [])


def _with_lines(data: bytes | None) -> bytes:
    """``.gitattributes`` with the encryption rules at its end, where nothing overrides them."""
    text = data or b""
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines()]
    missing = [line for line in _LINES if line not in lines]
    if not missing:
        return text
    head = "# Private knowledge: readable only with the key (autopoiesis private).\n"
    return (
        text
        + (b"" if not text or text.endswith(b"\n") else b"\n")
        + f"{head}{chr(10).join(missing)}\n".encode()
    )


def _problem(
    files: dict[str, FileState], *, counts: bool, installed: bool, unlocked: bool
) -> tuple[str, str]:
    """A problem and its hint; both empty if there is none."""
    kinds = set(files.values())
    if "locked" in kinds:
        count = sum(each == "locked" for each in files.values())
        return f"{count} private file{'s are' if count != 1 else ' is'} encrypted and locked", crypt.UNLOCK
    if not counts:
        if kinds & {"encrypted", "waiting"}:
            what = f"{SETTING} is ignored, so changes to private files are left out of commits"
            return what, "autopoiesis private setup, or autopoiesis trust --show"
        return "", ""
    if not installed:
        return "git-crypt is not installed, so private files are left out of commits", _INSTALL
    if not unlocked:
        return "this clone has no key, so private files are left out of commits", crypt.UNLOCK
    for kind, what in (
        ("in clear", "is plain text in the newest commit"),
        ("uncovered", "would not be encrypted"),
    ):
        if path := next((path for path, each in files.items() if each == kind), ""):
            return f"{shown(path)} {what}", "run: autopoiesis private setup"
    return "", ""
