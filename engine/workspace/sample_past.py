"""The sample's past: conversations that were harvested and reclaimed (``knowledge-curation.md`` 4).

A ledger is verified by hashes, by lines in files, and by the history. The sample's dates are moved when it is
created, which changes every hash, so only the outcome of each conversation is shipped; the rest is computed
from the created workspace.
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
from engine.knowledge.bindings import FOLDER as NOTES
from engine.knowledge.bindings import bound_path
from engine.knowledge.category_files import CATEGORY_FILES, CategoryFile, Entry, entries, place_of
from engine.knowledge.digest import Digest
from engine.knowledge.harvest.classify import TRANSCRIPTS, WORKING, paths_in
from engine.knowledge.harvest.reading import MAX_TEXT_BYTES, safe_name
from engine.knowledge.item import CATEGORIES, Category, Item, item_id
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, LedgerLine, bytes_of, entry_of, tree_of

if TYPE_CHECKING:
    from engine.store.files import Files

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EVENING = time(20, tzinfo=UTC)
_UNTIL_HARVEST = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Past:
    """The conversations that the sample's ledger knows."""

    entries: Mapping[str, LedgerEntry]
    """By sha256, before any of them is reclaimed."""
    reclaimed: tuple[str, ...]  # paths of those reclaimed by a harvest
    removed: tuple[str, ...]  # paths of those too large for one, moved away by hand


def restore_past(files: Files, outcomes: bytes, texts: Mapping[str, bytes]) -> Past:
    """Restores all conversations and their ledger, as before the first was reclaimed.

    Args:
        outcomes: ``sample/past.json``, with the outcome of each.
        texts: Conversations without a transcript, by file name. The text of one that is too large is repeated
            until it is.

    Raises:
        WorkspaceError: A conversation has neither a text nor a transcript.
        WriteFailed: A file could not be written.
    """
    lines = _lines_by_name(files)
    found: dict[str, LedgerEntry] = {}
    for tree in json.loads(outcomes)["conversations"]:
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


def remove_reclaimed(files: Files, past: Past) -> None:
    """Removes reclaimed conversations, once they are in the history.

    Raises:
        WriteFailed: A file could not be written.
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
    """The bytes of a conversation: its text, its transcript, or the file not harvested yet."""
    if (text := texts.get(entry.name)) is not None:
        # A quarter more, because headings do not count as text.
        return text * (5 * MAX_TEXT_BYTES // 4 // len(text) + 1) if entry.status == "too-large" else text
    day, slug = entry.name[:10], entry.name[11:]
    folder = files.workspace.root / TRANSCRIPTS / day.replace("-", "/")
    of_session = sorted(folder.glob(f"????-ses_????????-{slug}")) if _DAY.fullmatch(day) else []
    path = files.workspace.relative(of_session[0]) if of_session else entry.path
    try:
        return files.read(path)
    except FileNotFoundError as error:
        raise WorkspaceError(
            "the sample has no such conversation", where=entry.path, hint="reinstall autopoiesis"
        ) from error


def _lines_by_name(files: Files) -> dict[str, list[tuple[Category, LedgerLine]]]:
    """The lines of knowledge and their categories, by the conversation that they name.

    Their ids are those that a harvest would give, except possibly for notes, whose path a conversation may
    have written differently.
    """
    found: dict[str, list[tuple[Category, LedgerLine]]] = {}
    for category, key, entry in _entries(files):
        item = Item(category, entry.text, key)
        line = LedgerLine(item_id(item, entry.source), entry.path, entry.raw)
        found.setdefault(entry.source, []).append((category, line))
    return found


def _entries(files: Files) -> Iterator[tuple[Category, str, Entry]]:
    """Every entry of knowledge with its category and, for a note, the path of its file."""
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
    """Sets the modification times of conversations, to an hour before their harvest or the evening of their
    day. Otherwise all of them would count as live.
    """
    harvested = {entry.path: datetime.fromisoformat(entry.at) - _UNTIL_HARVEST for entry in found}
    for path in paths_in(files, WORKING):
        moment = harvested.get(path)
        if moment is None and (day := _DAY.search(path)):
            moment = datetime.combine(datetime.fromisoformat(day[0]), _EVENING)
        if moment is not None:
            os.utime(files.workspace.root / path, (moment.timestamp(), moment.timestamp()))
