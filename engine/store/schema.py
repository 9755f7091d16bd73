"""Header schemas of the kinds of memory files (spec 2.2, 2.3; knowledge entries)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

from engine.errors import Problem
from engine.store.documents import Document
from engine.store.paths import category_of, valid_session_id
from engine.store.yamltext import Mapping, Sequence

MEMORY_FILE = "knowledge/memory/MEMORY.md"
MEMORY_WARN_LINES = 180
MEMORY_MAX_LINES = 200
MEMORY_MAX_BYTES = 25 * 1024

Check = Callable[[object], str]
"""Returns what is wrong with a header value; empty if it is valid."""


def _text(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "must be text"


def _read_by(reader: Callable[[str], object], message: str) -> Check:
    def check(value: object) -> str:
        try:
            reader(value.strip() if isinstance(value, str) else "")
        except ValueError:
            return message
        return ""

    return check


_moment = _read_by(datetime.fromisoformat, "must be a date or an ISO 8601 time such as 2026-02-16T18:00:00Z")
_day = _read_by(date.fromisoformat, "must be a date such as 2026-02-16")


def _count(value: object) -> str:
    plain = isinstance(value, str) and re.fullmatch(r"[0-9][0-9_,]*", value.strip())
    return "" if plain else "must be a whole number"


def _session(value: object) -> str:
    if isinstance(value, str) and valid_session_id(value):
        return ""
    return "must be letters, digits, '.', '_' and '-', at most 128 of them"


def _texts(value: object) -> str:
    if value == "" or (isinstance(value, Sequence) and all(isinstance(item, str) for item in value)):
        return ""
    return "must be a list of strings, such as [one, two]"


def _changes(value: object) -> str:
    good = value == "" or (
        isinstance(value, Sequence)
        and all(isinstance(i, Mapping) and isinstance(i.get("path"), str) and "action" in i for i in value)
    )
    return "" if good else "must be a list of mappings with 'path' and 'action'"


def _one_of(*allowed: str) -> Check:
    def check(value: object) -> str:
        return "" if value in allowed else f"must be one of {', '.join(allowed)}"

    return check


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of one kind of file. Other fields are allowed and not checked."""

    required: dict[str, Check]
    optional: dict[str, Check]


_COMMON: dict[str, Check] = {"updated": _moment, "tags": _texts}

SCHEMAS: dict[str, Schema] = {
    "identity": Schema({"role": _one_of("soul", "user", "rules", "tools")}, _COMMON),
    "memory": Schema({}, {**_COMMON, "line_count": _count}),
    "journal": Schema({"date": _day}, {**_COMMON, "sessions": _texts}),
    "project_index": Schema({}, _COMMON),
    "project_context": Schema({"project": _text}, _COMMON),
    "person": Schema({"name": _text}, {**_COMMON, "relationship": _text}),
    "topic": Schema({}, {}),
    "preset": Schema({}, {}),
    "procedure": Schema({}, _COMMON),
    "reference": Schema({}, _COMMON),
}

_CONVERSATION = Schema(
    {"session_id": _session, "started": _moment},
    {
        "ended": _moment,
        "model": _text,
        "channel": _text,
        "topic": _text,
        "tags": _texts,
        "tokens_in": _count,
        "tokens_out": _count,
        "knowledge_changes": _changes,
    },
)
_ENTRY = Schema({"name": _text, "description": _text}, {**_COMMON, "version": _text})


def validate(document: Document) -> tuple[Problem, ...]:
    """All problems of a document's header and of MEMORY.md's size, each with its line.

    Includes the problems found by ``parse``. Topics and presets are checked when loaded.
    """
    problems = list(document.problems)
    if document.path == MEMORY_FILE:
        problems += size_problems(document.raw)
    schema = _schema_of(document, problems)
    if schema is not None:
        problems += _fields(document, schema)
    return tuple(problems)


def _schema_of(document: Document, problems: list[Problem]) -> Schema | None:
    is_broken = not document.has_header and any(p.severity == "error" for p in document.problems)
    if is_broken:
        return None
    category = category_of(document.path)
    if document.path.rsplit("/", 1)[-1] == "KNOWLEDGE.md" and category == "knowledge":
        return _ENTRY
    if category == "conversation" and (document.path.startswith("raw/") or "session_id" in document.header):
        return _CONVERSATION
    kind = document.header.get("type")
    if kind is None:
        return None
    if isinstance(kind, str) and kind in SCHEMAS:
        return SCHEMAS[kind]
    problems.append(
        Problem(
            document.path,
            document.header.line_of("type"),
            f"unknown 'type': {kind}" if isinstance(kind, str) else "'type' must be text",
            f"use one of {', '.join(SCHEMAS)}",
            "warning",
        )
    )
    return None


def _fields(document: Document, schema: Schema) -> list[Problem]:
    header = document.header
    problems: list[Problem] = []
    for key, check in {**schema.required, **schema.optional}.items():
        if key in header:
            is_missing = header[key] == "" and key in schema.required
            wrong = "is empty" if is_missing else check(header[key]) if header[key] != "" else ""
            if wrong:
                problems.append(Problem(document.path, header.line_of(key), f"'{key}' {wrong}", "correct it"))
        elif key in schema.required:
            line = 1 if document.has_header else 0
            problems.append(
                Problem(
                    document.path, line, f"the header has no '{key}'", f"add a line '{key}: …' to the header"
                )
            )
    return problems


def size_problems(data: bytes) -> list[Problem]:
    """Problems with the size of MEMORY.md."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    size = len(data)
    hint = "condense it or move details to other files"
    if lines > MEMORY_MAX_LINES:
        what = f"has {lines} lines; agents read only the first {MEMORY_MAX_LINES}"
        return [Problem(MEMORY_FILE, MEMORY_MAX_LINES + 1, what, hint)]
    if size > MEMORY_MAX_BYTES:
        what = f"has {size} bytes; agents read only the first {MEMORY_MAX_BYTES}"
        return [Problem(MEMORY_FILE, 0, what, hint)]
    if lines >= MEMORY_WARN_LINES:
        what = f"has {lines} of at most {MEMORY_MAX_LINES} lines"
        return [Problem(MEMORY_FILE, 0, what, hint, "warning")]
    return []
