"""Probes: the user's regression tests for memory, each a question and the evidence its prompt must hold.

``probes.yaml`` is a list of ``{question, expect, budget?, note?, id?}``; ``expect`` is a list of
``{path, lines?}`` and ``{text}``. A file is found if a section of the prompt comes from it; lines of it, if
``ENOUGH`` of their words stand in those sections; a text, if a section contains it, whatever its case, white
space and emphasis. Questions are compiled without the gate, so that a run costs nothing and depends only on
the workspace and the day.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from engine.context.delimiters import one_line
from engine.errors import AutopoiesisError, BudgetError, DocumentError, PathRefused, Problem
from engine.store import yamltext
from engine.store.change import commit_change, commit_message
from engine.store.documents import edit_yaml
from engine.store.paths import shown, split_relative
from engine.store.yamledit import CannotEdit

if TYPE_CHECKING:
    from engine.context.compiled import Compiled, Section
    from engine.context.revisions import Opened
    from engine.search.results import SearchResult
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.paths import Workspace
    from engine.store.repository import Repository

PROBES_PATH = "probes.yaml"
MAX_BYTES = 512 * 1024
MIN_BUDGET = 256
ENOUGH = 0.6
"""Share of the words of expected lines that must be in the prompt."""
DEPTH = 200
"""Search results to look for the evidence in."""
FORM = "write “- question: …” and below it “expect:” with “- path: …”, “lines: 12-40” or “- text: …”"

_SUBJECT = 36
"""Maximum characters of a question in a commit subject."""
_LINES = re.compile(r"(.+):(\d{1,9}(?:-\d{1,9})?)", re.DOTALL)
_NAME = re.compile(r"\S*(?:/\S|\.(?:md|txt|jsonl|ya?ml)\Z)\S*", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected evidence: lines of a file, a file, or a text."""

    path: str = ""  # empty for a text
    lines: str = ""  # ``"12-40"`` or ``"12"``, 1-based and inclusive; empty for the whole file
    text: str = ""  # empty for a file

    def __str__(self) -> str:
        """Its name in results: ``path``, ``path:12-40`` or ``“text”``."""
        if not self.path:
            return f"“{self.text}”"
        return f"{self.path}:{self.lines}" if self.lines else self.path

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last line; ``None`` for the whole file or a text."""
        first, _, last = self.lines.partition("-")
        return (int(first), int(last or first)) if first else None


@dataclass(frozen=True, slots=True)
class Probe:
    """A question and the evidence its prompt must hold."""

    id: str  # derived from the question if the file has none
    question: str
    expect: tuple[Expectation, ...]  # at least one
    budget: int | None = None  # tokens for prompt and reply reserve; ``None``: the workspace's setting
    note: str = ""  # free text
    line: int = field(default=0, compare=False)  # first line in ``probes.yaml``; 0 if not from the file


@dataclass(frozen=True, slots=True)
class Evidence:
    """Result of one expectation."""

    expect: str  # as text
    found: bool
    section: str = ""  # label and lines of the section that holds most of it; empty if none holds any
    share: float = 0.0  # of the expected words that are in the prompt, 0 to 1
    rank: int | None = None  # position in the search results, from 1; ``None`` if not in the first 200
    why: str = ""  # why it is missing, one clause; empty if found


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one probe."""

    id: str
    question: str
    tokens: int  # of the prompt; 0 if it could not be compiled
    budget: int  # tokens; 0 likewise
    evidence: tuple[Evidence, ...]  # one for each expectation, in order

    @property
    def passed(self) -> bool:
        """True if all evidence was found."""
        return all(evidence.found for evidence in self.evidence)


