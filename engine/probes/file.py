"""Reads and edits ``probes.yaml``.

A list of entries ``{question, expect, budget?, note?, id?}``; ``expect`` is a list of ``{path, lines?}`` and
``{text}``. An invalid entry becomes a problem with file, line and hint, and the others are still read: if the
file as a whole is not valid YAML, each entry is parsed separately. Edits keep everything else in the file.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, DocumentError, PathRefused, Problem
from engine.probes.model import Expectation, Probe, span_of
from engine.store import yamltext
from engine.store.documents import edit_yaml
from engine.store.paths import shown, split_relative
from engine.store.yamledit import CannotEdit

if TYPE_CHECKING:
    from engine.store.files import Files

PROBES_PATH = "probes.yaml"
MAX_BYTES = 512 * 1024
MIN_BUDGET = 256
ID_LENGTH = 6

_FIELDS = ("id", "question", "expect", "budget", "note")
_EXPECTED = ("path", "lines", "text")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DASH = re.compile(r"([ \t]*)-(?:\s|$)")
_LIST = "start each probe with “- question: …”"
_BY_HAND = "edit the file by hand"


@dataclass(frozen=True, slots=True)
class ProbeFile:
    """The probes of a workspace, and the problems in their file."""

    probes: tuple[Probe, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def broken(self) -> tuple[Problem, ...]:
        """The problems that prevent an entry from being run."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


def read(files: Files) -> ProbeFile:
    """The probes of a workspace; none if there is no file. Never raises for the file's content.

    Raises:
        PathRefused, DocumentError: The file cannot be read at all.
    """
    try:
        return parse(files.read(PROBES_PATH, limit=MAX_BYTES))
    except FileNotFoundError:
        return ProbeFile()


