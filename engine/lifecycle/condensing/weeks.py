"""Condenses without a model (spec 2.2, 8.4): a week's decisions and lessons for MEMORY.md within its cap, a
month's duplicate lines and idle projects.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from engine.context.fixed import JOURNAL, PROJECTS
from engine.context.sources import MEMORY
from engine.errors import AutopoiesisError, ConfigError
from engine.knowledge.category_files import Entry, entries, plain, refuse_broken
from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.pages import MEMORY_BYTES, line_count
from engine.knowledge.similarity import SimilarEntries
from engine.lifecycle.proposals import Proposal
from engine.lifecycle.retention.memory import archive_steps, header_steps, text_of
from engine.store.markdown import sections, with_line
from engine.store.paths import slugify

if TYPE_CHECKING:
    from engine.store.files import Files

DECISIONS = ("Key Decisions", "Decisions")
LESSONS = ("Lessons Learned", "Lessons")
"""Names of the sections; the first is used for a new one."""
TITLE = "---\ntype: memory\n---\n\n# Core Memory"

_WEEK = re.compile(r"(\d{4})-W(\d\d)")
_DECIDED = re.compile(r"(?:\*\*)?(?:decided|decision|beschlossen|entscheidung|entschieden)\b", re.IGNORECASE)
_LEARNED = re.compile(
    r"(?:\*\*)?(?:lessons? learned|lesson|learned|key insight|insight|gelernt|lehre|merke)\b", re.IGNORECASE
)
_LABEL = re.compile(rf"^(?:{_DECIDED.pattern}|{_LEARNED.pattern})(?:\*\*)?:(?:\*\*)?\s+", re.IGNORECASE)
_HEADING = re.compile(r"decision|entscheidung|lesson|lehre|insight", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kept:
    """A decision or lesson in a journal."""

    names: tuple[str, ...]  # of the section it goes to
    day: date
    text: str
    place: str  # ``file:line``


def week_of(day: date) -> str:
    """The ISO week of a day, such as ``2026-W24``."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"


def days_of(week: str) -> list[date]:
    """The days of an ISO week.

    Raises:
        ConfigError: Not a valid week.
    """
    found = _WEEK.fullmatch(week)
    try:
        first = date.fromisocalendar(int(found[1]), int(found[2]), 1) if found else None
    except ValueError:
        first = None
    if first is None:
        raise ConfigError(f"{week[:20]!r} is not a week", hint="use the form 2026-W24")
    return [first + timedelta(days=number) for number in range(7)]


def summary_of(week: str) -> str:
    """The summary of a week's proposal."""
    return f"MEMORY.md with the journals of {week}"


def journals_of(files: Files, week: str) -> list[tuple[date, bytes]]:
    """The journals of a week, by day."""
    found = ((day, files.find(f"{JOURNAL}/{day}.md")) for day in days_of(week))
    return [(day, data) for day, data in found if data is not None]


def kept_in(journals: Sequence[tuple[date, bytes]]) -> list[Kept]:
    """The decisions and lessons in journals: bullets labelled as such, or below such a heading."""
    found: list[Kept] = []
    for day, data in journals:
        path = f"{JOURNAL}/{day}.md"
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        heads = [(each.start_line, each.end_line, each.title) for each in sections(text)]
        for entry in entries(data, path):
            above = next((title for start, end, title in heads if start <= entry.number <= end), "")
            names = _names(entry.text, above)
            if names:
                line = plain(_LABEL.sub("", text_of(entry), count=1))
                if line:
                    found.append(Kept(names, day, line[:1].upper() + line[1:], f"{path}:{entry.number}"))
    return found


def _names(text: str, heading: str) -> tuple[str, ...]:
    bare = re.sub(r"^\d{4}-\d\d-\d\d[:\s]+", "", text)
    if _DECIDED.match(bare):
        return DECISIONS
    if _LEARNED.match(bare):
        return LESSONS
    if _HEADING.search(heading):
        return DECISIONS if re.search(r"decision|entscheidung", heading, re.IGNORECASE) else LESSONS
    return ()


def promotion(
    data: bytes, kept: Sequence[Kept], cap: int, now: datetime
) -> tuple[FileChange | None, list[str]]:
    """The change that adds missing entries to MEMORY.md, as far as its cap allows.

    Returns:
        The change, or ``None`` if there is nothing to add; and one line for each entry that does not fit.

    Raises:
        DocumentError: It cannot be edited.
    """
    refuse_broken(data, MEMORY)
    there = entries(data, MEMORY)
    known = SimilarEntries([replace(entry, text=text_of(entry)) for entry in there])
    titles = {each.title.casefold(): each.title for each in sections(data.decode("utf-8", "replace"))}
    after = data or f"{TITLE}\n".encode()
    steps: list[Step] = []
    left: list[str] = []
    for each in kept:
        if known.find(each.text) is not None:
            continue
        known.add(Entry("", 0, 0, "", (), each.text, "", "", ""))
        section = next((titles[name.casefold()] for name in each.names if name.casefold() in titles), "")
        section, line = section or each.names[0], f"- {each.day.isoformat()}: {each.text}"
        longer = with_line(after, line, section)
        if line_count(longer) > cap or len(longer) > MEMORY_BYTES:
            left.append(f"no room in MEMORY.md for {each.place}: {each.text}")
            continue
        after = longer
        titles[section.casefold()] = section
        steps.append(Step("add", MEMORY, line, section=section, title=TITLE))
    if not steps:
        return None, left
    about = tuple(f"{step.section}: {step.text}" for step in steps)
    return FileChange((*steps, *header_steps(data, now)), about), left


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
    data = files.find(PROJECTS) or b""
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
