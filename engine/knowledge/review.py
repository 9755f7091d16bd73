"""The review queue: items held for a person before they become knowledge (design 6.4, robustness M3).

``logs/review-YYYY-MM.jsonl`` has a record for each held item, for each further conversation that repeats it,
and for each decision. Records are never removed, so a rejected item never comes back, whichever conversation
repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from engine.errors import HarvestRefused
from engine.knowledge.category_files import Entry
from engine.knowledge.file_changes import FileChange, change_of
from engine.knowledge.file_changes import tree_of as tree_of_change
from engine.knowledge.item import Category, HeldItem, Item, Origin, Voice, normalised
from engine.knowledge.pages import path_of
from engine.knowledge.proposed import FORMER, WHY, Group, group_of, is_shown
from engine.knowledge.similarity import SimilarEntries
from engine.store.monthly import MonthlyLog

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.monthly import LogStamp, Record

KIND = "review"

Verdict = Literal["accepted", "rejected", "replaced"]
"""``replaced``: a newer change to the same files took its place; it was not rejected and may come back."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_TEXTS = ("why", "name", "day", "session", "source", "sha256", "beside", "file", "section", "subject")


@dataclass(frozen=True, slots=True)
class PendingItem:
    """An item in the queue, pending or settled."""

    id: str  # ``item_id`` of the item
    at: str  # when it was queued, ISO 8601, UTC
    item: Item
    why: str
    origin: Origin  # the conversation and day of the harvest; for a session note also its turns
    source: str  # the conversation's file
    sha256: str  # of the conversation's bytes
    line: int = 0  # line of the source it comes from, from 1; 0 if unknown
    said: str = ""  # an excerpt of that line
    read: tuple[str, ...] = ()  # outside sources the agent had read, if they are the reason
    times: int = 1  # occurrences in all conversations
    places: int = 1  # number of conversations with it
    verdict: Verdict | Literal[""] = ""  # empty while pending
    text: str = ""  # the edited text, if it was accepted with changes
    change: FileChange | None = None  # the proposed file change, if it is not a line of knowledge

    @property
    def group(self) -> Group:
        """The group in which it is listed."""
        return group_of(self.why, self.item.category)


@dataclass(frozen=True, slots=True)
class QueueResult:
    """Result of queueing items for review."""

    ids: tuple[str, ...]  # under which they are queued, without those that are not shown yet
    new: int  # how many of them are pending for the first time


