"""The ledger: the status of every conversation, by the SHA-256 of its bytes (``knowledge-curation.md`` 4).

It proves that a conversation was harvested, and only then may it be reclaimed. An unreadable ledger is
therefore never treated as empty or overwritten; it is rebuilt from the history.
"""

from __future__ import annotations

import contextlib
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
"""The provider that works without a model."""

STATUSES: tuple[Status, ...] = get_args(Status)

_REBUILD = "run: autopoiesis ledger rebuild"
_MAX_VERSIONS = 10_000


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """A line of knowledge written by a harvest."""

    id: str  # ``item_id`` of its item
    path: str  # workspace-relative
    text: str  # without its line end


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The status of one conversation's content.

    The first five fields are those of the specification; the file has the others as well.
    """

    path: str  # the conversation's file at that time
    status: Status
    at: str  # ISO 8601, UTC
    items: Mapping[str, int] = field(default_factory=dict)
    """Counts by category, including the ``known`` items and those ``held`` for review."""
    deleted: bool = False  # whether the conversation has been reclaimed
    lines: tuple[LedgerLine, ...] = ()
    known: int = 0  # items that were already known
    held: tuple[str, ...] = ()  # ids of the items queued for review
    provider: str = ""  # ``markers`` works without a model
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0  # of all calls, as are the input tokens
    cost_usd: float | None = None  # ``None`` if a price is unknown
    size: int = 0  # bytes of the conversation
    shown: int = 0  # bytes of it that were examined
    summarised: bool = False  # only a summary was examined
    refused: tuple[str, ...] = ()  # one line for each unusable part of the model's reply
    error: str = ""  # why the harvest failed
    restored: bool = False  # a person has restored the conversation and keeps it

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def total(self) -> int:
        """Number of items in all categories."""
        return sum(self.items.values())

    @property
    def coverage(self) -> float:
        """Share of the conversation that was examined, 0 to 1."""
        return self.shown / self.size if self.size else 1.0

    def is_done(self, provider: str) -> bool:
        """True if no harvest with the provider is needed any more."""
        return self.is_harvested(provider) or self.status == "deleted-unharvested"

    def is_harvested(self, provider: str) -> bool:
        """True if a provider would find nothing more; a model may find more than the markers."""
        return self.status == "harvested" and (self.provider != MARKERS or provider == MARKERS)


_Trees = dict[str, dict[str, Any]]


class Ledger:
    """Reads and writes the ledger. Safe to use from several processes.

    ``repository`` has older versions of the ledger and is opened only when needed.
    """

    def __init__(self, files: Files, repository: Repository) -> None:
        self._files = files
        self._repository = repository
        self._read: tuple[bytes | None, _Trees, dict[str, LedgerEntry]] = (None, {}, {})

    def entries(self) -> dict[str, LedgerEntry]:
        """All entries by SHA-256, in file order; empty if there has never been a ledger.

        Raises:
            LedgerBroken: It is damaged or lost.
        """
        return dict(self._current()[1])

    def view(self) -> LedgerView:
        """The ledger for display: newest first, or the problem with it. Never raises."""
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
        """The entry of a content, if any. Raises as ``entries``."""
        return self._current()[1].get(sha256)

    def record(self, sha256: str, entry: LedgerEntry) -> LedgerEntry:
        """Replaces the entry of a content, with secrets redacted. Unknown fields are kept.

        Raises:
            LedgerBroken: As ``entries``; nothing is written.
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._files.lock():
            trees, entries = self._current()
            kept = {key: value for key, value in trees.get(sha256, {}).items() if key not in _NAMES}
            clean = without_secrets({**tree_of(entry), **kept})
            tree = {**clean, "path": entry.path}  # unredacted, to find the conversation
            trees = {**trees, sha256: tree}
            data = bytes_of(trees)
            self._files.replace(PATH, data)
            self._read = data, trees, {**entries, sha256: entry_of(tree)}
        return entry

    def change(self, sha256: str, **changes: Any) -> LedgerEntry:
        """Changes fields of an existing entry.

        Raises:
            LedgerBroken: As ``entries``, or the content has no entry.
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._files.lock():
            entry = self.get(sha256)
            if entry is None:
                raise LedgerBroken(f"no such entry: {sha256[:12]}", where=PATH, hint=_REBUILD)
            return self.record(sha256, replace(entry, **changes))

    def rebuild(self) -> tuple[int, int]:
        """Rebuilds the ledger from all its versions in git and the readable parts of the current file; newer
        entries win.

        Returns:
            The number of entries now, and how many of them were not in the current file.

        Raises:
            RepositoryError: Git failed.
            WriteFailed, ReadOnly: It was not written; the current file is unchanged.
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
        for commit in reversed(self._repository.log(_MAX_VERSIONS, path=PATH)):
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
            raise LedgerBroken(error.what, where=PATH, hint=_REBUILD) from error
        if data is None:
            if self._existed():
                raise LedgerBroken("is missing, but the history has it", where=PATH, hint=_REBUILD)
            return {}, {}
        if data == self._read[0]:
            return self._read[1:]
        trees, entries = _decoded(data)
        self._read = data, trees, entries
        return trees, entries

    def _existed(self) -> bool:
        try:
            return bool(self._repository.log(1, path=PATH))
        except AutopoiesisError:
            return False  # no repository, no history


