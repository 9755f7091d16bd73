"""How the reply to a harvest is read: every good item is kept, every other is put right, held or named (M1).

A reply is text from outside twice over, so the work on it is bounded, and what an item may hold is decided
here once, for a model's reply and for what a conversation marks itself: one plain line, without anything that
memory or a prompt would take for its own (M2, M4). What cannot hide anything is put right: a line break is a
blank, a leading ``#`` goes, an unknown field is passed over, ``null`` is empty, a bare string is the item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from engine.context.replies import BadReply, quoted, why_no_line, without_thoughts
from engine.knowledge.item import CATEGORIES, ITEM_CHARACTERS, Category, Item, Voice, normalised
from engine.redaction.detect import redacted

CUT = "it was cut off at the token limit"
REPLY_CHARACTERS = 512 * 1024
"""Characters of a reply that are read at all."""
MOST_ITEMS = 50
"""Items of one category that are taken from a reply."""
MOST_DAMAGED = 10
"""Places at which a reply may be invalid JSON before the rest of it is given up."""
MOST_REFUSED = 20
"""Items that cannot be used and are named one by one."""
NAME_CHARACTERS = 80
"""Characters of a playbook's name."""
PATH_CHARACTERS = 300
"""Characters of a file's path."""
HELD_CHARACTERS = 4 * ITEM_CHARACTERS
"""Characters of an item that is too long to be written by itself, and that a person may still accept."""

_FIELDS: dict[Category, tuple[str, str]] = {
    "playbooks": ("name", "steps"),
    "files": ("path", "note"),
}
_STATED = ("statement", "detail")
_ENDS = ".!?…:;"
_QUOTED = 60


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | list[Any]:
    """A JSON object; one with a duplicate field is ambiguous, and rejected."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else list(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply holds."""

    items: tuple[Item, ...]
    """In the order of the categories, each once; one that a person has to look at says why."""
    refused: tuple[str, ...] = ()
    """A line for each item that cannot be used, and for each place at which the reply is damaged."""


def read_reply(text: str, *, cut: bool = False) -> Reply:
    """The items of a reply to a harvest; as ``read_rows``."""
    return read_rows(text, CATEGORIES, _item_in, cut=cut)


def read_rows(
    text: str, names: Sequence[str], item_in: Callable[[str, Any], Item], *, cut: bool = False
) -> Reply:
    """The items of a reply, whatever stands around its JSON object; none when nothing was worth it.

    A list that is left out is empty, as long as any is there. Of a reply that was cut off or is damaged, the
    items that are whole are taken.

    Args:
        names: What the lists of the object are called.
        item_in: The item that a row of a list stands for; a ``ValueError`` says why it is none.
        cut: The reply ended at the token limit.

    Raises:
        BadReply: None of the lists is in it, nothing of what is in them can be used, it is too long or nested
            too deeply.
    """
    plain = without_thoughts(text, REPLY_CHARACTERS)
    rows: dict[str, list[Any]] = {name: [] for name in names}
    refused: list[str] = []
    known = False
    for name, value in _values(plain, names, refused, cut=cut):
        known = True
        rows[name].append(value)
    if not known and cut:
        raise BadReply(CUT)
    if not known:
        raise BadReply(f"the reply is no JSON object with the categories: “{quoted(plain)}”")
    refused += _unknown(plain, names)
    items: list[Item] = []
    for name in names:
        items += _items(name, rows[name], refused, item_in)
    if refused and not items:
        raise BadReply(refused[0])
    return Reply(once(items), _named(refused))


def once(items: Iterable[Item]) -> tuple[Item, ...]:
    """Items without those that repeat an earlier one, whichever speaker said it."""
    found: dict[tuple[Category, str, str], Item] = {}
    for item in items:
        found.setdefault((item.category, item.path, normalised(item.text)), item)
    return tuple(found.values())


_NOTHING = object()


