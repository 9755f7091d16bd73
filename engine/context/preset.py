"""Presets: named sets of files that a person puts into the prompt (``cache-friendly-context.md`` 6).

A preset is ``presets/<name>.md``. Its header lists files, each with the lines that matter and a note; its
body, if there is one, goes in with them. Which presets are active stands in ``presets/active``, one name a
line.
"""

from __future__ import annotations

import re

from engine.context.spans import Span, parse_spans, shown_spans
from engine.errors import PathRefused, Problem
from engine.records import dataclass
from engine.store.paths import shown, split_relative
from engine.store.yamltext import Mapping, Sequence
from engine.topics.fields import Fields
from engine.topics.fields import shown as quoted

FOLDER = "presets"
ACTIVE = "presets/active"
KIND = "preset"

NOTE_CHARACTERS = 400

_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
_KEYS = ("type", "title", "description", "tags", "updated", "files")
_FILE_KEYS = ("path", "lines", "note")
_MEANT = {"name": "title", "file": "files", "paths": "files"}
_FILE_MEANT = {"file": "path", "line": "lines", "range": "lines", "slice": "lines", "comment": "note"}


@dataclass(frozen=True, slots=True)
class PresetFile:
    """One file of a preset."""

    path: str  # workspace-relative, in its shortest spelling
    spans: tuple[Span, ...]  # the lines that are shown; empty for the whole file
    note: str  # what the reader should know about it; may be empty
    index: int  # its place in the header's list
    line: int  # the line of the preset's file on which it is listed

    def __str__(self) -> str:
        """``path:3-9, 20-31``."""
        return f"{shown(self.path)}:{shown_spans(self.spans)}" if self.spans else shown(self.path)


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset as its file says it."""

    name: str  # its file's stem
    path: str
    title: str  # its name where the header has none
    files: tuple[PresetFile, ...]  # in order; what is wrong with others stands in ``problems``
    notes: str  # the body, safe text without blank lines around it
    notes_line: int  # the line of its file on which the body starts
    problems: tuple[Problem, ...]  # what is wrong with the header


def path_of(name: str) -> str:
    """The file of a preset."""
    return f"{FOLDER}/{name}.md"


def valid_name(name: str) -> bool:
    """Whether a name is fit to be a preset's: letters, digits, ``.``, ``_`` and ``-``, at most 64 of them."""
    return _NAME.fullmatch(name) is not None and ".." not in name


def read_preset(name: str, header: Mapping, notes: str, notes_line: int) -> Preset:
    """Reads a preset; what is wrong with it is said and left out, never fatal."""
    path, problems = path_of(name), list[Problem]()
    fields = Fields(header, path, problems)
    kind = header.get("type", "")
    if kind != KIND and (kind or "files" in header):
        what = f"type is {quoted(kind)}" if kind else "the header has no 'type'"
        fields.say(fields.line("type") or 1, what, f"write type: {KIND}", "warning")
    fields.unknown(_KEYS, _MEANT, only_near=True)
    title = fields.text("title")
    files = tuple(_files(header, fields))
    if not header:
        problems.append(
            Problem(path, 1, "has no header, so it lists no files", f"begin it with a header: type: {KIND}")
        )
        notes = ""
    return Preset(name, path, title or name, files, notes, notes_line, tuple(problems))


def read_active(text: str, first_line: int = 1) -> tuple[tuple[tuple[str, int], ...], tuple[Problem, ...]]:
    """The names in ``presets/active``, each with its line, and what is wrong there.

    Blank lines and lines that begin with ``#`` mean nothing.
    """
    names: dict[str, int] = {}
    problems: list[Problem] = []
    for line, words in enumerate(text.splitlines(), first_line):
        name = words.strip()
        if not name or name.startswith("#"):
            continue
        if not valid_name(name):
            what = f"{quoted(name)} is not a valid preset name"
            problems.append(Problem(ACTIVE, line, what, "write one name on each line, without .md"))
        elif name in names:
            problems.append(Problem(ACTIVE, line, f"{name} is named again", "remove the line", "warning"))
        else:
            names[name] = line
    return tuple(names.items()), tuple(problems)


def _files(header: Mapping, fields: Fields) -> list[PresetFile]:
    value = header.get("files", "")
    if value == "":
        return []
    if not isinstance(value, Sequence):
        fields.say(
            fields.line("files"), f"files must be a list, not {quoted(value)}", "write - path: knowledge/…"
        )
        return []
    found: list[PresetFile] = []
    for index, item in enumerate(value):
        line = value.line_of_item(index)
        if isinstance(item, str):
            entry = Mapping(line=line)
            entry.add("path", item, line)
            item = entry
        if not isinstance(item, Mapping):
            fields.say(line, f"an item of files is {quoted(item)}", "write - path: knowledge/…")
            continue
        listed = _file(item, index, line, fields)
        if listed is None:
            continue
        again = next((each for each in found if (each.path, each.spans) == (listed.path, listed.spans)), None)
        if again is not None:
            fields.say(
                line, f"lists {listed} again, as on line {again.line}", "remove one of them", "warning"
            )
            continue
        found.append(listed)
    return found


def _file(item: Mapping, index: int, line: int, above: Fields) -> PresetFile | None:
    problems: list[Problem] = []
    fields = Fields(item, above.path, problems)
    fields.unknown(_FILE_KEYS, _FILE_MEANT)
    path, note = fields.text("path"), " ".join(fields.text("note").split())
    spans: tuple[Span, ...] | None = ()
    if not path:
        if not problems:
            fields.say(line, "an item of files has no path", "write path: knowledge/…")
    else:
        try:
            path = "/".join(split_relative(path))
        except PathRefused as error:
            hint = error.hint or "name a file of the workspace by its relative path"
            fields.say(item.line_of("path", line), f"path {quoted(path)} is refused: {error.what}", hint)
            path = ""
    lines = fields.text("lines")
    if lines:
        try:
            spans = parse_spans(lines)
        except ValueError as error:
            what = f"lines of {shown(path) or 'an item'}: {error}"
            fields.say(item.line_of("lines", line), what, 'write lines: "10-40" or "3-9, 20-31"')
            spans = None
    elif isinstance(item.get("lines", ""), Sequence | Mapping):
        spans = None
    if len(note) > NOTE_CHARACTERS:
        what = f"note has {len(note)} characters, of which {NOTE_CHARACTERS} are used"
        fields.say(item.line_of("note", line), what, "move what is longer into the body", "warning")
        note = note[: NOTE_CHARACTERS - 1].rstrip() + "…"
    for problem in problems:
        above.say(problem.line, problem.what, problem.hint, problem.severity)
    return PresetFile(path, spans, note, index, line) if path and spans is not None else None
