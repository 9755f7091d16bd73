"""The ledger: what became of every conversation, by the sha256 of its bytes (``knowledge-curation.md`` 4).

It proves a harvest, and only what is proven may be reclaimed. So a ledger that cannot be read is never taken
for an empty one: nothing is written over it, and it is rebuilt from the history.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from engine.context.views import LEDGER_PATH, LedgerRow, LedgerView
from engine.errors import AutopoiesisError, LedgerBroken
from engine.knowledge.item import CATEGORIES
from engine.redaction.detect import without_secrets
from engine.store.sparse import hidden
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Repository

PATH = LEDGER_PATH

Status = Literal["harvested", "harvest-failed", "deleted-unharvested", "too-large"]
MARKERS = "markers"
"""The provider that asks no model."""

STATUSES: tuple[Status, ...] = get_args(Status)

_CURE = "run: autopoiesis ledger rebuild"
_MOST_VERSIONS = 10_000


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """A line of knowledge that a harvest has written."""

    id: str  # ``item_id`` of its item
    path: str  # workspace-relative
    text: str  # without its line end


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What became of one content.

    The first five are the specification's, under its names; the file holds the others beside them.
    """

    path: str  # the conversation's file, as it was called then
    status: Status
    at: str  # ISO 8601, UTC
    items: Mapping[str, int] = field(default_factory=dict)
    """By category; of those, ``known`` were already there, and ``held`` wait or waited for a person."""
    deleted: bool = False  # whether the conversation has been reclaimed
    lines: tuple[LedgerLine, ...] = ()
    known: int = 0  # items that were already known
    held: tuple[str, ...] = ()  # ids of the items that were put up for review
    provider: str = ""  # ``markers`` asks no model
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0  # all calls together, as are the input tokens
    cost_usd: float | None = None  # ``None`` if a price is unknown
    size: int = 0  # bytes of the conversation
    shown: int = 0  # bytes of it that were looked at
    summarised: bool = False  # only a summary was looked at
    refused: tuple[str, ...] = ()  # a line for each part of the model's reply that could not be used
    error: str = ""  # why the harvest failed
    restored: bool = False  # a person has taken the conversation back and keeps it

    @property
    def name(self) -> str:
        """The conversation's file name."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def total(self) -> int:
        """Items of all categories."""
        return sum(self.items.values())

    @property
    def coverage(self) -> float:
        """Share of the conversation that was looked at, 0 to 1."""
        return self.shown / self.size if self.size else 1.0

    def is_done(self, provider: str) -> bool:
        """Whether nothing more would be asked of a provider about it."""
        return self.is_harvested(provider) or self.status == "deleted-unharvested"

    def is_harvested(self, provider: str) -> bool:
        """Whether a provider would find nothing more: what a conversation marks is not all that it taught."""
        return self.status == "harvested" and (self.provider != MARKERS or provider == MARKERS)


_Trees = dict[str, dict[str, Any]]


class Ledger:
    """Reads and writes the ledger. Safe to use from several processes.

    ``repository`` has older versions of the ledger; it is opened only when one is needed.
    """

    def __init__(self, files: Files, repository: Repository) -> None:
        self._files = files
        self._repository = repository
        self._read: tuple[bytes | None, _Trees, dict[str, LedgerEntry]] = (None, {}, {})

    def entries(self) -> dict[str, LedgerEntry]:
        """Every entry by sha256, in the order of the file; none where there is no file and never was one.

        Raises:
            LedgerBroken: It is damaged, or has been lost.
        """
        return dict(self._current()[1])

    def view(self) -> LedgerView:
        """The ledger as a face shows it beside other things: newest first, or what is wrong. Never raises."""
        try:
            found = self.entries()
        except (AutopoiesisError, OSError) as error:
            return LedgerView((), problem=str(error))
        rows = [
            LedgerRow(
                name, each.status, each.at, each.name, each.total, dict(each.items), each.deleted, each.error
            )
            for name, each in found.items()
        ]
        return LedgerView(tuple(sorted(rows, key=lambda row: (row.at, row.sha256), reverse=True)))

    def get(self, sha256: str) -> LedgerEntry | None:
        """The entry of a content; ``None`` where it has none.

        Raises:
            LedgerBroken: As ``entries``.
        """
        return self._current()[1].get(sha256)

    def record(self, sha256: str, entry: LedgerEntry) -> LedgerEntry:
        """Replaces the entry of a content, without what looks like a secret. What others have added
        to it stays.

        Raises:
            LedgerBroken: As ``entries``; nothing is written.
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._files.lock():
            trees, entries = self._current()
            kept = {key: value for key, value in trees.get(sha256, {}).items() if key not in _NAMES}
            clean = without_secrets({**tree_of(entry), **kept})
            tree = {**clean, "path": entry.path}  # needed to find the conversation
            trees = {**trees, sha256: tree}
            data = bytes_of(trees)
            self._files.replace(PATH, data)
            self._read = data, trees, {**entries, sha256: entry_of(tree)}
        return entry

    def change(self, sha256: str, **changes: Any) -> LedgerEntry:
        """Changes fields of an entry that exists.

        Raises:
            LedgerBroken: As ``entries``, or the content has no entry.
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._files.lock():
            entry = self.get(sha256)
            if entry is None:
                raise LedgerBroken(f"has no entry {sha256[:12]}", where=PATH, hint=_CURE)
            return self.record(sha256, replace(entry, **changes))

    def rebuild(self) -> tuple[int, int]:
        """Rebuilds the ledger from every version of it that git holds and what can be read of the present
        one; a newer version's entry wins.

        Returns:
            How many entries there are now, and how many of them the present file did not give.

        Raises:
            RepositoryError: Git cannot be asked.
            WriteFailed, ReadOnly: It was not written; the present file is as it was.
        """
        with self._files.lock():
            found: dict[str, dict[str, Any]] = {}
            for data in self._versions():
                found.update(_salvaged(data))
            present = _salvaged(self._present() or b"")
            found.update(present)
            self._files.replace(PATH, bytes_of(found))
        return len(found), len(found) - len(present)

    def _versions(self) -> Iterator[bytes]:
        """The file's versions in git, oldest first."""
        for commit in reversed(self._repository.log(_MOST_VERSIONS, path=PATH)):
            try:
                yield self._repository.show(commit.revision, PATH)
            except FileNotFoundError:
                continue  # the commit that deleted it

    def _present(self) -> bytes | None:
        try:
            return self._files.read(PATH)
        except FileNotFoundError:
            is_unseen = hidden(self._files.workspace.root, [PATH])
            return self._repository.show("HEAD", PATH) if is_unseen else None

    def _current(self) -> tuple[_Trees, dict[str, LedgerEntry]]:
        try:
            data = self._present()
        except AutopoiesisError as error:
            raise LedgerBroken(error.what, where=PATH, hint=_CURE) from error
        if data is None:
            if self._was_there():
                raise LedgerBroken("is gone; the history has it", where=PATH, hint=_CURE)
            return {}, {}
        if data == self._read[0]:
            return self._read[1:]
        trees, entries = _decoded(data)
        self._read = data, trees, entries
        return trees, entries

    def _was_there(self) -> bool:
        try:
            return bool(self._repository.log(1, path=PATH))
        except AutopoiesisError:
            return False  # no repository, no history


