"""The review queue: items held for a person before they become knowledge (design 6.4, robustness M3).

``logs/review-YYYY-MM.jsonl`` has a record for each held item, for each further conversation that repeats it,
and for each decision. Records are never removed, so a rejected item never comes back, whichever conversation
repeats it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from engine.errors import AutopoiesisError, HarvestRefused, ReadOnly, WriteFailed
from engine.knowledge.apply import is_there, write
from engine.knowledge.category_files import CATEGORY_FILES, Entry
from engine.knowledge.file_changes import FileChange, carry_out, change_of, refuse_unfit
from engine.knowledge.file_changes import tree_of as tree_of_change
from engine.knowledge.item import ITEM_CHARACTERS, Category, Edit, HeldItem, Item, Origin, Voice, normalised
from engine.knowledge.journal import Journal
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerLine
from engine.knowledge.pages import is_page
from engine.knowledge.plan import plan
from engine.knowledge.proposed import WHY, Group, group_of, is_shown
from engine.knowledge.similarity import SimilarEntries
from engine.provenance.disguise import is_disguised
from engine.provenance.instructions import is_hostile_act, is_instruction
from engine.redaction.detect import secrets_in
from engine.store.change import commit_message
from engine.store.monthly import MonthlyLog
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.ledger import Ledger
    from engine.store.change import Commit
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
                is_named = record.get("named") is True and group_of(known.why) in ("commands", "outside")
                why = WHY["named"] if is_named else known.why
                found[name] = replace(
                    known, why=why, times=known.times + _times(record), places=known.places + 1
                )
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
        why=texts["why"],
        origin=Origin(texts["name"], texts["day"], tuple(turns) or None, texts["session"]),
        source=texts["source"],
        sha256=texts["sha256"],
        line=line,
        said=texts["beside"],
        read=tuple(read),
        times=_times(record),
        change=change,
    )


def _again(each: PendingItem, name: str) -> dict[str, Any]:
    """The record of a further conversation that repeats an item."""
    return {
        "at": each.at, "id": name, "again": each.id, "times": each.times,
        "source": each.source, "line": each.line, "sha256": each.sha256,
        **({"named": True} if each.why == WHY["named"] else {}),
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
        if item.category not in ("playbooks", "files", "changes") and group_of(each.why) != "commands":
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


JOURNALS = "scratch/review"
"""Folder of the journals of decisions in progress."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """The content of a journal."""

    id: str
    verdict: Verdict
    text: str = ""  # the edited text; empty if unchanged
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The result of a decision."""

    waiting: PendingItem
    line: str = ""  # the line written; empty if it was rejected or already there
    path: str = ""  # the file with that line or an equivalent one
    number: int = 0  # from 1; 0 for none
    known: bool = False  # it was already there
    settled: bool = False  # it had already been decided this way
    paths: tuple[str, ...] = ()  # the files changed, if it is a file change
    commit: str = ""  # hash; empty if there is no commit
    uncommitted: str = ""  # why there is no commit


