"""Agents' files of projects, such as ``CLAUDE.md``: which rules they state, and the section of exported
rules.

In a file, the text between the two comments belongs to the program; the first comment lists the rules.
Everything else is kept byte for byte.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ChangeRefused
from engine.redaction.detect import redacted
from engine.rules.rulebook import PATH, Rule, Rulebook, paths_in
from engine.rules.subject import relation, stems
from engine.startup.lazy import expression
from engine.store.change import ChangeCommit
from engine.store.named_file import NamedFile, read_below, read_named
from engine.transcripts.places import head_fields, read_head, session_files
from engine.transcripts.projects import projects_of

if TYPE_CHECKING:
    from engine.store.paths import Workspace

_NAMES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules")

_BEGIN = expression(r"<!-- autopoiesis rules export:(?P<ids>(?: [0-9a-f]{7})*) -->")
_END = "<!-- end of autopoiesis rules export -->"
_HEADING = "## How I work"
_SENTENCE = expression(r"(?<=[.!?;])\s+")
_MARKS = expression(r"^[\s>#*+-]*(?:\d+[.)]\s+)?|[*_`]{1,3}(?=\w)|(?<=\w)[*_`]{1,3}")
_SENTENCES = 2_000

_SHARE = 0.8
"""Share of a sentence's words from which another one says the same."""
_FEWEST = 2
"""Words that say what a sentence is about; with fewer it is not compared."""


@dataclass(frozen=True, slots=True)
class Sections:
    """A file, split at its section of exported rules."""

    before: str
    ids: tuple[str, ...] = ()  # of the rules in the section, in order
    after: str = ""
    has_section: bool = False
    newline: str = "\n"

    @property
    def own(self) -> str:
        """The text outside the section."""
        return f"{self.before}{self.after}"

    def with_rules(self, rules: Sequence[Rule]) -> str:
        """The file with these rules in its section, which is added at the end if missing."""
        before, after = self.before, self.after
        if not rules:
            return f"{before.removesuffix(self.newline) if self.has_section and not after else before}{after}"
        if not self.has_section and before:
            before += self.newline * (1 if before.endswith("\n") else 2)
        ids = " ".join(rule.id for rule in rules)
        lines = [f"- {_harmless(with_place(rule))}" for rule in rules]
        section = (f"<!-- autopoiesis rules export: {ids} -->", _HEADING, "", *lines, _END, "")
        return f"{before}{self.newline.join(section)}{after}"


