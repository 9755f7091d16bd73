"""Unified diffs of limited size between two states."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.history.log import RAW, raw_files
from engine.history.model import ChangedFile, FileDiff
from engine.store.git import Git
from engine.store.revisions import ENVIRONMENT

DIFF_BYTES = 256 * 1024
"""Default size limit for the diff of a file."""

_FILE = re.compile(rb"^diff --git ", re.MULTILINE)
_HUNK = re.compile(rb"^@@ ", re.MULTILINE)
_BINARY = re.compile(rb"^(?:Binary files .* differ|GIT binary patch)$", re.MULTILINE)


def empty_tree(revision: str) -> str:
    """The object name of git's empty tree, in the hash format of a revision."""
    make = hashlib.sha256 if len(revision) == 64 else hashlib.sha1
    return make(b"tree 0\0", usedforsecurity=False).hexdigest()


def compare(
    git: Git,
    old: str,
    new: str,
    paths: Sequence[str] = (),
    *,
    limit: int = DIFF_BYTES,
) -> tuple[tuple[ChangedFile, ...], tuple[FileDiff, ...]]:
    """The files that differ between two trees or commits and their diffs, in the same order.

    Args:
        paths: Files and folders; all by default.
        limit: Maximum bytes of a file's diff; it is cut at a line end.

    Raises:
        RepositoryError: Git failed.
    """
    listed = git.run("diff-tree", "-r", *RAW, "-z", old, new, paths=paths, environment=ENVIRONMENT)
    files, _ = raw_files(listed.output.split(b"\0"))
    if not files:
        return (), ()
    shown = ("-r", "-M", "-l400", "--no-color", "--unified=3")
    patch = git.run("diff-tree", *shown, old, new, paths=paths, environment=ENVIRONMENT).output
    pieces = _pieces(patch)
    return files, tuple(_diff(file, pieces, limit) for file in files)


def _pieces(patch: bytes) -> Iterator[bytes]:
    """The patch of each file. File content is prefixed and unusual names are quoted, so neither looks like a
    file header.
    """
    starts = [match.start() for match in _FILE.finditer(patch)]
    for start, end in zip(starts, [*starts[1:], len(patch)], strict=True):
        yield patch[start:end]


def _diff(file: ChangedFile, pieces: Iterator[bytes], limit: int) -> FileDiff:
    # Git shows a type change as a deletion and an addition.
    parts = [next(pieces, b"") for _ in range(2 if file.letter == "T" else 1)]
    heads, hunks = zip(*map(_split, parts), strict=True)
    whole = b"".join(hunks)
    return diff_of(
        file.path, whole, earlier=file.earlier, binary=any(map(_BINARY.search, heads)), limit=limit
    )


def _split(piece: bytes) -> tuple[bytes, bytes]:
    hunk = _HUNK.search(piece)
    return (piece[: hunk.start()], piece[hunk.start() :]) if hunk else (piece, b"")


def diff_of(
    path: str, hunks: bytes, *, earlier: str = "", binary: bool = False, limit: int = DIFF_BYTES
) -> FileDiff:
    """A ``FileDiff`` from hunks; lines are counted before they are cut."""
    lines = hunks.split(b"\n")
    kept = hunks[: hunks.rfind(b"\n", 0, limit) + 1] if len(hunks) > limit else hunks
    return FileDiff(
        path,
        earlier,
        kept.decode("utf-8", "surrogateescape"),
        sum(line.startswith(b"+") for line in lines),
        sum(line.startswith(b"-") for line in lines),
        binary,
        len(kept) < len(hunks),
    )


def diffs_of_contents(
    git: Git, files: Sequence[tuple[str, bytes | None, bytes | None]]
) -> tuple[FileDiff, ...]:
    """Diffs of contents that are not in git: each a path and its bytes before and after, which must differ;
    ``None`` if the file does not exist.
    """
    if not files:
        return ()
    with tempfile.TemporaryDirectory(prefix="autopoiesis-diff-") as folder:
        for side, contents in (("a", [each[1] for each in files]), ("b", [each[2] for each in files])):
            Path(folder, side).mkdir()
            for number, data in enumerate(contents):
                if data is not None:
                    Path(folder, side, f"{number:08}").write_bytes(data)
        places = [str(Path(folder, side)) for side in "ab"]
        patch = git.run("diff", "--no-index", "--no-renames", "--patch", *places, accept=(0, 1)).output
    pieces = _pieces(patch)
    return tuple(_diff(ChangedFile("M", path), pieces, DIFF_BYTES) for path, _, _ in files)