def trees_of(data: bytes) -> _Trees:
    """The entries of a ledger's bytes by sha256, each as the file holds it.

    Raises:
        LedgerBroken: It cannot be read.
    """
    return _decoded(data)[0]


def _decoded(data: bytes) -> tuple[_Trees, dict[str, LedgerEntry]]:
    try:
        trees: _Trees = json.loads(data)["entries"]
        if odd := [name for name in trees if not _is_name(name)]:
            raise ValueError(f"{odd[0]!r:.40} is no sha256")
        return trees, {name: entry_of(tree) for name, tree in trees.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        short = f"{type(error).__name__}: {error}"[:120]
        raise LedgerBroken(f"cannot be read as a ledger ({short})", where=PATH, hint=_CURE) from error


def entry_of(tree: Mapping[str, Any]) -> LedgerEntry:
    """An entry as its tree says it; what is missing has its default, what is unknown is passed over.

    Raises:
        ValueError, KeyError, TypeError: It is not an entry.
    """
    return typed(LedgerEntry, tree)


def tree_of(entry: LedgerEntry) -> dict[str, Any]:
    """An entry as the file holds it: the specification's fields always, others where they say something."""
    tree = asdict(entry)
    tree["items"] = {name: entry.items.get(name, 0) for name in CATEGORIES}
    always = ("path", "status", "at", "items", "deleted")
    return {name: tree.pop(name) for name in always} | {
        name: value for name, value in tree.items() if value not in (None, "", 0, ())
    }


def bytes_of(trees: Mapping[str, Any]) -> bytes:
    """The file that holds these trees by sha256, an entry a line: so a comparison of two versions shows the
    entries that differ."""
    lines = [f"{json.dumps(name)}: {json.dumps(tree, ensure_ascii=False)}" for name, tree in trees.items()]
    text = '{"entries": {\n' + ",\n".join(lines) + "\n}}\n"
    return text.encode("utf-8", "surrogatepass")


_NAMES = frozenset(item.name for item in fields(LedgerEntry))


def _salvaged(data: bytes) -> dict[str, dict[str, Any]]:
    """The entries that can still be read of a ledger, whatever is wrong with the rest."""
    try:
        tree = json.loads(data)
        trees = tree["entries"]
        found = dict(trees)
    except (ValueError, KeyError, TypeError, RecursionError):
        found = _pieces(data)
    return {name: tree for name, tree in found.items() if _is_name(name) and _is_entry(tree)}


def _pieces(data: bytes) -> dict[str, Any]:
    """The whole entries in the text of a ledger that is cut or damaged."""
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    found: dict[str, Any] = {}
    place = text.find('"')
    while place >= 0:
        name = text[place + 1 : place + 65]
        start = text.find("{", place + 65, place + 80) if _is_name(name) else -1
        end = place + 1
        if start > 0:
            try:
                found[name], end = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                end = start
        place = text.find('"', end)
    return found


def _is_name(name: object) -> bool:
    return isinstance(name, str) and len(name) == 64 and not set(name) - set("0123456789abcdef")


def _is_entry(tree: object) -> bool:
    try:
        entry_of(tree)  # type: ignore[arg-type]  # raises if it is not one
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return True
