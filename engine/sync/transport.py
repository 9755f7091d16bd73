"""Fetches and pushes without using the repository's own git configuration.

A repository's ``.git/config`` can name programs in many places (``core.sshCommand``, ``credential.helper``,
``remote.*.uploadpack``, ``remote.*.vcs``, ``http.proxy``, merge drivers), redirect addresses
(``url.*.insteadOf``) and include other files (``include.path``); no list of these is ever complete. So git
does not run in that repository but in an empty temporary one that shares its objects. Only the user's own
environment applies there: the global configuration, credential helpers and ssh agent.

Only the address of a remote is taken from the repository's configuration. A workspace may be unpacked from
an archive with someone else's configuration: its settings for remotes, ssh, proxies, address rewriting and
helpers are ignored.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from engine.errors import RepositoryError
from engine.store.faults import reach
from engine.store.git import Git, GitResult
from engine.store.git_folder import SNAPSHOTS
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.store.repository import Repository

TOTAL_S = 300.0
"""Total time limit for the remote in one sync, in seconds."""

_AT_ONCE = 400
"""References in one push, so that they fit on a command line."""
_IGNORED = ("core.sshcommand", "credential.", "http.", "url.", "include", "core.gitproxy", "core.askpass")
_QUIET = "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c core.fsmonitor=false \
-c receive.autogc=false -c gc.auto=0"
"""Git for the other end of a local remote: that folder may have its own hooks and programs."""


class Rejected(Exception):
    """The remote's branch has moved on: the push is not a fast-forward."""


@dataclass
class Clock:
    """The time left for the remote."""

    total_s: float = TOTAL_S

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.total_s

    @property
    def left_s(self) -> float:
        """Seconds left, at least 0.1."""
        return max(0.1, self._until - time.monotonic())


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a remote has."""

    newest: str | None  # the newest commit of the branch; ``None`` if there is no such branch yet
    snapshots: Mapping[str, str] = field(default_factory=dict)  # commits by reference


def fetch(repository: Repository, remote: Remote, clock: Clock, *, snapshots: bool = False) -> Fetched:
    """Fetches the remote's branch without changing any local reference or file.

    Args:
        snapshots: Also fetch its snapshots.

    Raises:
        RepositoryError: It did not answer, or refused.
    """
    reach("sync:fetch")
    with isolated(repository, remote.seen, remote.tracking) as (git, environment):
        # With a pattern, a missing branch is not an error.
        wanted = [f"+{remote.reference}*:refs/fetched/{remote.branch}*"]
        if snapshots:
            wanted.append(f"+{SNAPSHOTS}*:{SNAPSHOTS}*")
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"]
        if is_local(remote.fetched_from):
            options.append(f"--upload-pack={_QUIET} upload-pack")
        done = git.network(
            "fetch", *options, "--", remote.fetched_from, *wanted,
            deadline_s=clock.left_s, environment=environment,
        )  # fmt: skip
        if done.code:
            raise _failed(repository, remote, "fetch", done.message)
        newest = commits_of(git, f"refs/fetched/{remote.branch}", environment=environment)
        found = commits_of(git, SNAPSHOTS, environment=environment) if snapshots else {}
        return Fetched(newest.get(f"refs/fetched/{remote.branch}"), found)


def commits_of(
    git: Git, below: str, *options: str, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The commits that references point to, also through tag objects; other references are left out."""
    form = "%(refname) %(objecttype) %(objectname) %(*objecttype) %(*objectname)"
    listed = git.run("for-each-ref", f"--format={form}", *options, below, environment=environment).text
    lines = (line.split(" ") for line in listed.splitlines())
    return {line[0]: line[place + 1] for line in lines for place in (1, 3) if line[place] == "commit"}


def default_branch(repository: Repository, remote: Remote, clock: Clock) -> str:
    """The name of a remote's current branch.

    Raises:
        RepositoryError: It did not answer, or has no current branch.
    """
    with isolated(repository) as (git, environment):
        options = [f"--upload-pack={_QUIET} upload-pack"] if is_local(remote.fetched_from) else []
        command = ("ls-remote", "--symref", *options, "--", remote.fetched_from, "HEAD")
        done = git.network(*command, deadline_s=clock.left_s, environment=environment)
    head = done.text.partition("\t")[0]
    if done.code or not head.startswith("ref: refs/heads/"):
        raise _failed(repository, remote, "fetch", done.message or "it has no current branch")
    return head.removeprefix("ref: refs/heads/")