def _values(text: str, names: Sequence[str], refused: list[str], *, cut: bool) -> Iterator[tuple[str, Any]]:
    """Every row of every category in the reply, as it stands there; ``_NOTHING`` for an empty category.

    The names of the categories are looked for rather than the object around them: so it does not matter what
    stands before and behind it, in what it is wrapped, and where it breaks off.
    """
    place = damaged = 0
    named = re.compile(rf'"({"|".join(map(re.escape, names))})"\s*:\s*')
    for match in named.finditer(text):
        if match.start() < place:
            continue  # within a row that has been read
        category = match[1]
        place = match.end()
        yield category, _NOTHING
        try:
            if text.startswith("[", place):
                for value, end in _rows(text, place + 1):
                    place = end
                    yield category, value
            else:
                value, place = _DECODER.raw_decode(text, place)
                if value is not None:
                    yield category, value
        except RecursionError:
            raise BadReply("the reply is nested too deeply") from None
        except ValueError:
            damaged += 1
            if not (cut and not named.search(text, place)):
                refused.append(f"“{category}” is no JSON at “{quoted(text[place : place + 200], _QUOTED)}”")
            if damaged >= MOST_DAMAGED:
                refused.append("the rest of the reply was not read")
                return


def _unknown(text: str, names: Sequence[str]) -> Iterator[str]:
    """A line for each category of a reply that is unknown and not empty."""
    try:
        tree, _ = _DECODER.raw_decode(text, max(text.find("{"), 0))
    except (ValueError, RecursionError):
        return
    for name, value in tree.items() if isinstance(tree, dict) else ():
        if name not in names and value:
            yield f"“{quoted(name, 40)}” is no category"


def _rows(text: str, place: int) -> Iterator[tuple[Any, int]]:
    """The elements of a JSON list and where each ends, from behind its bracket.

    Raises:
        ValueError: It is damaged or does not end.
    """
    while True:
        place = _BLANK.match(text, place).end()  # type: ignore[union-attr]  # matches everywhere
        if text.startswith("]", place):
            return
        value, place = _DECODER.raw_decode(text, place)
        yield value, place
        place = _BLANK.match(text, place).end()  # type: ignore[union-attr]
        if text.startswith(",", place):
            place += 1
        elif not text.startswith("]", place):
            raise ValueError("neither a comma nor the end")


def _items(
    category: str, rows: list[Any], refused: list[str], item_in: Callable[[str, Any], Item]
) -> Iterator[Item]:
    """The items in the rows of a category, with a line for each row that is not an item."""
    rows = [row for row in rows if row is not _NOTHING and row is not None]
    for number, row in enumerate(rows[:MOST_ITEMS], 1):
        try:
            yield item_in(category, row)
        except ValueError as error:
            refused.append(f"{category} {number}: {error}{_beginning(row)}")
    if len(rows) > MOST_ITEMS:
        refused.append(f"{category}: {len(rows) - MOST_ITEMS:,} items beyond the first {MOST_ITEMS}")


def _item_in(name: str, row: Any) -> Item:
    """The item that a row stands for.

    Raises:
        ValueError: It is not an item; the message is one clause.
    """
    category = cast("Category", name)
    first, second = _pair(category, row)
    if category == "playbooks":
        first, second = single(first.replace("*", "")).rstrip(": "), steps_of(second)
    else:
        first, second = first if category == "files" else single(first), single(second)
        if category not in _FIELDS and not first:
            first, second = second, ""
    return held_if_long(category, first, second)


def held_if_long(category: Category, first: str, second: str = "") -> Item:
    """As ``item_of``; one that is too long to be written by itself says so."""
    try:
        return item_of(category, first, second)
    except TooLong as long:
        return replace(long.item, why=f"is longer than {ITEM_CHARACTERS} characters")


