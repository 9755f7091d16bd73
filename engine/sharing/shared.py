"""Knowledge of others: repositories of their own below ``knowledge/shared/``, kept as submodules (spec 11).

Nothing is fetched but by ``add`` and ``update``, from addresses that stand in the person's settings and in a
workspace that is trusted; a stranger's ``.gitmodules`` does nothing. Git is run in a folder of theirs as in
any stranger's, and fetches as ``engine.sync.transport`` does. What the memory's commits hold of it is one
line: which commit of the other repository belongs there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from engine.errors import AutopoiesisError, RepositoryError
from engine.sharing.modules import (
    FILE,
    Source,
    is_branch,
    is_name,
    links,
    sources,
    with_source,
    without_source,
)
from engine.store.commit_message import commit_message
from engine.store.descriptors import open_folder
from engine.store.git_folder import repository_folder
from engine.store.paths import SHARED, Workspace, shown
from engine.store.repository import Repository
from engine.sync import transport
from engine.sync.address import Remote, checked, without_password

if TYPE_CHECKING:
    from engine.settings.editing import SettingChange
    from engine.settings.trust import Counting
    from engine.store.files import Files

SETTING = "git.shared"


@dataclass(frozen=True, slots=True)
class Shared:
    """Knowledge of others as it is here."""

    name: str
    path: str
    address: str = ""  # without a password; empty where ``.gitmodules`` has none
    recorded: str = ""  # the commit that the memory records; empty where it records none
    here: str = ""  # the commit that is checked out; empty where none is
    changed: int = 0  # files there that differ from that commit
    own: int = 0  # commits there that came from nowhere
    problem: str = ""  # what is wrong, one clause; empty where nothing is
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of one source."""

    name: str
    before: str = ""  # the commit that was checked out; empty where none was
    after: str = ""
    why: str = ""  # why nothing was done; empty where it was


