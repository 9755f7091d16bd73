"""Shared knowledge: repositories of others as submodules below ``knowledge/shared/`` (spec 11).

Only ``add`` and ``update`` fetch anything, only in a trusted workspace and only from addresses in the user's
settings; an untrusted ``.gitmodules`` has no effect. Git treats these folders as untrusted and fetches as
``engine.sync.transport`` does. The memory's commits only record which commit of the other repository is used.

``.gitmodules`` and the index are read as untrusted input. Both come with the repository: submodule names are
ignored, a path is accepted only below the folder for shared knowledge, and an address is used only if the
user's settings list it too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from engine.errors import AutopoiesisError, RepositoryError
from engine.store.change import commit_message
from engine.store.descriptors import open_folder
from engine.store.files import Files
from engine.store.git import Git
from engine.store.git_folder import repository_folder
from engine.store.paths import SHARED, Workspace, shown
from engine.store.repository import Repository
from engine.sync import transport
from engine.sync.transport import Remote, checked, without_password

if TYPE_CHECKING:
    from engine.settings.editing import SettingChange
    from engine.settings.trust import EffectiveSettings

SETTING = "git.shared"


@dataclass(frozen=True, slots=True)
class Shared:
    """State of one source of shared knowledge."""

    name: str
    path: str
    address: str = ""  # without credentials; empty if ``.gitmodules`` has none
    recorded: str = ""  # the commit recorded in the memory, if any
    here: str = ""  # the commit checked out, if any
    changed: int = 0  # files that differ from that commit
    own: int = 0  # local commits that are not in the source
    problem: str = ""  # one clause; empty if there is none
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Updated:
    """Result of updating one source."""

    name: str
    before: str = ""  # the commit checked out before, if any
    after: str = ""
    why: str = ""  # why it was not updated; empty if it was


@dataclass(eq=False)
class Sharing:
    """Adds, updates and removes shared knowledge."""

    files: Files
    repository: Repository
    settings: Callable[[], EffectiveSettings]
    change: Callable[[str, object], SettingChange]
    """Changes a setting, by name and value."""

    def all(self) -> tuple[Shared, ...]:
        """All shared knowledge that is declared, recorded or checked out, sorted by path."""
        git, root = self.repository.git, self.files.workspace.root
        declared, recorded = sources(self.files, git), links(git)
        folder = root / SHARED
        folders = [f"{SHARED}/{each.name}" for each in (folder.iterdir() if folder.is_dir() else ())]
        paths = {*declared, *recorded, *(path for path in folders if os.path.lexists(root / path / ".git"))}
        return tuple(self._state(path, declared.get(path), recorded.get(path, "")) for path in sorted(paths))

    def add(self, address: str, name: str = "", branch: str = "") -> Shared:
        """Fetches a new source, checks it out and commits it as a submodule.

        Args:
            name: The name of its folder; derived from the address by default.
            branch: The remote's current branch by default.

        Raises:
            RepositoryError: The address, name or branch cannot be used, the workspace is not trusted, or
                the remote did not answer. Nothing is left behind.
            WriteFailed, ReadOnly: It cannot be written.
        """
        self.files.refuse_read_only(SHARED)
        self.repository.require()
        root = self.files.workspace.root
        url = _address(address, root)
        name = name or _name_of(address)
        source = Source(name, url, branch)
        if not is_name(name):
            what = f"{shown(name)} is not a valid name for shared knowledge"
            raise RepositoryError(what, where=shown(address), hint="give --name NAME")
        if branch and not is_branch(branch):
            raise RepositoryError("is not a valid branch name", where=shown(branch), hint="see --branch")
        if os.path.lexists(root / source.path) or source.path in links(self.repository.git):
            raise RepositoryError("already exists", where=source.path, hint="choose another --name")
        settings = self.settings()
        if not settings.trust.applies:
            raise RepositoryError(
                "the workspace is not trusted", where=str(root), hint="autopoiesis trust --show"
            )
        place = self._place(source.path)
        try:
            inner = self._create(source)
            target = self._fetch(inner, source)
            self._check_out(inner, target)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        self.repository.set_up(f"submodule.{source.path}.url", url)
        self._allow({*settings.config.git.shared, url})
        self.files.update(FILE, lambda data: with_source(data, source))
        self._commit([FILE], {source.path: target}, f"shared knowledge {name} at {target[:8]}")
        return self._state(source.path, source, target)

    def update(
        self, names: Sequence[str] = (), *, recorded: bool = False, rewound: bool = False
    ) -> tuple[Updated, ...]:
        """Fetches sources, checks out the newest commit of each and records it.

        Args:
            names: All by default.
            recorded: Check out the recorded commit, as after a clone or a sync.
            rewound: Accept that a source has lost commits it had before.

        Raises:
            RepositoryError: No such source, or no commit can be made.
        """
        self.files.refuse_read_only(SHARED)
        self.repository.require()
        declared = {each.name: each for each in sources(self.files, self.repository.git).values()}
        for name in names:
            if name not in declared:
                raise _no_such(name)
        known = links(self.repository.git)
        done: list[Updated] = []
        new: dict[str, str | None] = {}
        for source in (declared[name] for name in (names or sorted(declared))):
            before = self._state(source.path, source, known.get(source.path, ""))
            try:
                target = self._update(source, before, recorded=recorded, rewound=rewound)
            except AutopoiesisError as error:
                done.append(Updated(source.name, before.here, before.here, str(error)))
                continue
            done.append(Updated(source.name, before.here, target))
            if target != before.recorded:
                new[source.path] = target
        if new:
            changes = ", ".join(f"{path.rpartition('/')[2]} at {(at or '')[:8]}" for path, at in new.items())
            self._commit([], new, f"shared knowledge {changes}")
        return tuple(done)

    def remove(self, name: str) -> Shared:
        """Removes a source and its folder.

        Raises:
            RepositoryError: No such source, or its folder has local changes.
            WriteFailed, ReadOnly: It cannot be written.
        """
        self.files.refuse_read_only(SHARED)
        self.repository.require()
        found = next(
            (each for each in self.all() if each.name == name and each.path == f"{SHARED}/{name}"), None
        )
        if found is None:
            raise _no_such(name)
        _refuse_own(found)
        source = sources(self.files, self.repository.git).get(found.path, Source(name))
        place = self._place(found.path)
        if os.path.lexists(self.files.workspace.root / FILE):
            self.files.update(FILE, lambda data: without_source(data, source))
        self._commit([FILE], {found.path: None}, f"remove shared knowledge {name}")
        shutil.rmtree(place, ignore_errors=True)
        self.repository.forget(f"submodule.{found.path}.url")
        self._allow(set(self.settings().config.git.shared) - {source.address})
        return found

    def _state(self, path: str, source: Source | None, recorded: str) -> Shared:
        name = path.removeprefix(f"{SHARED}/")
        found = Shared(name, path, without_password(source.address) if source else "", recorded)
        update = f"autopoiesis share update {name}"
        if not path.startswith(f"{SHARED}/") or not is_name(name):
            what = f"is a submodule outside {SHARED}/, so its text is treated as yours"
            return replace(found, name=path, problem=what, hint=f"git mv it to {SHARED}/NAME, or remove it")
        if source is None:
            hint = f"{FILE} has no entry for it; remove it: autopoiesis share remove {name}"
            found = replace(found, problem="has no source", hint=hint)
        try:
            place = self._place(path)
            if not (place / ".git").exists():
                problem, hint = found.problem or "is not checked out here", found.hint or update
                return replace(found, problem=problem, hint=hint)
            inner = Repository(Workspace(place))
            git, here = inner.git, inner.revision() or ""
            status = git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames").output
            beyond = ("--not", "--remotes", "--glob=refs/autopoiesis/*", *([recorded] if recorded else []))
            count = git.run("rev-list", "--count", "HEAD", "--branches", *beyond, accept=(0, 128)).text
        except AutopoiesisError as error:
            return replace(found, problem=error.what, hint=error.hint)
        own = int(count) if count.isdigit() else 0
        changed = sum(1 for each in status.split(b"\0") if each)
        found = replace(found, here=here, changed=changed, own=own)
        if found.problem:
            return found
        if found.changed or own:
            files = f"{found.changed} changed file{'s' * (found.changed != 1)}" if found.changed else ""
            commits = f"{own} commit{'s' * (own != 1)} of its own" if own else ""
            what = f"has {' and '.join(filter(None, (files, commits)))}"
            return replace(found, problem=what, hint="push them to the source, or undo them")
        if not recorded:
            return replace(found, problem="is not recorded in the memory", hint=update)
        if here != recorded:
            what = f"is at {here[:8] or 'no commit'}, but the memory records {recorded[:8]}"
            return replace(found, problem=what, hint=f"{update} --recorded, or without it for the newest")
        return found

    def _place(self, path: str) -> Path:
        """The folder of a source, after checking that nothing redirects it elsewhere.

        Raises:
            RepositoryError: A symlink or ``.git`` file points elsewhere.
        """
        root = self.files.workspace.root
        place = root / path
        if self.files.workspace.resolve(path) != place:
            raise RepositoryError("is a symlink", where=path, hint="remove it")
        folder = repository_folder(place).resolve()
        own = (place / ".git", self.repository.folder.resolve() / "modules")
        is_own = folder == own[0] or own[1] in folder.parents
        if not is_own or (folder / "commondir").exists() or (place / ".git").is_symlink():
            raise RepositoryError("its .git points elsewhere", where=path, hint="remove the folder")
        return place

    def _create(self, source: Source) -> Repository:
        """The repository of a source, created if needed."""
        place = self._place(source.path)
        with open_folder(self.files.workspace.root, source.path.split("/"), create=True):
            pass
        inner = Repository(Workspace(place))
        if any(place.iterdir()) and not (place / ".git").exists():
            raise RepositoryError(
                "contains files but is not a repository", where=source.path, hint="move them away"
            )
        inner.init()
        inner.set_up("core.symlinks", "false")  # check their symlinks out as plain files
        return inner

    def _fetch(self, inner: Repository, source: Source, *held: str) -> str:
        """Fetches a source and returns its newest commit.

        Args:
            held: Commits that it must still contain.
        """
        clock = transport.Clock()
        address = _address(source.address, self.files.workspace.root)
        remote = Remote(source.name, address, address, source.branch)
        if not source.branch:
            remote = replace(remote, branch=transport.default_branch(inner, remote, clock))
        found = transport.fetch(inner, remote, clock).newest
        where = f"{source.name} ({remote.shown})"
        if found is None:
            raise RepositoryError(f"has no branch {remote.branch}", where=where, hint="give another --branch")
        for each in held:
            if inner.git.run("merge-base", "--is-ancestor", each, found, accept=(0, 1, 128)).code:
                raise RepositoryError(
                    f"was rewound or rewritten: {each[:8]} is gone",
                    where=where,
                    hint="to accept that: autopoiesis share update --rewound",
                )
        lines = "".join(f"update {each} {found}\n" for each in (remote.seen, remote.tracking))
        inner.git.run("update-ref", "--stdin", stdin=lines.encode(), reading=False)
        return found

    def _update(self, source: Source, before: Shared, *, recorded: bool, rewound: bool) -> str:
        if source.address not in self.settings().config.git.shared:
            raise RepositoryError(
                f"its address is not allowed by {SETTING}",
                where=f"{source.name} ({without_password(source.address)})",
                hint="if you know it: autopoiesis trust --show, or autopoiesis config show git.shared",
            )
        _refuse_own(before)
        inner = self._create(source)
        held = () if rewound else tuple(filter(None, (before.recorded, before.here)))
        newest = self._fetch(inner, source, *held)
        target = before.recorded if recorded and before.recorded else newest
        if inner.git.run("cat-file", "-e", f"{target}^{{commit}}", accept=(0, 1, 128)).code:
            what = f"does not have {target[:8]}, which the memory records"
            raise RepositoryError(what, where=source.name, hint="use the newest: autopoiesis share update")
        self._check_out(inner, target)
        self.repository.set_up(f"submodule.{source.path}.url", source.address)
        return target

    def _check_out(self, inner: Repository, revision: str) -> None:
        with self.files.lock():
            inner.git.run("checkout", "--quiet", "--detach", "--no-overwrite-ignore", revision, reading=False)

    def _allow(self, addresses: set[str]) -> None:
        """Saves the addresses that may be fetched from."""
        if addresses != set(self.settings().config.git.shared):
            self.change(SETTING, sorted(addresses) or None)

    def _commit(self, paths: list[str], new: dict[str, str | None], what: str) -> None:
        self.repository.commit(paths, commit_message("maintenance", what), links=new)


def _no_such(name: str) -> RepositoryError:
    return RepositoryError(f"no shared knowledge {shown(name)}", hint="see: autopoiesis share list")


def _refuse_own(found: Shared) -> None:
    if found.changed or found.own:
        raise RepositoryError(found.problem, where=found.path, hint=found.hint)


def _address(address: str, root: Path) -> str:
    """A valid address, as it is saved.

    Raises:
        RepositoryError: It is not allowed, or contains a password.
    """
    if without_password(address) != address and urlsplit(address).password:
        raise RepositoryError(
            "an address with a password is not saved",
            where=shown(without_password(address)),
            hint="leave it out and store it with git credential",
        )
    return checked(address, root, "its source")


def _name_of(address: str) -> str:
    return address.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]


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
