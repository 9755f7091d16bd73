"""Finds the marked lines of a conversation, without a model.

=================================================================  =======================================
A line that starts with                                            becomes
=================================================================  =======================================
``Decision:`` ``Decided:`` ``Entscheidung:`` ``Beschluss:``        a decision
``Fact:`` ``Remember:`` ``Note to self:``
``Lesson:`` ``Lesson learned:`` ``Learned:``
``Fakt:`` ``Tatsache:`` ``Lehre:`` ``Merke:``                      a fact
``TODO:`` ``Task:`` ``Action item:`` ``Aufgabe:``                  an open task
``DONE:`` ``Erledigt:``                                            a done task
``Open:`` ``Open question:`` ``Offen:`` ``Offene Frage:``          a question
=================================================================  =======================================

Case, bold type and a leading bullet are ignored. A marked text ends with its paragraph. What counts is what
the person typed and what the agent said, without code and quotations. What the person may have pasted is for
review. Most conversations mark nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.context.replies import is_control
from engine.knowledge.harvest.reply import distinct, item_of
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
_STOP = expression(r"[ \t]*(?:$|[-*+>#|][ \t]|>|#{1,6}[ \t]|\d{1,3}[.)][ \t]|`{3}|~{3}|\|)")

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
    """The marked items of turns in order, each with its lower-case label.

    Items that are not valid lines of knowledge, such as one with a fake provenance, are skipped; long ones
    are shortened with an ellipsis. ``turns`` must not contain injected text.
    """
    for turn in turns:
        if turn.role == "agent" and turn.kind not in (QUOTED, PLAN):
            lines = turn.text.split("\n")
            own = ("" if is_code else line for line, is_code in zip(lines, in_fences(turn.text), strict=True))
            yield from _items(list(own), "agent")
        elif turn.role == "user" and turn.kind in ("", CORRECTION) and not _PLAN.match(turn.text):
            said = lines_of(turn.text)
            shown = [each.text if not each.why or each.is_uncertain else "" for each in said]
            yield from _items(shown, "person", [each.why for each in said])


def is_labelled(line: str) -> bool:
    """True if a line starts with a label."""
    return _LABEL.fullmatch(line) is not None


def _items(lines: Sequence[str], voice: Voice, whys: Sequence[str] = ()) -> Iterator[tuple[str, Item]]:
    """The marked items in the lines of a text, with their labels; ``whys`` says why each may be pasted."""
    place = 0
    while place < len(lines):
        start, label = place, _LABEL.fullmatch(lines[place])
        place += 1
        if label is None:
            continue
        while place < len(lines) and not (_STOP.match(lines[place]) or _LABEL.fullmatch(lines[place])):
            place += 1
        name = label["label"].lower()
        text = _line(" ".join((label["text"], *lines[start + 1 : place])))
        category = _LABELS[name]
        if not (category.startswith("tasks") or _LETTERS.search(_NAMED.sub(" ", text))):
            continue  # "Open: `notes.md`" only names a file
        why = next(filter(None, whys[start:place]), "")
        with contextlib.suppress(ValueError):
            item = item_of(category, _within(text, ITEM_CHARACTERS), voice=voice)
            yield name, replace(item, why=f"{PASTED}{why}") if why else item


def _line(text: str) -> str:
    """A text on one line, without invisible characters."""
    return " ".join("".join(" " if is_control(c) and c.isspace() else c for c in text).split())


def _within(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip() + "…"