def push(repository: Repository, remote: Remote, revision: str, clock: Clock) -> None:
    """Fast-forwards the remote's branch to a commit; never forces.

    Raises:
        Rejected: The branch has moved in the meantime.
        RepositoryError: It did not answer, or refused.
    """
    reach("sync:push")
    done = _push(repository, remote, [f"{revision}:{remote.reference}"], clock)
    if not done.code:
        return
    refused = next((line for line in done.text.splitlines() if line.startswith("!")), "")
    if "[rejected]" in refused or "cannot lock ref" in refused or "failed to update ref" in refused:
        raise Rejected
    raise _failed(repository, remote, "push", refused.rpartition("\t")[2] if refused else done.message)


def push_references(
    repository: Repository, remote: Remote, wanted: Mapping[str, str], clock: Clock
) -> dict[str, str]:
    """Creates references on the remote that it does not have.

    Args:
        wanted: The commits by reference.

    Returns:
        Why references were refused.

    Raises:
        RepositoryError: It did not answer.
    """
    refused: dict[str, str] = {}
    names = list(wanted)
    for place in range(0, len(names), _AT_ONCE):
        group = names[place : place + _AT_ONCE]
        leases = [f"--force-with-lease={name}:" for name in group]
        done = _push(repository, remote, [f"{wanted[name]}:{name}" for name in group], clock, *leases)
        lines = [line.split("\t") for line in done.text.splitlines() if line.startswith("!")]
        if done.code and not lines:
            raise _failed(repository, remote, "push", done.message)
        refused |= {line[1].partition(":")[2]: line[2] for line in lines if len(line) == 3}
    return refused


def _push(
    repository: Repository, remote: Remote, refspecs: Sequence[str], clock: Clock, *more: str
) -> GitResult:
    with isolated(repository, remote.seen, remote.tracking) as (git, environment):
        options = ["--porcelain", "--no-verify", "--no-recurse-submodules", "--no-signed", *more]
        if is_local(remote.pushed_to):
            options.append(f"--receive-pack={_QUIET} receive-pack")
        return git.network(
            "push", *options, "--", remote.pushed_to, *refspecs,
            deadline_s=clock.left_s, environment=environment,
        )  # fmt: skip


@contextlib.contextmanager
def isolated(repository: Repository, *references: str) -> Iterator[tuple[Git, dict[str, str]]]:
    """A temporary repository that shares the objects of another one but has no configuration.

    Args:
        references: References to include besides the newest commit, so that known commits are not sent.

    Yields:
        Git in it, and the environment that each command there needs.

    Raises:
        RepositoryError: The repository is a shallow clone: a merge needs the whole history.
    """
    git = repository.git
    answer = git.run("rev-parse", "--is-shallow-repository", "--show-object-format", "--git-path", "objects")
    shallow, form, objects = answer.text.split("\n", 2)
    if shallow == "true":
        raise RepositoryError(
            "the clone is shallow", where=str(git.root), hint="fetch the rest: git fetch --unshallow"
        )
    revisions = {repository.revision(), *(resolved(repository, each) for each in references)} - {None}
    with tempfile.TemporaryDirectory(prefix="autopoiesis-sync-") as name:
        folder = Path(name).resolve()
        for below in ("objects", "refs"):
            (folder / below).mkdir()
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        version, extra = (0, "") if form == "sha1" else (1, f"[extensions]\n\tobjectFormat = {form}\n")
        (folder / "config").write_text(
            f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extra}"
        )
        known = "".join(f"{each} refs/known/{each}\n" for each in sorted(filter(None, revisions)))
        (folder / "packed-refs").write_text(f"# pack-refs with: sorted \n{known}")
        environment = {
            "GIT_DIR": str(folder),
            "GIT_OBJECT_DIRECTORY": str((git.root / objects).resolve()),
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
        }
        yield Git(folder), environment


