"""Adds an entry to ``probes.yaml`` and takes one out; every other byte of the file stays as it is.

The place is known from the parser's positions, and the result is read again and compared with what was wanted
before it is handed out, as headers are edited (``store.header_edit``).
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.errors import DocumentError
from engine.probes.file import MAX_BYTES, PROBES_PATH, compose, unreadable
from engine.probes.model import Probe
from engine.store import header_render as render
from engine.store import yamltext
from engine.store.header import BOM

Entry = Mapping[str, object]

_BY_HAND = "edit the file by hand"


def entry_of(probe: Probe) -> Entry:
    """A probe as it stands in the file; what it does not say is left out."""
    entry: dict[str, object] = {"id": probe.id, "question": probe.question}
    entry["expect"] = [
        {
            name: value
            for name, value in (("path", each.path), ("lines", each.lines), ("text", each.text))
            if value
        }
        for each in probe.expect
    ]
    if probe.budget is not None:
        entry["budget"] = probe.budget
    if probe.note:
        entry["note"] = probe.note
    return entry


def with_entry(data: bytes, entry: Entry) -> bytes:
    """The file with an entry below its last one.

    Raises:
        DocumentError: The file cannot be read, or not be changed without touching other lines.
    """
    bom, text = _text(data)
    root = _root(text)
    before = [] if root is None else [yamltext.to_value(item) for item in root.items]
    for careful in (False, True):
        new = _added(text, root, entry, careful=careful)
        if new is not None and _reads(new, [*before, render.as_read(entry)]):
            return _bytes(bom, new)
    raise DocumentError(
        "cannot take another entry without touching other lines", where=PROBES_PATH, cure=_BY_HAND
    )


def without_entry(data: bytes, probe: Probe) -> bytes:
    """The file without the entry of a probe that was read from it; comments around it stay.

    Raises:
        DocumentError: As ``with_entry``, or the entry is not there any more.
    """
    bom, text = _text(data)
    root = _root(text)
    items = [] if root is None else root.items
    index = next((number for number, item in enumerate(items) if _is_of(item, probe)), None)
    where = f"{PROBES_PATH}:{probe.line}"
    if root is None or index is None:
        raise DocumentError("the probe is not there any more", where=where, cure="try again")
    wanted = [yamltext.to_value(item) for number, item in enumerate(items) if number != index]
    new = _cut(text, root, index)
    if new is None or not _reads(new, wanted):
        raise DocumentError("cannot be taken out without touching other lines", where=where, cure=_BY_HAND)
    return _bytes(bom, new)


def _text(data: bytes) -> tuple[bytes, str]:
    bom = BOM if data.startswith(BOM) else b""
    try:
        return bom, data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8 text", where=PROBES_PATH, cure="save it as UTF-8") from error


def _bytes(bom: bytes, text: str) -> bytes:
    data = bom + text.encode("utf-8")
    if len(data) > MAX_BYTES:
        raise DocumentError(
            f"would be larger than {MAX_BYTES // 1024} KB",
            where=PROBES_PATH,
            cure="remove probes that are no more needed",
        )
    return data


def _root(text: str) -> yamltext.Node | None:
    try:
        root = compose(text)
    except yamltext.YamlError as error:
        raise unreadable(error) from error
    if root is not None and root.kind == "scalar" and not root.text:
        return None
    if root is not None and root.kind != "sequence":
        raise DocumentError("is no list of probes", where=f"{PROBES_PATH}:{root.line}", cure=_BY_HAND)
    return root


def _is_of(item: yamltext.Node, probe: Probe) -> bool:
    value = yamltext.to_value(item)
    question = value.get("question") if isinstance(value, yamltext.Mapping) else None
    return item.line == probe.line and isinstance(question, str) and question.strip() == probe.question


def _reads(text: str, wanted: list[object]) -> bool:
    try:
        root = compose(text)
    except yamltext.YamlError:
        return False
    return ([] if root is None else yamltext.to_value(root)) == wanted


def _added(text: str, root: yamltext.Node | None, entry: Entry, *, careful: bool) -> str | None:
    newline = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    if root is not None and root.flow:
        new = render.inline(entry, in_flow=True, careful=careful)
        if root.items:
            at = root.items[-1].end
            return f"{text[:at]}, {new}{text[at:]}"
        return f"{text[: root.start + 1]}{new}{text[root.start + 1 :]}"
    lines = render.block(entry, careful=careful)
    column = 0 if root is None else _column(text, root.start)
    at = len(text) if root is None else _line_end(text, root.items[-1].end)
    head, tail = text[:at], text[at:]
    if head and not head.endswith("\n"):
        head += newline
    indent = " " * column
    block = [f"{indent}- {lines[0]}", *(f"{indent}  {line}" if line else "" for line in lines[1:])]
    return head + "".join(f"{line}{newline}" for line in block) + tail


def _cut(text: str, root: yamltext.Node, index: int) -> str | None:
    items = root.items
    if root.flow:
        if index + 1 < len(items):
            return text[: items[index].start] + text[items[index + 1].start :]
        start = items[index - 1].end if index else root.start + 1
        return text[:start] + text[items[index].end :]
    dash = root.start if not index else _dash(text, items[index - 1].end, items[index].start, root)
    if dash is None:
        return None
    start = text.rfind("\n", 0, dash) + 1
    if text[start:dash].strip():
        return None
    return text[:start] + text[_line_end(text, items[index].end) :]


def _dash(text: str, after: int, before: int, root: yamltext.Node) -> int | None:
    """Where an entry's dash stands: on the entries' column, between the entry above and its own text."""
    column = _column(text, root.start)
    at = _line_end(text, after)
    while at <= before:
        if text[at : at + column].strip(" ") == "" and text[at + column : at + column + 1] == "-":
            return at + column
        following = text.find("\n", at)
        if following < 0:
            return None
        at = following + 1
    return None


def _column(text: str, index: int) -> int:
    return index - (text.rfind("\n", 0, index) + 1)


def _line_end(text: str, index: int) -> int:
    at = text.find("\n", index)
    return len(text) if at < 0 else at + 1
