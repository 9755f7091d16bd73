"""Markdown files with an optional YAML header (spec 2.2): read losslessly, edited in place.

``parse`` never raises: if the header cannot be read, the whole file is body text, and a ``Problem`` says
where and why.
"""

from __future__ import annotations

from collections.abc import Mapping as AbcMapping
from dataclasses import field
from typing import Literal

from engine.errors import DocumentError, Problem
from engine.startup.records import dataclass
from engine.store.crypt import LOCKED, UNLOCK, is_encrypted
from engine.store.header import BOM, locate
from engine.store.markdown import MarkdownSection, sections
from engine.store.yamltext import MAX_HEADER_BYTES, Mapping, YamlError

__all__ = ["Document", "MarkdownSection", "edit_header", "edit_yaml", "parse", "sections"]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed Markdown file."""

    path: str
    """Workspace-relative path."""
    header: Mapping
    """The header's fields, every scalar a string; empty if there is no valid header."""
    body: str
    """The text below the header with ``\\n`` line ends; bytes that are not UTF-8 become U+FFFD."""
    body_line: int
    """1-based line of the file on which ``body`` starts."""
    raw: bytes = field(repr=False)
    problems: tuple[Problem, ...] = ()
    has_header: bool = False
    newline: Literal["\n", "\r\n"] = "\n"
    """The line end of the file's first line."""
    bom: bool = False
    """Whether the file starts with a UTF-8 byte order mark."""


def parse(data: bytes, path: str) -> Document:
    """Parse a file. Never raises.

    Args:
        path: The path used in problems.
    """
    if is_encrypted(data):
        locked = Problem(path, 1, LOCKED, UNLOCK, "warning")
        return Document(path, Mapping(), "", 1, data, problems=(locked,))
    found = locate(data)
    problems: list[Problem] = []
    if found.error is not None:
        problems.append(Problem(path, found.error.line, found.error.what, found.error.hint))
    body_bytes = data[found.body :]
    body_line = 1 + data.count(b"\n", 0, found.body)
    try:
        body = body_bytes.decode("utf-8")
    except UnicodeDecodeError as error:
        body = body_bytes.decode("utf-8", "replace")
        line = body_line + body_bytes.count(b"\n", 0, error.start)
        problems.append(
            Problem(
                path, line, "is not UTF-8 text", "save it as UTF-8, or move it to attachments/", "warning"
            )
        )
    return Document(
        path=path,
        header=found.mapping if found.mapping is not None else Mapping(),
        body=body.replace("\r\n", "\n"),
        body_line=body_line,
        raw=data,
        problems=tuple(problems),
        has_header=found.mapping is not None,
        newline="\r\n" if found.newline == "\r\n" else "\n",
        bom=data.startswith(BOM),
    )


def edit_header(data: bytes, changes: AbcMapping[str, object | None], path: str = "") -> bytes:
    """Set or remove header fields; every other byte of the file is unchanged.

    Args:
        changes: New values by key, ``None`` to remove. Dots descend into mappings, numbers index lists:
            ``files.0``; the number after the last item appends. Values are strings, numbers, booleans, lists
            and mappings. A file without a header gets one.
        path: The path used in errors.

    Raises:
        DocumentError: The header is broken, a key cannot be resolved, or the header would grow too large.
    """
    found = locate(data)
    if found.error is not None:
        raise DocumentError(
            found.error.what,
            where=f"{path}:{found.error.line}" if path else found.error.where,
            hint=found.error.hint or "fix the header first",
        )
    before = found.text or ""
    text = _edited(before, changes, found.newline, path, "header", MAX_HEADER_BYTES)
    if text == before:
        return data
    edited = text if found.text is not None else f"---{found.newline}{text}---{found.newline}"
    result = data[: found.start] + edited.encode("utf-8") + data[found.end :]
    again = locate(result)
    if again.text != text or result[again.body :] != data[found.body :]:
        raise DocumentError("the header would end in the wrong place", where=path, hint="edit it by hand")
    return result


def edit_yaml(data: bytes, changes: AbcMapping[str, object | None], path: str, *, max_bytes: int) -> bytes:
    """Like ``edit_header``, for a pure YAML file.

    Args:
        data: The bytes of the file; may be empty.

    Raises:
        DocumentError: The file is broken, uses disallowed YAML, a key cannot be resolved, or the file would
        grow too large.
    """
    bom = BOM if data.startswith(BOM) else b""
    try:
        text = data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8 text", where=path, hint="save it as UTF-8") from error
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    # Editing inserts whole lines: a missing final line end is added first and removed afterwards.
    ending = newline if text and not text.endswith("\n") else ""

    from engine.store.yamledit import value_of  # noqa: PLC0415 — as in _edited

    def is_same(one: str, other: str) -> bool:
        return value_of(one, 2 * max_bytes) == value_of(other, 2 * max_bytes)

    try:
        if ending and not is_same(text, text + ending):
            raise DocumentError(
                "its last line has no line end", where=path, hint="add a newline and try again"
            )
        edited = _edited(text + ending, changes, newline, path, "file", max_bytes)
        if edited == text + ending:
            return data
        if ending and is_same(shorter := edited.removesuffix(ending), edited):
            edited = shorter
    except YamlError as error:
        raise DocumentError(error.what, where=f"{path}:{error.line}", hint=error.hint) from error
    return bom + edited.encode("utf-8")


_SMALLER = {"header": "move long text below the header", "file": "remove what is not needed"}


def _edited(
    text: str, changes: AbcMapping[str, object | None], newline: str, path: str, kind: str, max_bytes: int
) -> str:
    """The YAML text of a header or file with fields set or removed."""
    from engine.store.yamledit import CannotEdit, YamlEdit  # noqa: PLC0415 — most processes change no header

    edit = YamlEdit(text, newline, 2 * max_bytes)
    try:
        for key, value in changes.items():
            edit.change(key, value)
    except YamlError:
        raise
    except CannotEdit as error:
        raise CannotEdit(error.what, where=path, hint=f"edit the {kind} by hand") from error
    except DocumentError as error:
        raise DocumentError(error.what, where=path, hint=error.hint) from error
    size = len(edit.text.encode("utf-8"))
    if edit.text != text and size > max_bytes:
        raise DocumentError(
            f"the {kind} would be {size} bytes, more than {max_bytes}", where=path, hint=_SMALLER[kind]
        )
    return edit.text
