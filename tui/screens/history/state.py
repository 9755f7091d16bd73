"""State of the history screen: loaded commits, filters, and the current view.

Touches no widgets. Functions that read the history run off the screen's thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from tui.render.figures import count
from tui.screens.history.draw import (
    BlameRow,
    CommitRow,
    Phase,
    Text,
    View,
    blame_rows,
    conversation_text,
    diff_text,
    file_text,
    note_text,
    problem_text,
)

if TYPE_CHECKING:
    from engine.history.history import History
    from engine.history.model import ChangedFile, Entry, Kind, Learned, UndoPlan
    from engine.store.repository import RepositoryState

PAGE = 200
"""Commits fetched at a time."""
FAR = 2_000
"""Commits fetched at a time while searching for a certain one."""
KEPT = 64
"""Commits whose files are cached."""
_ROOT = "memory/"
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PageRequest:
    kind: str = ""
    path: str = ""
    before: str = ""
    """Where the last page ended; empty for the newest commits."""
    known: str = ""
    """The newest commit loaded so far; those before it are not read again."""
    until: str = ""
    """The commit to read up to."""


@dataclass(frozen=True, slots=True)
class Page:
    entries: tuple[Entry, ...]
    next: str
    repository: RepositoryState | None = None
    tags: Mapping[str, tuple[str, ...]] | None = None
    """Snapshots by revision; ``None`` if not read."""


def read_page(history: History, wanted: PageRequest) -> Page:
    """Reads a page of commits; with the newest ones, also snapshots and the repository's state."""
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
class ViewRequest:
    """What to show next to the commits."""

    view: View
    entry: Entry
    path: str
    file: ChangedFile | None = None
    """For a diff."""
    learned: Learned | None = None


@dataclass(frozen=True, slots=True)
class ViewContent:
    """The answer to a ``ViewRequest``: a text, or a blame."""

    text: Text | None = None
    blamed: tuple[BlameRow, ...] = ()
    deleted: bool = False
    """The commit deleted the file, so its previous version is shown."""


def read_view(history: History, request: ViewRequest) -> ViewContent:
    """Reads what was requested; an error becomes the content."""
    try:
        return _read(history, request)
    except FileNotFoundError:
        if request.view == "conversation":
            problem = "no longer exists; the ledger can tell why and restore it"
        else:
            problem = f"does not exist at {request.entry.revision[:8]}"
        return ViewContent(problem_text(f"{request.path} {problem}"))
    except (AutopoiesisError, OSError) as error:
        return ViewContent(problem_text(str(error)))


def _read(history: History, request: ViewRequest) -> ViewContent:
    revision = request.entry.revision
    match request.view:
        case "blame":
            held = _holding(history, request)
            rows = blame_rows(history.blame(request.path, revision=held))
            return ViewContent(
                None if rows else note_text(f"{request.path} has no lines"), rows, held != revision
            )
        case "file":
            entry, data = history.recall(_holding(history, request), request.path)
            return ViewContent(
                file_text(entry, request.path, data, _today(history, request.path), request.learned)
            )
        case "conversation":
            return ViewContent(conversation_text(request.path, history.files.read(request.path)))
        case _:
            if request.file is None:
                return ViewContent(note_text("this commit changed no file"))
            diff = history.diff(revision, request.file, limit=_MAX_BYTES)
            return ViewContent(diff_text(request.file.letter, diff))


def _holding(history: History, request: ViewRequest) -> str:
    """The commit, or its parent if the commit deleted the file.

    Raises:
        FileNotFoundError: Neither contains the file.
    """
    for revision in (request.entry.revision, *request.entry.parents[:1]):
        with contextlib.suppress(FileNotFoundError):
            history.recall(revision, request.path)
            return revision
    raise FileNotFoundError(request.path)


def _today(history: History, path: str) -> bytes | None:
    try:
        return history.files.read(path)
    except (AutopoiesisError, OSError):
        return None


