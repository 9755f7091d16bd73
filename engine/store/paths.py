"""The layout of a workspace (spec 3.1, design 2), and checks of untrusted paths.

A path that comes from a file, a model or a request is untrusted. It becomes a ``Path`` only through
``Workspace.resolve``, which keeps it inside the workspace even with symlinks.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from pathlib import Path

from engine.errors import PathRefused, WorkspaceError
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.spelling import spelled

CONFIG_NAME = "memory-config.yaml"
TEMP_PREFIX = ".tmp-"
INDEX_PREFIX = "autopoiesis-index-"
SHARED = "knowledge/shared"
"""Knowledge shared by others, one repository each; untrusted and never written to."""
PRIVATE = ("knowledge/private", "archive/private", "knowledge/archive/private")
"""Folders encrypted by git-crypt once set up; their archived files stay private."""

_NAME_BYTES = 255
_PATH_BYTES = 4096

_CATEGORY_FOLDERS = {
    "identity": "identity",
    "memory": "memory",
    "journal": "journal",
    "projects": "project",
    "people": "person",
    "procedures": "procedure",
    "reference": "reference",
    "files": "knowledge",
    "private": "knowledge",
    "shared": "shared",
}
_CATEGORY_FILES = frozenset({"facts.md", "decisions.md", "questions.md", "playbooks.md", "tasks.md"})
_TEXT_SUFFIXES = (".md", ".txt")
_CONVERSATION_SUFFIXES = (".md", ".txt", ".jsonl")
_SESSION_ID = expression(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TRANSCRIPT = expression(r"[0-9]{4}-(ses_[^/-]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([^/]+)")


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that contains one agent's memory."""

    root: Path
    """Absolute and free of symlinks."""

    @staticmethod
    def open(root: Path | str) -> Workspace:
        """Open the workspace in ``root``.

        Raises:
            WorkspaceError: The folder does not exist, or does not contain ``memory-config.yaml``.
        """
        folder = Path(root).expanduser()
        hint = f"run: autopoiesis init {root}"
        try:
            real = folder.resolve(strict=True)
            is_workspace = (real / CONFIG_NAME).is_file()
        except FileNotFoundError:
            raise WorkspaceError("there is no such folder", where=str(root), hint=hint) from None
        except (OSError, RuntimeError, ValueError) as error:
            raise WorkspaceError("the folder cannot be opened", where=str(root), hint=hint) from error
        if not is_workspace:
            raise WorkspaceError(
                f"not a workspace: it does not contain {CONFIG_NAME}", where=str(root), hint=hint
            )
        return Workspace(real)

    def resolve(self, relative: str) -> Path:
        """The real path of a workspace-relative path; the file itself need not exist.

        Symlinks are followed as long as they stay inside the workspace; the result contains none. Letters are
        written as in the names on disk, whether they are composed (NFC) or not.

        Raises:
            PathRefused: The path is absolute, contains ``..`` or NUL, enters ``.git``, is too long for a file
            system, or leads out of the workspace.
        """
        parts = split_relative(relative)
        if not relative.isascii():
            parts = spelled(self.root, parts)
        if not _meets_link(self.root, parts):
            return self.root.joinpath(*parts)
        try:
            real = Path(os.path.realpath(self.root.joinpath(*parts)))
        except (OSError, RuntimeError, ValueError) as error:
            raise PathRefused("cannot be resolved", where=shown(relative)) from error
        if _is_loop(real):
            raise PathRefused("is part of a loop of symlinks", where=shown(relative))
        if real != self.root and self.root not in real.parents:
            raise PathRefused(
                "a symlink leads out of the workspace",
                where=shown(relative),
                hint="replace the symlink with the file itself",
            )
        if _enters_git(real.relative_to(self.root).parts):
            raise PathRefused("a symlink leads into the .git folder", where=shown(relative))
        return real

    def plain(self, relative: str) -> str:
        """A path without empty parts, its letters written as in the names on disk; the file need not exist.

        Raises:
            PathRefused: As for ``split_relative``.
        """
        return "/".join(spelled(self.root, split_relative(relative)))

    def holds(self, relative: str) -> bool:
        """Whether a path stays in the workspace when symlinks are followed; others are not even listed."""
        try:
            self.resolve(relative)
        except PathRefused:
            return False
        return True

    def relative(self, path: Path) -> str:
        """A path relative to the workspace, with forward slashes.

        Raises:
            PathRefused: The path is outside the workspace, or is the workspace itself.
        """
        plain = Path(os.path.normpath(path if path.is_absolute() else self.root / path))
        if self.root not in plain.parents:
            try:
                plain = Path(os.path.realpath(plain))
            except (OSError, RuntimeError, ValueError) as error:
                raise PathRefused("cannot be resolved", where=shown(str(path))) from error
        if self.root not in plain.parents:
            raise PathRefused("is outside the workspace", where=shown(str(path)))
        return plain.relative_to(self.root).as_posix()

    @property
    def config(self) -> Path:
        """``memory-config.yaml``."""
        return self.root / CONFIG_NAME

    @property
    def transcripts(self) -> Path:
        """Captured sessions, ``YYYY/MM/DD/HHMM-{session_id}-{slug}.md``."""
        return self.root / "raw" / "conversations"

    @property
    def conversations(self) -> Path:
        """Working conversations waiting for harvest."""
        return self.root / "conversations"

    @property
    def knowledge(self) -> Path:
        """Everything derived."""
        return self.root / "knowledge"

    @property
    def journal(self) -> Path:
        """One file per day."""
        return self.knowledge / "journal"

    @property
    def projects(self) -> Path:
        """One folder per project, and ``_active.md``."""
        return self.knowledge / "projects"

    @property
    def topics(self) -> Path:
        """Topics: situational playbooks."""
        return self.root / "topics"

    @property
    def scratch(self) -> Path:
        """Ignored by git; may be emptied at any time."""
        return self.root / "scratch"

    @property
    def database(self) -> Path:
        """The search index; a cache."""
        return self.root / "memory.db"

    @property
    def presets(self) -> Path:
        """Presets: named sets of files for the prompt, and ``active``, which lists the active ones."""
        return self.root / "presets"


