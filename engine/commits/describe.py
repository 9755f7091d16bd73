"""Describes changes in a commit message without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from engine.commits.kinds import LOGS, FileChange
from engine.context.fixed import DIGEST, IDENTITY, JOURNAL, PROJECTS, SYSTEM
from engine.context.sources import MEMORY
from engine.knowledge.bindings import FOLDER as NOTES
from engine.knowledge.bindings import bound_path
from engine.knowledge.category_files import CATEGORY_FILES, DONE, TASKS, Entry, entries
from engine.knowledge.harvest.classify import TRANSCRIPTS, WORKING, paths_in
from engine.knowledge.harvest.reading import safe_name
from engine.knowledge.item import Category, counted
from engine.knowledge.ledger import PATH as LEDGER
from engine.store.change import SUBJECT, CommitType
from engine.store.files import Files
from engine.store.paths import shown
from engine.transcripts.places import find_session

MAX_CONVERSATIONS = 20
"""Conversations that a commit message names."""
_MAX_FILES = 50
_COUNTED: dict[str, Category] = {
    "knowledge/facts.md": "facts",
    "knowledge/decisions.md": "decisions",
    "knowledge/questions.md": "questions",
    "knowledge/playbooks.md": "playbooks",
}
_NAMED = {
    MEMORY: "MEMORY.md",
    PROJECTS: "active projects",
    SYSTEM: "system prompt",
    "presets/active": "active presets",
    "memory-config.yaml": "settings",
    "probes.yaml": "probes",
    **{file.path: PurePosixPath(file.path).stem for file in CATEGORY_FILES},
}
_FOLDERS = (
    (f"{JOURNAL}/", "journal of"),
    ("knowledge/people/", "person"),
    ("knowledge/procedures/", "procedure"),
    ("knowledge/reference/", "reference"),
    (f"{IDENTITY}/", ""),
    ("knowledge/archive/", "archived"),
    ("archive/", "archived"),
    ("topics/", "topic"),
    ("presets/", "preset"),
    ("attachments/", "attachment"),
)
_DERIVED = frozenset({LEDGER, DIGEST})
"""Files that change along with others; like logs and hidden files, named only if nothing else changed."""


def summary_of(changes: Sequence[FileChange], kind: CommitType) -> str:
    """The changes in one line that fits the subject: ``3 facts, 1 decision; tidemark context``."""
    named = [
        change
        for change in changes
        if change.path not in _DERIVED and not change.path.startswith(f"{LOGS}/") and "/." not in change.path
    ] or changes
    counts: Counter[str] = Counter()
    notes: list[str] = []
    names: dict[str, int] = {}
    for change in named:
        added = _added(change)
        if added:
            counts.update(added)
        elif change.path.startswith(f"{NOTES}/") and change.after is not None:
            notes.append(bound_path(change.after)[0] or PurePosixPath(change.path).stem)
        else:
            name = _name(change.path)
            names[f"{name} removed" if change.after is None else name] = 1
    parts = [", ".join(counted(counts))] if counts else []
    if notes:
        parts.append(f"note of {notes[0]}" if len(notes) == 1 else f"notes of {len(notes)} files")
    return _fitting([*parts, *names], SUBJECT - len(f"{kind}: "))


def body_of(changes: Sequence[FileChange]) -> str:
    """The changes, one line per file."""
    lines = [f"{shown(change.path)}: {_extent(change)}" for change in changes[:_MAX_FILES]]
    if len(changes) > _MAX_FILES:
        lines.append(f"and {len(changes) - _MAX_FILES:,} more files")
    return "\n".join(lines)


def new_entries(change: FileChange) -> list[Entry]:
    """The new and reworded entries of a knowledge file."""
    if change.after is None or not change.path.endswith(".md"):
        return []
    known = Counter(entry.raw for entry in entries(change.before or b"", change.path))
    found = []
    for entry in entries(change.after, change.path):
        known[entry.raw] -= 1
        if known[entry.raw] < 0:
            found.append(entry)
    return found


def conversations_of(changes: Iterable[FileChange], files: Files) -> list[str]:
    """The existing transcripts and conversations that new lines cite as ``[from: name, day]``, by path.

    A name is a session id, as a flush writes it, or the name of the conversation's file.
    """
    wanted = {entry.source for change in changes for entry in new_entries(change)} - {""}
    if not wanted:
        return []
    found = {path for name in wanted if (path := find_session(files.workspace, name))}
    for folder in (TRANSCRIPTS, WORKING):
        found.update(path for path in paths_in(files, folder) if safe_name(path) in wanted)
    return sorted(found)[:MAX_CONVERSATIONS]


def _added(change: FileChange) -> Counter[str]:
    """Number of new items by category in a category file."""
    if change.path == TASKS.path:
        done = {entry.text for entry in entries(change.before or b"", change.path) if entry.section == DONE}
        return Counter(
            "tasks_done" if entry.section == DONE else "tasks_open"
            for entry in new_entries(change)
            if entry.section != DONE or entry.text not in done
        )
    category = _COUNTED.get(change.path)
    count = len(new_entries(change)) if category else 0
    return Counter({category: count}) if category and count else Counter()


def _name(path: str) -> str:
    if path in _NAMED:
        return _NAMED[path]
    place = PurePosixPath(path)
    if path.startswith("knowledge/projects/") and len(place.parts) > 3:
        return f"{place.parts[2]} {place.stem}"
    if place.name in ("KNOWLEDGE.md", "SKILL.md"):
        return f"{'entry' if place.name == 'KNOWLEDGE.md' else 'skill'} {place.parent.name}"
    for folder, what in _FOLDERS:
        if path.startswith(folder):
            is_text = place.suffix == ".md"
            return f"{what} {place.stem if is_text else place.name}".strip()
    return place.name


def _fitting(parts: list[str], room: int) -> str:
    """As many parts as fit, and the number of those left out."""
    shown_parts = [shown(part) for part in parts]
    for count in range(len(parts), 0, -1):
        left = len(parts) - count
        line = "; ".join(shown_parts[:count]) + (f"; and {left:,} more" if left else "")
        if len(line) <= room or count == 1:
            return line
    return "nothing"


def _extent(change: FileChange) -> str:
    if change.after is None:
        return "removed"
    added, removed = change.lines()
    if change.before is None:
        return f"new, {_lines(len(added))}" if added else "new"
    parts = [
        f"{_lines(len(lines))} {verb}" for lines, verb in ((added, "added"), (removed, "removed")) if lines
    ]
    return ", ".join(parts) or "changed"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
