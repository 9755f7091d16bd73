"""Edits a header or a YAML file in place (spec 2.2): only the characters that say the old value are replaced.

A round trip through any YAML writer re-quotes, re-indents or re-wraps lines nobody asked to change. Here
ruamel.yaml writes the new value only; where it goes is known from the parser's positions, and the result is
read again and compared with what was wanted before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AbcMapping
from dataclasses import dataclass

from engine.errors import DocumentError
from engine.store import yamltext
from engine.store.header import BOM, locate
from engine.store.header_render import as_read
from engine.store.header_splice import CannotSplice, Splice, Step, Steps


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a YAML text is: a header, or a file of its own.

    Attributes:
        name: As errors call it.
        max_bytes: The most that it may have.
        cure: What to do about more.
    """

    name: str
    max_bytes: int
    cure: str


_HEADER = _Kind("header", yamltext.MAX_HEADER_BYTES, "move long text below the header")


def edit(data: bytes, changes: AbcMapping[str, object | None], path: str = "") -> bytes:
    """See ``engine.store.documents.edit_header``."""
    found = locate(data)
    if found.error is not None:
        raise DocumentError(
            found.error.what,
            where=f"{path}:{found.error.line}" if path else found.error.where,
            cure=found.error.cure or "repair the header first",
        )
    text = _changed(found.text or "", changes, found.newline, path, _HEADER)
    if text == (found.text or ""):
        return data
    edited = text
    if found.text is None:
        edited = f"---{found.newline}{edited}---{found.newline}"
    result = data[: found.start] + edited.encode("utf-8") + data[found.end :]
    again = locate(result)
    if again.text != text or result[again.body :] != data[found.body :]:
        raise DocumentError("the header would end in the wrong place", where=path, cure="edit it by hand")
    return result


def edit_file(data: bytes, changes: AbcMapping[str, object | None], path: str, max_bytes: int) -> bytes:
    """See ``engine.store.documents.edit_yaml``."""
    bom = BOM if data.startswith(BOM) else b""
    try:
        text = data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8 text", where=path, cure="save it as UTF-8") from error
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    kind = _Kind("file", max_bytes, "take out what is not needed")
    # Lines are put between lines: one without an end gets it, and loses it again.
    ending = newline if text and not text.endswith("\n") else ""
    try:
        if ending and _read(text, kind) != _read(text + ending, kind):
            raise DocumentError("its last line has no end", where=path, cure="end it, and try again")
        edited = _changed(text + ending, changes, newline, path, kind)
        if edited == text + ending:
            return data
        shorter = edited.removesuffix(ending)
        if ending and _read(shorter, kind) == _read(edited, kind):
            edited = shorter
    except yamltext.YamlError as error:
        raise DocumentError(error.what, where=f"{path}:{error.line}", cure=error.cure) from error
    return bom + edited.encode("utf-8")


def _changed(text: str, changes: AbcMapping[str, object | None], newline: str, path: str, kind: _Kind) -> str:
    """A YAML text with some of its fields set or removed."""
    edited = _Edited(text, newline, path, kind)
    for key, value in changes.items():
        if value is None:
            edited.remove(key)
        else:
            edited.set(key, value)
    size = len(edited.text.encode("utf-8"))
    if edited.text != text and size > kind.max_bytes:
        raise DocumentError(
            f"the {kind.name} would have {size} bytes, more than {kind.max_bytes}",
            where=path,
            cure=kind.cure,
        )
    return edited.text


