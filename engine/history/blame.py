"""The origin of each line of a file: its commit and conversation (spec 3.6, blame)."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from engine.errors import RepositoryError
from engine.history.log import commits, is_shallow
from engine.history.model import Blame, BlamedLine, Entry
from engine.history.teachers import Teachers
from engine.store.files import READ_LIMIT, Files
from engine.store.git import Git
from engine.store.git_folder import repository_folder
from engine.store.paths import shown
from engine.store.revisions import ENVIRONMENT

_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")


def blame(
    git: Git, files: Files, path: str, teachers: Teachers, *, lines: tuple[int, int] | None, revision: str
) -> Blame:
    """See ``History.blame``; ``revision`` is a full object name, or empty for the file on disk.

    Raises:
        FileNotFoundError, PathRefused, DocumentError: The file cannot be read.
        RepositoryError: It has no such line, or git failed.
    """
    name = files.workspace.plain(path)
    texts = _lines_on_disk(files, name) if not revision else []
    if lines is not None and not revision and not 1 <= lines[0] <= lines[1] <= len(texts):
        raise RepositoryError(f"has only {len(texts):,} lines", where=shown(name), hint="choose one of them")
    if not revision and not texts:
        return Blame(name, (), ())
    span = [f"-L{lines[0]},{lines[1]}"] if lines is not None else []
    # Clear the repository's own list of revisions to ignore.
    fixed = ("--porcelain", "--encoding=UTF-8", "--ignore-revs-file=")
    options = (*fixed, *span, *([revision] if revision else []))
    # A person's own list of revisions to ignore cannot be cleared, and fails where it does not exist. Without
    # their settings git would not accept the folder of another owner, unless it is named.
    alone = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DIR": str(repository_folder(git.root)),
    }
    answer = git.run("blame", *options, paths=[name], environment={**ENVIRONMENT, **alone}, accept=(0, 128))
    if answer.code:
        if revision or not _is_new(git, name):
            raise RepositoryError(answer.message or "git cannot blame it", where=shown(name))
        first, last = lines or (1, len(texts))
        found = [BlamedLine(number, texts[number - 1], "", name, number) for number in range(first, last + 1)]
        return Blame(name, tuple(found), ())
    found = _read(answer.output, name)
    known = _commits(git, {each.revision for each in found if each.revision})
    by_name = {each.revision: each for each in known}
    taught = tuple(replace(each, taught=teachers.of(each.text, by_name.get(each.revision))) for each in found)
    shallow = any(not each.parents for each in known) and is_shallow(git)
    return Blame(name, taught, known, shallow)


def _lines_on_disk(files: Files, path: str) -> list[str]:
    text = files.read(path, limit=READ_LIMIT).decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _is_new(git: Git, path: str) -> bool:
    """True if a file is not in the newest commit."""
    return not git.run("ls-tree", "-z", "--full-tree", "HEAD", paths=[path], accept=(0, 128)).output


def _read(output: bytes, path: str) -> list[BlamedLine]:
    """Parses ``--porcelain`` output, which describes each commit only at its first line."""
    found: list[BlamedLine] = []
    names: dict[bytes, str] = {}
    revision, there, number, then = b"", 0, 0, path
    for line in output.split(b"\n"):
        if line.startswith(b"\t"):
            text = line[1:].decode("utf-8", "surrogateescape").removesuffix("\r")
            known = revision.decode() if revision.strip(b"0") else ""
            found.append(BlamedLine(number, text, known, then, there))
        elif head := _HEAD.fullmatch(line):
            revision, there, number = head[1], int(head[2]), int(head[3])
            then = names.get(revision, path)
        elif line.startswith(b"filename "):
            then = names[revision] = _unquoted(line.removeprefix(b"filename "))
    return found


def _unquoted(name: bytes) -> str:
    """A path from git's output, where unusual ones are quoted with C escapes."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return os.fsdecode(name)


def _commits(git: Git, revisions: set[str]) -> tuple[Entry, ...]:
    if not revisions:
        return ()
    stdin = "".join(f"{each}\n" for each in sorted(revisions)).encode()
    found = commits(git, "--no-walk", "--stdin", stdin=stdin, raw=False)
    return tuple(sorted((each.entry for each in found), key=lambda each: each.at, reverse=True))


def span_of(text: str) -> tuple[str, tuple[int, int] | None]:
    """Parses a file and lines as typed by the user: ``FILE``, ``FILE:12``, ``FILE:12-40``."""
    match = re.fullmatch(r"(.+):(\d{1,9})(?:-(\d{1,9}))?", text, re.DOTALL)
    if match is None:
        return text, None
    return match[1], (int(match[2]), int(match[3] or match[2]))