def split_relative(relative: str) -> tuple[str, ...]:
    """The components of a workspace-relative path.

    Raises:
        PathRefused: The path is empty, absolute, contains ``..`` or NUL, enters ``.git``, or is too long.
    """
    if relative.startswith("/"):
        raise PathRefused(
            "is an absolute path", where=shown(relative), hint="give it relative to the workspace"
        )
    if "\0" in relative:
        raise PathRefused("contains a NUL character", where=shown(relative))
    parts = tuple(part for part in relative.split("/") if part not in ("", "."))
    if not parts:
        raise PathRefused("is an empty path", where=shown(relative))
    if ".." in parts:
        raise PathRefused(
            "contains '..'", where=shown(relative), hint="give the file's path within the workspace"
        )
    try:
        encoded = [os.fsencode(part) for part in parts]
    except UnicodeEncodeError as error:
        raise PathRefused("contains characters not allowed in file names", where=shown(relative)) from error
    if max(map(len, encoded)) > _NAME_BYTES or sum(map(len, encoded)) + len(encoded) > _PATH_BYTES:
        raise PathRefused("is too long for a file system", where=shown(relative))
    if _enters_git(parts):
        raise PathRefused("leads into the .git folder", where=shown(relative))
    return parts


def _meets_link(root: Path, parts: tuple[str, ...]) -> bool:
    """Whether the root or a part is a symlink, or cannot be checked; a missing part ends the check."""
    path = os.fspath(root)
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            return True
        for part in parts:
            path = f"{path}/{part}"
            if stat.S_ISLNK(os.lstat(path).st_mode):
                return True
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return False


def _is_loop(real: Path) -> bool:
    """Whether a resolved path still contains a symlink, which must be part of a loop."""
    try:
        return stat.S_ISLNK(real.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        return error.errno == errno.ELOOP


def _enters_git(parts: tuple[str, ...]) -> bool:
    # macOS and Windows volumes ignore case; git refuses these spellings for the same reason.
    return any(part.rstrip(". ").lower() == ".git" for part in parts)


def shown(path: str) -> str:
    """A path as one printable line: control characters escaped, very long ones shortened in the middle."""
    clean = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in path)
    return clean if len(clean) <= 240 else f"{clean[:118]}…{clean[-118:]}"


def category_of(relative: str) -> str | None:
    """A file's search category by its path (spec 7.2), ``None`` if it is not searched.

    ``knowledge`` covers the category files (``facts.md`` …), notes about files, private files and
    ``knowledge/<name>/KNOWLEDGE.md`` entries; ``shared`` covers knowledge shared by others. Archived files
    are ``archive``, except conversations.
    """
    parts = tuple(part for part in relative.split("/") if part)
    if not parts or any(part.startswith(".") for part in parts):
        return None
    name = parts[-1].lower()
    if parts[:2] == ("knowledge", "archive"):
        return _archived(category_of("/".join(parts[1:])))
    if parts[0] == "archive" and len(parts) > 2:
        if parts[1] in ("raw", "conversations", "topics", "knowledge"):
            return _archived(category_of("/".join(parts[1:])))
        return "archive" if name.endswith(_TEXT_SUFFIXES) else None
    if parts[:2] == ("raw", "conversations") or parts[0] == "conversations":
        return "conversation" if name.endswith(_CONVERSATION_SUFFIXES) else None
    if not name.endswith(_TEXT_SUFFIXES):
        return None
    if parts[0] == "topics":
        return "topic" if name.endswith(".md") else None
    if parts[0] != "knowledge":
        return None
    if len(parts) == 2:
        return "knowledge" if parts[1] in _CATEGORY_FILES else None
    if parts[1] in _CATEGORY_FOLDERS:
        return _CATEGORY_FOLDERS[parts[1]]
    return "knowledge" if parts[-1] == "KNOWLEDGE.md" else None


def is_shared(path: str) -> bool:
    """Whether a path is knowledge shared by others."""
    return path.startswith(f"{SHARED}/")


def is_private(path: str) -> bool:
    """Whether a path is never committed in clear once encryption is set up."""
    return path.startswith(tuple(f"{folder}/" for folder in PRIVATE))


def _archived(category: str | None) -> str | None:
    """The category of an archived file, given that of its original path."""
    return category if category in (None, "conversation") else "archive"


def slugify(text: str, limit: int = 48) -> str:
    """A file-name slug: lower-case letters and digits of any script, joined by single hyphens.

    Never empty, hidden or like an option; at most ``limit`` characters and 200 bytes.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    words = re.sub(r"[\W_]+", "-", folded).strip("-")
    slug = words[: max(limit, 1)]
    while len(slug.encode("utf-8", "replace")) > 200:
        slug = slug[:-1]
    return slug.strip("-") or "untitled"


def transcript_name(name: str) -> tuple[str, str]:
    """The session id in a transcript's file name, and the rest after it; of other names no id and all."""
    match = _TRANSCRIPT.fullmatch(name)
    return (match[1], match[2]) if match else ("", name)


def valid_session_id(text: str) -> bool:
    """Whether a text is a valid session id: at most 128 letters, digits, ``.``, ``_`` and ``-``."""
    return _SESSION_ID.fullmatch(text) is not None and ".." not in text
