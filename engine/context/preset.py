"""Presets: named sets of files for the prompt (``cache-friendly-context.md`` 6).

A preset is ``presets/<name>.md``. Its header lists files, optionally with lines and a note; its body is
included too. The active presets are listed in ``presets/active``, one name per line.
"""

from __future__ import annotations

from engine.context.spans import Span, parse_spans, shown_spans
from engine.errors import PathRefused, Problem
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.paths import shown, split_relative
from engine.store.yamltext import Mapping, Sequence
from engine.topics.fields import Fields
from engine.topics.fields import shown as quoted

FOLDER = "presets"
ACTIVE = "presets/active"
KIND = "preset"

NOTE_CHARACTERS = 400

_NAME = expression(r"[^\W_][\w.-]{0,63}")
_KEYS = ("type", "title", "description", "tags", "updated", "files")
_FILE_KEYS = ("path", "lines", "note")
_KEY_SYNONYMS = {"name": "title", "file": "files", "paths": "files"}
_FILE_KEY_SYNONYMS = {"file": "path", "line": "lines", "range": "lines", "slice": "lines", "comment": "note"}


@dataclass(frozen=True, slots=True)
class PresetFile:
    """One file of a preset."""

    path: str  # workspace-relative, normalized
    spans: tuple[Span, ...]  # the lines that are shown; empty for the whole file
    note: str  # may be empty
    index: int  # its index in the header's list
    line: int  # its line in the preset's file

    def __str__(self) -> str:
        """``path:3-9, 20-31``."""
        return f"{shown(self.path)}:{shown_spans(self.spans)}" if self.spans else shown(self.path)


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset, as in its file."""

    name: str  # its file's stem
    path: str
    title: str  # its name if the header has none
    files: tuple[PresetFile, ...]  # the valid ones, in order
    notes: str  # the body, safe, without surrounding blank lines
    notes_line: int  # the line on which the body starts
    problems: tuple[Problem, ...]  # of the header


def path_of(name: str) -> str:
    """The file of a preset."""
    return f"{FOLDER}/{name}.md"


def valid_name(name: str) -> bool:
    """Whether a name is valid: at most 64 letters, digits, ``.``, ``_`` and ``-``."""
    return _NAME.fullmatch(name) is not None and ".." not in name


def read_preset(name: str, header: Mapping, notes: str, notes_line: int) -> Preset:
    """Reads a preset; invalid parts are skipped and reported."""
    path, problems = path_of(name), list[Problem]()
    fields = Fields(header, path, problems)
    kind = header.get("type", "")
    if kind != KIND and (kind or "files" in header):
        what = f"type is {quoted(kind)}" if kind else "the header has no 'type'"
        fields.report(fields.line("type") or 1, what, f"write type: {KIND}", "warning")
    fields.unknown(_KEYS, _KEY_SYNONYMS, only_near=True)
    title = fields.text("title")
    files = tuple(_files(header, fields))
    if not header:
        problems.append(
            Problem(path, 1, "has no header, so it lists no files", f"start it with a header: type: {KIND}")
        )
        notes = ""
    return Preset(name, path, title or name, files, notes, notes_line, tuple(problems))


def read_active(text: str, first_line: int = 1) -> tuple[tuple[tuple[str, int], ...], tuple[Problem, ...]]:
    """The names in ``presets/active`` with their lines, and the problems; blank lines and comments are
    ignored.
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
            problems.append(Problem(ACTIVE, line, f"{name} is listed twice", "remove the line", "warning"))
        else:
            names[name] = line
    return tuple(names.items()), tuple(problems)


def _files(header: Mapping, fields: Fields) -> list[PresetFile]:
    value = header.get("files", "")
    if value == "":
        return []
    if not isinstance(value, Sequence):
        fields.report(
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
            fields.report(line, f"an item of files is {quoted(item)}", "write - path: knowledge/…")
            continue
        listed = _file(item, index, line, fields)
        if listed is None:
            continue
        again = next((each for each in found if (each.path, each.spans) == (listed.path, listed.spans)), None)
        if again is not None:
            fields.report(
                line, f"{listed} is already listed on line {again.line}", "remove one of them", "warning"
            )
            continue
        found.append(listed)
    return found


def _file(item: Mapping, index: int, line: int, above: Fields) -> PresetFile | None:
    problems: list[Problem] = []
    fields = Fields(item, above.path, problems)
    fields.unknown(_FILE_KEYS, _FILE_KEY_SYNONYMS)
    path, note = fields.text("path"), " ".join(fields.text("note").split())
    spans: tuple[Span, ...] | None = ()
    if not path:
        if not problems:
            fields.report(line, "an item of files has no path", "write path: knowledge/…")
    else:
        try:
            path = "/".join(split_relative(path))
        except PathRefused as error:
            hint = error.hint or "use a path relative to the workspace"
            fields.report(item.line_of("path", line), f"path {quoted(path)} is refused: {error.what}", hint)
            path = ""
    lines = fields.text("lines")
    if lines:
        try:
            spans = parse_spans(lines)
        except ValueError as error:
            what = f"lines of {shown(path) or 'an item'}: {error}"
            fields.report(item.line_of("lines", line), what, 'write lines: "10-40" or "3-9, 20-31"')
            spans = None
    elif isinstance(item.get("lines", ""), Sequence | Mapping):
        spans = None
    if len(note) > NOTE_CHARACTERS:
        what = f"note has {len(note)} characters, only {NOTE_CHARACTERS} are used"
        fields.report(item.line_of("note", line), what, "move the rest to the body", "warning")
        note = note[: NOTE_CHARACTERS - 1].rstrip() + "…"
    for problem in problems:
        above.report(problem.line, problem.what, problem.hint, problem.severity)
    return PresetFile(path, spans, note, index, line) if path and spans is not None else None
