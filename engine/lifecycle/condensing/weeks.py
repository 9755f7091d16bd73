"""Condenses without a model (spec 2.2, 8.4): a day's lines for its journal, a week's decisions and lessons
for MEMORY.md within its cap, a month's duplicate lines and idle projects.
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
from engine.knowledge.category_files import CATEGORY_FILES, DONE, Entry, entries, plain, refuse_broken
from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.item import Category
from engine.knowledge.pages import MEMORY_BYTES, OLD_JOURNALS, line_count
from engine.knowledge.similarity import SimilarEntries
from engine.lifecycle.proposals import Proposal
from engine.lifecycle.retention.memory import archive_steps, header_steps, text_of
from engine.store.documents import parse
from engine.store.header import locate
from engine.store.markdown import sections, with_line
from engine.store.paths import slugify

if TYPE_CHECKING:
    from engine.store.files import Files

OTHER = "other"
"""The heading for lines that belong to no project."""
MAX_BULLETS = 40
"""Maximum bullets added for a day."""

_WORDS_OF: dict[Category, str] = {
    "decisions": "Decided", "facts": "Learned", "playbooks": "Playbook", "tasks_done": "Done",
    "tasks_open": "To do", "questions": "Open",
}  # fmt: skip
"""The words before lines of the journal, in the order of the lines."""
_ORDER = tuple(_WORDS_OF)
_CATEGORIES: dict[str, Category] = {
    "facts": "facts", "decisions": "decisions", "questions": "questions", "playbooks": "playbooks",
    "tasks": "tasks_open",
}  # fmt: skip
_LABELLED = re.compile(r"^(?:decided|learned|done|to do|open|playbook):\s+", re.IGNORECASE)


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
            found.append(Bullet(topic, f"{_WORDS_OF[category]}: {plain(entry.text)}"))
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
    data = files.find(path) or b""
    there = entries(data, path)
    known = SimilarEntries([replace(entry, text=_LABELLED.sub("", entry.text)) for entry in there])
    listed = listed_in(files, path)
    names = list(dict.fromkeys([*listed, *(name for name in sessions if re.fullmatch(r"[\w.-]+", name))]))
    fields = f"sessions: [{', '.join(names)}]"
    title = "\n".join(
        ("---", "type: journal", f"date: {day.isoformat()}", *([fields] if names else ()), "---", "",
         f"## {day.isoformat()}")
    )  # fmt: skip
    steps: list[Step] = []
    for bullet in bullets:
        if known.find(_LABELLED.sub("", bullet.text)) is None:
            known.add(_entry(_LABELLED.sub("", bullet.text)))
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
    header = parse(files.find(path) or b"", path).header.get("sessions", ())
    return [name for name in header if isinstance(name, str)] if isinstance(header, list | tuple) else []


def _harvested(files: Files, day: date) -> list[tuple[Category, Entry]]:
    """Lines of the category files with a provenance of a day."""
    found: list[tuple[Category, Entry]] = []
    for file in CATEGORY_FILES:
        data = files.find(file.path) or b""
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
    found = ((day, files.find(path_of(day))) for day in days_of(week))
    return [(day, data) for day, data in found if data is not None]


def kept_in(journals: Sequence[tuple[date, bytes]]) -> list[Kept]:
    """The decisions and lessons in journals: bullets labelled as such, or below such a heading."""
    found: list[Kept] = []
    for day, data in journals:
        path = path_of(day)
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
        known.add(_entry(each.text))
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
