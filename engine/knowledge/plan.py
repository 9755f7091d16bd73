"""What becomes of the items of a conversation, decided before anything is written (design 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge import pages, session_notes
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
from engine.knowledge.edit import Edit, Held, Known, Plan
from engine.knowledge.item import Item, Origin, item_id, normalised
from engine.knowledge.notes import NoteFiles
from engine.knowledge.proposed import REFUSED
from engine.knowledge.similarity import SimilarEntries
from engine.knowledge.superseding import finished, link_to, said, supersedes

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
    """Decides for each item, in their order: it is known, it waits for a person, or it becomes an edit.

    An item that is already there needs no decision, so that is looked for first. Nothing is written,
    but for where noted files were seen (``engine.knowledge.notes``).

    Category files are read once, those of notes only to be added to. ``held`` gives ``None`` for an item that
    may be written unreviewed.

    Raises:
        DocumentError: A category file cannot be added to: not UTF-8, merge markers, an open code block. What
            would go to such a page waits.
    """
    planner = _Planner(files, origin)
    if any(item.category not in ("notes", "pages") for item in items):
        planner.look_over()
    edits: list[Edit] = []
    known: list[Known] = []
    waiting: list[Held] = []
    for item in items:
        try:
            found = planner.known(item)
        except AutopoiesisError as error:
            if item.category != "pages":
                raise
            waiting.append(Held(item_id(item, origin.name), item, f"{REFUSED}{error}"))
            continue
        if found is not None:
            known.append(found)
        elif doubt := held(item):
            waiting.append(Held(item_id(item, origin.name), item, doubt.reason, doubt.sources))
        else:
            edits.append(planner.edit(item))
    return Plan(tuple(edits), tuple(known), tuple(waiting))


class _Planner:
    """The files of knowledge as they are, and as they will be once the plan so far is applied."""

    def __init__(self, files: Files, origin: Origin) -> None:
        self._files = files
        self._origin = origin
        self._notes = NoteFiles(files)
        self._entries: dict[str, list[Entry]] = {}
        self._similar: dict[tuple[str, bool], SimilarEntries] = {}

    def look_over(self) -> None:
        """Reads the category files: where one is broken, nothing is planned."""
        for file in CATEGORY_FILES:
            self._standing(file.path)

    def known(self, item: Item) -> Known | None:
        """Where an item stands already, in its file or in the plan; an open task is not known as done, and a
        note of a session tells of its turns, whatever others tell.
        """
        if self._is_session_note(item):
            return None
        edit = self._notes.edit_for(item, self._origin) if item.category == "files" else None
        path = edit.path if edit is not None else self._place(item)
        found = self._alike(path, done=item.category == "tasks_done").find(self._text(item, edit))
        if found is None or (item.category == "tasks_done" and self._stands_open(item)):
            return None
        return Known(item, found.entry.path, found.entry.number, found.entry.raw, found.similarity)

    def _stands_open(self, item: Item) -> bool:
        """Whether a task of these very words is open, even if another like it was done before."""
        path = place_of("tasks_done")[0].path
        return any(
            entry.section != DONE and not entry.is_ticked and normalised(said(entry)) == normalised(item.text)
            for entry in self._standing(path)
        )

    def edit(self, item: Item) -> Edit:
        """The edit that writes an item down; the items behind it are compared with it too."""
        if self._is_session_note(item):
            return session_notes.edit_for(item, self._origin)
        edit = self._written(item)
        text, origin = self._text(item, edit), self._origin
        # It has no line yet.
        entry = Entry(edit.path, 0, 0, edit.line, (edit.line,), text, origin.name, origin.day, edit.section)
        if edit.kind == "done":
            self._entries[edit.path] = [each for each in self._standing(edit.path) if each.raw != edit.line]
        self._standing(edit.path).append(entry)
        for done in (False, True):
            if (edit.path, done) in self._similar and (entry.section == DONE or not done):
                self._similar[edit.path, done].add(entry)
        return edit

    def _written(self, item: Item) -> Edit:
        if self._is_of_page(item):
            return pages.edit_for(item, self._origin)
        return self._notes.edit_for(item, self._origin) if item.category == "files" else self._line(item)

    def _place(self, item: Item) -> str:
        return item.path if self._is_of_page(item) else place_of(item.category)[0].path

    def _is_of_page(self, item: Item) -> bool:
        """Whether an item goes to a page; one whose path no page may have is a fact."""
        return item.category == "pages" and pages.is_page(item.path)

    def _line(self, item: Item) -> Edit:
        identity = item_id(item, self._origin.name)
        file, section = place_of(item.category)
        standing = self._standing(file.path)
        if item.category == "tasks_done":
            task = finished(item, standing)
            if task is not None:
                return Edit(identity, "tasks_done", "done", file.path, DONE, task.raw, file.title)
        earlier = supersedes(item, standing) if item.category == "decisions" else None
        line = line_for(item, self._origin, link=link_to(earlier) if earlier is not None else "")
        return Edit(identity, item.category, "append", file.path, section, line, file.title)

    def _is_session_note(self, item: Item) -> bool:
        """Whether an item goes where notes of sessions do; for a project that is not there it is a fact."""
        place, _, project = session_notes.place_of(item.path).partition(":")
        is_there = not project or project in session_notes.projects(self._files.workspace)
        return item.category == "notes" and bool(place) and is_there

    def _text(self, item: Item, edit: Edit | None) -> str:
        """What an item will say where it stands."""
        is_gone = edit is not None and item.category == "files" and edit.kind == "append"
        return plain(f"{item.path}: {item.text}" if is_gone and item.path else item.text)

    def _alike(self, path: str, *, done: bool) -> SimilarEntries:
        if (path, done) not in self._similar:
            there = [
                replace(entry, text=pages.without_day(said(entry)) if pages.is_page(path) else said(entry))
                for entry in self._standing(path)
                if not done or entry.section == DONE or entry.is_ticked
            ]
            self._similar[path, done] = SimilarEntries(there)
        return self._similar[path, done]

    def _standing(self, path: str) -> list[Entry]:
        """The entries of a file as they will be once the plan so far is applied."""
        if path not in self._entries:
            try:
                data = self._files.read(path)
            except FileNotFoundError:
                data = b""
            refuse_broken(data, path)
            self._entries[path] = list(entries(data, path))
        return self._entries[path]
