"""Parses the reply to a harvest: good items are kept, others corrected, held or reported (M1).

A reply is untrusted twice over, so the work on it is bounded. This module also defines what an item may
contain, for replies and markers alike: one plain line without anything that memory or a prompt would treat as
its own markup (M2, M4). Harmless deviations are corrected: line breaks become blanks, leading ``#`` are
removed, unknown fields are ignored, ``null`` is empty, and a bare string is an item.
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
from engine.startup.lazy import expression

CUT = "it was cut off at the token limit"
REPLY_CHARACTERS = 512 * 1024
"""Maximum length of a reply."""
MAX_ITEMS = 50
"""Maximum items of one category in a reply."""
MAX_DAMAGED = 10
"""Invalid JSON passages after which the rest of a reply is ignored."""
MAX_REFUSED = 20
"""Maximum unusable items listed individually."""
NAME_CHARACTERS = 80
"""Maximum length of a playbook's name."""
PATH_CHARACTERS = 300
"""Maximum length of a file's path."""
HELD_CHARACTERS = 4 * ITEM_CHARACTERS
"""Maximum length of an item that is too long to write directly but may be accepted in a review."""

_FIELDS: dict[Category, tuple[str, str]] = {
    "playbooks": ("name", "steps"),
    "files": ("path", "note"),
}
_STATED = ("statement", "detail")
_ENDS = ".!?…:;"
_QUOTED = 60


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | list[Any]:
    """A JSON object; as a list of pairs, and so rejected, if it has duplicate fields."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else list(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


@dataclass(frozen=True, slots=True)
class Reply:
    """The content of a reply."""

    items: tuple[Item, ...]
    """In category order, without duplicates; an item that needs a review says why."""
    refused: tuple[str, ...] = ()
    """One line for each unusable item and each damaged passage."""


def read_reply(text: str, *, cut: bool = False) -> Reply:
    """The items of a reply to a harvest; as ``read_rows``."""
    return read_rows(text, CATEGORIES, _item_in, cut=cut)


def read_rows(
    text: str, names: Sequence[str], item_in: Callable[[str, Any], Item], *, cut: bool = False
) -> Reply:
    """The items in a reply, ignoring text around its JSON object; empty if nothing was worth keeping.

    Missing lists count as empty if there is at least one list. If the reply was cut off or is damaged, the
    complete items are used.

    Args:
        names: The names of the lists.
        item_in: Converts a row of a list to an item; raises ``ValueError`` with the reason if it is not
        valid.
        cut: The reply ended at the token limit.

    Raises:
        BadReply: There is no list, no usable item, or the reply is too long or nested too deeply.
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
        raise BadReply(f"the reply is not a JSON object with the categories: “{quoted(plain)}”")
    refused += _unknown(plain, names)
    items: list[Item] = []
    for name in names:
        items += _items(name, rows[name], refused, item_in)
    if refused and not items:
        raise BadReply(refused[0])
    return Reply(distinct(items), _limited(refused))


def distinct(items: Iterable[Item]) -> tuple[Item, ...]:
    """Items without repetitions, whoever said them."""
    found: dict[tuple[Category, str, str], Item] = {}
    for item in items:
        found.setdefault((item.category, item.path, normalised(item.text)), item)
    return tuple(found.values())


_NOTHING = object()


def _values(text: str, names: Sequence[str], refused: list[str], *, cut: bool) -> Iterator[tuple[str, Any]]:
    """All rows of all categories in the reply; ``_NOTHING`` first for each category, which may be empty.

    Searches for the category names rather than the enclosing object, so surrounding text, wrappers and a
    missing end do not matter.
    """
    place = damaged = 0
    named = re.compile(rf'"({"|".join(map(re.escape, names))})"\s*:\s*')
    for match in named.finditer(text):
        if match.start() < place:
            continue  # inside a row already read
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
                refused.append(
                    f"“{category}” is not valid JSON at “{quoted(text[place : place + 200], _QUOTED)}”"
                )
            if damaged >= MAX_DAMAGED:
                refused.append("the rest of the reply was ignored")
                return


def _unknown(text: str, names: Sequence[str]) -> Iterator[str]:
    """One line for each unknown, non-empty category."""
    try:
        tree, _ = _DECODER.raw_decode(text, max(text.find("{"), 0))
    except (ValueError, RecursionError):
        return
    for name, value in tree.items() if isinstance(tree, dict) else ():
        if name not in names and value:
            yield f"unknown category “{quoted(name, 40)}”"


