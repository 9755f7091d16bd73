"""Finds all problems of a workspace's presets."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from engine.context.budget import Placement
from engine.context.curation import PresetSections
from engine.context.preset import Preset, PresetFile, path_of, read_preset
from engine.context.sources import NOT_HERE, ParsedFiles, Reader, WorkspaceSource
from engine.errors import Problem
from engine.store.documents import parse
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.context.presets import Presets
    from engine.store.files import Files

_EVERYTHING = 1 << 40


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