def sections_of(data: bytes, path: str) -> Sections:
    """Splits a file.

    Raises:
        ChangeRefused: The comments around the section are not a single pair, or the file is not text.
    """
    if b"\0" in data:
        raise ChangeRefused("is not text", where=path)
    text = data.decode("utf-8", "surrogateescape")
    newline = "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"
    lines = text.splitlines(keepends=True)
    marks = [
        (number, line.strip()) for number, line in enumerate(lines) if "autopoiesis rules export" in line
    ]
    marks = [(number, line) for number, line in marks if line == _END or _BEGIN.fullmatch(line)]
    if not marks:
        return Sections(text, newline=newline)
    begin = _BEGIN.fullmatch(marks[0][1])
    if len(marks) != 2 or begin is None or marks[1][1] != _END:
        raise ChangeRefused(
            "the comments around the exported rules are not a single pair",
            where=f"{path}:{marks[-1][0] + 1}",
            hint="delete them and export again",
        )
    (first, _), (last, _) = marks
    before, after = "".join(lines[:first]), "".join(lines[last + 1 :])
    return Sections(before, tuple(begin["ids"].split()), after, has_section=True, newline=newline)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule is stated."""

    id: str
    path: str
    line: int  # from 1
    text: str  # the sentence that states it


def standing_in(text: str, path: str, rules: Iterable[Rule]) -> Iterator[Place]:
    """The rules a text states, each with the first sentence that does."""
    sentences = [
        (number, sentence)
        for number, line in enumerate(text.splitlines(), 1)
        for sentence in _sentences_of(line)
        if stems(sentence)
    ][:_SENTENCES]
    for rule in rules:
        wordings = *rule.text.split(" / "), with_place(rule)
        best = next(
            (
                Place(rule.id, path, number, sentence)
                for number, sentence in sentences
                if any(
                    stems(wording) & stems(sentence) and relation(wording, sentence) == "same"
                    for wording in wordings
                )
            ),
            None,
        )
        if best is not None:
            yield best


def _sentences_of(text: str) -> list[str]:
    """The sentences of a text without marks of Markdown, some of them empty."""
    return [each for line in text.splitlines() for each in _SENTENCE.split(_MARKS.sub("", line))]


def with_place(rule: Rule) -> str:
    """A rule with its scope (agent, files, tool) in words."""
    paths = rule.path.split(",") if rule.path not in ("", paths_in(rule.text)) else []
    work = f"in {', '.join(f'`{path}`' for path in paths)}" if paths else "", f"when using `{rule.tool}`"
    places = f"for {rule.agent}", " or ".join(filter(None, work if rule.tool else work[:1]))
    where = ", ".join(filter(None, places if rule.agent else places[1:]))
    return f"{where[0].upper()}{where[1:]}: {rule.text}" if where else rule.text


def _harmless(text: str) -> str:
    """A rule as a line of Markdown that cannot start a comment; the file is committed, so without secrets."""
    return redacted(" ".join(text.split())).replace("<!--", "<\\!--")


_NO_NAME = expression(r"[\s{}]+")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The rules found in agents' files."""

    read: tuple[str, ...]  # the files read
    found: tuple[Place, ...]  # the first place of each rule
    commit: ChangeCommit = field(default_factory=ChangeCommit)  # of the marks in the rules file


@dataclass(frozen=True, slots=True)
class Export:
    """The result of an export."""

    path: str
    rules: tuple[Rule, ...]  # in its section, in order
    taken_out: tuple[str, ...]  # ids of rules removed from it
    known: tuple[Place, ...]  # other rules that its own text states
    diff: str  # unified; empty if nothing changes
    data: bytes = field(default=b"", repr=False)
    is_written: bool = False
    commit: ChangeCommit = field(default_factory=ChangeCommit)  # of the marks in the rules file


def look(
    workspace: Workspace,
    rules: Iterable[Rule],
    given: Sequence[Path],
    on_problem: Callable[[str], None],
) -> Elsewhere:
    """Reads the agents' files in the project folders of all sessions, and the ``given`` ones. A rule of one
    project is only looked for in that project's files and the given ones.

    Raises:
        ChangeRefused: A given file does not exist.
        PathRefused, DocumentError: It cannot be read.
    """
    rules = [rule for rule in rules if rule.counts or rule.state == "resting"]
    read: list[str] = []
    found: dict[str, Place] = {}
    for path, project, data in (*_given(given), *_of_projects(workspace, on_problem)):
        read.append(path)
        here = [rule for rule in rules if not project or rule.project in ("", *project)]
        for place in standing_in(data.decode("utf-8", "replace"), path, here):
            found.setdefault(place.id, place)
    return Elsewhere(tuple(read), tuple(found.values()))


def name_of(path: str) -> str:
    """The name of an agents' file in the rules file."""
    found = next((name for name in _NAMES if path.endswith(f"/{name}")), Path(path).name)
    return _NO_NAME.sub("-", found)


def _given(paths: Sequence[Path]) -> Iterator[tuple[str, tuple[str, ...], bytes]]:
    for path in paths:
        file = read_named(path)
        if file.seen is None:
            raise ChangeRefused("no such file", where=str(path))
        yield str(file.path), (), file.data


