"""Compares the staged files or the working tree with the newest commit."""

from __future__ import annotations

from dataclasses import dataclass

from engine.store.git import Git
from engine.store.paths import split_relative


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison with the newest commit; raises the same errors as ``Repository``."""

    git: Git
    has_commits: bool
    staged: bool = False
    """Compare the index; otherwise the working tree."""
    index: str = ""
    """The index file if it is not the repository's own: ``git commit -a`` has a temporary one."""

    def added(self) -> list[str]:
        """Paths of staged files that are new or differ from the newest commit."""
        if not self.has_commits:
            return self._names("ls-files", "-z", "--cached")
        return self._names("diff", "--cached", "--name-only", "--diff-filter=d", "-z")

    def unaltered(self, under: str) -> frozenset[str]:
        """Paths below a folder of files that are as they were committed."""
        if not self.has_commits:
            return frozenset()
        committed = self._names("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", under=under)
        return frozenset(committed) - frozenset(self.altered(under))

    def altered(self, under: str) -> list[str]:
        """Paths below a folder of committed files that were changed or deleted."""
        if not self.has_commits:
            return []
        what = ("--cached",) if self.staged else ()
        options = ("--name-only", "--no-renames", "--diff-filter=MDT", "-z")
        return self._names("diff", *options, *what, "HEAD", under=under)

    def show(self, path: str) -> bytes | None:
        """A staged file's bytes; ``None`` if the next commit would not contain it."""
        return self._blob("", path)

    def before(self, path: str) -> bytes | None:
        """A file's bytes in the newest commit; ``None`` if the commit does not contain it."""
        return self._blob("HEAD", path) if self.has_commits else None

    def _blob(self, revision: str, path: str) -> bytes | None:
        name = f"{revision}:{'/'.join(split_relative(path))}"
        answer = self.git.run("cat-file", "blob", name, accept=(0, 128), environment=self._held)
        return None if answer.code else answer.output

    @property
    def _held(self) -> dict[str, str] | None:
        return {"GIT_INDEX_FILE": self.index} if self.index else None

    def _names(self, *command: str, under: str = "") -> list[str]:
        below = ["/".join(split_relative(under))] if under else []
        listed = self.git.run(*command, paths=below, environment=self._held)
        return [name.decode("utf-8", "surrogateescape") for name in listed.output.split(b"\0") if name]
