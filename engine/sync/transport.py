"""Fetches and pushes without using the repository's own git configuration.

A repository's ``.git/config`` can name programs in many places (``core.sshCommand``, ``credential.helper``,
``remote.*.uploadpack``, ``remote.*.vcs``, ``http.proxy``, merge drivers), redirect addresses
(``url.*.insteadOf``) and include other files (``include.path``); no list of these is ever complete. So git
does not run in that repository but in an empty temporary one that shares its objects. Only the user's own
environment applies there: the global configuration, credential helpers and ssh agent.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import RepositoryError
from engine.store.faults import reach
from engine.store.git import Git, GitResult
from engine.sync.address import Remote, is_local, without_password

if TYPE_CHECKING:
    from engine.store.repository import Repository

TOTAL_S = 300.0
"""Total time limit for the remote in one sync, in seconds."""

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


def fetch(repository: Repository, remote: Remote, clock: Clock) -> str | None:
    """Fetches the remote's branch without changing any local branch or file.

    Returns:
        Its newest commit; ``None`` if the remote has no such branch yet.

    Raises:
        RepositoryError: It did not answer, or refused.
    """
    reach("sync:fetch")
    with isolated(repository, remote.seen, remote.tracking) as (git, environment):
        # With a pattern, a missing branch is not an error.
        wanted = f"+{remote.reference}*:refs/fetched/{remote.branch}*"
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"]
        if is_local(remote.fetched_from):
            options.append(f"--upload-pack={_QUIET} upload-pack")
        done = git.network(
            "fetch", *options, "--", remote.fetched_from, wanted,
            deadline_s=clock.left_s, environment=environment,
        )  # fmt: skip
        if done.code:
            raise _failed(repository, remote, "fetch", done.message)
        name = f"refs/fetched/{remote.branch}"
        found = git.run(
            "for-each-ref", "--format=%(objectname) %(refname)", name, environment=environment
        ).text
        names = dict(line.split(" ", 1)[::-1] for line in found.splitlines())
        return names.get(name)


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
    with isolated(repository, remote.seen, remote.tracking) as (git, environment):
        options = ["--porcelain", "--no-verify", "--no-recurse-submodules", "--no-signed"]
        if is_local(remote.pushed_to):
            options.append(f"--receive-pack={_QUIET} receive-pack")
        done: GitResult = git.network(
            "push", *options, "--", remote.pushed_to, f"{revision}:{remote.reference}",
            deadline_s=clock.left_s, environment=environment,
        )  # fmt: skip
    if not done.code:
        return
    refused = next((line for line in done.text.splitlines() if line.startswith("!")), "")
    if "[rejected]" in refused or "cannot lock ref" in refused or "failed to update ref" in refused:
        raise Rejected
    raise _failed(repository, remote, "push", refused.rpartition("\t")[2] if refused else done.message)


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