class ReviewQueue:
    """Writes and reads the review queue. Safe to use from several processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock
        self._log = MonthlyLog(files, KIND, clock)
        self._waiting: tuple[LogStamp, tuple[PendingItem, ...]] = ((), ())

    def all(self) -> tuple[PendingItem, ...]:
        """All items ever held, oldest first."""
        return tuple(self._read()[0].values())

    def _read(self) -> tuple[dict[str, PendingItem], dict[str, str]]:
        """All items by id, and for each id ever queued the id under which it is counted."""
        found: dict[str, PendingItem] = {}
        counted_as: dict[str, str] = {}
        for record in self._log.records():
            name, again, verdict = record.get("id"), record.get("again"), record.get("verdict")
            if not isinstance(name, str):
                continue
            if "verdict" not in record:
                counted_as.setdefault(again if isinstance(again, str) else name, name)
            item = pending_item_in(record)
            if item is not None:
                if name not in found or found[name].verdict == "replaced":
                    found[name] = item
            elif name in found and isinstance(again, str):
                known = found[name]
                found[name] = replace(known, times=known.times + _times(record), places=known.places + 1)
            elif name in found and verdict in VERDICTS:
                text = record.get("text", "")
                found[name] = replace(
                    found[name], verdict=cast("Verdict", verdict), text=text if isinstance(text, str) else ""
                )
        return found, counted_as

    def waiting(self) -> tuple[PendingItem, ...]:
        """The pending items that are shown, oldest first. The log is read again only if it has changed."""
        stamp = self._log.stamp()
        if self._waiting[0] != stamp:
            self._waiting = stamp, tuple(filter(_is_pending, self.all()))
        return self._waiting[1]

    def get(self, name: str) -> PendingItem:
        """A pending item by its id or the start of it; raises ``HarvestRefused`` if there is none or
        several."""
        found = [each for each in self.waiting() if name and each.id.startswith(name)]
        if len(found) != 1:
            what = "several pending items match" if found else "no pending item matches"
            raise HarvestRefused(f"{what} {name!r:.40}", hint="list them with: autopoiesis review list")
        return found[0]

    def put(self, items: Iterable[PendingItem]) -> QueueResult:
        """Queues items for review; an item that repeats another one is counted with it.

        Raises:
            WriteFailed, ReadOnly: Some are not recorded.
        """
        with self._files.lock():
            found, counted_as = self._read()
            before = {name for name, each in found.items() if _is_pending(each)}
            index = _Index(found.values())
            mine: list[str] = []
            for each in items:
                name = counted_as.get(each.id) or index.find(each)
                comes_back = each.id in found and found[each.id].verdict == "replaced"
                if each.id not in counted_as or comes_back:
                    is_first = name is None or comes_back
                    self._log.append(tree_of(each) if is_first else _again(each, name or ""))
                    counted_as[each.id] = name or each.id
                if name is None:
                    index.add(each)
                mine.append(name or each.id)
            found, _ = self._read()
            ids = [name for name in dict.fromkeys(mine) if is_shown(found[name].why, found[name].times)]
            new = {name for name in ids if _is_pending(found[name])} - before
        return QueueResult(tuple(ids), len(new))

    def ids(self) -> frozenset[str]:
        """The ids of all items ever queued, including those counted with another."""
        return frozenset(self._read()[1])

    def settle(self, name: str, verdict: Verdict, text: str = "") -> None:
        """Records a decision; raises ``WriteFailed`` or ``ReadOnly`` if it cannot be written."""
        record: dict[str, Any] = {
            "at": self._clock().isoformat(timespec="seconds"),
            "id": name,
            "verdict": verdict,
        }
        if text:
            record["text"] = text
        self._log.append(record)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the queue, for a commit."""
        return tuple(month.name for month in self._log.stamp())


def _is_pending(each: PendingItem) -> bool:
    return not each.verdict and is_shown(each.why, each.times)


Locate = Callable[[Item], tuple[int, str]]
"""Gives the line of the source an item comes from, and its number; 0 and an empty string if unknown."""


def nowhere(_item: Item) -> tuple[int, str]:
    """The line of an item whose source is not known line by line."""
    return 0, ""


def pending_items(
    held: Iterable[HeldItem],
    *,
    at: str,
    origin: Origin,
    source: str,
    sha256: str,
    locate: Locate = nowhere,
) -> tuple[PendingItem, ...]:
    """Held items as queue items."""
    return tuple(
        PendingItem(
            each.id,
            at,
            each.item,
            each.why,
            origin,
            source,
            sha256,
            *locate(each.item),
            read=each.read,
            times=each.item.times,
        )
        for each in held
    )


def tree_of(each: PendingItem) -> dict[str, Any]:
    """An item as a record."""
    record = {
        "at": each.at,
        "id": each.id,
        "category": each.item.category,
        "said": each.item.text,
        "file": each.item.path,
        "section": each.item.section,
        "subject": each.item.subject,
        "voice": each.item.voice,
        "why": each.why,
        "name": each.origin.name,
        "day": each.origin.day,
        "turns": list(each.origin.turns or ()),
        "session": each.origin.session,
        "source": each.source,
        "sha256": each.sha256,
        "line": each.line,
        "beside": each.said,
        "read": list(each.read),
        "times": each.times if each.times > 1 else 0,
        "change": tree_of_change(each.change) if each.change is not None else None,
    }
    return {
        name: value for name, value in record.items() if value or name in ("at", "id", "category", "said")
    }


