"""How the reply to a harvest is read: items of seven categories, whole or not at all (M1, M2, M4).

What an item may hold is decided here once, for a model's reply and for what a conversation marks itself: one
plain line, without anything that memory or a prompt would take for its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from engine.context.replies import BadReply, quoted, tree_of, unwrapped, why_no_line, without_thoughts
from engine.knowledge.item import CATEGORIES, ITEM_CHARACTERS, Category, Item, Voice, normalised

REPLY_CHARACTERS = 512 * 1024
"""Characters of a reply that are read at all."""
MOST_ITEMS = 50
"""Items of one category that a reply may hold."""
NAME_CHARACTERS = 80
"""Characters of a playbook's name."""
PATH_CHARACTERS = 300
"""Characters of a file's path."""

_FIELDS: dict[Category, tuple[str, str]] = {
    "playbooks": ("name", "steps"),
    "files": ("path", "note"),
}
_STATED = ("statement", "detail")
_ENDS = ".!?…:;"


def read_reply(text: str, *, cut: bool = False) -> tuple[Item, ...]:
    """The items of a reply in the order of the categories, equal ones once; none when nothing was worth it.

    A category that is left out is empty, as long as any is there.

    Args:
        text: The reply.
        cut: Whether it ended at the token limit.

    Raises:
        BadReply: It is anything but the object that was asked for.
    """
    if cut:
        raise BadReply("it was cut off at the token limit (harvest.max_tokens)")
    tree = tree_of(unwrapped(without_thoughts(text, REPLY_CHARACTERS)))
    if not isinstance(tree, dict):
        raise BadReply("the reply is no JSON object")
    for name in tree:
        if name not in CATEGORIES:
            raise BadReply(f"the reply has a category “{quoted(name, 40)}”")
    if not tree:
        raise BadReply("the reply has none of the categories")
    return once(item for category in CATEGORIES for item in _items(category, tree.get(category, [])))


def once(items: Iterable[Item]) -> tuple[Item, ...]:
    """Items without those that say again what one before them says, whoever said it."""
    found: dict[tuple[Category, str, str], Item] = {}
    for item in items:
        found.setdefault((item.category, item.path, normalised(item.text)), item)
    return tuple(found.values())


def _items(category: Category, rows: Any) -> Iterator[Item]:
    if not isinstance(rows, list):
        raise BadReply(f"“{category}” is no list")
    if len(rows) > MOST_ITEMS:
        raise BadReply(f"“{category}” has {len(rows):,} items, more than {MOST_ITEMS}")
    for number, row in enumerate(rows, 1):
        place = f"item {number} of “{category}”"
        if not isinstance(row, dict):
            raise BadReply(f"{place} is no object")
        fields = _FIELDS.get(category, _STATED)
        least = {fields[0]} if fields is _STATED else set(fields)
        if not least <= row.keys() <= set(fields):
            raise BadReply(f"{place} has other fields than {fields[0]} and {fields[1]}")
        if not all(isinstance(value, str) for value in row.values()):
            raise BadReply(f"{place} has a field that is no text")
        try:
            yield item_of(category, row[fields[0]], row.get(fields[1], ""))
        except ValueError as error:
            raise BadReply(f"{place}: {error}") from None


def item_of(category: Category, first: str, second: str = "", voice: Voice = "") -> Item:
    """An item from its two fields, as one line.

    Args:
        category: Where it belongs.
        first: The statement; of a playbook its name, of a file its path.
        second: The detail, which may be empty; of a playbook the steps, of a file the note.
        voice: Who said it.

    Raises:
        ValueError: It cannot stand as one line; the message is one clause.
    """
    first, second = first.strip(), second.strip()
    names = _FIELDS.get(category, _STATED)
    most = {"playbooks": NAME_CHARACTERS, "files": PATH_CHARACTERS}.get(category, ITEM_CHARACTERS)
    _check(names[0], first, most)
    if second or category in _FIELDS:
        # A playbook may number its steps: they stand behind its name.
        _check(names[1], second.lstrip("0123456789").lstrip(".) ") if category == "playbooks" else second)
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
    _check("text", line)
    return item


def _check(field: str, text: str, most: int = ITEM_CHARACTERS) -> None:
    why = why_no_line(text, most)
    if why:
        raise ValueError(f"{field} {why}")


def _joined(statement: str, detail: str) -> str:
    if not detail or normalised(detail) == normalised(statement):
        return statement
    return f"{statement} {detail}" if statement[-1] in _ENDS else f"{statement} — {detail}"
