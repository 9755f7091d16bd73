"""The decision log (spec 5.5, design 4): every decision worth learning from, and what was said of it later.

``logs/decisions/YYYY-MM.jsonl``, append-only. A label is a record of its own that names a decision; reading
joins the two. Nothing in the log is ever changed, so a line that cannot be read costs only itself.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.activation.decision import (
    LABELLER_RANK,
    Decision,
    Label,
    Labeller,
    decision_id,
    entry_of,
    hash_of,
    line_of,
    record_of,
    worth_logging,
)
from engine.errors import AutopoiesisError, DocumentError
from engine.store import descriptors

if TYPE_CHECKING:
    from engine.activation.signals import Signals
    from engine.activation.trace import Trace
    from engine.store.files import Files

LOG_FOLDER = "logs/decisions"

_MONTH = re.compile(r"\d{4}-\d{2}\.jsonl")
_BLOCK = 256 * 1024
_LONGEST_LINE = 1024 * 1024
_LOCK_WAIT_S = 2.0
_FAILING_WAIT_S = 0.05
_WAITING_LIMIT = 4 * 1024 * 1024
_LEAST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """The log, read.

    Attributes:
        decisions: Oldest first; one per id, the latest, with its label.
        broken: Lines that could not be read.
    """

    decisions: tuple[Decision, ...]
    broken: int


class DecisionLog:
    """Writes and reads the decision log of a workspace.

    Args:
        files: The workspace's write path.
        clock: Now, UTC; decides which month's file grows.
        on_problem: Told when the log cannot be written, once until it can be again. Processing goes on;
            records wait in memory, up to 4 MiB, and are written with the next ones.
    """

    def __init__(
        self,
        files: Files,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._files = files
        self._clock = clock
        self._on_problem = on_problem
        self._waiting = b""
        self._failing = False
        self._guard = threading.Lock()

    def record(self, trace: Trace, signals: Mapping[str, Signals]) -> int:
        """Logs the rows of a trace that are ``worth_logging``, in one append.

        Args:
            trace: The trace.
            signals: The signals of its topics, by name, where they are known.

        Returns:
            How many decisions were recorded. Never raises for a disk that cannot be written.
        """
        rows = worth_logging(trace)
        if rows:
            whole_hash = hash_of(trace.message.text)
            self._write(
                b"".join(record_of(trace.message, whole_hash, row, signals.get(row.topic)) for row in rows)
            )
        return len(rows)

    def ensure(self, trace: Trace, topic: str) -> str:
        """The id of the decision about one topic of a trace, which is logged first when it is not yet.

        A person may judge a topic that was too far away to be logged by itself.

        Raises:
            AutopoiesisError: The trace has no row for the topic.
            WriteFailed, ReadOnly: The decision was not recorded.
        """
        row = trace.row(topic)
        if row is None:
            raise AutopoiesisError(f"{topic} was not considered for this message")
        whole_hash = hash_of(trace.message.text)
        name = decision_id(trace.message, whole_hash, topic)
        try:
            self.find(name)
        except AutopoiesisError:
            self._files.append(self._path(), record_of(trace.message, whole_hash, row, None))
        return name

    def label(self, decision_id: str, useful: bool, by: Labeller = "person") -> Decision:
        """Says whether a decision's topic was right for its message.

        Args:
            decision_id: The id, or a start of it that is unique, of at least four characters.
            useful: Whether it was.
            by: Who says so.

        Returns:
            The decision as it now reads.

        Raises:
            AutopoiesisError: There is no such decision, or several begin like that.
            WriteFailed, ReadOnly: The label was not recorded.
        """
        decision = self.find(decision_id)
        record: dict[str, object] = {
            "label": useful,
            "decision": decision.id,
            "by": by,
            "at": self._clock().isoformat(),
        }
        self._files.append(self._path(), line_of(record))
        if LABELLER_RANK[by] < LABELLER_RANK.get(decision.labelled_by, -1):
            return decision
        return decision._replace(useful=useful, labelled_by=by)

    def find(self, decision_id: str) -> Decision:
        """The decision with an id, or a unique start of it.

        Raises:
            AutopoiesisError: There is none, or there are several.
        """
        cure = "see: autopoiesis decisions list"
        if len(decision_id) < _LEAST_PREFIX or not decision_id.isalnum():
            raise AutopoiesisError(f"“{decision_id[:40]}” is no decision id", cure=cure)
        found: dict[str, Decision] = {}
        for decision in self._backwards(decision_id.encode()):
            if decision.id == decision_id:
                return decision
            if decision.id.startswith(decision_id):
                found[decision.id] = decision
        if not found:
            raise AutopoiesisError(f"there is no decision {decision_id}", cure=cure)
        if len(found) > 1:
            raise AutopoiesisError(
                f"{len(found)} decisions begin with {decision_id}", cure="give more of the id"
            )
        return next(iter(found.values()))

    def last(self, count: int, *, topic: str | None = None) -> tuple[Decision, ...]:
        """The last decisions, newest first, reading no more of the log than they take.

        Args:
            count: How many.
            topic: Only those about this topic.
        """
        decisions = self._backwards(b"" if topic is None else line_of(topic).strip())
        matching = (decision for decision in decisions if topic is None or decision.topic == topic)
        return tuple(itertools.islice(matching, count))

    def read(self) -> DecisionHistory:
        """The whole log, streamed; 100,000 decisions take about a second."""
        decisions: dict[str, Decision] = {}
        labels: dict[str, Label] = {}
        broken = 0
        with _uncollected():
            for line in itertools.chain.from_iterable(map(self._lines, self._months())):
                entry = entry_of(line)
                if isinstance(entry, Decision):
                    decisions.pop(entry.id, None)
                    decisions[entry.id] = entry
                elif isinstance(entry, Label):
                    known = labels.get(entry.decision)
                    if known is None or LABELLER_RANK[entry.by] >= LABELLER_RANK[known.by]:
                        labels[entry.decision] = entry
                else:
                    broken += 1
        for name, label in labels.items():
            if name in decisions:
                decisions[name] = decisions[name]._replace(useful=label.useful, labelled_by=label.by)
        return DecisionHistory(tuple(decisions.values()), broken)

    def flush(self) -> None:
        """Tries once more to write what is waiting."""
        if self._waiting:
            self._write(b"")

    def _write(self, lines: bytes) -> None:
        with self._guard:
            everything = self._waiting + lines
            try:
                # A long-running command may hold the workspace; a message does not wait for it to end.
                with self._files.lock(timeout=_FAILING_WAIT_S if self._failing else _LOCK_WAIT_S):
                    self._files.append(self._path(), everything)
            except AutopoiesisError as error:
                if len(everything) <= _WAITING_LIMIT:
                    self._waiting = everything
                if not self._failing and self._on_problem is not None:
                    self._on_problem(f"decisions are not being logged: {error}")
                self._failing = True
                return
            self._waiting = b""
            self._failing = False

    def _path(self) -> str:
        return f"{LOG_FOLDER}/{self._clock():%Y-%m}.jsonl"

    def _months(self) -> list[str]:
        folder = self._files.workspace.root.joinpath(LOG_FOLDER)
        if not folder.is_dir():
            return []
        return sorted(
            f"{LOG_FOLDER}/{entry.name}" for entry in folder.iterdir() if _MONTH.fullmatch(entry.name)
        )

    def _lines(self, relative: str) -> Iterator[bytes]:
        with os.fdopen(self._descriptor(relative), "rb", buffering=_BLOCK) as file:
            yield from (line for line in file if line != b"\n")

    def _backwards(self, holding: bytes) -> Iterator[Decision]:
        """Decisions newest first, of those in whose lines ``holding`` occurs.

        A label stands behind its decision, so going backwards it is met before it.
        """
        labels: dict[str, Label] = {}
        seen: set[str] = set()
        for relative in reversed(self._months()):
            for line in self._lines_backwards(relative):
                if holding not in line and b'"label"' not in line:
                    continue
                entry = entry_of(line)
                if isinstance(entry, Label):
                    known = labels.get(entry.decision)
                    if known is None or LABELLER_RANK[entry.by] > LABELLER_RANK[known.by]:
                        labels[entry.decision] = entry
                elif isinstance(entry, Decision) and entry.id not in seen:
                    seen.add(entry.id)
                    label = labels.get(entry.id)
                    yield entry._replace(useful=label.useful, labelled_by=label.by) if label else entry

    def _lines_backwards(self, relative: str) -> Iterator[bytes]:
        descriptor = self._descriptor(relative)
        try:
            position = os.fstat(descriptor).st_size
            rest = b""
            while position > 0:
                size = min(_BLOCK, position)
                position -= size
                first, *lines = (os.pread(descriptor, size, position) + rest).split(b"\n")
                yield from (line for line in reversed(lines) if line)
                rest = first if len(first) <= _LONGEST_LINE else b""
            if rest:
                yield rest
        finally:
            os.close(descriptor)

    def _descriptor(self, relative: str) -> int:
        workspace = self._files.workspace
        *parents, name = workspace.resolve(relative).relative_to(workspace.root).parts
        try:
            with descriptors.open_folder(workspace.root, parents) as folder:
                return descriptors.open_file(name, folder, os.O_RDONLY, relative)
        except OSError as error:
            raise DocumentError(
                f"cannot be read ({error.strerror})", where=relative, cure="check its permissions"
            ) from error


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """While hundreds of thousands of values are made and kept, looking for garbage among them is a third."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