class _Edited:
    """A YAML text under change; each change is checked by reading it again."""

    def __init__(self, text: str, newline: str, path: str, kind: _Kind) -> None:
        self.text = text
        self._newline = newline
        self._path = path
        self._kind = kind

    def set(self, key: str, value: object) -> None:
        read = as_read(value)
        before = self._value()
        steps = self._steps(before, key)
        self._set(steps, value)
        if self._value() != _with(before, steps, read):
            raise self._refused(key)

    def remove(self, key: str) -> None:
        before = self._value()
        steps = _existing(before, key)
        if steps is not None:
            self._change(steps, lambda careful: self._splice(careful).remove(steps), _without(before, steps))

    def _set(self, steps: Steps, value: object) -> None:
        """Set a field; of a collection that exists, only the parts that differ."""
        before = self._value()
        old, new = _get(before, steps), as_read(value)
        if old == new:
            return
        if isinstance(old, dict) and isinstance(new, dict) and isinstance(value, AbcMapping) and old and new:
            for key in [key for key in old if key not in new]:
                self._drop((*steps, key))
            for key, item in value.items():
                self._set((*steps, str(key)), item)
            return
        if (
            isinstance(old, list)
            and isinstance(new, list)
            and isinstance(value, list | tuple)
            and old
            and new
        ):
            self._set_items(steps, old, new, value)
            return
        self._change(
            steps, lambda careful: self._splice(careful).set(steps, value), _with(before, steps, new)
        )

    def _set_items(
        self, steps: Steps, old: list[object], new: list[object], values: list[object] | tuple[object, ...]
    ) -> None:
        """Turn one list into another, leaving the items both have in common at either end."""
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        old_end, new_end = len(old) - tail, len(new) - tail
        shared = min(old_end, new_end)
        for index in range(head, shared):
            self._set((*steps, index), values[index])
        for index in range(old_end - 1, shared - 1, -1):
            self._drop((*steps, index))
        for index in range(shared, new_end):
            self._insert((*steps, index), values[index])

    def _drop(self, steps: Steps) -> None:
        wanted = _without(self._value(), steps)
        self._change(steps, lambda careful: self._splice(careful).remove(steps), wanted)

    def _insert(self, steps: Steps, value: object) -> None:
        wanted = _with_item(self._value(), steps, as_read(value))
        self._change(steps, lambda careful: self._splice(careful).insert(steps, value), wanted)

    def _change(self, steps: Steps, make: Callable[[bool], str], wanted: object) -> None:
        """Take the first text that reads back as wanted: written naturally, or with everything quoted."""
        for careful in (False, True):
            try:
                text = make(careful)
                if _read(text, self._kind) == wanted:
                    self.text = text
                    return
            except (CannotSplice, yamltext.YamlError):
                continue
        raise self._refused(".".join(str(step) for step in steps))

    def _splice(self, careful: bool) -> Splice:
        most = 2 * self._kind.max_bytes
        return Splice(self.text, self._newline, careful=careful, max_bytes=most)

    def _value(self) -> object:
        return _read(self.text, self._kind)

    def _steps(self, value: object, key: str) -> Steps:
        """The way a dotted key leads, through what exists and into what does not."""
        parts = key.split(".")
        steps: list[Step] = []
        here = value
        while parts:
            if isinstance(here, dict):
                taken = _longest(here, parts)
                name = ".".join(parts[:taken])
                if not name:
                    raise DocumentError(f"'{key}' is no key", where=self._path)
                steps.append(name)
                here = here.get(name, "")
            elif isinstance(here, list) or (here == "" and parts[0] == "0"):
                items = here if isinstance(here, list) else []
                taken = 1
                if not parts[0].isdecimal() or int(parts[0]) > len(items):
                    raise DocumentError(
                        f"'{key}' leads nowhere: the list has {len(items)} items",
                        where=self._path,
                        cure=f"use a number from 0 to {len(items)}",
                    )
                steps.append(int(parts[0]))
                here = items[int(parts[0])] if int(parts[0]) < len(items) else ""
            elif here == "":
                here = {}
                continue
            else:
                raise DocumentError(f"'{key}' leads nowhere: '{here}' is a text", where=self._path)
            parts = parts[taken:]
        return tuple(steps)

    def _refused(self, key: str) -> DocumentError:
        return DocumentError(
            f"'{key}' cannot be changed without touching other lines",
            where=self._path,
            cure=f"edit the {self._kind.name} by hand",
        )


def _read(text: str, kind: _Kind) -> object:
    node = yamltext.compose(text, max_bytes=2 * kind.max_bytes)
    return {} if node is None else yamltext.to_value(node)


def _longest(mapping: dict[str, object], parts: list[str]) -> int:
    """How many leading parts name one key that exists; 1 when none does."""
    lengths = range(len(parts), 0, -1)
    return next((length for length in lengths if ".".join(parts[:length]) in mapping), 1)


def _existing(value: object, key: str) -> Steps | None:
    """The way a dotted key leads to something that exists."""
    parts = key.split(".")
    steps: list[Step] = []
    while parts:
        taken = 1
        if isinstance(value, dict):
            taken = _longest(value, parts)
            name = ".".join(parts[:taken])
            if name not in value:
                return None
            steps.append(name)
            value = value[name]
        elif isinstance(value, list) and parts[0].isdecimal() and int(parts[0]) < len(value):
            steps.append(int(parts[0]))
            value = value[int(parts[0])]
        else:
            return None
        parts = parts[taken:]
    return tuple(steps)


def _get(value: object, steps: Steps) -> object:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _with(value: object, steps: Steps, new: object) -> object:
    if not steps:
        return new
    step = steps[0]
    if isinstance(step, int):
        items = list(value) if isinstance(value, list) else []
        inner = _with(items[step] if step < len(items) else "", steps[1:], new)
        return [*items[:step], inner, *items[step + 1 :]]
    mapping = dict(value) if isinstance(value, dict) else {}
    mapping[step] = _with(mapping.get(step, ""), steps[1:], new)
    return mapping


def _with_item(value: object, steps: Steps, new: object) -> object:
    items = _get(value, steps[:-1])
    index = steps[-1]
    assert isinstance(items, list) and isinstance(index, int)
    return _with(value, steps[:-1], [*items[:index], new, *items[index:]])


def _without(value: object, steps: Steps) -> object:
    holder = _get(value, steps[:-1])
    step = steps[-1]
    if isinstance(holder, list) and isinstance(step, int):
        return _with(value, steps[:-1], [*holder[:step], *holder[step + 1 :]])
    assert isinstance(holder, dict)
    return _with(value, steps[:-1], {key: item for key, item in holder.items() if key != step})


def _common(left: list[object], right: list[object]) -> int:
    """How many items two lists have in common from the start."""
    pairs = zip(left, right, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
