"""Monthly proposals: duplicate lines in different files and idle projects (spec 8.4)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from engine.context.fixed import PROJECTS
from engine.errors import AutopoiesisError
from engine.knowledge.category_files import Entry, entries
from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.similarity import SimilarEntries
from engine.lifecycle.proposals import Proposal
from engine.lifecycle.retention.memory import archive_steps, text_of
from engine.store.paths import slugify

if TYPE_CHECKING:
    from engine.store.files import Files

_BOLD = re.compile(r"\*\*([^*]+)\*\*")
QUIET = "archive/projects/_active.md"


def duplicates(files: Files, found: Iterable[Entry], year: int) -> Iterator[Proposal]:
    """A proposal for each file with lines that another file has as well, to drop them.

    The line in the first file by path is kept. Dropped lines go to ``archive/merged/``.
    """
    known = SimilarEntries()
    gone: dict[str, list[Entry]] = defaultdict(list)
    twins: dict[str, list[str]] = defaultdict(list)
    for entry in sorted(found, key=lambda each: (each.path, each.number)):
        text = text_of(entry)
        twin = known.find(text)
        if twin is None:
            known.add(replace(entry, text=text))
        elif twin.entry.path != entry.path and len(entry.lines) == 1:
            gone[entry.path].append(entry)
            twins[entry.path].append(
                f"line {entry.number}: {twin.entry.path}:{twin.entry.number} says the same"
            )
    for path, lines in gone.items():
        change = FileChange(tuple(archive_steps(lines, files.read(path), year)), tuple(twins[path]))
        count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        yield Proposal(f"merge-{path}", f"{count} of {path} duplicated in another file", change)


def quiet_projects(
    files: Files,
    changes: Mapping[str, datetime],
    texts: Callable[[date], Iterable[str]],
    today: date,
    days: int,
) -> Iterator[Proposal]:
    """The proposal to remove idle projects from ``_active.md``.

    Args:
        changes: Time of the last change of each file in ``knowledge/``.
        texts: Returns journals and conversations since a day.
        days: Days without a change or mention after which a project is idle.
    """
    try:
        data = files.read(PROJECTS)
    except FileNotFoundError:
        return
    since = today - timedelta(days=days)
    listed = {name: entry for entry in entries(data, PROJECTS) if (name := _name(entry))}
    folders = {name: f"knowledge/projects/{slugify(name)}/" for name in listed}
    for path, at in changes.items():
        for name, folder in folders.items():
            if path.startswith(folder) and at.date() >= since:
                listed.pop(name, None)
    if not listed:
        return
    for text in texts(since):
        plain = text.casefold()
        for name in [*listed]:
            if re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", plain):
                del listed[name]
        if not listed:
            return
    steps: list[Step] = []
    for entry in listed.values():
        text, title = "\n".join(entry.lines), "# Projects that were active"
        steps += (Step("add", QUIET, text, title=title), Step("drop", PROJECTS, text))
    names = ", ".join(listed)
    about = tuple(f"{name}: no change and no mention for {days} days" for name in listed)
    yield Proposal("quiet-projects", f"idle, off the active list: {names}", FileChange(tuple(steps), about))


def _name(entry: Entry) -> str:
    found = _BOLD.search(entry.text)
    return found[1].strip() if found else ""


def recent_texts(
    files: Files, journals: Sequence[str], conversations: Iterable[str], since: date
) -> Iterator[str]:
    """Journals and conversations from a day on, by the date in their paths."""
    for path in (*journals, *conversations):
        dated = re.search(r"(\d{4})[/-](\d\d)[/-](\d\d)", path)
        try:
            if dated is not None and date(*map(int, dated.groups())) < since:
                continue
            yield files.read(path).decode("utf-8", "replace")
        except (ValueError, FileNotFoundError, AutopoiesisError):
            continue