def resolved(repository: Repository, reference: str) -> str | None:
    """The commit a reference points to; ``None`` if there is none."""
    options = ("--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    answer = repository.git.run("rev-parse", *options, accept=(0, 1, 128))
    return answer.text or None if not answer.code else None


def _failed(repository: Repository, remote: Remote, command: str, reason: str) -> RepositoryError:
    options = ("--local", "--no-includes", "--name-only", "--list")
    names = repository.git.run("config", *options, accept=(0, 1)).text.splitlines()
    own = sorted({name for name in names if name.lower().startswith(_IGNORED)})
    hint = "nothing was changed here; try again"
    if own:
        hint = f"this repository's {', '.join(own)} is ignored: set it with git config --global"
    return RepositoryError(
        f"{command} failed: {without_password(reason) or 'git gave no reason'}",
        where=f"remote {remote.name} ({remote.shown})",
        hint=hint,
    )


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
_SCHEMES = ("https", "http", "ssh", "file")


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote repository."""

    name: str
    fetched_from: str  # address
    pushed_to: str  # the same, or ``remote.NAME.pushurl``
    branch: str

    @property
    def reference(self) -> str:
        """The branch's reference on the remote."""
        return f"refs/heads/{self.branch}"

    @property
    def seen(self) -> str:
        """Reference to the remote's branch at the last sync; a manual fetch does not move it."""
        return f"refs/autopoiesis/{self.name}/{self.branch}"

    @property
    def tracking(self) -> str:
        """Git's remote-tracking reference."""
        return f"refs/remotes/{self.name}/{self.branch}"

    @property
    def shown(self) -> str:
        """Its address without credentials."""
        return without_password(self.fetched_from)


def remote_of(repository: Repository, name: str) -> Remote:
    """The named remote, for the current branch.

    Raises:
        RepositoryError: No such remote, or its address is not allowed.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise RepositoryError(f"{shown(name)} is not a valid remote name", where="git.remote")
    addresses, root = _listed(repository, f"remote.{name}.url"), repository.workspace.root
    if not addresses:
        raise RepositoryError(
            f"no remote {name}",
            where=str(root),
            hint=f"add it: git -C {root} remote add {name} ADDRESS",
        )
    pushed = _listed(repository, f"remote.{name}.pushurl") or addresses
    return Remote(
        name,
        checked(addresses[0], root, f"remote {name}"),
        checked(pushed[0], root, f"remote {name}"),
        repository.branch(),
    )


def is_local(address: str) -> bool:
    """True if an address is a local folder, by git's own rule."""
    if scheme := _SCHEME.match(address):
        return scheme[1].lower() == "file"
    colon, slash = address.find(":"), address.find("/")
    return colon < 0 or 0 <= slash < colon


def without_password(text: str) -> str:
    """The text without the credentials in its addresses."""
    return _PASSWORD.sub("", text)


def _listed(repository: Repository, setting: str) -> list[str]:
    # No includes: a configuration from an archive could point to any local file.
    options = ("--local", "--no-includes", "--null", "--get-all", setting)
    found = repository.git.run("config", *options, accept=(0, 1)).output
    return [os.fsdecode(each) for each in found.split(b"\0") if each]


def checked(address: str, root: Path, where: str) -> str:
    """The address to pass to git; a local folder by its real path.

    Raises:
        RepositoryError: Its scheme is not allowed, or it is inside the workspace; located by ``where``.
    """
    scheme = _SCHEME.match(address)
    if (
        "::" in address.partition("/")[0]
        or address.startswith("-")
        or not address.isprintable()
        or (scheme and scheme[1].lower() not in _SCHEMES)
    ):
        raise RepositoryError(
            f"address {shown(without_password(address))} is not allowed",
            where=where,
            hint="use an https, ssh or file address, or a path",
        )
    if not is_local(address):
        return address
    place = Path(unquote(address[scheme.end() :]) if scheme else address).expanduser()
    real = Path(os.path.realpath(root / place))
    if real == root or root in real.parents:
        raise RepositoryError(
            "address is inside the workspace",
            where=where,
            hint="use a folder outside the workspace",
        )
    return str(real)
