"""A commit's message from the change itself, in words that a person understands, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from engine.commits.kinds import FileChange
from engine.context.fixed import DIGEST, IDENTITY, JOURNAL, PROJECTS, SYSTEM
from engine.context.sources import MEMORY
from engine.knowledge.bindings import bound_path
from engine.knowledge.category_files import CATEGORY_FILES, DONE, TASKS, Entry, entries
from engine.knowledge.item import Category, counted
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.note_records import FOLDER as NOTES
from engine.store.commit_message import SUBJECT, CommitType
from engine.store.paths import shown

_MOST_FILES = 50
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
_BEHIND = frozenset({LEDGER, DIGEST})
"""Files that follow others, named only where nothing else has changed; hidden ones are, too."""


def summary_of(changes: Sequence[FileChange], kind: CommitType) -> str:
    """What changed, on one line that fits a subject of a type: ``3 facts, 1 decision; tidemark context``."""
    said = [change for change in changes if change.path not in _BEHIND and "/." not in change.path] or changes
    counts: Counter[str] = Counter()
    notes: list[str] = []
    names: dict[str, int] = {}
    for change in said:
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
    """What changed, one line a file."""
    lines = [f"{shown(change.path)}: {_extent(change)}" for change in changes[:_MOST_FILES]]
    if len(changes) > _MOST_FILES:
        lines.append(f"and {len(changes) - _MOST_FILES:,} more files")
    return "\n".join(lines)


def new_entries(change: FileChange) -> list[Entry]:
    """The entries that a file of knowledge has gained, those with another text among them."""
    if change.after is None or not change.path.endswith(".md"):
        return []
    known = Counter(entry.raw for entry in entries(change.before or b"", change.path))
    found = []
    for entry in entries(change.after, change.path):
        known[entry.raw] -= 1
        if known[entry.raw] < 0:
            found.append(entry)
    return found


def _added(change: FileChange) -> Counter[str]:
    """How many items of each category a category file has gained."""
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
    """The parts as far as they fit, and how many more there are."""
    shown_parts = [shown(part) for part in parts]
    for count in range(len(parts), 0, -1):
        left = len(parts) - count
        line = "; ".join(shown_parts[:count]) + (f"; and {left:,} more" if left else "")
        if len(line) <= room or count == 1:
            return line
    return "nothing"


def _extent(change: FileChange) -> str:
    """How much of a file has changed."""
    if change.after is None:
        return "removed"
    added, removed = change.lines()
    if change.before is None:
        return f"new, {_lines(len(added))}" if added else "new"
    said = list(_said(len(added), len(removed)))
    return ", ".join(said) or "changed"


def _said(added: int, removed: int) -> Iterator[str]:
    if added:
        yield f"{_lines(added)} added"
    if removed:
        yield f"{_lines(removed)} removed"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
