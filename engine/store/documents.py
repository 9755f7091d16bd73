"""Markdown files with an optional YAML header (spec 2.2): read without loss, edited without collateral.

``parse`` never raises and never guesses: a header that cannot be read makes the whole file body text, with a
``Problem`` that says where and why.
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
    """A Markdown file, taken apart."""

    path: str
    """Workspace-relative path."""
    header: Mapping
    """The fields of the header, every scalar a string; empty when there is none or it is broken."""
    body: str
    """The text below the header with ``\\n`` line ends; bytes that are not UTF-8 stand as U+FFFD."""
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
    """Take a file apart. Never raises.

    Args:
        path: The name it has in problems.
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
    """Set or remove header fields; every other byte of the file stays as it is.

    Args:
        changes: New values by key, ``None`` to remove. A dot leads into a mapping, a number into a list:
            ``files.0``; the number after the last item appends. Values are strings, numbers, booleans, lists
            and mappings. A file without a header gets one.
        path: The file's name in errors.

    Raises:
        DocumentError: The header is broken, a key leads nowhere, or the header would grow too large.
    """
    found = locate(data)
    if found.error is not None:
        raise DocumentError(
            found.error.what,
            where=f"{path}:{found.error.line}" if path else found.error.where,
            hint=found.error.hint or "repair the header first",
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
    """As ``edit_header``, for a file that is YAML from its first line to its last.

    Args:
        data: The bytes of the file; none at all is a file with nothing in it.

    Raises:
        DocumentError: The file is broken, holds what is not allowed, a key leads nowhere, or it would grow
            too large.
    """
    bom = BOM if data.startswith(BOM) else b""
    try:
        text = data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8 text", where=path, hint="save it as UTF-8") from error
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    # Lines are put between lines: one without an end gets it, and loses it again.
    ending = newline if text and not text.endswith("\n") else ""

    from engine.store.yamledit import value_of  # noqa: PLC0415 — as in _edited

    def is_same(one: str, other: str) -> bool:
        return value_of(one, 2 * max_bytes) == value_of(other, 2 * max_bytes)

    try:
        if ending and not is_same(text, text + ending):
            raise DocumentError("its last line has no end", where=path, hint="end it, and try again")
        edited = _edited(text + ending, changes, newline, path, "file", max_bytes)
        if edited == text + ending:
            return data
        if ending and is_same(shorter := edited.removesuffix(ending), edited):
            edited = shorter
    except YamlError as error:
        raise DocumentError(error.what, where=f"{path}:{error.line}", hint=error.hint) from error
    return bom + edited.encode("utf-8")


_SMALLER = {"header": "move long text below the header", "file": "take out what is not needed"}


def _edited(
    text: str, changes: AbcMapping[str, object | None], newline: str, path: str, kind: str, max_bytes: int
) -> str:
    """A YAML text, of a header or a file, with some of its fields set or removed."""
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
            f"the {kind} would have {size} bytes, more than {max_bytes}", where=path, hint=_SMALLER[kind]
        )
    return edit.text
