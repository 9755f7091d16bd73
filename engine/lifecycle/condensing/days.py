"""A day's journal (spec 2.2, 8.4): bullets by topic, added without changing existing text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from engine.context.fixed import JOURNAL
from engine.knowledge.category_files import CATEGORY_FILES, DONE, Entry, entries, plain
from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.item import Category
from engine.knowledge.pages import OLD_JOURNALS
from engine.knowledge.similarity import SimilarEntries
from engine.store.documents import parse
from engine.store.header import locate

if TYPE_CHECKING:
    from engine.store.files import Files

OTHER = "other"
"""The heading for lines that belong to no project."""
MAX_BULLETS = 40
"""Maximum bullets added for a day."""

_LABELS: dict[Category, str] = {
    "decisions": "Decided",
    "facts": "Learned",
    "tasks_done": "Done",
    "tasks_open": "To do",
    "questions": "Open",
    "playbooks": "Playbook",
}
_ORDER = ("decisions", "facts", "playbooks", "tasks_done", "tasks_open", "questions")
_CATEGORIES: dict[str, Category] = {
    "facts": "facts", "decisions": "decisions", "questions": "questions", "playbooks": "playbooks",
    "tasks": "tasks_open",
}  # fmt: skip
_LABEL = re.compile(r"^(?:decided|learned|done|to do|open|playbook):\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bullet:
    """One line of a journal."""

    topic: str  # its heading
    text: str


def path_of(day: date, files: Files | None = None) -> str:
    """The path of a day's journal, with ``files`` the archived one if it was archived."""
    path, archived = f"{JOURNAL}/{day.isoformat()}.md", f"{OLD_JOURNALS}/{day.isoformat()}.md"
    return archived if files is not None and files.workspace.root.joinpath(archived).is_file() else path


def bullets_of(files: Files, day: date, projects: Sequence[str]) -> tuple[list[Bullet], list[str]]:
    """The bullets of a day without a model: what was harvested from its conversations. What was done is in
    the recaps of its sessions (``engine.lifecycle.recaps``).

    Returns:
        The bullets by topic, and one line for each that was left out.
    """
    known = SimilarEntries()
    found: list[Bullet] = []
    for category, entry in sorted(_harvested(files, day), key=lambda each: _ORDER.index(each[0])):
        if known.find(entry.text) is None:
            known.add(_entry(entry.text))
            topic = _topic(f"{entry.text} {entry.source}", projects)
            found.append(Bullet(topic, f"{_LABELS[category]}: {plain(entry.text)}"))
    topics = [*projects, OTHER]
    found.sort(key=lambda each: topics.index(each.topic))
    return found[:MAX_BULLETS], [f"no room for: {each.text}" for each in found[MAX_BULLETS:]]


def journal_change(
    files: Files, day: date, bullets: Iterable[Bullet], sessions: Iterable[str]
) -> FileChange | None:
    """The change that adds bullets missing from a journal; ``None`` if there are none.

    Existing text is not changed, except the list of sessions in the header.
    """
    path = path_of(day, files)
    try:
        data = files.read(path)
    except FileNotFoundError:
        data = b""
    known = SimilarEntries([replace(entry, text=_LABEL.sub("", entry.text)) for entry in entries(data, path)])
    listed = listed_in(files, path)
    names = list(dict.fromkeys([*listed, *(name for name in sessions if re.fullmatch(r"[\w.-]+", name))]))
    fields = f"sessions: [{', '.join(names)}]"
    title = "\n".join(
        ("---", "type: journal", f"date: {day.isoformat()}", *([fields] if names else ()), "---", "",
         f"## {day.isoformat()}")
    )  # fmt: skip
    steps: list[Step] = []
    for bullet in bullets:
        if known.find(_LABEL.sub("", bullet.text)) is None:
            known.add(_entry(_LABEL.sub("", bullet.text)))
            text = f"- {bullet.text}"
            steps.append(Step("add", path, text, section=bullet.topic, level=3, title=title))
    if not steps:
        return None
    new = "1 line is" if len(steps) == 1 else f"{len(steps)} lines are"
    old = next((line for line in _header_lines(data) if line.startswith("sessions:")), "")
    if old and names != listed and "[" in old:
        steps.append(Step("swap", path, fields, old=old))
    return FileChange(tuple(steps), (f"{new} new in {path}",))


def listed_in(files: Files, path: str) -> list[str]:
    """The sessions in a journal's header, which it already covers."""
    try:
        header = parse(files.read(path), path).header.get("sessions", ())
    except FileNotFoundError:
        return []
    return [name for name in header if isinstance(name, str)] if isinstance(header, list | tuple) else []


def _harvested(files: Files, day: date) -> list[tuple[Category, Entry]]:
    """Lines of the category files with a provenance of a day."""
    found: list[tuple[Category, Entry]] = []
    for file in CATEGORY_FILES:
        try:
            data = files.read(file.path)
        except FileNotFoundError:
            continue
        category = _CATEGORIES[file.path.rpartition("/")[2].removesuffix(".md")]
        for entry in entries(data, file.path):
            if entry.day == day.isoformat():
                is_done = category == "tasks_open" and (entry.section == DONE or entry.is_ticked)
                found.append(("tasks_done" if is_done else category, entry))
    return found


def _topic(text: str, projects: Sequence[str]) -> str:
    """The first project named in a text; a longer name wins over a part of it."""
    plain_text = text.casefold()
    named = [
        (found.start(), -len(name), name)
        for name in projects
        if (found := re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", plain_text))
    ]
    return min(named)[2] if named else OTHER


def _entry(text: str) -> Entry:
    return Entry("", 0, 0, "", (), text, "", "", "")


def _header_lines(data: bytes) -> list[str]:
    return (locate(data).text or "").splitlines()