@dataclass(eq=False)
class Sharing:
    """Adds, updates and removes knowledge of others."""

    files: Files
    repository: Repository
    counting: Callable[[], Counting]
    change: Callable[[str, object], SettingChange]
    """Changes a setting, by name and value."""

    def all(self) -> tuple[Shared, ...]:
        """The knowledge of others that the memory declares, records or holds, by path."""
        git, root = self.repository.git, self.files.workspace.root
        declared, recorded = sources(self.files, git), links(git)
        folder = root / SHARED
        lying = [f"{SHARED}/{each.name}" for each in (folder.iterdir() if folder.is_dir() else ())]
        paths = {*declared, *recorded, *(path for path in lying if os.path.lexists(root / path / ".git"))}
        return tuple(self._state(path, declared.get(path), recorded.get(path, "")) for path in sorted(paths))

    def add(self, address: str, name: str = "", branch: str = "") -> Shared:
        """Fetches knowledge of others for the first time, checks it out and commits where it belongs.

        Args:
            name: Of its folder; made of the address when left out.
            branch: The one that they are on when left out.

        Raises:
            RepositoryError: The address, name or branch cannot be used, the workspace is not trusted, or
                they did not answer. Nothing is left of it then.
            WriteFailed, ReadOnly: It cannot be written.
        """
        self.files.refuse_read_only(SHARED)
        self.repository.require()
        root = self.files.workspace.root
        asked = _address(address, root)
        name = name or _name_of(address)
        source = Source(name, asked, branch)
        if not is_name(name) or (branch and not is_branch(branch)):
            what = f"{shown(name)} is no name for shared knowledge" if not is_name(name) else "is no branch"
            raise RepositoryError(
                what, where=shown(branch if is_name(name) else address), hint="give --name NAME"
            )
        if os.path.lexists(root / source.path) or source.path in links(self.repository.git):
            raise RepositoryError("is there already", where=source.path, hint="choose another --name")
        counting = self.counting()
        if not counting.standing.counts:
            raise RepositoryError(
                "the workspace is not trusted", where=str(root), hint="autopoiesis trust --show"
            )
        place = self._place(source.path)
        try:
            inner = self._made(source)
            target = self._fetched(inner, source)
            self._check_out(inner, target)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        self.repository.set_up(f"submodule.{source.path}.url", asked)
        self._allow({*counting.config.git.shared, asked})
        self.files.update(FILE, lambda data: with_source(data, source))
        self._commit([FILE], {source.path: target}, f"shared knowledge {name} at {target[:8]}")
        return self._state(source.path, source, target)

    def update(
        self, names: Sequence[str] = (), *, recorded: bool = False, rewound: bool = False
    ) -> tuple[Updated, ...]:
        """Fetches, checks out the newest commit of each, and commits that it is that one.

        Args:
            names: All when left out.
            recorded: Check out what the memory records, as after a clone or a sync.
            rewound: Follow also where commits that were there have gone.

        Raises:
            RepositoryError: There is no such source, or no commit can be made.
        """
        self.files.refuse_read_only(SHARED)
        self.repository.require()
        declared = {each.name: each for each in sources(self.files, self.repository.git).values()}
        for name in names:
            if name not in declared:
                raise RepositoryError(
                    f"there is no shared knowledge {shown(name)}", hint="see: autopoiesis share list"
                )
        known = links(self.repository.git)
        done: list[Updated] = []
        new: dict[str, str | None] = {}
        for source in (declared[name] for name in (names or sorted(declared))):
            before = self._state(source.path, source, known.get(source.path, ""))
            try:
                target = self._updated(source, before, recorded=recorded, rewound=rewound)
            except AutopoiesisError as error:
                done.append(Updated(source.name, before.here, before.here, str(error)))
                continue
            done.append(Updated(source.name, before.here, target))
            if target != before.recorded:
                new[source.path] = target
        if new:
            said = ", ".join(f"{path.rpartition('/')[2]} at {(name or '')[:8]}" for path, name in new.items())
            self._commit([], new, f"shared knowledge {said}")
        return tuple(done)

    def remove(self, name: str) -> Shared:
        """Takes knowledge of others out of the memory, with its folder.

        Raises:
            RepositoryError: There is none of that name, or its folder holds what is nowhere else.
            WriteFailed, ReadOnly: It cannot be written.
        """
        self.files.refuse_read_only(SHARED)
        self.repository.require()
        found = next(
            (each for each in self.all() if each.name == name and each.path == f"{SHARED}/{name}"), None
        )
        if found is None:
            raise RepositoryError(
                f"there is no shared knowledge {shown(name)}", hint="see: autopoiesis share list"
            )
        _refuse_own(found)
        source = sources(self.files, self.repository.git).get(found.path, Source(name))
        place = self._place(found.path)
        if os.path.lexists(self.files.workspace.root / FILE):
            self.files.update(FILE, lambda data: without_source(data, source))
        self._commit([FILE], {found.path: None}, f"no shared knowledge {name}")
        shutil.rmtree(place, ignore_errors=True)
        self.repository.forget(f"submodule.{found.path}.url")
        self._allow(set(self.counting().config.git.shared) - {source.address})
        return found

    def _state(self, path: str, source: Source | None, recorded: str) -> Shared:
        name = path.removeprefix(f"{SHARED}/")
        found = Shared(name, path, without_password(source.address) if source else "", recorded)
        update = f"autopoiesis share update {name}"
        if not path.startswith(f"{SHARED}/") or not is_name(name):
            what = f"is a submodule outside of {SHARED}/, so its words count as yours"
            return replace(found, name=path, problem=what, hint=f"git mv it to {SHARED}/NAME, or take it out")
        if source is None:
            hint = f"{FILE} does not say where it comes from; take it out: autopoiesis share remove {name}"
            found = replace(found, problem="belongs to no source", hint=hint)
        try:
            place = self._place(path)
            if not (place / ".git").exists():
                return replace(
                    found, problem=found.problem or "is not checked out here", hint=found.hint or update
                )
            git = Repository(Workspace(place)).git
            here = Repository(Workspace(place)).revision() or ""
            status = git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames").output
            beyond = ("--not", "--remotes", "--glob=refs/autopoiesis/*", *([recorded] if recorded else []))
            told = git.run("rev-list", "--count", "HEAD", "--branches", *beyond, accept=(0, 128))
        except AutopoiesisError as error:
            return replace(found, problem=error.what, hint=error.hint)
        own = int(told.text) if told.text.isdigit() else 0
        found = replace(
            found, here=here, changed=len([each for each in status.split(b"\0") if each]), own=own
        )
        if found.problem:
            return found
        if found.changed or own:
            files = f"{found.changed} changed file{'s' * (found.changed != 1)}" if found.changed else ""
            commits = f"{own} commit{'s' * (own != 1)} of its own" if own else ""
            what = f"has {' and '.join(filter(None, (files, commits)))}"
            return replace(found, problem=what, hint="send them to where it comes from, or take them back")
        if not recorded:
            return replace(found, problem="is not recorded in the memory", hint=update)
        if here != recorded:
            what = f"stands at {here[:8] or 'nothing'}, and the memory records {recorded[:8]}"
            return replace(found, problem=what, hint=f"{update} --recorded, or without that the newest")
        return found

    def _place(self, path: str) -> Path:
        """The folder of a source, and its repository's own, both where they belong.

        Raises:
            RepositoryError: A link or a ``.git`` file leads elsewhere.
        """
        root = self.files.workspace.root
        place = root / path
        if self.files.workspace.resolve(path) != place:
            raise RepositoryError("a symlink stands in its place", where=path, hint="remove it")
        folder = repository_folder(place).resolve()
        own = (place / ".git", self.repository.folder.resolve() / "modules")
        is_own = folder == own[0] or own[1] in folder.parents
        if not is_own or (folder / "commondir").exists() or (place / ".git").is_symlink():
            raise RepositoryError("its .git leads elsewhere", where=path, hint="remove the folder")
        return place

    def _made(self, source: Source) -> Repository:
        """The repository of a source, empty where there was none."""
        place = self._place(source.path)
        with open_folder(self.files.workspace.root, source.path.split("/"), create=True):
            pass
        inner = Repository(Workspace(place))
        if any(place.iterdir()) and not (place / ".git").exists():
            raise RepositoryError(
                "holds files that came from nowhere", where=source.path, hint="move them away"
            )
        inner.init()
        # What they call a link is a file with a path in it here, which leads nowhere.
        inner.set_up("core.symlinks", "false")
        return inner

    def _fetched(self, inner: Repository, source: Source, *held: str) -> str:
        """The newest commit of a source, which is here then.

        Args:
            held: Commits that it must still hold.
        """
        clock = transport.Clock()
        address = _address(source.address, self.files.workspace.root)
        remote = Remote(source.name, address, address, source.branch)
        if not source.branch:
            remote = replace(remote, branch=transport.default_branch(inner, remote, clock))
        found = transport.fetch(inner, remote, clock)
        where = f"{source.name} ({remote.shown})"
        if found is None:
            raise RepositoryError(f"has no branch {remote.branch}", where=where, hint="give another --branch")
        for each in held:
            if inner.git.run("merge-base", "--is-ancestor", each, found, accept=(0, 1, 128)).code:
                raise RepositoryError(
                    f"was rewound or rewritten: {each[:8]}, which it held, is gone",
                    where=where,
                    hint="to follow it all the same: autopoiesis share update --rewound",
                )
        lines = "".join(f"update {each} {found}\n" for each in (remote.seen, remote.tracking))
        inner.git.run("update-ref", "--stdin", stdin=lines.encode(), reading=False)
        return found

    def _updated(self, source: Source, before: Shared, *, recorded: bool, rewound: bool) -> str:
        if source.address not in self.counting().config.git.shared:
            raise RepositoryError(
                f"its address does not count ({SETTING})",
                where=f"{source.name} ({without_password(source.address)})",
                hint="if you know it: autopoiesis trust --show, or autopoiesis config show git.shared",
            )
        _refuse_own(before)
        inner = self._made(source)
        held = () if rewound else tuple(filter(None, (before.recorded, before.here)))
        newest = self._fetched(inner, source, *held)
        target = before.recorded if recorded and before.recorded else newest
        if inner.git.run("cat-file", "-e", f"{target}^{{commit}}", accept=(0, 1, 128)).code:
            what = f"does not have {target[:8]}, which the memory records"
            raise RepositoryError(what, where=source.name, hint="take the newest: autopoiesis share update")
        self._check_out(inner, target)
        self.repository.set_up(f"submodule.{source.path}.url", source.address)
        return target

    def _check_out(self, inner: Repository, revision: str) -> None:
        with self.files.lock():
            inner.git.run("checkout", "--quiet", "--detach", "--no-overwrite-ignore", revision, reading=False)

    def _allow(self, addresses: set[str]) -> None:
        """Keeps which addresses are fetched from."""
        if addresses != set(self.counting().config.git.shared):
            self.change(SETTING, sorted(addresses) or None)

    def _commit(self, paths: list[str], new: dict[str, str | None], what: str) -> None:
        self.repository.commit(paths, commit_message("maintenance", what), links=new)


def _refuse_own(found: Shared) -> None:
    if found.changed or found.own:
        raise RepositoryError(found.problem, where=found.path, hint=found.hint)


def _address(address: str, root: Path) -> str:
    """An address that may be asked, as it is written down."""
    if without_password(address) != address and urlsplit(address).password:
        raise RepositoryError(
            "an address with a password is written nowhere",
            where=shown(without_password(address)),
            hint="leave it out, and keep it with git credential",
        )
    return checked(address, root, "its source")


def _name_of(address: str) -> str:
    return address.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
