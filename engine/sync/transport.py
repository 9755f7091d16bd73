"""Fetches and pushes with nothing of the repository's own configuration in force.

A repository's ``.git/config`` can name programs in many places (``core.sshCommand``, ``credential.helper``,
``remote.*.uploadpack``, ``remote.*.vcs``, ``http.proxy``, merge drivers), send elsewhere
(``url.*.insteadOf``) and pull in other files (``include.path``); no list of them is ever complete. So git is
not run in that repository at all, but in an empty one beside it that is made for the moment and shares its
objects. What is configured there is nothing; what counts besides our own settings is the person's: their
global configuration, credential helpers, ssh agent.
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
"""Seconds that the remote may take in one sync, all its answers together."""

_IGNORED = ("core.sshcommand", "credential.", "http.", "url.", "include", "core.gitproxy", "core.askpass")
_QUIET = "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c core.fsmonitor=false \
-c receive.autogc=false -c gc.auto=0"
"""How a repository on this machine answers: a folder that came from elsewhere may have hooks of its own."""


class Rejected(Exception):
    """The remote's branch has moved: what was sent does not build on it."""


@dataclass
class Clock:
    """The time that is left for the remote."""

    total_s: float = TOTAL_S

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.total_s

    @property
    def left_s(self) -> float:
        """Seconds."""
        return max(0.1, self._until - time.monotonic())


def fetch(repository: Repository, remote: Remote, clock: Clock) -> str | None:
    """Brings the remote's branch here; no branch and no file is changed.

    Returns:
        Its newest commit; ``None`` where it has no such branch yet.

    Raises:
        RepositoryError: It did not answer, or refused.
    """
    reach("sync:fetch")
    with beside(repository, remote.seen, remote.tracking) as (git, environment):
        # With a pattern, a branch that is not there is no failure.
        wanted = f"+{remote.reference}*:refs/fetched/{remote.branch}*"
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"]
        if is_local(remote.fetched_from):
            options.append(f"--upload-pack={_QUIET} upload-pack")
        done = git.network(
            "fetch", *options, "--", remote.fetched_from, wanted,
            deadline_s=clock.left_s, environment=environment,
        )  # fmt: skip
        if done.code:
            raise _failed(repository, remote, "fetched from", done.message)
        name = f"refs/fetched/{remote.branch}"
        found = git.run(
            "for-each-ref", "--format=%(objectname) %(refname)", name, environment=environment
        ).text
        names = dict(line.split(" ", 1)[::-1] for line in found.splitlines())
        return names.get(name)


def default_branch(repository: Repository, remote: Remote, clock: Clock) -> str:
    """The name of the branch that a remote is on.

    Raises:
        RepositoryError: It did not answer, or is on none.
    """
    with beside(repository) as (git, environment):
        options = [f"--upload-pack={_QUIET} upload-pack"] if is_local(remote.fetched_from) else []
        asked = ("ls-remote", "--symref", *options, "--", remote.fetched_from, "HEAD")
        done = git.network(*asked, deadline_s=clock.left_s, environment=environment)
    head = done.text.partition("\t")[0]
    if done.code or not head.startswith("ref: refs/heads/"):
        raise _failed(repository, remote, "fetched from", done.message or "it is on no branch")
    return head.removeprefix("ref: refs/heads/")


def push(repository: Repository, remote: Remote, revision: str, clock: Clock) -> None:
    """Has the remote's branch be a commit that builds on what it is; never by force.

    Raises:
        Rejected: It has moved meanwhile.
        RepositoryError: It did not answer, or refused.
    """
    reach("sync:push")
    with beside(repository, remote.seen, remote.tracking) as (git, environment):
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
    why = refused.rpartition("\t")[2] if refused else done.message
    raise _failed(repository, remote, "pushed to", why)


@contextlib.contextmanager
def beside(repository: Repository, *references: str) -> Iterator[tuple[Git, dict[str, str]]]:
    """An empty repository that shares the objects of one, with nothing configured.

    Args:
        references: Which of the repository's references it knows, besides the newest commit: what both have
            need not be sent.

    Yields:
        Git in it, and the variables that each command there needs.

    Raises:
        RepositoryError: The repository is a shallow clone: what is merged needs the whole history.
    """
    git = repository.git
    asked = git.run("rev-parse", "--is-shallow-repository", "--show-object-format", "--git-path", "objects")
    shallow, form, objects = asked.text.split("\n", 2)
    if shallow == "true":
        raise RepositoryError(
            "the clone is shallow", where=str(git.root), hint="get the rest: git fetch --unshallow"
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
    """The object name of a reference; ``None`` where there is none."""
    options = ("--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    answer = repository.git.run("rev-parse", *options, accept=(0, 1, 128))
    return answer.text or None if not answer.code else None


def _failed(repository: Repository, remote: Remote, what: str, why: str) -> RepositoryError:
    options = ("--local", "--no-includes", "--name-only", "--list")
    names = repository.git.run("config", *options, accept=(0, 1)).text.splitlines()
    own = sorted({name for name in names if name.lower().startswith(_IGNORED)})
    hint = "nothing was changed here; try again"
    if own:
        hint = f"only your own git configuration counts, not this repository's {', '.join(own)}: \
set it with git config --global"
    return RepositoryError(
        f"could not be {what}: {without_password(why) or 'git gave no reason'}",
        where=f"remote {remote.name} ({remote.shown})",
        hint=hint,
    )