@dataclass(frozen=True, slots=True)
class Run:
    """Results of several probes."""

    at: str  # ISO 8601, UTC
    commit: str  # the newest commit, if any
    results: tuple[Result, ...]  # one for each probe, in order
    problems: tuple[Problem, ...] = ()  # in ``probes.yaml``
    notes: tuple[str, ...] = ()  # what could not be read of a past state, one line each
    expectations: int = field(init=False)
    found: int = field(init=False)  # expectations found in their prompts
    recall: float = field(init=False)  # ``found`` of ``expectations``, 0 to 1; 1 if there are none

    def __post_init__(self) -> None:
        evidence = [each for result in self.results for each in result.evidence]
        found = sum(each.found for each in evidence)
        object.__setattr__(self, "expectations", len(evidence))
        object.__setattr__(self, "found", found)
        object.__setattr__(self, "recall", found / len(evidence) if evidence else 1.0)


@dataclass(frozen=True, slots=True)
class ProbeFile:
    """The probes of a workspace, and the problems in their file."""

    probes: tuple[Probe, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeChange:
    """A probe that was added or removed."""

    probe: Probe
    commit: str  # object name; empty if there is none
    why: str  # why there is no commit


class ProbedEngine(Protocol):
    """The part of ``engine.engine.Engine`` that probes need."""

    files: Files

    def compile(self, text: str, *, budget: int | None = None, ask: bool = True) -> Compiled:
        """The prompt for a message."""
        ...

    def search(self, query: str, *, limit: int = 10) -> Sequence[SearchResult]:
        """Search results, best first."""
        ...


class Probes:
    """The probes of a workspace. Thread-safe.

    ``repository`` gives the commit a run belongs to, and receives the changes.
    """

    def __init__(
        self,
        files: Files,
        repository: Callable[[], Repository],
        config: Callable[[], Config],
        clock: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._repository = repository
        self._config = config
        self._clock = clock

    def read(self) -> ProbeFile:
        """The probes; none if there is no file. An invalid entry is a problem, and so is a broken file.

        Raises:
            PathRefused, DocumentError: The file cannot be read at all.
        """
        return parse(self._files.find(PROBES_PATH) or b"")

    def find(self, name: str) -> Probe:
        """The probe with an id or a unique prefix of it.

        Raises:
            AutopoiesisError: None or several match.
        """
        found = [probe for probe in self.read().probes if name and probe.id.startswith(name)]
        found = [probe for probe in found if probe.id == name] or found
        if len(found) != 1:
            what = f"{len(found)} probes match {shown(name)}" if found else f"no probe {shown(name)}"
            raise AutopoiesisError(what, where=PROBES_PATH, hint="see: autopoiesis probe list")
        return found[0]

    def add(
        self, question: str, expect: Sequence[Expectation], *, budget: int | None = None, note: str = ""
    ) -> ProbeChange:
        """Adds a probe at the end of the file and commits the file.

        Args:
            budget: Tokens for prompt and reply reserve.

        Raises:
            AutopoiesisError: Question or evidence is empty, a file or line does not exist, or the question is
                already there.
            DocumentError: The file cannot be read or edited.
            WriteFailed, ReadOnly: The file was not changed.
        """
        question = question.strip()
        if not question or not expect:
            raise AutopoiesisError(
                "a probe needs a question and expected evidence", hint="see: probe add --help"
            )
        for each in expect:
            if why := _missing(self._files, each):
                raise AutopoiesisError(why, hint="correct it, or use text:… for a text")
        probe = Probe(id_of(question), question, tuple(dict.fromkeys(expect)), budget, note.strip())

        def change(data: bytes | None) -> bytes:
            known = parse(data or b"")
            if any(each.id == probe.id for each in known.probes):
                raise AutopoiesisError(f"already has this question, as {probe.id}", where=PROBES_PATH)
            return _edited(data or b"", len(_nodes(data or b"")), probe)

        self._files.update(PROBES_PATH, change)
        return self._commit("add", probe)

    def remove(self, name: str) -> ProbeChange:
        """Removes a probe, by its id or a unique prefix, and commits the file.

        Raises:
            AutopoiesisError: As ``find``.
            DocumentError: The file cannot be read or edited.
            WriteFailed, ReadOnly: The file was not changed.
        """
        with self._files.lock():
            probe = self.find(name)

            def change(data: bytes | None) -> bytes:
                lines = [node.line for node in _nodes(data or b"")]
                return _edited(data or b"", lines.index(probe.line), None)

            self._files.update(PROBES_PATH, change)
        return self._commit("remove", probe)

    def run(
        self,
        engine: ProbedEngine,
        names: Sequence[str] = (),
        *,
        past: Opened | None = None,
        budget: int | None = None,
        progress: Progress | None = None,
    ) -> Run:
        """Runs probes, without changing anything but the search index.

        Args:
            names: Ids or unique prefixes; all probes by default.
            past: A past state of the memory to run the current probes against.
            budget: Tokens for every prompt, instead of the probes' own and the workspace's.
            progress: Called with the number of probes done and in total.

        Raises:
            AutopoiesisError: As ``find``.
        """
        known = self.read()
        probes = tuple(dict.fromkeys(self.find(name) for name in names)) if names else known.probes
        results: list[Result] = []
        for probe in probes:
            results.append(_run(engine if past is None else past.engine, probe, budget or probe.budget))
            if progress is not None:
                progress(len(results), len(probes))
        commit = past.commit.revision if past is not None else self._repository().revision() or ""
        notes = past.problems if past is not None else ()
        return Run(self._clock().isoformat(), commit, tuple(results), known.problems, notes)

    def _commit(self, what: str, probe: Probe) -> ProbeChange:
        subject = f"probe {what} {probe.id}: {one_line(probe.question, _SUBJECT)}"
        wanted = self._config().git.auto_commit
        message = commit_message("maintenance", subject)
        done = commit_change(self._repository, [PROBES_PATH], message, wanted=wanted)
        return ProbeChange(probe, done.revision, done.why)


# The file.


def id_of(question: str) -> str:
    """A stable id for a question that has none in the file."""
    words = " ".join(unicodedata.normalize("NFC", question).casefold().split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def parse(data: bytes) -> ProbeFile:
    """The probes in a file, and its problems."""
    try:
        nodes = _nodes(data)
    except DocumentError as error:
        line = int(error.where.rpartition(":")[2] or 0) if ":" in error.where else 0
        return ProbeFile(problems=(Problem(PROBES_PATH, line, error.what, error.hint),))
    probes: dict[str, Probe] = {}
    problems: list[Problem] = []
    for node in nodes:
        try:
            probe = _probe(yamltext.to_value(node), node.line)
            if probe.id in probes:
                raise DocumentError(f"has the same id {probe.id} as line {probes[probe.id].line}")
            probes[probe.id] = probe
        except AutopoiesisError as error:
            problems.append(Problem(PROBES_PATH, node.line, error.what, error.hint or FORM))
    return ProbeFile(tuple(probes.values()), tuple(problems))


def _nodes(data: bytes) -> list[yamltext.Node]:
    """The nodes of the entries; raises ``DocumentError`` if the file is no list."""
    try:
        root = yamltext.compose(data.decode("utf-8-sig"), max_bytes=MAX_BYTES)
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8 text", where=PROBES_PATH, hint="save it as UTF-8") from error
    except yamltext.YamlError as error:
        raise DocumentError(error.what, where=f"{PROBES_PATH}:{error.line}", hint=error.hint) from error
    if root is None or (root.kind == "scalar" and not root.text):
        return []
    if root.kind != "sequence":
        raise DocumentError("is not a list of probes", where=f"{PROBES_PATH}:{root.line}", hint=FORM)
    return root.items


def _probe(value: object, line: int) -> Probe:
    """One entry; raises ``AutopoiesisError`` if it is invalid."""
    if not isinstance(value, yamltext.Mapping):
        raise DocumentError("is not a probe")
    unknown = [key for key in value if key not in ("id", "question", "expect", "budget", "note")]
    if unknown:
        raise DocumentError(f"unknown field {shown(unknown[0])}")
    plain = {key: value.get(key, "") for key in ("id", "question", "budget", "note")}
    texts = {key: text.strip() for key, text in plain.items() if isinstance(text, str)}
    if len(texts) < len(plain) or not texts["question"]:
        raise DocumentError("has no question")
    budget = texts["budget"].replace("_", "")
    if budget and not (budget.isascii() and budget.isdecimal() and MIN_BUDGET <= int(budget) < 10**9):
        raise DocumentError(f"budget: {shown(budget)} is not a number of at least {MIN_BUDGET} tokens")
    expect = value.get("expect", "")
    if not expect:
        raise DocumentError("expects nothing")
    expected = tuple(map(_expected, expect if isinstance(expect, yamltext.Sequence) else [expect]))
    question = texts["question"]
    tokens = int(budget) if budget else None
    return Probe(texts["id"] or id_of(question), question, expected, tokens, texts["note"], line)


def _expected(item: object) -> Expectation:
    if not isinstance(item, yamltext.Mapping) or not all(isinstance(each, str) for each in item.values()):
        raise DocumentError("expects neither a path nor a text")
    fields = {key: str(each) for key, each in item.items()}
    if not fields.keys() <= {"path", "lines", "text"}:
        raise DocumentError("expects something that is neither path, lines nor text")
    return expectation(**fields)


def expectation(path: str = "", lines: str = "", text: str = "") -> Expectation:
    """An expectation from its fields; raises ``DocumentError`` if they are invalid."""
    path, lines, text = path.strip(), lines.replace(" ", ""), text.strip()
    if bool(path) == bool(text) or (lines and not path):
        raise DocumentError("expects either a path, maybe with lines, or a text")
    found = re.fullmatch(r"([1-9]\d{0,8})(?:-(\d{1,9}))?", lines)
    if lines and (found is None or int(found[2] or found[1]) < int(found[1])):
        raise DocumentError(
            f"lines: {shown(lines)} is not a range of lines", hint="write 12-40 or 12, from 1"
        )
    if path:
        try:
            path = "/".join(split_relative(path))
        except PathRefused as error:
            raise DocumentError(f"path: {shown(path)} {error.what}", hint=error.hint) from error
    return Expectation(path, lines, text)


def typed(workspace: Workspace, text: str) -> Expectation:
    """An expectation as the user types it: a file if one exists or it looks like a path, else a text.

    The prefix ``path:`` or ``text:`` decides explicitly.

    Raises:
        DocumentError: It is empty, or its lines are not a range.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "text":
        return expectation(text=rest)
    is_path = bool(colon) and kind == "path"
    match = _LINES.fullmatch(rest if is_path else text)
    path, lines = (match[1], match[2]) if match is not None else (rest if is_path else text, "")
    if is_path or _NAME.fullmatch(path) or _is_file(workspace, path):
        return expectation(path=path, lines=lines)
    return expectation(text=text)


def _is_file(workspace: Workspace, path: str) -> bool:
    try:
        return workspace.resolve(path).is_file()
    except (PathRefused, OSError, ValueError):
        return False


def _edited(data: bytes, index: int, probe: Probe | None) -> bytes:
    """The file with an entry added, or without the one at an index; comments around it are kept."""
    entry: dict[str, object] | None = None
    if probe is not None:
        expect = [{name: text for name, text in asdict(each).items() if text} for each in probe.expect]
        more = {"budget": probe.budget, "note": probe.note}
        entry = {"id": probe.id, "question": probe.question, "expect": expect}
        entry |= {name: value for name, value in more.items() if value}
    try:
        return edit_yaml(data, {str(index): entry}, PROBES_PATH, max_bytes=MAX_BYTES)
    except CannotEdit as error:
        what = "cannot be edited without touching other lines"
        raise DocumentError(what, where=PROBES_PATH, hint="edit the file by hand") from error


# Running.


def _run(engine: ProbedEngine, probe: Probe, budget: int | None) -> Result:
    compiled, refused = None, ""
    try:
        compiled = engine.compile(probe.question, budget=budget, ask=False)
    except BudgetError as error:
        refused = str(error)
    found = engine.search(probe.question, limit=DEPTH)
    return Result(
        id=probe.id,
        question=probe.question,
        tokens=compiled.tokens if compiled is not None else 0,
        budget=compiled.budget if compiled is not None else 0,
        evidence=tuple(_evidence(engine.files, each, compiled, refused, found) for each in probe.expect),
    )


def _evidence(
    files: Files,
    expected: Expectation,
    compiled: Compiled | None,
    refused: str,
    results: Sequence[SearchResult],
) -> Evidence:
    section, share = _coverage(files, expected, compiled.sections if compiled is not None else ())
    rank = next((at for at, result in enumerate(results, 1) if _matches(result, expected)), None)
    why = ""
    if share < ENOUGH:
        why = _missing(files, expected) or refused or _left_out(expected, compiled)
        why = why or (f"only {share:.0%} of its words are in the prompt" if section else "")
        why = why or (
            "search did not find it" if rank is None else f"search ranks it {rank}, too low for the prompt"
        )
    name = section.label if section is not None else ""
    if section is not None and section.lines:
        name += f":{section.lines}"
    return Evidence(str(expected), share >= ENOUGH, name, share, rank, why)


def _coverage(
    files: Files, expected: Expectation, sections: Iterable[Section]
) -> tuple[Section | None, float]:
    """The section with most of the evidence, and the share of it that is in the prompt, 0 to 1."""
    if expected.text:
        wanted = normal(expected.text)
        holding = [each for each in sections if each.slot != "message" and wanted in normal(each.text)]
        return (holding[0], 1.0) if wanted and holding else (None, 0.0)
    own = [section for section in sections if section.source == expected.path]
    if not own or expected.span is None:
        return max(own, key=lambda each: each.tokens, default=None), float(bool(own))
    first, last = expected.span
    wanted_words = Counter(_WORD.findall(normal("\n".join(_lines(files, expected.path)[first - 1 : last]))))
    held = [wanted_words & Counter(_WORD.findall(normal(section.text))) for section in own]
    if not any(held):
        return None, 0.0
    best = max(range(len(own)), key=lambda at: held[at].total())
    every: Counter[str] = Counter()
    for each in held:
        every |= each
    return own[best], every.total() / wanted_words.total()


def _lines(files: Files, path: str) -> list[str]:
    """The lines of a file; none if it does not exist or cannot be read."""
    try:
        return files.read(path).decode("utf-8", "replace").splitlines()
    except (OSError, AutopoiesisError):
        return []


def _missing(files: Files, expected: Expectation) -> str:
    """Why a file or its lines are not in the workspace, one clause; empty if they are."""
    if not expected.path:
        return ""
    lines = _lines(files, expected.path)
    if not lines:
        return f"no readable file {shown(expected.path)}"
    if expected.span is not None and expected.span[1] > len(lines):
        return f"{shown(expected.path)} has only {len(lines):,} lines"
    return ""


def _matches(result: SearchResult, expected: Expectation) -> bool:
    """True if a search result is from the file, overlaps the lines, or contains the text."""
    if expected.text:
        return normal(expected.text) in normal(result.text)
    span = expected.span or (result.start_line, result.end_line)
    return result.path == expected.path and result.start_line <= span[1] and span[0] <= result.end_line


def _left_out(expected: Expectation, compiled: Compiled | None) -> str:
    """The compiler's reason for leaving the evidence out."""
    for left in () if compiled is None else compiled.left_out:
        if left.label == "knowledge" and not left.source:
            return f"memory was left out of the prompt: {left.reason}"
        first, _, last = left.lines.partition("-")
        span = expected.span
        overlaps = not first or span is None or (int(first) <= span[1] and span[0] <= int(last or first))
        if expected.path and left.source == expected.path and overlaps:
            place = f"{left.source}:{left.lines}" if left.lines else left.source
            return f"{place} was left out: {left.reason}"
    return ""


def normal(text: str) -> str:
    """A text normalized for comparison: case-folded, single spaces, no emphasis or quotation marks."""
    return " ".join(re.sub(r"[*`\"'‘’‚“”„]", "", unicodedata.normalize("NFKC", text)).casefold().split())
