"""Finds the marked lines of a conversation, without a model.

=================================================================  =======================================
A line that starts with                                            becomes
=================================================================  =======================================
``Decision:`` ``Decided:`` ``Entscheidung:`` ``Beschluss:``        a decision
``Fact:`` ``Remember:`` ``Note to self:``
``Lesson:`` ``Lesson learned:`` ``Learned:``
``Fakt:`` ``Tatsache:`` ``Lehre:`` ``Merke:``                      a fact
``TODO:`` ``Task:`` ``Action item:`` ``Aufgabe:`` ``- [ ]``        an open task
``DONE:`` ``Erledigt:`` ``- [x]``                                  a done task
``Open:`` ``Open question:`` ``Offen:`` ``Offene Frage:``          a question
``Playbook:`` ``Runbook:`` ``Anleitung:`` and a name               a playbook with the list below it
``File:`` ``Datei:`` path ``—`` note                               a file note
=================================================================  =======================================

Case, bold type and a leading bullet are ignored. A marked text ends with its paragraph. What counts is what
the person typed, and the labels, but not the checkboxes, of the agent; without code and quotations. What the
person may have pasted is for review. Most conversations mark nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.context.replies import is_control
from engine.knowledge.harvest.reply import NAME_CHARACTERS, PATH_CHARACTERS, distinct, item_of
from engine.knowledge.item import ITEM_CHARACTERS, Category, Item, Voice
from engine.provenance.hold import PASTED
from engine.provenance.spoken import in_fences
from engine.startup.lazy import expression
from engine.transcripts.turn import CORRECTION, PLAN, QUOTED, Turn
from engine.transcripts.typed import lines_of

_LABELS_OF: dict[Category, str] = {
    "decisions": "decision|decided|entscheidung|beschluss",
    "facts": "fact|remember|note to self|lesson|lesson learned|learned|fakt|tatsache|lehre|merke",
    "tasks_open": "todo|task|action item|aufgabe",
    "tasks_done": "done|erledigt",
    "questions": "open|open question|offen|offene frage",
    "playbooks": "playbook|runbook|anleitung",
    "files": "file|datei",
}
_LABELS = {label: category for category, labels in _LABELS_OF.items() for label in labels.split("|")}
LESSONS = frozenset({"lesson", "lesson learned", "learned", "note to self", "lehre", "merke"})
"""Labels of facts learned from what happened."""
_NAMES = "|".join(sorted(_LABELS, key=len, reverse=True))
_BULLET = r"[ ]{0,3}(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?"
_LABEL = expression(
    rf"{_BULLET}(?:\*\*|__)?(?P<label>{_NAMES})(?:\*\*|__)?[ \t]?:(?:\*\*|__)?[ \t]+(?P<text>\S.*)",
    re.IGNORECASE,
)
_BOX = expression(r"[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)")
_STOP = expression(r"[ \t]*(?:$|[-*+>#|][ \t]|>|#{1,6}[ \t]|\d{1,3}[.)][ \t]|`{3}|~{3}|\|)")
_LIST = expression(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?P<text>\S.*)")
_DASH = expression(r"(?<![ \t])[ \t]+(?:—|–|--?)[ \t]+")

_NAMED = expression(r"`[^`]*`|\S*(?:/|\w\.\w)\S*")
_LETTERS = expression(r"[^\W\d_]{2}")
_PLAN = expression(
    r"\A\W*(?:please )?(?:implement|execute|carry out|follow) (?:the|this) (?:following )?plan\b",
    re.IGNORECASE,
)
"""The plan that an agent's program sends in the person's place."""


def marked(turns: Iterable[Turn]) -> tuple[Item, ...]:
    """The marked items of turns, in order, without duplicates."""
    return distinct(item for _, item in labelled(turns))


def labelled(turns: Iterable[Turn]) -> Iterator[tuple[str, Item]]:
    """The marked items of turns in order, each with its lower-case label, which is empty for a checkbox.

    Items that are not valid lines of knowledge, such as one with a fake provenance, are skipped; long ones
    are shortened with an ellipsis. ``turns`` must not contain injected text.
    """
    for turn in turns:
        if turn.role == "agent" and turn.kind not in (QUOTED, PLAN):
            lines = turn.text.split("\n")
            own = ("" if is_code else line for line, is_code in zip(lines, in_fences(turn.text), strict=True))
            yield from _Lines(list(own), "agent").items()
        elif turn.role == "user" and turn.kind in ("", CORRECTION) and not _PLAN.match(turn.text):
            said = lines_of(turn.text)
            shown = [each.text if not each.why or each.is_uncertain else "" for each in said]
            yield from _Lines(shown, "person", [each.why for each in said]).items()


def is_labelled(line: str) -> bool:
    """True if a line starts with a label or a checkbox."""
    return _LABEL.fullmatch(line) is not None or _BOX.fullmatch(line) is not None


@dataclass(slots=True)
class _Lines:
    """The lines of a text, why each may be pasted, and the current reading position."""

    lines: Sequence[str]
    voice: Voice
    whys: Sequence[str] = ()
    place: int = 0

    def items(self) -> Iterator[tuple[str, Item]]:
        lines = self.lines
        while self.place < len(lines):
            start, line = self.place, lines[self.place]
            self.place += 1
            name, found = "", list[Item]()
            if box := _BOX.fullmatch(line):
                category: Category = "tasks_open" if box["mark"] == " " else "tasks_done"
                text = self._paragraph(lines, box["text"])
                found = list(self._item(category, text)) if self.voice == "person" else []
            elif label := _LABEL.fullmatch(line):
                name = label["label"].lower()
                found = list(self._labelled(_LABELS[name], label["text"], lines))
            why = next(filter(None, self.whys[start : self.place]), "")
            for item in found:
                yield name, replace(item, why=f"{PASTED}{why}") if why else item

    def _labelled(self, category: Category, text: str, lines: Sequence[str]) -> Iterator[Item]:
        if category == "playbooks":
            yield from self._playbook(text, lines)
            return
        text = self._paragraph(lines, text)
        if category == "files":
            path, dash, note = _split(text)
            yield from self._item("files", path, note) if dash else ()
        else:
            yield from self._item(category, text)

    def _paragraph(self, lines: Sequence[str], text: str) -> str:
        """The text of this line and its continuation lines."""
        parts = [text]
        while self.place < len(lines):
            line = lines[self.place]
            if _STOP.match(line) or _LABEL.fullmatch(line):
                break
            parts.append(line)
            self.place += 1
        return " ".join(parts)

    def _playbook(self, text: str, lines: Sequence[str]) -> Iterator[Item]:
        """A name with steps from the list below it, or after a dash."""
        name, dash, rest = _split(text)
        end = self.place
        while end < len(lines) and not lines[end].strip():
            end += 1
        steps: list[str] = []
        while end < len(lines) and (found := _LIST.fullmatch(lines[end])) and not _BOX.match(lines[end]):
            steps.append(found["text"])
            end += 1
        if steps:
            self.place = end
        elif dash:
            steps, text = [rest], name
        yield from self._item("playbooks", text, " -> ".join(steps))

    def _item(self, category: Category, first: str, second: str = "") -> Iterator[Item]:
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
                if not (category.startswith("tasks") or _LETTERS.search(_NAMED.sub(" ", first or second))):
                    return  # "Open: `notes.md`" only names a file
                first = _within(first or second, ITEM_CHARACTERS)
                second = ""
        try:
            yield item_of(category, first, second, self.voice)
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
