"""Adds an entry to ``probes.yaml`` and takes one out; every other byte of the file stays as it is."""

from __future__ import annotations

from collections.abc import Mapping

from engine.errors import DocumentError
from engine.probes.file import MAX_BYTES, PROBES_PATH, compose, unreadable
from engine.probes.model import Probe
from engine.store import yamltext
from engine.store.documents import edit_yaml
from engine.store.yamledit import CannotEdit

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
    try:
        new = _edited(data, len(_entries(data)), entry)
    except CannotEdit as error:
        raise DocumentError(
            "cannot take another entry without touching other lines", where=PROBES_PATH, cure=_BY_HAND
        ) from error
    if len(new) > MAX_BYTES:
        raise DocumentError(
            f"would be larger than {MAX_BYTES // 1024} KB",
            where=PROBES_PATH,
            cure="remove probes that are no more needed",
        )
    return new


def without_entry(data: bytes, probe: Probe) -> bytes:
    """The file without the entry of a probe that was read from it; comments around it stay.

    Raises:
        DocumentError: As ``with_entry``, or the entry is not there any more.
    """
    index = next((number for number, item in enumerate(_entries(data)) if _is_of(item, probe)), None)
    where = f"{PROBES_PATH}:{probe.line}"
    if index is None:
        raise DocumentError("the probe is not there any more", where=where, cure="try again")
    try:
        return _edited(data, index, None)
    except CannotEdit as error:
        raise DocumentError(
            "cannot be taken out without touching other lines", where=where, cure=_BY_HAND
        ) from error


def _edited(data: bytes, index: int, entry: Entry | None) -> bytes:
    return edit_yaml(data, {str(index): entry}, PROBES_PATH, max_bytes=2 * MAX_BYTES)


def _entries(data: bytes) -> list[yamltext.Node]:
    """The nodes of the entries."""
    try:
        root = compose(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8 text", where=PROBES_PATH, cure="save it as UTF-8") from error
    except yamltext.YamlError as error:
        raise unreadable(error) from error
    if root is None or (root.kind == "scalar" and not root.text):
        return []
    if root.kind != "sequence":
        raise DocumentError("is no list of probes", where=f"{PROBES_PATH}:{root.line}", cure=_BY_HAND)
    return root.items


def _is_of(item: yamltext.Node, probe: Probe) -> bool:
    value = yamltext.to_value(item)
    question = value.get("question") if isinstance(value, yamltext.Mapping) else None
    return item.line == probe.line and isinstance(question, str) and question.strip() == probe.question
