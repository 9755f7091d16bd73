"""Extracts what a conversation marks itself, without a model.

=================================================================  =======================================
A line that starts with                                            becomes
=================================================================  =======================================
``Decision:`` ``Decided:`` ``Entscheidung:`` ``Beschluss:``        a decision
``Fact:`` ``Lesson:`` ``Lesson learned:`` ``Learned:``
``Note to self:`` ``Fakt:`` ``Tatsache:`` ``Lehre:`` ``Merke:``    a fact
``TODO:`` ``Task:`` ``Action item:`` ``Aufgabe:`` ``- [ ]``        an open task
``DONE:`` ``Erledigt:`` ``- [x]``                                  a done task
``Open:`` ``Open question:`` ``Offen:`` ``Offene Frage:``          a question, unless ``A:`` follows
``Q:`` ``Question:`` ``Frage:``                                    likewise, unless someone answers
``Playbook:`` ``Runbook:`` ``Anleitung:`` and a name               a playbook with the list or code below it
``File:`` ``Datei:`` path ``—`` note                               a file note
``> [knowledge:…] path — summary``                                 a note on that file
=================================================================  =======================================

Case, bold type and a leading bullet are ignored. A marked text ends with its paragraph. Only text by a person
or the agent counts, without code and quotations. Most conversations mark nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.context.replies import is_control
from engine.knowledge.harvest.reply import NAME_CHARACTERS, PATH_CHARACTERS, distinct, item_of
from engine.knowledge.item import ITEM_CHARACTERS, Category, Item, Voice
from engine.provenance.spoken import in_fences
from engine.transcripts.turn import QUOTED, KnowledgeChange, Role, Text, Turn

_LABELS: dict[str, Category] = {
    "decision": "decisions",
    "decided": "decisions",
    "entscheidung": "decisions",
    "beschluss": "decisions",
    "fact": "facts",
    "lesson": "facts",
    "lesson learned": "facts",
    "learned": "facts",
    "note to self": "facts",
    "fakt": "facts",
    "tatsache": "facts",
    "lehre": "facts",
    "merke": "facts",
    "todo": "tasks_open",
    "task": "tasks_open",
    "action item": "tasks_open",
    "aufgabe": "tasks_open",
    "done": "tasks_done",
    "erledigt": "tasks_done",
    "q": "questions",
    "question": "questions",
    "open": "questions",
    "open question": "questions",
    "frage": "questions",
    "offen": "questions",
    "offene frage": "questions",
    "playbook": "playbooks",
    "runbook": "playbooks",
    "anleitung": "playbooks",
    "file": "files",
    "datei": "files",
}
_ASKED = frozenset({"q", "question", "frage"})
"""Labels of questions to the other speaker, which count as answered once that speaker replies."""
_NAMES = "|".join(sorted(_LABELS, key=len, reverse=True))
_BULLET = r"[ ]{0,3}(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?"
_LABEL = re.compile(
    rf"{_BULLET}(?:\*\*|__)?(?P<label>{_NAMES})(?:\*\*|__)?[ \t]?:(?:\*\*|__)?[ \t]+(?P<text>\S.*)",
    re.IGNORECASE,
)
_BOX = re.compile(r"[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)")
_ANSWER = re.compile(
    rf"{_BULLET}(?:\*\*|__)?(?:a|answer|antwort)(?:\*\*|__)?[ \t]?:(?:\*\*|__)?[ \t]", re.IGNORECASE
)
_STOP = re.compile(r"[ \t]*(?:$|[-*+>#|][ \t]|>|#{1,6}[ \t]|\d{1,3}[.)][ \t]|`{3}|~{3}|\|)")
_LIST = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?P<text>\S.*)")
_FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")
_DASH = re.compile(r"(?<![ \t])[ \t]+(?:—|–|--?)[ \t]+")

_OTHER: dict[Role, Role] = {"user": "agent", "agent": "user"}
_VOICES: dict[Role, Voice] = {"user": "person", "agent": "agent"}


def marked(turns: Iterable[Turn]) -> tuple[Item, ...]:
    """The marked items of turns, in order, without duplicates."""
    return distinct(item for _, item in labelled(turns))


def labelled(turns: Iterable[Turn]) -> Iterator[tuple[str, Item]]:
    """The marked items of turns in order, each with its lower-case label, which may be empty.

    Items that are not valid lines of knowledge, such as one with a fake provenance, are skipped; long ones
    are shortened with an ellipsis. ``turns`` must not contain injected text.
    """
    turns = tuple(turns)
    last = {turn.role: number for number, turn in enumerate(turns) if turn.is_dialogue and turn.blocks}
    for number, turn in enumerate(turns):
        yield from _of_turn(turn, is_answered=last.get(_OTHER.get(turn.role, turn.role), -1) > number)


def is_labelled(line: str) -> bool:
    """True if a line starts with a label or a checkbox."""
    return _LABEL.fullmatch(line) is not None or _BOX.fullmatch(line) is not None


def _of_turn(turn: Turn, *, is_answered: bool) -> Iterator[tuple[str, Item]]:
    voice = _VOICES.get(turn.role)
    if voice is None or turn.kind == QUOTED:
        return
    for block in turn.blocks:
        if isinstance(block, KnowledgeChange):
            for item in _item("files" if block.path else "facts", block.path, block.summary, voice):
                yield "", item
        elif isinstance(block, Text):
            yield from _Lines(block.text, voice, is_answered).items()


@dataclass(slots=True)
class _Lines:
    """A text and the current reading position."""

    text: str
    voice: Voice
    is_answered: bool
    place: int = 0

    def items(self) -> Iterator[tuple[str, Item]]:
        lines, fenced = self.text.split("\n"), in_fences(self.text)
        while self.place < len(lines):
            line, is_code = lines[self.place], fenced[self.place]
            self.place += 1
            box, label = (None, None) if is_code else (_BOX.fullmatch(line), _LABEL.fullmatch(line))
            if box is not None:
                category: Category = "tasks_open" if box["mark"] == " " else "tasks_done"
                for item in _item(category, self._paragraph(lines, box["text"]), "", self.voice):
                    yield "", item
            elif label is not None:
                name = label["label"].lower()
                if not (self.is_answered and name in _ASKED):
                    for item in self._labelled(_LABELS[name], label["text"], lines, fenced):
                        yield name, item

    def _labelled(
        self, category: Category, text: str, lines: Sequence[str], fenced: Sequence[bool]
    ) -> Iterator[Item]:
        if category == "playbooks":
            yield from self._playbook(text, lines, fenced)
            return
        text = self._paragraph(lines, text)
        if category == "files":
            path, dash, note = _split(text)
            yield from _item("files", path, note, self.voice) if dash else ()
        elif category != "questions" or not self._is_answered(lines):
            yield from _item(category, text, "", self.voice)

    def _paragraph(self, lines: Sequence[str], text: str) -> str:
        """The text of this line and its continuation lines."""
        parts = [text]
        while self.place < len(lines):
            line = lines[self.place]
            if _STOP.match(line) or _LABEL.fullmatch(line) or _ANSWER.match(line):
                break
            parts.append(line)
            self.place += 1
        return " ".join(parts)

    def _is_answered(self, lines: Sequence[str]) -> bool:
        place = self.place
        while place < len(lines) and not lines[place].strip():
            place += 1
        return place < len(lines) and _ANSWER.match(lines[place]) is not None

    def _playbook(self, text: str, lines: Sequence[str], fenced: Sequence[bool]) -> Iterator[Item]:
        """A name with steps from the list or code below it, or after a dash."""
        name, dash, rest = _split(text)
        place = self.place
        while place < len(lines) and not lines[place].strip():
            place += 1
        steps: list[str] = []
        end = place
        if place < len(lines) and fenced[place]:
            while end < len(lines) and fenced[end] and not (end > place and _FENCE.match(lines[end])):
                end += 1
            steps = [line.strip().removeprefix("$ ") for line in lines[place + 1 : end]]
            steps = [step for step in steps if step and not step.startswith("#")]
            end += 1
        else:
            while end < len(lines) and (found := _LIST.fullmatch(lines[end])) and not _BOX.match(lines[end]):
                steps.append(found["text"])
                end += 1
        if steps:
            self.place = end
        elif dash:
            steps, text = [rest], name
        yield from _item("playbooks", text, " -> ".join(steps), self.voice)


def _item(category: Category, first: str, second: str, voice: Voice) -> Iterator[Item]:
    """An item, if the text is valid."""
    first, second = _line(first), _line(second)
    match category:
        case "playbooks":
            first = _within(first.replace("*", "").rstrip(": "), NAME_CHARACTERS)
            second = _within(second, ITEM_CHARACTERS - len(first) - len("****: "))
        case "files":
            first = first.strip("`")
            second = _within(second, ITEM_CHARACTERS - min(len(first), PATH_CHARACTERS) - len(": "))
        case _:
            first = _within(first or second, ITEM_CHARACTERS)
            second = ""
    try:
        yield item_of(category, first, second, voice)
    except ValueError:
        return


def _split(text: str) -> tuple[str, str, str]:
    found = _DASH.search(text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _line(text: str) -> str:
    """A text on one line, without invisible characters."""
    return " ".join("".join(" " if is_control(c) and c.isspace() else c for c in text).split())


def _within(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip() + "…"