@dataclass(eq=False)
class Reviewing:
    """Accepts and rejects pending items. Safe to use from several processes."""

    files: Files
    queue: ReviewQueue
    ledger: Ledger
    digest: Digest
    commit: Commit
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[tuple[_Decision, PendingItem]]:
        lost = "the item is still pending"
        return Journal(self.files, JOURNALS, self._read, lost, self.on_problem, lambda work: asdict(work[0]))

    def accept(self, name: str, text: str = "", *, sure: bool = False) -> ReviewResult:
        """Writes an item to the knowledge files, unless an equivalent entry exists.

        ``name`` is the item's id or the start of it. ``text`` replaces the item's text; ``sure`` confirms a
        risky item.

        Raises:
            HarvestRefused: No item has that id, the text is not a valid line or contains a secret, or the
            item
                is risky and ``sure`` is not set.
            ChangeRefused: It is a file change, and the files have changed since.
            DocumentError, WriteFailed, ReadOnly: It was not written and is still pending.
        """
        with self.files.lock():
            line = _line(text) if text else ""
            finished = self._finished(name, "accepted", line)
            if finished is not None:
                return finished
            waiting = self.queue.get(name)
            if not sure and is_risky(waiting, line):
                raise HarvestRefused(
                    f"{waiting.id} {waiting.why}",
                    hint=f"read it; to accept it anyway: autopoiesis review accept {waiting.id} --sure",
                )
            if waiting.change is not None:
                if line:
                    raise HarvestRefused(
                        "a file change can only be accepted as is", hint="edit the file afterwards"
                    )
                refuse_unfit(self.files, waiting.change)
                return self._decided(_Decision(waiting.id, "accepted"), waiting)
            item = replace(waiting.item, text=line) if line else waiting.item
            decided = plan((item,), waiting.origin, self.files, held=lambda _item: None)
            known = next(iter(decided.known), None)
            existing = (
                None
                if known is None
                else ReviewResult(waiting, path=known.path, number=known.number, known=True)
            )
            decision = _Decision(waiting.id, "accepted", line, decided.edits)
            return self._decided(decision, waiting, existing)

    def reject(self, name: str) -> ReviewResult:
        """Rejects an item; it never comes back.

        Raises:
            HarvestRefused: No item has that id.
            WriteFailed, ReadOnly: It is still pending.
        """
        with self.files.lock():
            finished = self._finished(name, "rejected")
            if finished is not None:
                return finished
            waiting = self.queue.get(name)
            return self._decided(_Decision(waiting.id, "rejected"), waiting)

    def recover(self) -> tuple[ReviewResult, ...]:
        """Finishes interrupted decisions.

        Raises:
            DocumentError, WriteFailed: One cannot be finished now; its journal is kept.
        """
        return tuple(self._journal.finish(lambda name, work: self._settled(name, *work)))

    def _read(self, tree: Any) -> tuple[_Decision, PendingItem]:
        """The decision in a journal and its item; raises as ``typed``, or ``KeyError`` if there is none."""
        decision = typed(_Decision, tree)
        return decision, {each.id: each for each in self.queue.all()}[decision.id]

    def _finished(self, name: str, verdict: Verdict, text: str = "") -> ReviewResult | None:
        """The result of the same decision made earlier, if any; uncommitted parts of it are committed."""
        for each in self.recover():
            if name and each.waiting.id.startswith(name) and each.waiting.verdict == verdict:
                return each
        found = [each for each in self.queue.all() if name and each.id.startswith(name)]
        if len(found) != 1 or found[0].verdict != verdict or found[0].text != text:
            return None
        places = [file.path for file in CATEGORY_FILES]
        if found[0].change is not None:
            places += found[0].change.paths
        elif is_page(found[0].item.path):
            places.append(found[0].item.path)
        self.digest.follow(self.on_problem)  # an interrupted run may not have done so
        written = (*self.queue.paths, LEDGER, *places, *self.digest.paths)
        root = self.files.workspace.root
        paths = [path for path in dict.fromkeys(written) if root.joinpath(path).is_file()]
        made = self.commit(paths, _message(found[0], verdict, text))
        return ReviewResult(found[0], settled=True, commit=made.revision, uncommitted=made.why)

    def _decided(
        self, decision: _Decision, waiting: PendingItem, known: ReviewResult | None = None
    ) -> ReviewResult:
        self._journal.keep(decision.id, (decision, waiting))
        try:
            return self._settled(decision.id, decision, waiting, known)
        except AutopoiesisError:
            # If nothing was written, the item stays pending; otherwise the next decision finishes this one.
            if waiting.change is None and not any(is_there(self.files, edit) for edit in decision.edits):
                with contextlib.suppress(AutopoiesisError, FileNotFoundError):
                    self._journal.drop(decision.id)
            raise

    def _settled(
        self, journal: str, decision: _Decision, waiting: PendingItem, known: ReviewResult | None = None
    ) -> ReviewResult:
        """Carries out a decision and drops its journal. Repeatable; the caller holds the lock."""
        done = known or ReviewResult(waiting)
        for edit in decision.edits:
            done = self._written(waiting, edit)
        if waiting.change is not None and decision.verdict == "accepted":
            done = ReviewResult(waiting, paths=carry_out(self.files, waiting.change, self.on_problem))
        if not waiting.verdict:
            self.queue.settle(waiting.id, decision.verdict, decision.text)
        done = self._commit(done, _message(waiting, decision.verdict, decision.text))
        self._journal.drop(journal)
        return replace(done, waiting=replace(waiting, verdict=decision.verdict, text=decision.text))

    def _written(self, waiting: PendingItem, edit: Edit) -> ReviewResult:
        applied = write(self.files, edit)
        self._record_in_ledger(waiting, LedgerLine(edit.id, edit.path, edit.line))
        return ReviewResult(waiting, edit.line, edit.path, applied.line)

    def _record_in_ledger(self, waiting: PendingItem, line: LedgerLine) -> None:
        """Adds an accepted line to the ledger; an unreadable ledger is only reported.

        Raises:
            WriteFailed, ReadOnly: It was not recorded; the next decision does so.
        """
        try:
            entry = self.ledger.get(waiting.sha256)
            if entry is not None and waiting.item.category != "pages" and line not in entry.lines:
                counts = dict(entry.items)
                counts[waiting.item.category] = counts.get(waiting.item.category, 0) + 1
                self.ledger.change(waiting.sha256, lines=(*entry.lines, line), items=counts)
        except (WriteFailed, ReadOnly):
            raise
        except AutopoiesisError as error:
            self.on_problem(f"an accepted line was not recorded in the ledger: {error}")

    def _commit(self, done: ReviewResult, message: str) -> ReviewResult:
        paths = [*self.queue.paths, *done.paths]
        if done.paths:
            self.digest.follow(self.on_problem)
            paths += self.digest.paths
        if done.line:
            self.digest.follow(self.on_problem)
            paths += [done.path, LEDGER, *self.digest.paths]
        made = self.commit(paths, message)
        return replace(done, commit=made.revision, uncommitted=made.why)


