"""Reads what is known, and the entry that is selected; what cannot be read says so in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import CATEGORY_FILES, CategoryFile, entries
from engine.store.header import locate
from tui.screens.knowledge.groups import CategoryRead, Group, Held
from tui.screens.knowledge.reading import EntryLinks, EntryText

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.entries import EntryScan
    from engine.knowledge.knowledge_entries import KnowledgeEntries
    from engine.knowledge.notes import FileNotes
    from engine.store.files import Files


def look(engine: Engine) -> Held:
    """Reads all that is known."""
    problems: dict[Group, str] = {}
    notes: tuple[FileNotes, ...] = ()
    scan: EntryScan | None = None
    try:
        notes = engine.knowledge.notes.all()
    except (AutopoiesisError, OSError) as error:
        problems["notes"] = str(error)
    try:
        scan = engine.knowledge_entries.scan()
    except (AutopoiesisError, OSError) as error:
        problems["entries"] = problems["skills"] = str(error)
    categories = {file.path: _category(engine.files, file) for file in CATEGORY_FILES}
    return Held(categories, notes, scan, engine.knowledge.digest.view(), problems)


def _category(files: Files, file: CategoryFile) -> CategoryRead:
    try:
        return CategoryRead(entries(files.read(file.path), file.path))
    except FileNotFoundError:
        return CategoryRead()
    except (AutopoiesisError, OSError) as error:
        return CategoryRead(problem=str(error))


def entry_text(files: Files, location: str) -> EntryText:
    """Reads the file of an entry."""
    try:
        data = files.read(location)
        return EntryText(data[locate(data).body :].decode("utf-8", "replace").lstrip("\r\n"))
    except FileNotFoundError:
        return EntryText(problem="the entry is not here any more")
    except (AutopoiesisError, OSError) as error:
        return EntryText(problem=str(error))


def entry_links(known: KnowledgeEntries, location: str) -> EntryLinks:
    """Reads the references of all files of an entry, and those that lead to any of them from elsewhere."""
    links = known.links(known.scan())
    folder = location.rpartition("/")[0]
    outward = tuple(each for each in links.of(folder) if not each.target.startswith(f"{folder}/"))
    inward = tuple(each for each in links.to(location) if not each.source.startswith(f"{folder}/"))
    return EntryLinks(outward, inward)
