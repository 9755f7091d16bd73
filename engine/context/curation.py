"""The active presets of one compile (P2, layer 9), placed before the topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.context.budget import Candidate, Cap, Placement, open_fence, within
from engine.context.compiled import LeftOut
from engine.context.delimiters import outside
from engine.context.preset import ACTIVE, Preset, PresetFile, path_of, read_active, read_preset
from engine.context.sources import NO_SUCH_FILE, Loaded, Reader
from engine.context.spans import Span, covered, excerpt, shown_spans, uncovered
from engine.errors import Problem
from engine.store.paths import shown

_BEFORE_TOPICS = -1


class PresetSections:
    """Places presets in one prompt.

    Args:
        presets: In the order of budgeting.
        main_session: Whether MEMORY.md may be included.

    ``problems`` are those of the listed files.
    """

    def __init__(self, presets: Sequence[Preset], reader: Reader, *, main_session: bool) -> None:
        self._presets = presets
        self._reader = reader
        self._main_session = main_session
        self.problems: list[Problem] = []

    def __bool__(self) -> bool:
        return bool(self._presets)

    def demand(self, placement: Placement, caps: Sequence[Cap]) -> int:
        """Tokens that the presets would use, within the caps."""
        tokens = size = 0
        for candidate in self._wanted(placement, []):
            tokens += placement.piece(candidate).tokens
            size += len(candidate.text.encode("utf-8"))
        return within(caps, tokens, size)

    def place(self, placement: Placement, room: int, caps: Sequence[Cap]) -> int:
        """Places the presets in order; returns the tokens used, at most ``room``."""
        spent = 0
        for candidate in self._wanted(placement, placement.left_out):
            spent += placement.place(candidate, room - spent, caps)
        return spent

    def _wanted(self, placement: Placement, left_out: list[LeftOut]) -> Iterator[Candidate]:
        """The pieces of the presets that are not in the prompt yet."""
        for number, preset in enumerate(self._presets):
            if preset.notes:
                yield Candidate(
                    label=f"preset:{preset.name}",
                    layer=9,
                    priority=2,
                    slot="preset",
                    text=preset.notes,
                    why=f"notes of the preset {preset.name}",
                    source=preset.path,
                    order=(_BEFORE_TOPICS, number, 0, 0),
                    first_line=preset.notes_line,
                )
            for listed in preset.files:
                loaded = self._loaded(preset, listed, left_out)
                if loaded is not None:
                    yield from self._pieces(placement, preset, listed, loaded, number, left_out)

    def _loaded(self, preset: Preset, listed: PresetFile, left_out: list[LeftOut]) -> Loaded | None:
        """A listed file if it has text; otherwise the problem is recorded."""
        path = listed.path
        loaded, reason = self._reader.usable(path, main_session=self._main_session)
        if reason:
            left_out.append(_left(preset, listed, reason))
        if reason == NO_SUCH_FILE:
            hint = f"fix the path, or run: autopoiesis preset remove {preset.name} {shown(path)}"
            self._report(preset, listed, f"lists {shown(path)}, which does not exist", hint)
        return loaded

    def _pieces(
        self,
        placement: Placement,
        preset: Preset,
        listed: PresetFile,
        loaded: Loaded,
        number: int,
        left_out: list[LeftOut],
    ) -> Iterator[Candidate]:
        """The requested parts of a file, each once."""
        lines = loaded.text.split("\n")
        first, last = loaded.first_line, loaded.first_line + len(lines) - 1
        note = f"Note: {outside(listed.note)}\n\n" if listed.note else ""
        for asked in listed.spans or ((first, last),):
            span = self._within(preset, listed, asked, (first, last))
            if span is None:
                continue
            present = [(begin, end) for _, begin, end in placement.included.get(listed.path, ())]
            for part in covered(span, present):
                holder = next(
                    label
                    for label, begin, end in placement.included[listed.path]
                    if begin <= part[1] and part[0] <= end
                )
                text = "\n".join(lines[part[0] - first : part[1] - first + 1])
                reason = f"already in the prompt as {holder}"
                left_out.append(_left(preset, listed, reason, part, placement.count(text)))
            for part in tuple(uncovered(span, present)):
                found = excerpt(lines, first, part)
                if found is None:
                    continue
                (begins, ends), text = found
                is_whole = (begins, ends) == (first, last)
                shown_lines = "" if is_whole else f"{begins}-{ends}"
                label = f"preset:{preset.name}:{listed.path}"
                yield Candidate(
                    label=label if is_whole else f"{label}:{shown_lines}",
                    layer=9,
                    priority=2,
                    slot="preset",
                    text=text if is_whole else f"{text}{open_fence(text)}",
                    why=f"listed by the preset {preset.name}",
                    source=listed.path,
                    order=(_BEFORE_TOPICS, number, 1 + listed.index, begins),
                    first_line=begins,
                    lines=shown_lines,
                    wrap=(note, ""),
                )
                note = ""

    def _within(self, preset: Preset, listed: PresetFile, asked: Span, there: Span) -> Span | None:
        """The part of a span that is in the file's text; problems are reported."""
        first, last = there
        name, hint = shown(listed.path), "fix the lines"
        if asked[1] < first:
            self._report(preset, listed, f"lines {shown_spans([asked])} of {name} are in its header", hint)
        elif asked[1] > last:
            what = f"asks for lines {shown_spans([asked])} of {name}, but its text ends on line {last}"
            self._report(preset, listed, what, hint)
        return (max(asked[0], first), min(asked[1], last)) if asked[0] <= last and asked[1] >= first else None

    def _report(self, preset: Preset, listed: PresetFile, what: str, hint: str) -> None:
        problem = Problem(preset.path, listed.line, what, hint)
        self.problems.append(problem)
        self._reader.problems.append(str(problem))


def active_presets(reader: Reader) -> tuple[Preset, ...]:
    """The presets in ``presets/active``, in its order; their problems are recorded."""
    listed = reader.load(ACTIVE)
    if listed is None:
        return ()
    names, problems = read_active(listed.text, listed.first_line)
    reader.problems.extend(map(str, problems))
    found: list[Preset] = []
    for name, line in names:
        preset = load_preset(name, reader)
        if preset is not None:
            found.append(preset)
        elif path_of(name) not in reader.refused:
            hint = f"run: autopoiesis preset off {name}"
            reader.problems.append(str(Problem(ACTIVE, line, f"there is no preset {name}", hint)))
    return tuple(found)


def load_preset(name: str, reader: Reader) -> Preset | None:
    """A preset if it exists; its problems are recorded."""
    loaded = reader.load(path_of(name))
    if loaded is None:
        return None
    preset = read_preset(name, loaded.header, loaded.text, loaded.first_line)
    reader.problems.extend(map(str, preset.problems))
    return preset


def _left(
    preset: Preset, listed: PresetFile, reason: str, span: Span | None = None, tokens: int = 0
) -> LeftOut:
    return LeftOut(
        label=f"preset:{preset.name}:{shown(listed.path)}",
        priority=2,
        slot="preset",
        source=listed.path,
        lines=f"{span[0]}-{span[1]}" if span else shown_spans(listed.spans),
        tokens=tokens,
        reason=reason,
    )
