"""Agents' files of a project, such as ``CLAUDE.md``: which rules they state, and the section of exported
rules.

The text between the two comments belongs to the program; the first comment lists the rules. Everything else
is kept byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.errors import ChangeRefused
from engine.rules.alike import SAME, Rarity, contradicts, stems
from engine.rules.places import paths_in
from engine.rules.rulebook import Rule

NAMES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules")

_BEGIN = re.compile(r"<!-- autopoiesis rules export:(?P<ids>(?: [0-9a-f]{7})*) -->")
_END = "<!-- end of autopoiesis rules export -->"
_HEADING = "## How I work"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_MARKS = re.compile(r"^[\s>#*+-]*(?:\d+[.)]\s+)?|[*_`]{1,3}(?=\w)|(?<=\w)[*_`]{1,3}")
_SENTENCES = 2_000


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
    """The rules a text states, each with the most similar sentence."""
    sentences = [
        (number, sentence)
        for number, line in enumerate(text.splitlines(), 1)
        for sentence in _SENTENCE.split(_MARKS.sub("", line))
        if stems(sentence)
    ][:_SENTENCES]
    rules = tuple(rules)
    rarity = Rarity([*(sentence for _, sentence in sentences), *(rule.text for rule in rules)])
    for rule in rules:
        wordings = *rule.text.split(" / "), with_place(rule)
        best, most = None, SAME
        for number, sentence in sentences:
            for wording in wordings:
                if not stems(wording) & stems(sentence):
                    continue
                similarity = rarity.similarity(wording, sentence)
                if similarity > most and not contradicts(wording, sentence):
                    best, most = Place(rule.id, path, number, sentence), similarity
        if best is not None:
            yield best


def with_place(rule: Rule) -> str:
    """A rule with its scope (agent, files, tool) in words."""
    paths = rule.path.split(",") if rule.path not in ("", paths_in(rule.text)) else []
    work = f"in {', '.join(f'`{path}`' for path in paths)}" if paths else "", f"when using `{rule.tool}`"
    places = f"for {rule.agent}", " or ".join(filter(None, work if rule.tool else work[:1]))
    where = ", ".join(filter(None, places if rule.agent else places[1:]))
    return f"{where[0].upper()}{where[1:]}: {rule.text}" if where else rule.text


def _harmless(text: str) -> str:
    """A rule as a line of Markdown that cannot start a comment."""
    return " ".join(text.split()).replace("<!--", "<\\!--")