def trees_of(data: bytes) -> _Trees:
    """The raw entries of a ledger by SHA-256; raises ``LedgerBroken`` if it cannot be read."""
    return _decoded(data)[0]


def _decoded(data: bytes) -> tuple[_Trees, dict[str, LedgerEntry]]:
    try:
        trees: _Trees = json.loads(data)["entries"]
        if odd := [name for name in trees if not _is_name(name)]:
            raise ValueError(f"not a SHA-256: {odd[0]!r:.40}")
        return trees, {name: entry_of(tree) for name, tree in trees.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        short = f"{type(error).__name__}: {error}"[:120]
        raise LedgerBroken(f"cannot be read as a ledger ({short})", where=PATH, hint=_REBUILD) from error


def entry_of(tree: Mapping[str, Any]) -> LedgerEntry:
    """An entry from its JSON; missing fields get defaults, unknown ones are ignored.

    Raises:
        ValueError, KeyError, TypeError: It is not an entry.
    """
    return typed(LedgerEntry, tree)


def tree_of(entry: LedgerEntry) -> dict[str, Any]:
    """An entry as JSON: the specification's fields always, others only if not empty."""
    tree = asdict(entry)
    tree["items"] = {name: entry.items.get(name, 0) for name in CATEGORIES}
    always = ("path", "status", "at", "items", "deleted")
    return {name: tree.pop(name) for name in always} | {
        name: value for name, value in tree.items() if value not in (None, "", 0, ())
    }


def bytes_of(trees: Mapping[str, Any]) -> bytes:
    """The ledger file with the given entries by SHA-256, one per line so that diffs show the changed
    entries."""
    lines = [f"{json.dumps(name)}: {json.dumps(tree, ensure_ascii=False)}" for name, tree in trees.items()]
    text = '{"entries": {\n' + ",\n".join(lines) + "\n}}\n"
    return text.encode("utf-8", "surrogatepass")


_NAMES = frozenset(item.name for item in fields(LedgerEntry))


def _salvaged(data: bytes) -> dict[str, dict[str, Any]]:
    """The readable entries of a ledger that may be damaged; each is on a line of its own."""
    found: dict[str, dict[str, Any]] = {}
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            found |= json.loads(b"{" + line.rstrip(b" ,") + b"}")
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        found |= json.loads(data)["entries"]
    return {name: tree for name, tree in found.items() if _is_name(name) and _is_entry(tree)}


def _is_name(name: object) -> bool:
    return isinstance(name, str) and len(name) == 64 and not set(name) - set("0123456789abcdef")


def _is_entry(tree: object) -> bool:
    try:
        entry_of(tree)  # type: ignore[arg-type]  # raises if it is not one
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return True
