"""Plans what to do with the items of a conversation before anything is written (design 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge import pages
from engine.knowledge.category_files import (
    CATEGORY_FILES,
    DONE,
    Entry,
    entries,
    line_for,
    place_of,
    plain,
    refuse_broken,
)
from engine.knowledge.item import Edit, HeldItem, Item, KnownItem, Origin, Plan, item_id, normalised
from engine.knowledge.notes import NoteFiles
from engine.knowledge.proposed import REFUSED
from engine.knowledge.similarity import SimilarEntries, finished, link_to, supersedes, text_without_link

if TYPE_CHECKING:
    from engine.provenance.hold import Doubt
    from engine.store.files import Files


def plan(
    items: Sequence[Item],
    origin: Origin,
    files: Files,
    *,
    held: Callable[[Item], Doubt | None],
) -> Plan:
    """Decides for each item in order whether it is already known, held for review, or becomes an edit.

    Known items are checked first, since they need no decision. Nothing is written except sightings of files
    with notes (``engine.knowledge.notes``). ``held`` gives ``None`` for an item that may be written without a
    review.

    Raises:
        DocumentError: A category file cannot be added to: not UTF-8, conflict markers or an unclosed code
            block. Items for such a page are held instead.
    """
    planner = _Planner(files, origin)
    if any(item.category not in ("notes", "pages") for item in items):
        planner.preload()
    edits: list[Edit] = []
    known: list[KnownItem] = []
    pending: list[HeldItem] = []
    for item in items:
        try:
            found = planner.known(item)
        except AutopoiesisError as error:
            if item.category != "pages":
                raise
            pending.append(HeldItem(item_id(item, origin.name), item, f"{REFUSED}{error}"))
            continue
        if found is not None:
            known.append(found)
        elif doubt := held(item):
            pending.append(HeldItem(item_id(item, origin.name), item, doubt.reason, doubt.sources))
        else:
            edits.append(planner.edit(item))
    return Plan(tuple(edits), tuple(known), tuple(pending))


class _Planner:
    """The knowledge files as they will be once the plan so far is applied."""

    def __init__(self, files: Files, origin: Origin) -> None:
        self._files = files
        self._origin = origin
        self._notes = NoteFiles(files)
        self._entries: dict[str, list[Entry]] = {}
        self._similar: dict[tuple[str, bool], SimilarEntries] = {}

    def preload(self) -> None:
        """Reads the category files, so that a broken one stops the plan at once."""
        for file in CATEGORY_FILES:
            self._entries_of(file.path)

    def known(self, item: Item) -> KnownItem | None:
        """The existing entry, in the files or in the plan, that makes an item redundant.

        A done task is not redundant while it is still open, and a session note never is.
        """
        if self._is_session_note(item):
            return None
        edit = self._notes.edit_for(item, self._origin) if item.category == "files" else None
        path = edit.path if edit is not None else self._place(item)
        found = self._similar_entries(path, done=item.category == "tasks_done").find(self._text(item, edit))
        if found is None or (item.category == "tasks_done" and self._is_open(item)):
            return None
        return KnownItem(item, found.entry.path, found.entry.number, found.entry.raw, found.similarity)

    def _is_open(self, item: Item) -> bool:
        """True if a task with exactly these words is open, even if a similar one was done before."""
        path = place_of("tasks_done")[0].path
        return any(
            entry.section != DONE
            and not entry.is_ticked
            and normalised(text_without_link(entry)) == normalised(item.text)
            for entry in self._entries_of(path)
        )

    def edit(self, item: Item) -> Edit:
        """The edit for an item; later items are compared with it, too."""
        if self._is_session_note(item):
            return pages.note_edit(item, self._origin)
        edit = self._new_edit(item)
        text, origin = self._text(item, edit), self._origin
        # It has no line number yet.
        entry = Entry(edit.path, 0, 0, edit.line, (edit.line,), text, origin.name, origin.day, edit.section)
        if edit.kind == "done":
            self._entries[edit.path] = [each for each in self._entries_of(edit.path) if each.raw != edit.line]
        self._entries_of(edit.path).append(entry)
        for done in (False, True):
            if (edit.path, done) in self._similar and (entry.section == DONE or not done):
                self._similar[edit.path, done].add(entry)
        return edit

    def _new_edit(self, item: Item) -> Edit:
        if self._is_of_page(item):
            return pages.edit_for(item, self._origin)
        return self._notes.edit_for(item, self._origin) if item.category == "files" else self._line(item)

    def _place(self, item: Item) -> str:
        return item.path if self._is_of_page(item) else place_of(item.category)[0].path

    def _is_of_page(self, item: Item) -> bool:
        """True if an item goes to a page; with an invalid path it becomes a fact."""
        return item.category == "pages" and pages.is_page(item.path)

    def _line(self, item: Item) -> Edit:
        identity = item_id(item, self._origin.name)
        file, section = place_of(item.category)
        existing = self._entries_of(file.path)
        if item.category == "tasks_done":
            task = finished(item, existing)
            if task is not None:
                return Edit(identity, "tasks_done", "done", file.path, DONE, task.raw, file.title)
        earlier = supersedes(item, existing) if item.category == "decisions" else None
        line = line_for(item, self._origin, link=link_to(earlier) if earlier is not None else "")
        return Edit(identity, item.category, "append", file.path, section, line, file.title)

    def _is_session_note(self, item: Item) -> bool:
        """True if an item is a session note; for an unknown project it becomes a fact."""
        place, _, project = pages.place_of(item.path).partition(":")
        exists = not project or project in pages.projects(self._files.workspace)
        return item.category == "notes" and bool(place) and exists

    def _text(self, item: Item, edit: Edit | None) -> str:
        """The text of an item as it will be written."""
        is_missing = edit is not None and item.category == "files" and edit.kind == "append"
        return plain(f"{item.path}: {item.text}" if is_missing and item.path else item.text)

    def _similar_entries(self, path: str, *, done: bool) -> SimilarEntries:
        if (path, done) not in self._similar:
            existing = [
                replace(
                    entry,
                    text=pages.without_day(text_without_link(entry))
                    if pages.is_page(path)
                    else text_without_link(entry),
                )
                for entry in self._entries_of(path)
                if not done or entry.section == DONE or entry.is_ticked
            ]
            self._similar[path, done] = SimilarEntries(existing)
        return self._similar[path, done]

    def _entries_of(self, path: str) -> list[Entry]:
        """The entries of a file, including planned ones."""
        if path not in self._entries:
            data = self._files.find(path) or b""
            refuse_broken(data, path)
            self._entries[path] = list(entries(data, path))
        return self._entries[path]