class HistoryState:
    def __init__(self) -> None:
        self.phase: Phase = "loading"
        self.problem = ""
        self.kind = ""
        self.path = ""
        """The file or folder the commits are filtered by."""
        self.repository: RepositoryState | None = None
        self.next = ""
        self.view: View = "diff"
        self.pinned = ""
        """The file that stays in view from commit to commit."""
        self.conversation = ""
        """The conversation shown."""
        self.learned: Learned | None = None
        self.plan: UndoPlan | None = None
        self.chosen: dict[str, str] = {}
        """The file last selected in each commit, by revision."""
        self.files: dict[str, tuple[ChangedFile, ...]] = {}
        self.problems: dict[str, str] = {}
        self._entries: tuple[Entry, ...] = ()
        self._tags: Mapping[str, tuple[str, ...]] = {}
        self._rows: list[CommitRow] = []

    # The timeline

    @property
    def rows(self) -> list[CommitRow]:
        return self._rows

    @property
    def heading(self) -> str:
        """The number of commits read, with ``+`` if there are more, and the filters."""
        if self.phase != "found":
            return ""
        number = f"{count(len(self._rows))}{'+' if self.next else ''}"
        return " · ".join(filter(None, (number, self.kind, self.path)))

    def fresh(self, until: str = "") -> PageRequest:
        """A request for the newest commits."""
        known = self._entries[0].revision if self._entries and not until else ""
        return PageRequest(self.kind, self.path, known=known, until=until)

    def older(self, until: str = "") -> PageRequest:
        """A request for the next page, or for all pages up to a commit."""
        return PageRequest(self.kind, self.path, self.next, until=until)

    def take(self, wanted: PageRequest, page: Page) -> bool:
        """Stores a page; ``False`` if the filters have changed since it was requested."""
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

    def _as_rows(self, entries: Sequence[Entry]) -> list[CommitRow]:
        return [CommitRow(each, each.revision, self._tags.get(each.revision, ())) for each in entries]

    def fail(self, problem: str) -> None:
        self.phase, self.problem = "error", problem
        self._entries, self._rows, self.next = (), [], ""

    def narrow_to(self, kind: str, path: str) -> None:
        """Filters by type and file; the commits have to be read again."""
        self.kind, self.path, self.next = kind, path, ""
        self.phase, self._entries, self._rows = "loading", (), []

    def next_kind(self, kinds: Sequence[Kind]) -> str:
        """The next type to filter by; empty for all."""
        steps = ("", *kinds)
        return steps[(steps.index(self.kind) + 1) % len(steps)]

    # The view next to the timeline

    def take_files(self, revision: str, files: tuple[ChangedFile, ...], problem: str = "") -> None:
        if len(self.files) >= KEPT:
            self.files, self.problems = {}, {}
        self.files[revision] = files
        if problem:
            self.problems[revision] = problem

    def chosen_path(self, revision: str) -> str:
        """The file shown of a commit: the selected one, or the first."""
        files = self.files.get(revision, ())
        for wanted in (self.chosen.get(revision, ""), self.pinned):
            if any(each.path == wanted for each in files):
                return wanted
        return files[0].path if files else ""

    def show_diff(self) -> bool:
        """Returns to the diff; ``False`` if it is shown already."""
        before = self.view
        self.view, self.pinned, self.conversation, self.learned, self.plan = "diff", "", "", None, None
        return before != "diff"

    def view_request(self, item: CommitRow) -> ViewRequest | None:
        """What to read for a commit; ``None`` for an undo, or while its files are loading."""
        if self.view == "undo":
            return None
        if self.view == "conversation":
            return ViewRequest("conversation", item.entry, self.conversation)
        if self.view in ("file", "blame"):
            learned = self.learned
            if learned is not None and (
                learned.first is None or learned.first.entry.revision != item.revision
            ):
                learned = None
            return ViewRequest(self.view, item.entry, self.pinned, learned=learned)
        files = self.files.get(item.revision)
        if files is None or item.revision in self.problems:
            return None
        path = self.chosen_path(item.revision)
        return ViewRequest(
            "diff", item.entry, path, next((each for each in files if each.path == path), None)
        )