def parse(data: bytes) -> ProbeFile:
    """Parses the file. Never raises."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        return ProbeFile(problems=(_problem(line, "is not UTF-8 text", "save it as UTF-8"),))
    entries, problems = _entries(text)
    probes: dict[str, Probe] = {}
    for node in entries:
        probe = _probe(node, problems)
        if probe is None:
            continue
        other = probes.get(probe.id)
        if other is None:
            probes[probe.id] = probe
        else:
            what = f"has the same id {probe.id} as line {other.line}"
            problems.append(_problem(probe.line, what, "change one of the ids"))
    problems.sort(key=lambda problem: problem.line)
    return ProbeFile(tuple(probes.values()), tuple(problems))


def id_of(question: str, taken: frozenset[str] = frozenset()) -> str:
    """A stable id for a question that has none in the file; not one of ``taken``."""
    words = " ".join(unicodedata.normalize("NFC", question).casefold().split())
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    lengths = range(ID_LENGTH, len(digest) + 1)
    return next(digest[:length] for length in lengths if digest[:length] not in taken)


def _compose(text: str, first_line: int = 1) -> yamltext.Node | None:
    return yamltext.compose(text, first_line=first_line, max_bytes=MAX_BYTES)


def _entries(text: str) -> tuple[list[yamltext.Node], list[Problem]]:
    """The nodes of the entries; if the file is not valid YAML, of those that are valid by themselves."""
    try:
        root = _compose(text)
    except yamltext.YamlError as error:
        whole = _problem(error.line, error.what, error.hint)
        parts = list(_parts(text)) if len(text) <= MAX_BYTES else []
        if len(parts) < 2:
            return [], [whole]
        entries: list[yamltext.Node] = []
        problems: list[Problem] = []
        for part, line in parts:
            try:
                root = _compose(part, line)
            except yamltext.YamlError as broken:
                problems.append(_problem(broken.line, broken.what, broken.hint))
                continue
            entries += root.items if root is not None and root.kind == "sequence" else []
        return entries, problems or [whole]
    if root is None or (root.kind == "scalar" and not root.text):
        return [], []
    if root.kind != "sequence":
        return [], [_problem(root.line, "is not a list of probes", _LIST)]
    return root.items, []


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """The file split at the first line of each entry, with the line number of each part."""
    lines = text.split("\n")
    first = next((match for line in lines if (match := _DASH.match(line))), None)
    if first is None:
        return
    starts = [
        number
        for number, line in enumerate(lines)
        if (match := _DASH.match(line)) is not None and match.group(1) == first.group(1)
    ]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield "\n".join(lines[start:end]) + "\n", start + 1


def _probe(node: yamltext.Node, problems: list[Problem]) -> Probe | None:
    """One entry; ``None``, with a problem, if it is invalid."""
    value = yamltext.to_value(node)
    if not isinstance(value, yamltext.Mapping):
        problems.append(_problem(node.line, "is not a probe", _LIST))
        return None
    problems += _unknown(value, _FIELDS)
    question, expect, name = value.get("question", ""), value.get("expect", ""), value.get("id", "")
    budget, note = value.get("budget", ""), value.get("note", "")
    if not isinstance(question, str) or not question.strip():
        problems.append(_problem(value.line_of("question", value.line), "has no question", "add question: …"))
        return None
    if not isinstance(name, str) or (name and not _ID.fullmatch(name)):
        hint = "use letters, digits, “.”, “_” and “-”, at most 64"
        problems.append(_problem(value.line_of("id"), "has an invalid id", hint))
        return None
    tokens = _budget(budget)
    if tokens == 0:
        hint = f"use a number of tokens of at least {MIN_BUDGET}, or leave it out"
        problems.append(_problem(value.line_of("budget"), f"budget: {budget} is not a valid budget", hint))
        return None
    expectations = _expectations(expect, value, problems)
    if not expectations:
        return None
    return Probe(
        id=name or id_of(question),
        question=question.strip(),
        expect=expectations,
        budget=tokens,
        note=note.strip() if isinstance(note, str) else "",
        line=value.line,
    )


def _budget(value: object) -> int | None:
    """The tokens; ``None`` if not given, 0 if invalid."""
    if value == "":
        return None
    digits = value.replace("_", "") if isinstance(value, str) else ""
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 10
    return int(digits) if is_number and int(digits) >= MIN_BUDGET else 0


def _expectations(
    expect: object, probe: yamltext.Mapping, problems: list[Problem]
) -> tuple[Expectation, ...]:
    """All of them, or none if one is invalid: otherwise the probe could pass without it."""
    items = expect if isinstance(expect, yamltext.Sequence) else [expect] if expect != "" else []
    line = probe.line_of("expect", probe.line)
    if not items:
        problems.append(_problem(line, "expects nothing", "add expect: with “- path: …” or “- text: …”"))
    found: list[Expectation] = []
    for number, item in enumerate(items):
        where = expect.line_of_item(number) if isinstance(expect, yamltext.Sequence) else line
        try:
            found.append(_expectation(item, problems))
        except AutopoiesisError as error:
            problems.append(_problem(where, error.what, error.hint))
    return tuple(found) if len(found) == len(items) else ()


def _expectation(item: object, problems: list[Problem]) -> Expectation:
    if not isinstance(item, yamltext.Mapping):
        raise DocumentError("expects neither a path nor a text", hint="write “path: …” or “text: …”")
    problems += _unknown(item, _EXPECTED)
    return expectation(*(item.get(name, "") for name in _EXPECTED))


def expectation(path: object = "", lines: object = "", text: object = "") -> Expectation:
    """An expectation from its fields.

    Raises:
        DocumentError: A field is invalid, or they do not go together.
    """
    if not all(isinstance(value, str) for value in (path, lines, text)):
        raise DocumentError("has a list or mapping instead of a text", hint="write one line")
    path, lines, text = str(path).strip(), str(lines).replace(" ", ""), str(text).strip()
    if bool(path) == bool(text):
        what = "expects both a path and a text" if path else "expects neither a path nor a text"
        raise DocumentError(what, hint="write “path: …” or “text: …”; for both, two entries")
    if not path and lines:
        raise DocumentError("expects lines without a path", hint="add the path they belong to")
    if lines and span_of(lines) is None:
        raise DocumentError(
            f"lines: {shown(lines)} is not a range of lines", hint="write 12-40 or 12, from 1"
        )
    if path:
        try:
            path = "/".join(split_relative(path))
        except PathRefused as error:
            raise DocumentError(f"path: {shown(path)} {error.what}", hint=error.hint) from error
    return Expectation(path, lines, text)


def _unknown(value: yamltext.Mapping, known: tuple[str, ...]) -> list[Problem]:
    found = []
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "remove it"
            found.append(_problem(value.line_of(key), f"unknown field {shown(key)}", hint, warning=True))
    return found


def _problem(line: int, what: str, hint: str, *, warning: bool = False) -> Problem:
    return Problem(PROBES_PATH, line, what, hint, "warning" if warning else "error")


Entry = Mapping[str, object]


def entry_of(probe: Probe) -> Entry:
    """A probe as an entry of the file, without empty fields."""
    expect = [{name: text for name, text in asdict(each).items() if text} for each in probe.expect]
    entry = {"id": probe.id, "question": probe.question, "expect": expect}
    more = {"budget": probe.budget, "note": probe.note}
    return entry | {name: value for name, value in more.items() if value}


def with_entry(data: bytes, entry: Entry) -> bytes:
    """The file with an entry added at the end.

    Raises:
        DocumentError: The file cannot be read, or not edited without touching other lines.
    """
    try:
        new = _edited(data, len(_nodes(data)), entry)
    except CannotEdit as error:
        what = "an entry cannot be added without touching other lines"
        raise DocumentError(what, where=PROBES_PATH, hint=_BY_HAND) from error
    if len(new) > MAX_BYTES:
        what = f"would be larger than {MAX_BYTES // 1024} KB"
        raise DocumentError(what, where=PROBES_PATH, hint="remove probes you no longer need")
    return new


def without_entry(data: bytes, probe: Probe) -> bytes:
    """The file without the entry of a probe; comments around it are kept.

    Raises:
        DocumentError: As ``with_entry``, or the entry no longer exists.
    """
    index = next((number for number, item in enumerate(_nodes(data)) if _is_of(item, probe)), None)
    where = f"{PROBES_PATH}:{probe.line}"
    if index is None:
        raise DocumentError("the probe no longer exists", where=where, hint="try again")
    try:
        return _edited(data, index, None)
    except CannotEdit as error:
        what = "cannot be removed without touching other lines"
        raise DocumentError(what, where=where, hint=_BY_HAND) from error


def _edited(data: bytes, index: int, entry: Entry | None) -> bytes:
    return edit_yaml(data, {str(index): entry}, PROBES_PATH, max_bytes=2 * MAX_BYTES)


def _nodes(data: bytes) -> list[yamltext.Node]:
    """The nodes of the entries, for an edit."""
    try:
        root = _compose(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8 text", where=PROBES_PATH, hint="save it as UTF-8") from error
    except yamltext.YamlError as error:
        where, hint = f"{PROBES_PATH}:{error.line}", error.hint or "repair it first"
        raise DocumentError(error.what, where=where, hint=hint) from error
    if root is None or (root.kind == "scalar" and not root.text):
        return []
    if root.kind != "sequence":
        raise DocumentError("is not a list of probes", where=f"{PROBES_PATH}:{root.line}", hint=_BY_HAND)
    return root.items


def _is_of(item: yamltext.Node, probe: Probe) -> bool:
    value = yamltext.to_value(item)
    question = value.get("question") if isinstance(value, yamltext.Mapping) else None
    return item.line == probe.line and isinstance(question, str) and question.strip() == probe.question
