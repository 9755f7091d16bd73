"""The sample's past: its conversations stood in ``conversations/``, gave their knowledge, and went
(``knowledge-curation.md`` 4).

A ledger is proven by hashes, by lines that stand in files, and by the history. The sample's dates are moved
when it is made, and with them every byte that is hashed, so none of that can be shipped. What is shipped is
what became of each conversation; the rest is computed from what stands in the workspace that is made.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from engine.errors import WorkspaceError
from engine.knowledge.bindings import bound_path
from engine.knowledge.category_files import CATEGORY_FILES, CategoryFile, Entry, entries, place_of
from engine.knowledge.digest import Digest
from engine.knowledge.harvest.classify import TRANSCRIPTS, WORKING, paths_in
from engine.knowledge.harvest.reading import MAX_TEXT_BYTES, safe_name
from engine.knowledge.item import CATEGORIES, Category, Item, item_id
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, LedgerLine, bytes_of, entry_of, tree_of
from engine.knowledge.note_records import FOLDER as NOTES

if TYPE_CHECKING:
    from engine.store.files import Files

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EVENING = time(20, tzinfo=UTC)
_UNTIL_HARVEST = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Past:
    """The conversations that the sample's ledger knows."""

    entries: Mapping[str, LedgerEntry]
    """What the ledger says of them, by sha256, while all of them still stand there."""
    reclaimed: tuple[str, ...]  # paths of those that a harvest has reclaimed
    removed: tuple[str, ...]  # paths of those that were too large for one; a person has moved them away


def put_back(files: Files, told: bytes, texts: Mapping[str, bytes]) -> Past:
    """Puts every conversation where it stood, with its ledger, as it was before any of them was reclaimed.

    Args:
        told: What became of each: ``sample/past.json``.
        texts: By file name the conversations of which there is no transcript. The text of one that was too
            large is one piece of it, which is repeated until it is.

    Raises:
        WorkspaceError: There is neither a text nor a transcript of a conversation.
        WriteFailed: The disk refused.
    """
    lines = _lines_by_name(files)
    found: dict[str, LedgerEntry] = {}
    for tree in json.loads(told)["conversations"]:
        entry = entry_of(tree)
        data = _content(files, entry, texts)
        files.create(entry.path, data)
        given = lines.get(safe_name(entry.path), [])
        counts = Counter(category for category, _ in given)
        found[hashlib.sha256(data).hexdigest()] = replace(
            entry,
            items={name: counts[name] for name in CATEGORIES},
            lines=tuple(line for _, line in given),
            size=len(data),
            shown=len(data) if entry.status == "harvested" else 0,
        )
    _write(files, found)
    Digest(files).regenerate()
    _date(files, found.values())
    gone = [each for each in found.values() if each.status in ("harvested", "deleted-unharvested")]
    large = [each for each in found.values() if each.status == "too-large"]
    return Past(found, tuple(each.path for each in gone), tuple(each.path for each in large))


def take_out(files: Files, past: Past) -> None:
    """Takes out what went, once the history holds it.

    Raises:
        WriteFailed: The disk refused.
    """
    _write(
        files,
        {name: replace(entry, deleted=entry.path in past.reclaimed) for name, entry in past.entries.items()},
    )
    for path in (*past.reclaimed, *past.removed):
        files.remove(path)


def _write(files: Files, found: Mapping[str, LedgerEntry]) -> None:
    files.replace(LEDGER, bytes_of({name: tree_of(entry) for name, entry in found.items()}))


def _content(files: Files, entry: LedgerEntry, texts: Mapping[str, bytes]) -> bytes:
    """The bytes of a conversation: a text of its own, its transcript, or the file that still waits."""
    if (text := texts.get(entry.name)) is not None:
        # A quarter more: headings are no text that is shown.
        return text * (5 * MAX_TEXT_BYTES // 4 // len(text) + 1) if entry.status == "too-large" else text
    day, slug = entry.name[:10], entry.name[11:]
    folder = files.workspace.root / TRANSCRIPTS / day.replace("-", "/")
    of_session = sorted(folder.glob(f"????-ses_????????-{slug}")) if _DAY.fullmatch(day) else []
    path = files.workspace.relative(of_session[0]) if of_session else entry.path
    try:
        return files.read(path)
    except FileNotFoundError as error:
        raise WorkspaceError(
            "the sample has no conversation of this name", where=entry.path, hint="install autopoiesis anew"
        ) from error


def _lines_by_name(files: Files) -> dict[str, list[tuple[Category, LedgerLine]]]:
    """The lines of knowledge and their categories, by the conversation that they name.

    Each has the id that a harvest gives to what it says. Only of notes that is not certain: there it is made
    of the path as the notes name it, which a conversation may have named otherwise.
    """
    found: dict[str, list[tuple[Category, LedgerLine]]] = {}
    for category, key, entry in _entries(files):
        item = Item(category, entry.text, key)
        line = LedgerLine(item_id(item, entry.source), entry.path, entry.raw)
        found.setdefault(entry.source, []).append((category, line))
    return found


def _entries(files: Files) -> Iterator[tuple[Category, str, Entry]]:
    """Every entry of knowledge with its category and, of a note, the path of what it is about."""
    categories: dict[tuple[CategoryFile, str], Category] = {
        place_of(name): name for name in CATEGORIES if name != "files"
    }
    for file in CATEGORY_FILES:
        for entry in entries(files.read(file.path), file.path):
            yield categories[file, entry.section], "", entry
    for place in sorted((files.workspace.root / NOTES).glob("*.md")):
        path = files.workspace.relative(place)
        data = files.read(path)
        key, _ = bound_path(data)
        for entry in entries(data, path):
            yield "files", key, entry


def _date(files: Files, found: Iterable[LedgerEntry]) -> None:
    """Dates the conversations: an hour before they were harvested, else the evening of the day they name.
    Otherwise all of them would be live, because they were written a moment ago.
    """
    harvested = {entry.path: datetime.fromisoformat(entry.at) - _UNTIL_HARVEST for entry in found}
    for path in paths_in(files, WORKING):
        moment = harvested.get(path)
        if moment is None and (day := _DAY.search(path)):
            moment = datetime.combine(datetime.fromisoformat(day[0]), _EVENING)
        if moment is not None:
            os.utime(files.workspace.root / path, (moment.timestamp(), moment.timestamp()))
