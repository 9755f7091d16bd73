"""What the history screen knows: the commits that were read, what they are narrowed to, and what is shown.

Nothing here touches a widget. What reads the history is called off the screen's thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from tui.render.figures import count
from tui.screens.history.blame import BlameRow, blame_rows
from tui.screens.history.commits import Phase, TimeRow
from tui.screens.history.shown import Text, View, diff_text, file_text, note_text, problem_text, talk_text

if TYPE_CHECKING:
    from engine.history.history import History
    from engine.history.model import ChangedFile, Entry, Kind, Learned, UndoPlan
    from engine.store.repository import RepositoryState

PAGE = 200
"""Commits that are fetched at a time."""
FAR = 2_000
"""The same while a certain one is looked for."""
KEPT = 64
"""Commits whose files are remembered."""
_ROOT = "memory/"
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """Commits that are asked for."""

    kind: str = ""
    path: str = ""
    before: str = ""
    """Where the last page ended; empty for the newest ones."""
    known: str = ""
    """The newest commit that is known already: what is behind it need not be read again."""
    until: str = ""
    """The commit to go on to."""


@dataclass(frozen=True, slots=True)
class Page:
    """Commits that were read."""

    entries: tuple[Entry, ...]
    next: str
    repository: RepositoryState | None = None
    tags: Mapping[str, tuple[str, ...]] | None = None
    """Snapshots by revision; ``None`` where nobody looked."""


def read_page(history: History, wanted: Wanted) -> Page:
    """Reads some commits; of the newest ones the snapshots and the repository's state as well."""
    entries: list[Entry] = []
    after, size = wanted.before, FAR if wanted.until else PAGE
    while True:
        page = history.timeline(size, before=after, path=wanted.path, kind=wanted.kind)
        entries += page.entries
        after = page.next
        if not after or not wanted.until or any(each.revision == wanted.until for each in page.entries):
            break
    if wanted.before:
        return Page(tuple(entries), after)
    tags: dict[str, tuple[str, ...]] = {}
    for each in history.snapshots():
        tags[each.revision] = (*tags.get(each.revision, ()), each.tag.removeprefix(_ROOT))
    return Page(tuple(entries), after, history.repository.state(count=False), tags)


