"""Creates an entire history at once: dated commits, tags and branches, with a single git process.

``git fast-import`` runs no hooks or filters, and creates the same object names every time. It does not move
the current branch: that is done as for any other commit, once everything else exists.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from engine.errors import RepositoryError
from engine.store.commits import Staged, put_in_place
from engine.store.faults import reach
from engine.store.git import Git, blob_name, name_length
from engine.store.paths import Workspace, split_relative

_APART = "refs/autopoiesis"
"""Temporary reference to the commits during the import."""


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit of the imported history."""

    at: datetime  # in whole seconds
    message: str
    contents: Mapping[str, bytes | None]
    """Changed regular files: bytes by path, ``None`` for a deleted one."""
    tags: tuple[str, ...] = ()
    branch: str = ""
    """The side branch it is on; empty for the main line."""


def begin(git: Git, workspace: Workspace, past: Sequence[PastCommit]) -> str:
    """See ``Repository.begin``. The caller holds the workspace lock.

    If killed before the branch is moved, it may leave the tags and side branches behind.
    """
    length = name_length(git)
    author = git.run("var", "GIT_AUTHOR_IDENT").output.rpartition(b"> ")[0] + b">"
    stream = b"".join(_stream(past, author, b"0" * length))
    reach("commit:object")
    output = git.run("fast-import", "--quiet", "--date-format=raw", stdin=stream, reading=False).text.split()
    if not output:
        raise RepositoryError("git did not report the commit it created", where=str(git.root))
    tree: dict[str, bytes] = {}
    for commit in past:
        for path, data in commit.contents.items() if not commit.branch else ():
            if data is None:
                del tree[path]
            else:
                tree[path] = data
    entries = [Staged(path, "100644", blob_name(data, length)) for path, data in tree.items()]
    subject = past[-1].message.partition("\n")[0]
    if refusal := put_in_place(git, workspace, entries, output[0], None, subject):
        raise RepositoryError(f"the branch was not moved: {refusal}", where=str(git.root))
    return output[0]


def _stream(past: Sequence[PastCommit], author: bytes, nothing: bytes) -> Iterator[bytes]:
    """Input of ``git fast-import``, which prints the name of the last commit of the main line."""
    yield b"feature done\n"  # a truncated stream imports nothing
    last = 0
    for mark, commit in enumerate(past, 1):
        reference = f"refs/heads/{commit.branch}" if commit.branch else _APART
        by = b"%b %d +0000\n" % (author, int(commit.at.timestamp()))
        yield b"commit %b\nmark :%d\nauthor %bcommitter %b" % (reference.encode(), mark, by, by)
        yield _data(f"{commit.message}\n".encode("utf-8", "replace"))
        if last:
            yield b"from :%d\n" % last
        for path, data in commit.contents.items():
            name = _quoted("/".join(split_relative(path)))
            yield b"D %b\n" % name if data is None else b"M 100644 inline %b\n%b" % (name, _data(data))
        if not commit.branch:
            last = mark
        for tag in commit.tags:
            yield b"reset refs/tags/%b\nfrom :%d\n\n" % (os.fsencode(tag), mark)
    yield b"get-mark :%d\nreset %b\nfrom %b\n\ndone\n" % (last, _APART.encode(), nothing)


def _data(data: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(data), data)


def _quoted(path: str) -> bytes:
    escaped = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%b"' % escaped
