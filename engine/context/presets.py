"""Presets for the user interfaces: listing, activating and changing (``cache-friendly-context.md`` 6).

Changes are committed like other edits by commands.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.context import tokens
from engine.context.budget import Placement
from engine.context.compiled import LeftOut, Section
from engine.context.curation import PresetSections, load_preset
from engine.context.preset import (
    ACTIVE,
    FOLDER,
    KIND,
    NOTE_CHARACTERS,
    Preset,
    PresetFile,
    path_of,
    read_active,
    read_preset,
    valid_name,
)
from engine.context.sources import EMPTY, NOT_HERE, Loaded, ParsedFiles, Reader, WorkspaceSource
from engine.context.spans import Span, parse_spans, shown_spans
from engine.errors import AutopoiesisError, DocumentError, Problem
from engine.store.change import commit_change, commit_message
from engine.store.documents import edit_header, parse
from engine.store.paths import shown, split_relative
from engine.store.yamltext import Sequence as Items
from engine.topics.fields import near

if TYPE_CHECKING:
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository

_EVERYTHING = 1 << 40


@dataclass(frozen=True, slots=True)
class PresetView:
    """A preset with its contents in a prompt."""

    name: str
    path: str
    title: str
    files: tuple[PresetFile, ...]
    notes: str
    active: bool  # whether it is in every prompt
    tokens: int  # of all of it, before any cap
    sections: tuple[Section, ...]
    left_out: tuple[LeftOut, ...]  # unusable and repeated files
    problems: tuple[str, ...]  # one line each


@dataclass(frozen=True, slots=True)
class PresetChange:
    """A completed change."""

    path: str
    preset: str  # empty if only the active ones were changed
    files: tuple[str, ...]  # those added or removed
    active: tuple[str, ...]  # the presets that are active now
    commit: str  # empty if none was made
    why: str = ""  # why there is no commit


class Presets:
    """Presets for the user interfaces. Thread-safe."""

    def __init__(
        self, files: Files, repository: Callable[[], Repository], config: Callable[[], Config]
    ) -> None:
        self._files = files
        self._repository = repository
        self._config = config
        self._source = WorkspaceSource(files)
        self._parsed = ParsedFiles()
        self._guard = threading.RLock()

    def names(self) -> tuple[str, ...]:
        """The names of all presets, sorted."""
        paths = [path for path in self._source.list(FOLDER) if path.count("/") == 1 and path.endswith(".md")]
        names = (path.partition("/")[2].removesuffix(".md") for path in paths)
        return tuple(name for name in names if valid_name(name))

    def active(self) -> tuple[str, ...]:
        """The names in ``presets/active``, including those of missing presets."""
        return tuple(name for name, _ in self._active()[0])

    def list(self) -> tuple[PresetView, ...]:
        """Every readable preset, sorted by name; see ``problems`` for the others."""
        found: list[PresetView] = []
        for name in self.names():
            with contextlib.suppress(DocumentError):
                found.append(self.show(name))
        return tuple(found)

    def problems(self) -> tuple[Problem, ...]:
        """Problems of ``presets/active``, and of files with invalid names or contents."""
        names, problems = self._active()
        known = set(self.names())
        gone = [
            Problem(ACTIVE, line, f"there is no preset {name}", f"run: autopoiesis preset off {name}")
            for name, line in names
            if name not in known
        ]
        odd = [
            Problem(path, 0, "invalid preset name", "use letters, digits, '.', '_' and '-'")
            for path in self._source.list(FOLDER)
            if path.endswith(".md") and path.removeprefix(f"{FOLDER}/").removesuffix(".md") not in known
        ]
        reader = Reader(self._source, self._parsed)
        for name in sorted(known):
            reader.load(path_of(name))
        refused = [Problem(path, 0, reason) for path, reason in reader.refused.items()]
        return (*problems, *gone, *odd, *refused)

    def show(self, name: str) -> PresetView:
        """A preset.

        Raises:
            AutopoiesisError: There is no such preset, or it cannot be read.
        """
        reader = Reader(self._source, self._parsed)
        preset = load_preset(name, reader) if valid_name(name) else None
        if preset is None:
            raise self._unknown(name, reader)
        placement = Placement(tokens.count)
        PresetSections((preset,), reader, main_session=True).place(placement, _EVERYTHING, ())
        return PresetView(
            preset.name,
            preset.path,
            preset.title,
            preset.files,
            preset.notes,
            active=name in self.active(),
            tokens=sum(piece.tokens for piece in placement.pieces),
            sections=tuple(piece.section for piece in placement.pieces),
            left_out=tuple(placement.left_out),
            problems=tuple(dict.fromkeys(reader.problems)),
        )

    def use(self, names: Sequence[str], *, also: bool = False) -> PresetChange:
        """Makes presets the active ones, or (``also``) adds them.

        Args:
            names: In the order of budgeting.

        Raises:
            AutopoiesisError: There is no such preset.
            WriteFailed, ReadOnly: Nothing was changed.
        """
        for name in names:
            if name not in self.names():
                raise self._unknown(name, Reader(self._source, self._parsed))
        with self._guard, self._files.lock():
            before = self.active() if also else ()
            active = self._activate(dict.fromkeys((*before, *names)))
        return self._done(ACTIVE, "", (), active, f"preset use {' '.join(names)}")

    def off(self, names: Sequence[str] = ()) -> PresetChange:
        """Switches presets off; all of them without names.

        Raises:
            AutopoiesisError: One of them is not active.
            WriteFailed, ReadOnly: Nothing was changed.
        """
        with self._guard, self._files.lock():
            before = self.active()
            for name in names:
                if name not in before:
                    listed = ", ".join(before) or "none"
                    raise AutopoiesisError(f"preset {shown(name)} is not active; active: {listed}")
            active = self._activate([name for name in before if names and name not in names])
        return self._done(ACTIVE, "", (), active, f"preset off {' '.join(names or before)}".strip())

    def add(self, name: str, path: str, lines: str = "", note: str = "", title: str = "") -> PresetChange:
        """Adds a file to a preset, which is created if necessary.

        Args:
            lines: As ``10-40`` or ``3-9, 20-31``; empty for the whole file.
            note: A comment in one line.
            title: New title of the preset; empty for no change.

        Raises:
            AutopoiesisError: The name or the lines are invalid, or the note is too long.
            PathRefused: The path leaves the workspace.
            DocumentError: There is no such text file, it is already listed, or the header cannot be edited.
            WriteFailed, ReadOnly: Nothing was changed.
        """
        if not valid_name(name):
            hint = "use letters, digits, '.', '_' and '-'"
            raise AutopoiesisError(f"'{shown(name)}' is not a valid preset name", hint=hint)
        note, path = " ".join(note.split()), "/".join(split_relative(path))
        if len(note) > NOTE_CHARACTERS:
            what = f"the note has {len(note)} characters; at most {NOTE_CHARACTERS} are allowed"
            raise AutopoiesisError(what, hint="move the rest to the preset's body")
        listed = PresetFile(path, self._spans(path, lines), note, 0, 0)
        self._files.update(path_of(name), lambda data: _with_file(data, name, listed, title.strip()))
        return self._done(
            path_of(name), name, (str(listed),), self.active(), f"preset add {name} {shown(path)}"
        )

    def remove(self, name: str, path: str, lines: str = "") -> PresetChange:
        """Removes a file from a preset.

        Args:
            path: As listed in the preset.
            lines: Only the entry with these lines; empty for every entry of the file.

        Raises:
            AutopoiesisError: There is no such preset.
            DocumentError: It does not list the file, or its header cannot be edited.
            WriteFailed, ReadOnly: Nothing was changed.
        """
        if name not in self.names():
            raise self._unknown(name, Reader(self._source, self._parsed))
        wanted = _parsed_spans(lines) if lines else None
        removed: list[PresetFile] = []

        def change(data: bytes | None) -> bytes:
            removed[:] = _matching(data or b"", name, path, wanted)
            return _without_files(data or b"", name, removed)

        self._files.update(path_of(name), change)
        gone = tuple(map(str, removed))
        return self._done(path_of(name), name, gone, self.active(), f"preset remove {name} {shown(path)}")

    def _active(self) -> tuple[tuple[tuple[str, int], ...], tuple[Problem, ...]]:
        try:
            return read_active(self._files.read(ACTIVE).decode("utf-8", "replace"))
        except FileNotFoundError:
            return (), ()
        except AutopoiesisError as error:
            return (), (Problem(ACTIVE, 0, error.what, error.hint),)

    def _activate(self, names: Iterable[str]) -> tuple[str, ...]:
        wanted = tuple(names)
        self._files.update(ACTIVE, lambda data: _active_file(data, wanted))
        return wanted

    def _spans(self, path: str, lines: str) -> tuple[Span, ...]:
        spans = _parsed_spans(lines) if lines.strip() else ()
        loaded = self._text(path)
        first, last = loaded.first_line, loaded.first_line + loaded.text.count("\n")
        for span in spans:
            if span[0] > last or span[1] < first or span[1] > last:
                what = f"has no lines {shown_spans([span])}: its text is on lines {first} to {last}"
                raise DocumentError(what, where=shown(path), hint="use existing lines")
        return spans

    def _text(self, path: str) -> Loaded:
        loaded, reason = Reader(self._source, self._parsed).usable(path, main_session=True)
        if loaded is None:
            raise DocumentError("is empty" if reason == EMPTY else reason, where=shown(path))
        return loaded

    def _unknown(self, name: str, reader: Reader) -> AutopoiesisError:
        refused = reader.refused.get(path_of(name))
        if refused:
            return DocumentError(refused, where=path_of(name))
        guess = near(name, self.names())
        hint = f"did you mean {guess}?" if guess else "see: autopoiesis preset list"
        return AutopoiesisError(f"there is no preset {shown(name)}", hint=hint)

    def _done(
        self, path: str, preset: str, files: tuple[str, ...], active: tuple[str, ...], message: str
    ) -> PresetChange:
        text, wanted = commit_message("maintenance", message), self._config().git.auto_commit
        done = commit_change(self._repository, [path], text, wanted=wanted)
        return PresetChange(path, preset, files, active, done.revision, done.why)


def _parsed_spans(lines: str) -> tuple[Span, ...]:
    try:
        return parse_spans(lines)
    except ValueError as error:
        raise AutopoiesisError(f"lines: {error}", hint='give lines as "10-40" or "3-9, 20-31"') from error


def _active_file(data: bytes | None, names: tuple[str, ...]) -> bytes | None:
    """``presets/active`` with other names and its comments; ``None`` if it would be empty."""
    text = (data or b"").decode("utf-8", "replace")
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    lines = (*comments, *names)
    return "".join(f"{line}\n" for line in lines).encode() if lines else None


def _preset_in(data: bytes, name: str) -> Preset:
    """The preset in a file's bytes.

    Raises:
        DocumentError: Its header cannot be read, or has another type.
    """
    document = parse(data, path_of(name))
    broken = [problem for problem in document.problems if problem.severity == "error"]
    if broken:
        where = f"{broken[0].path}:{broken[0].line}"
        raise DocumentError(broken[0].what, where=where, hint=broken[0].hint)
    if document.header.get("type", KIND) != KIND:
        raise DocumentError(
            "is not a preset: its header has another type",
            where=path_of(name),
            hint="use another name for the preset",
        )
    return read_preset(name, document.header, document.body, document.body_line)


def _with_file(data: bytes | None, name: str, listed: PresetFile, title: str) -> bytes:
    """A preset with a file added."""
    item: dict[str, object] = {"path": listed.path}
    if listed.spans:
        item["lines"] = shown_spans(listed.spans)
    if listed.note:
        item["note"] = listed.note
    path = path_of(name)
    if data is None:
        return edit_header(b"", {"type": KIND, "title": title or name, "files": [item]}, path)
    for each in _preset_in(data, name).files:
        if each.path == listed.path and (not each.spans or each.spans == listed.spans):
            raise DocumentError(f"already lists {each}", where=f"{path}:{each.line}")
    items = parse(data, path).header.get("files", "")
    count = len(items) if isinstance(items, Items) else 0
    changes: dict[str, object] = {f"files.{count}": item} if count else {"files": [item]}
    if title:
        changes["title"] = title
    return edit_header(data, changes, path)


def _matching(data: bytes, name: str, path: str, spans: tuple[Span, ...] | None) -> list[PresetFile]:
    """The entries of a preset for a file.

    Raises:
        DocumentError: There are none.
    """
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    files = _preset_in(data, name).files
    found = [each for each in files if each.path == plain and (spans is None or each.spans == spans)]
    if not found:
        asked = f"{shown(path)}:{shown_spans(spans)}" if spans else shown(path)
        listed = ", ".join(map(str, files)) or "nothing"
        raise DocumentError(f"does not list {asked}", where=path_of(name), hint=f"it lists {listed}")
    return found


def _without_files(data: bytes, name: str, files: Sequence[PresetFile]) -> bytes:
    items = parse(data, path_of(name)).header.get("files", "")
    if isinstance(items, Items) and len(items) == len(files):
        return edit_header(data, {"files": None}, path_of(name))
    for each in sorted(files, key=lambda each: -each.index):
        data = edit_header(data, {f"files.{each.index}": None}, path_of(name))
    return data


def check_presets(
    presets: Presets, files: Files, *, only: Collection[str] | None = None
) -> tuple[Problem, ...]:
    """Reads presets and the files they list, and returns the problems by file and line.

    Problems of headers, missing and empty files, missing lines, ``presets/active``, and invalid file names.

    Args:
        only: Paths in ``presets/`` to check; all if omitted.
    """
    found = {problem for problem in presets.problems() if only is None or problem.path in only}
    source, parsed = WorkspaceSource(files), ParsedFiles()
    for name in presets.names():
        if only is not None and path_of(name) not in only:
            continue
        reader = Reader(source, parsed)
        if reader.load(path_of(name)) is None:
            continue  # among the problems above, if it is still there
        document = parse(source.read(path_of(name)), path_of(name))
        preset = read_preset(name, document.header, document.body, document.body_line)
        preset_sections = PresetSections((preset,), reader, main_session=True)
        preset_sections.place(Placement(len), _EVERYTHING, ())
        found.update((*document.problems, *preset.problems, *preset_sections.problems))
        for listed in preset.files:
            found.update(_unusable(preset, listed, reader))
    return tuple(
        sorted(found, key=lambda problem: (problem.path, problem.line, problem.severity, problem.what))
    )


def _unusable(preset: Preset, listed: PresetFile, reader: Reader) -> Iterator[Problem]:
    """Why an existing file adds nothing to a prompt."""
    loaded, name = reader.load(listed.path), shown(listed.path)
    hint = f"run: autopoiesis preset remove {preset.name} {name}"
    if reader.refused.get(listed.path, NOT_HERE) != NOT_HERE:
        what = f"lists {name}, which cannot be read: {reader.refused[listed.path]}"
        yield Problem(preset.path, listed.line, what, hint)
    elif loaded is not None and not loaded.text:
        yield Problem(preset.path, listed.line, f"lists {name}, which has no text", hint, "warning")