def _pair(category: Category, row: Any) -> tuple[str, str]:
    """The two texts of a row; one that is missing or null is empty."""
    names = _FIELDS.get(category, _STATED)
    if isinstance(row, str):
        if category not in _FIELDS:
            return row, ""
        first, _, second = row.partition(": ")
        return first, second
    if not isinstance(row, dict):
        raise ValueError("is no object")
    values = [row.get(name) for name in names]
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError("has a field that is no text")
    return values[0] or "", values[1] or ""


def single(text: str) -> str:
    """A text on one line and without what makes a heading, a list or a quotation of it."""
    line = " ".join("".join(" " if c.isspace() else c for c in text).split())
    line = _START.sub("", line)
    return _NUMBERED.sub(r"(\g<0>)", line)


def steps_of(text: str) -> str:
    """The steps of a playbook on one line, joined as those that were written on one."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and lines[0][0].isdigit():
        return lines[0]  # "1. stop -> 2. start"
    bare = [_START.sub("", line) for line in lines if line and not line.startswith("```")]
    return " ".join(re.sub(r"(?:->\s*)?\n(?:\s*->)?", " -> ", "\n".join(bare)).split())


def _beginning(row: Any) -> str:
    """How a row begins, as an error may quote it."""
    texts = list(row.values()) if isinstance(row, dict) else [row]
    text = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return f": “{quoted(redacted(text[:400]), _QUOTED)}”" if text else ""


def _named(refused: list[str]) -> tuple[str, ...]:
    more = len(refused) - MOST_REFUSED
    return (*refused[:MOST_REFUSED], *([f"{more:,} more"] if more > 0 else []))


class TooLong(ValueError):
    """A text is sound but too long to be written by itself."""

    def __init__(self, message: str, item: Item) -> None:
        super().__init__(message)
        self.item = item


def item_of(category: Category, first: str, second: str = "", voice: Voice = "") -> Item:
    """An item from its two fields, as one line.

    ``first`` is the statement, a playbook's name or a file's path; ``second`` is the detail, which may be
    empty, a playbook's steps or the note on a file.

    Raises:
        TooLong: It is too long and nothing else is wrong with it.
        ValueError: It cannot stand as one line; the message is one clause.
    """
    first, second = first.strip(), second.strip()
    names = _FIELDS.get(category, _STATED)
    most = {"playbooks": NAME_CHARACTERS, "files": PATH_CHARACTERS}.get(category, HELD_CHARACTERS)
    _check(names[0], first, most)
    if second or category in _FIELDS:
        # A playbook may number its steps: they stand behind its name.
        steps = second.lstrip("0123456789").lstrip(".) ") if category == "playbooks" else second
        _check(names[1], steps, HELD_CHARACTERS)
    match category:
        case "playbooks":
            if "*" in first:
                raise ValueError("name has an asterisk in it")
            item = Item(category, f"**{first}**: {second}", voice=voice)
        case "files":
            item = Item(category, second, first, voice)
        case _:
            item = Item(category, _joined(first, second), voice=voice)
    # The note of a file that is gone is written behind its path.
    line = f"{item.path}: {item.text}" if item.path else item.text
    _check("text", line, HELD_CHARACTERS)
    if len(line) > ITEM_CHARACTERS:
        raise TooLong(f"text has {len(line):,} characters, more than {ITEM_CHARACTERS}", item)
    return item


def _check(field: str, text: str, most: int) -> None:
    why = why_no_line(text, most)
    if why:
        raise ValueError(f"{field} {why}")


def _joined(statement: str, detail: str) -> str:
    if not detail or normalised(detail) == normalised(statement):
        return statement
    return f"{statement} {detail}" if statement[-1] in _ENDS else f"{statement} — {detail}"


_BLANK = re.compile(r"\s*")
_NUMBERED = re.compile(r"^#\d+")
"""An issue's number, with which no line may begin bare."""
_START = re.compile(r"\A(?:#{1,6}(?:\s+|(?=[^\W\d]))|[-*+>]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