def _of_projects(
    workspace: Workspace, on_problem: Callable[[str], None]
) -> Iterator[tuple[str, tuple[str, ...], bytes]]:
    """Path, names of the project, and content of each project's files."""
    heads = (head_fields(read_head(path), ("cwd",))["cwd"] for path in session_files(workspace))
    for folder in map(Path, dict.fromkeys(cwd for cwd in heads if os.path.isabs(cwd))):  # noqa: PTH117
        for name in _NAMES:
            path = str(folder / name)
            try:
                found = read_below(folder, name.split("/"))
            except (OSError, AutopoiesisError) as error:
                # Often a link to another of these files, which is read anyway.
                if not os.path.islink(path):  # noqa: PTH114
                    on_problem(f"cannot read {path} for rules: {error}")
                continue
            if found is not None:
                yield path, projects_of(workspace.root).names(str(folder)), found[0]


def plan(workspace: Workspace, file: NamedFile, book: Rulebook, chosen: Sequence[Rule]) -> Export:
    """Plans an export to a file.

    Args:
        workspace: Names the file's project.
        chosen: Rules to add to those already exported; if empty, every accepted rule that applies to the
            file's project and is not stated in its text.

    Raises:
        ChangeRefused: A chosen rule is not in prompts, or the file cannot be split.
    """
    path = str(file.path)
    idle = next((rule for rule in chosen if not rule.counts), None)
    if idle is not None:
        raise ChangeRefused(
            f"the rule {idle.id} is {idle.state}",
            where=PATH,
            hint=f"accept it first: autopoiesis rules accept {idle.id}",
        )
    parts = sections_of(file.data, path)
    folder = file.path.parents[name_of(path).count("/")]
    rules = {rule.id: rule for rule in book.rules if rule.counts}
    project = ("", *projects_of(workspace.root).names(str(folder)))
    here = [rule for rule in rules.values() if rule.project in project]
    known = {place.id: place for place in standing_in(parts.own, path, here)}
    chosen = chosen or [rule for rule in here if rule.accepted and rule.id not in known]
    ids = dict.fromkeys((*(name for name in parts.ids if name in rules), *(rule.id for rule in chosen)))
    kept = tuple(rules[name] for name in ids)
    new = parts.with_rules(kept)
    old = file.data.decode("utf-8", "surrogateescape")
    return Export(
        path,
        kept,
        tuple(name for name in parts.ids if name not in ids),
        tuple(place for place in known.values() if place.id not in ids),
        "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="")),
        new.encode("utf-8", "surrogateescape"),
    )


def marked(book: Rulebook, found: Mapping[str, str], lost: Container[str]) -> list[Rule]:
    """The rules with updated ``known`` marks.

    Args:
        found: The file that states a rule, by the rule's id.
        lost: Ids of rules that lose their mark unless found.
    """
    return [
        replace(rule, known=name_of(found[rule.id]) if rule.id in found else "")
        for rule in book.rules
        if rule.id in found or rule.id in lost
    ]


class Stated:
    """Recognises texts of which every sentence is stated already."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._known = [
            words for text in texts for sentence in _sentences_of(text) if (words := stems(sentence))
        ]

    def says(self, text: str) -> bool:
        """Whether all that a text says is known."""
        said = [words for each in _sentences_of(text) if len(words := stems(each)) >= _FEWEST]
        return bool(self._known) and bool(said) and all(map(self._is_known, said))

    def _is_known(self, words: frozenset[str]) -> bool:
        return any(len(words & known) >= _SHARE * len(words) for known in self._known)


def agent_files_in(folder: str) -> Iterator[str]:
    """The texts of the agents' files in a project's folder, such as ``CLAUDE.md``; none of a relative one."""
    for name in _NAMES if os.path.isabs(folder) else ():  # noqa: PTH117
        try:
            found = read_below(Path(folder), name.split("/"))
        except (OSError, AutopoiesisError):
            continue  # often a link to another of these files
        if found is not None:
            yield found[0].decode("utf-8", "replace")