def _message(waiting: PendingItem, verdict: Verdict, text: str = "") -> str:
    """The commit message for a decision."""
    if waiting.change is not None:  # no conversation taught it
        what = waiting.item.text if verdict == "accepted" else f"rejected: {waiting.item.text}"
        return commit_message("maintenance", what)
    what = f"rejected from {waiting.origin.name}"
    if verdict == "accepted":
        what = f"accepted from {waiting.origin.name}: {text or waiting.item.text}"
    return commit_message("memory", what, sessions=filter(None, [waiting.source]))


def is_risky(waiting: PendingItem, text: str = "") -> bool:
    """True if accepting an item needs a second confirmation.

    If a person has edited the text, their words are judged by themselves.
    """
    if text and text != waiting.item.text:
        return is_instruction(text) or is_disguised(text) or is_hostile_act(text)
    return waiting.group == "risky"


def _line(text: str) -> str:
    """A text edited by a person, as one line; raises ``HarvestRefused`` if it is not usable."""
    line = " ".join(text.split())
    if not line:
        raise HarvestRefused("an item cannot be empty", hint="to reject it: autopoiesis review reject")
    if len(line) > ITEM_CHARACTERS:
        raise HarvestRefused(
            f"the text has {len(line):,} characters, more than {ITEM_CHARACTERS}",
            hint="shorten it, or split it",
        )
    if found := secrets_in(line):
        raise HarvestRefused(
            f"the text contains what looks like a {found[0].kind}, and knowledge is committed",
            hint="replace it with [secret], as capture.redact does",
        )
    return line