def pending_item_in(record: Record) -> PendingItem | None:
    """The item in a record; ``None`` if it is not valid."""
    try:
        category = record["category"]
        voice = record.get("voice", "")
        if category not in get_args(Category) or voice not in get_args(Voice):
            return None
        texts = {name: record.get(name, "") for name in _TEXTS}
        line = record.get("line", 0)
        read, turns = record.get("read", ()), record.get("turns", ())
        known = (record["at"], record["id"], record["said"], *texts.values(), *read)
        if not all(isinstance(text, str) for text in known) or not isinstance(line, int):
            return None
        change = change_of(record["change"]) if "change" in record else None
        if (change is None) == (category == "changes"):
            return None
        if turns and not (len(turns) == 2 and all(isinstance(number, int) for number in turns)):
            return None
    except (KeyError, TypeError):
        return None
    category, texts["file"], texts["why"] = _as_note(category, texts)
    return PendingItem(
        id=record["id"],
        at=record["at"],
        item=Item(
            category,
            record["said"],
            texts["file"],
            cast("Voice", voice),
            section=texts["section"],
            subject=texts["subject"],
        ),
        why=FORMER.get(texts["why"], texts["why"]),
        origin=Origin(texts["name"], texts["day"], tuple(turns) or None, texts["session"]),
        source=texts["source"],
        sha256=texts["sha256"],
        line=line,
        said=texts["beside"],
        read=tuple(read),
        times=_times(record),
        change=change,
    )


def _as_note(category: Category, texts: Mapping[str, str]) -> tuple[Category, str, str]:
    """Category, file and reason of a record; earlier versions stored a session note as a fact with the target
    in its reason.
    """
    why, _, meant = texts["why"].rpartition(" (meant for ")
    if category != "facts" or not why:
        return category, texts["file"], texts["why"]
    return "notes", path_of(meant.removesuffix(")"), texts["day"]), why


def _again(each: PendingItem, name: str) -> dict[str, Any]:
    """The record of a further conversation that repeats an item."""
    return {
        "at": each.at, "id": name, "again": each.id, "times": each.times,
        "source": each.source, "line": each.line, "sha256": each.sha256,
    }  # fmt: skip


def _times(record: Record) -> int:
    times = record.get("times", 1)
    return times if isinstance(times, int) and not isinstance(times, bool) and times > 0 else 1


class _Index:
    """Finds queued items by their text."""

    def __init__(self, items: Iterable[PendingItem]) -> None:
        self._exact: dict[tuple[str, str, str], str] = {}
        self._alike: dict[tuple[str, str], SimilarEntries] = {}
        for each in items:
            self.add(each)

    def add(self, each: PendingItem) -> None:
        item, place = each.item, _place(each.item)
        self._exact.setdefault((*place, normalised(item.text)), each.id)
        if item.category not in ("playbooks", "files", "changes") and each.why != WHY["command"]:
            # The id takes the place of the entry's line.
            entry = Entry("", 0, 0, each.id, (), item.text, each.origin.name, each.origin.day, "")
            self._alike.setdefault(place, SimilarEntries()).add(entry)

    def find(self, each: PendingItem) -> str | None:
        """The id of an equivalent item."""
        place = _place(each.item)
        if each.change is not None:
            return None  # equal words may describe different steps
        exact = self._exact.get((*place, normalised(each.item.text)))
        near = self._alike.get(place)
        if exact is not None or near is None:
            return exact
        found = near.find(each.item.text)
        return found.entry.raw if found is not None else None


def _place(item: Item) -> tuple[str, str]:
    """Items are compared only within the same place; session notes regardless of the journal's day."""
    path = item.path.rpartition("/")[0] if item.category == "notes" else item.path
    return item.category, path