def _rows(text: str, place: int) -> Iterator[tuple[Any, int]]:
    """The elements of a JSON list with their end positions, starting after the bracket; raises ``ValueError``
    if it is damaged or incomplete.
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
    """The items of a category; rows that are not items are added to ``refused``."""
    rows = [row for row in rows if row is not _NOTHING and row is not None]
    for number, row in enumerate(rows[:MAX_ITEMS], 1):
        try:
            yield item_in(category, row)
        except ValueError as error:
            refused.append(f"{category} {number}: {error}{_quoted_start(row)}")
    if len(rows) > MAX_ITEMS:
        refused.append(f"{category}: {len(rows) - MAX_ITEMS:,} items beyond the first {MAX_ITEMS}")


def _item_in(name: str, row: Any) -> Item:
    """The item in a row; raises ``ValueError`` with one clause if it is not an item."""
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
    """As ``item_of``, but an item that is too long gets that as its reason for a review."""
    try:
        return item_of(category, first, second)
    except TooLong as long:
        return replace(long.item, why=f"is longer than {ITEM_CHARACTERS} characters")


def _pair(category: Category, row: Any) -> tuple[str, str]:
    """The two texts of a row; missing or null ones are empty."""
    names = _FIELDS.get(category, _STATED)
    if isinstance(row, str):
        if category not in _FIELDS:
            return row, ""
        first, _, second = row.partition(": ")
        return first, second
    first, second = fields_of(row, *names)
    return first, second


def fields_of(row: Any, *names: str) -> list[str]:
    """The fields of a row; empty if missing or null. Raises ``ValueError`` if one is not text."""
    if not isinstance(row, dict):
        raise ValueError("is not an object")
    values = [row.get(name) for name in names]
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError("has a field that is not text")
    return [value or "" for value in values]


def single(text: str) -> str:
    """A text on one line, without heading, list or quotation marks."""
    line = " ".join("".join(" " if c.isspace() else c for c in text).split())
    line = _START.sub("", line)
    return _NUMBERED.sub(r"(\g<0>)", line)


def steps_of(text: str) -> str:
    """The steps of a playbook on one line, joined with arrows."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and lines[0][0].isdigit():
        return lines[0]  # "1. stop -> 2. start"
    bare = [_START.sub("", line) for line in lines if line and not line.startswith("```")]
    return " ".join(re.sub(r"(?:->\s*)?\n(?:\s*->)?", " -> ", "\n".join(bare)).split())


def _quoted_start(row: Any) -> str:
    """The start of a row, for an error message."""
    texts = list(row.values()) if isinstance(row, dict) else [row]
    text = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return f": “{quoted(redacted(text[:400]), _QUOTED)}”" if text else ""


def _limited(refused: list[str]) -> tuple[str, ...]:
    more = len(refused) - MAX_REFUSED
    return (*refused[:MAX_REFUSED], *([f"{more:,} more"] if more > 0 else []))


class TooLong(ValueError):
    """A text is valid but too long to write without a review."""

    def __init__(self, message: str, item: Item) -> None:
        super().__init__(message)
        self.item = item


def item_of(category: Category, first: str, second: str = "", voice: Voice = "") -> Item:
    """Makes an item from its two fields.

    ``first`` is the statement, a playbook's name or a file's path; ``second`` is the optional detail, a
    playbook's steps or the note on a file.

    Raises:
        TooLong: It is too long but otherwise valid.
        ValueError: It is not a valid line; the message is one clause.
    """
    first, second = first.strip(), second.strip()
    names = _FIELDS.get(category, _STATED)
    limit = {"playbooks": NAME_CHARACTERS, "files": PATH_CHARACTERS}.get(category, HELD_CHARACTERS)
    _check(names[0], first, limit)
    if second or category in _FIELDS:
        # A playbook's steps may be numbered, since they follow its name.
        steps = second.lstrip("0123456789").lstrip(".) ") if category == "playbooks" else second
        _check(names[1], steps, HELD_CHARACTERS)
    match category:
        case "playbooks":
            item = Item(category, f"**{first}**: {second}", voice=voice)
        case "files":
            item = Item(category, second, first, voice)
        case _:
            item = Item(category, _joined(first, second), voice=voice)
    # A note on a missing file is written after its path.
    line = f"{item.path}: {item.text}" if item.path else item.text
    _check("text", line, HELD_CHARACTERS)
    if len(line) > ITEM_CHARACTERS:
        raise TooLong(f"text has {len(line):,} characters, more than {ITEM_CHARACTERS}", item)
    return item


def _check(field: str, text: str, limit: int) -> None:
    if problem := why_no_line(text, limit):
        raise ValueError(f"{field} {problem}")


def _joined(statement: str, detail: str) -> str:
    if not detail or normalised(detail) == normalised(statement):
        return statement
    return f"{statement} {detail}" if statement[-1] in _ENDS else f"{statement} — {detail}"


_BLANK = expression(r"\s*")
_NUMBERED = expression(r"^#\d+")
"""An issue number, which may not start a line."""
_START = expression(r"\A(?:#{1,6}(?:\s+|(?=[^\W\d]))|[-*+>]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