@dataclass(frozen=True, slots=True)
class Look:
    """What is to be shown beside the commits."""

    view: View
    entry: Entry
    path: str
    file: ChangedFile | None = None
    """Of a diff."""
    learned: Learned | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of that: a text, or the lines of a file with where they come from."""

    text: Text | None = None
    blamed: tuple[BlameRow, ...] = ()
    deleted: bool = False
    """The commit deleted the file, which is shown as it was before."""


def read_look(history: History, look: Look) -> Seen:
    """Reads what is to be shown; why it cannot be is shown in its place."""
    try:
        return _read(history, look)
    except FileNotFoundError:
        when = (
            "is not there any more"
            if look.view == "talk"
            else f"is not there as of {look.entry.revision[:8]}"
        )
        where = "; the ledger says what became of it, and restores it" if look.view == "talk" else ""
        return Seen(problem_text(f"{look.path} {when}{where}"))
    except (AutopoiesisError, OSError) as error:
        return Seen(problem_text(str(error)))


def _read(history: History, look: Look) -> Seen:
    revision = look.entry.revision
    match look.view:
        case "blame":
            held = _holding(history, look)
            rows = blame_rows(history.blame(look.path, revision=held))
            return Seen(None if rows else note_text(f"{look.path} has no lines"), rows, held != revision)
        case "file":
            entry, data = history.recall(_holding(history, look), look.path)
            return Seen(file_text(entry, look.path, data, _today(history, look.path), look.learned))
        case "talk":
            return Seen(talk_text(look.path, history.files.read(look.path)))
        case _:
            if look.file is None:
                return Seen(note_text("this commit changed no file"))
            diff = history.diff(revision, look.file, most=_MOST_BYTES)
            return Seen(diff_text(look.file.letter, diff))


def _holding(history: History, look: Look) -> str:
    """The commit, or, where that deleted the file, the one before it.

    Raises:
        FileNotFoundError: Neither holds the file.
    """
    for revision in (look.entry.revision, *look.entry.parents[:1]):
        with contextlib.suppress(FileNotFoundError):
            history.recall(revision, look.path)
            return revision
    raise FileNotFoundError(look.path)


def _today(history: History, path: str) -> bytes | None:
    try:
        return history.files.read(path)
    except (AutopoiesisError, OSError):
        return None


class HistoryState:
    """The state of one history screen."""

    def __init__(self) -> None:
        self.phase: Phase = "loading"
        self.problem = ""
        self.kind = ""
        self.path = ""
        """The file or folder whose commits alone are listed."""
        self.repository: RepositoryState | None = None
        self.next = ""
        self.view: View = "diff"
        self.pinned = ""
        """The file that is looked at from commit to commit."""
        self.talk = ""
        """The conversation that is shown."""
        self.learned: Learned | None = None
        self.plan: UndoPlan | None = None
        self.chosen: dict[str, str] = {}
        """The path of the file that was chosen last in a commit, by its revision."""
        self.files: dict[str, tuple[ChangedFile, ...]] = {}
        self.problems: dict[str, str] = {}
        self._entries: tuple[Entry, ...] = ()
        self._tags: Mapping[str, tuple[str, ...]] = {}
        self._rows: list[TimeRow] = []

    # The time line

    @property
    def rows(self) -> list[TimeRow]:
        """The commits that were read."""
        return self._rows

    @property
    def whole(self) -> str:
        """How many commits were read, whether there are more, and of which type and file."""
        if self.phase != "found":
            return ""
        number = f"{count(len(self._rows))}{'+' if self.next else ''}"
        return " · ".join(filter(None, (number, self.kind, self.path)))

    def fresh(self, until: str = "") -> Wanted:
        """What to ask for to have the newest commits."""
        known = self._entries[0].revision if self._entries and not until else ""
        return Wanted(self.kind, self.path, known=known, until=until)

    def older(self, until: str = "") -> Wanted:
        """What to ask for to have the next page, or all pages to a commit."""
        return Wanted(self.kind, self.path, self.next, until=until)

    def take(self, wanted: Wanted, page: Page) -> bool:
        """Takes in commits; ``False`` where they belong to another list than the present one."""
        if (wanted.kind, wanted.path) != (self.kind, self.path):
            return False
        if wanted.before:
            if wanted.before != self.next:
                return False
            self._entries, self.next = (*self._entries, *page.entries), page.next
            self._rows = [*self._rows, *self._as_rows(page.entries)]
            return True
        names = [each.revision for each in page.entries]
        at = names.index(wanted.known) if wanted.known in names else -1
        if at >= 0 and self._entries and self._entries[0].revision == wanted.known:
            self._entries = (*page.entries[:at], *self._entries)
        else:
            self._entries, self.next = page.entries, page.next
        self.phase, self.problem = "found", ""
        self.repository, self._tags = page.repository, page.tags or {}
        self._rows = self._as_rows(self._entries)
        return True

    def _as_rows(self, entries: Sequence[Entry]) -> list[TimeRow]:
        return [TimeRow(each, each.revision, self._tags.get(each.revision, ())) for each in entries]

    def fail(self, problem: str) -> None:
        """Takes in why the history cannot be read."""
        self.phase, self.problem = "error", problem
        self._entries, self._rows, self.next = (), [], ""

    def narrow_to(self, kind: str, path: str) -> None:
        """Keeps to a type and a file; the commits have to be read again."""
        self.kind, self.path, self.next = kind, path, ""
        self.phase, self._entries, self._rows = "loading", (), []

    def next_kind(self, kinds: Sequence[Kind]) -> str:
        """The next type to keep to; empty for all of them."""
        steps = ("", *kinds)
        return steps[(steps.index(self.kind) + 1) % len(steps)]

    # What is shown beside it

    def take_files(self, revision: str, files: tuple[ChangedFile, ...], problem: str = "") -> None:
        """Takes in what a commit changed."""
        if len(self.files) >= KEPT:
            self.files, self.problems = {}, {}
        self.files[revision] = files
        if problem:
            self.problems[revision] = problem

    def chosen_path(self, revision: str) -> str:
        """The path of the file of a commit that is shown; the first one where none was chosen."""
        files = self.files.get(revision, ())
        for wanted in (self.chosen.get(revision, ""), self.pinned):
            if any(each.path == wanted for each in files):
                return wanted
        return files[0].path if files else ""

    def show_diff(self) -> bool:
        """Goes back to what the commit changed; ``False`` where that is shown already."""
        before = self.view
        self.view, self.pinned, self.talk, self.learned, self.plan = "diff", "", "", None, None
        return before != "diff"

    def look(self, item: TimeRow) -> Look | None:
        """What to read to show it; ``None`` where it is known, or not known yet what."""
        if self.view == "undo":
            return None
        if self.view == "talk":
            return Look("talk", item.entry, self.talk)
        if self.view in ("file", "blame"):
            learned = self.learned
            if learned is not None and (
                learned.first is None or learned.first.entry.revision != item.revision
            ):
                learned = None
            return Look(self.view, item.entry, self.pinned, learned=learned)
        files = self.files.get(item.revision)
        if files is None or item.revision in self.problems:
            return None
        path = self.chosen_path(item.revision)
        return Look("diff", item.entry, path, next((each for each in files if each.path == path), None))
