"""What a month's look at knowledge proposes: lines said twice in different files, projects gone quiet (spec
8.4).
"""

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
from engine.lifecycle.retention.memory import leaving, said
from engine.store.paths import slugify

if TYPE_CHECKING:
    from engine.store.files import Files

_BOLD = re.compile(r"\*\*([^*]+)\*\*")
QUIET = "archive/projects/_active.md"


def duplicates(files: Files, found: Iterable[Entry], year: int) -> Iterator[Proposal]:
    """For each file of projects and people whose lines another says as well the proposal to drop them there.

    The line of the file that comes first by path stays. What is dropped goes to ``archive/merged/``.
    """
    known = SimilarEntries()
    gone: dict[str, list[Entry]] = defaultdict(list)
    twins: dict[str, list[str]] = defaultdict(list)
    for entry in sorted(found, key=lambda each: (each.path, each.number)):
        text = said(entry)
        twin = known.find(text)
        if twin is None:
            known.add(replace(entry, text=text))
        elif twin.entry.path != entry.path and len(entry.lines) == 1:
            gone[entry.path].append(entry)
            twins[entry.path].append(
                f"line {entry.number}: {twin.entry.path}:{twin.entry.number} says the same"
            )
    for path, lines in gone.items():
        change = FileChange(tuple(leaving(lines, files.read(path), year)), tuple(twins[path]))
        count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        yield Proposal(f"merge-{path}", f"{count} of {path} said in another file as well", change)


def quiet_projects(
    files: Files,
    changes: Mapping[str, datetime],
    texts: Callable[[date], Iterable[str]],
    today: date,
    days: int,
) -> Iterator[Proposal]:
    """The proposal to take projects off ``_active.md`` that nobody changed or spoke of for some days.

    Args:
        changes: When each file of ``knowledge/`` was changed last.
        texts: What was said and written since a day, in journals and conversations.
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
            # The list itself says nothing of a project: it changes with any of them.
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
    yield Proposal("quiet-projects", f"{names} off the active projects", FileChange(tuple(steps), about))


def _name(entry: Entry) -> str:
    found = _BOLD.search(entry.text)
    return found[1].strip() if found else ""


def recent_texts(
    files: Files, journals: Sequence[str], conversations: Iterable[str], since: date
) -> Iterator[str]:
    """Journals and conversations from a day on, as far as their paths say so."""
    for path in (*journals, *conversations):
        dated = re.search(r"(\d{4})[/-](\d\d)[/-](\d\d)", path)
        try:
            if dated is not None and date(*map(int, dated.groups())) < since:
                continue
            yield files.read(path).decode("utf-8", "replace")
        except (ValueError, FileNotFoundError, AutopoiesisError):
            continue
