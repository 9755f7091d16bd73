"""Tuning topics: the log under other thresholds, and writing them into topics' files (spec 5.5, design 4)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engine.activation.decision_reading import uncollected
from engine.activation.numbers import limit
from engine.activation.policy import Thresholds
from engine.activation.proof import Proofs
from engine.activation.tuning.fit import Proposal, propose
from engine.activation.tuning.journal import Change, TuningJournal
from engine.activation.tuning.own import (
    OwnThresholds,
    digest_of,
    header_of,
    own_thresholds,
    rounded,
    thresholds_in,
    today,
    with_thresholds,
)
from engine.activation.tuning.table import DecisionTable
from engine.errors import AutopoiesisError, TopicError
from engine.store.commit_message import commit_message
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository
    from engine.topics.library import TopicLibrary
    from engine.topics.model import Topic

_COMMAND = "autopoiesis tune"


@dataclass(frozen=True, slots=True)
class Applied:
    """Thresholds that were written into a topic's file."""

    topic: str
    path: str
    before: Thresholds
    after: Thresholds
    commit: str  # object name; empty where none was made
    why: str = ""  # why none was made


class Tuning:
    """Tuning as a face uses it. Safe to use from several threads; the tables it gives are not.

    ``edited`` is called with the path of a topic's file that was written.
    """

    def __init__(
        self,
        files: Files,
        log: DecisionLog,
        library: TopicLibrary,
        repository: Repository,
        config: Callable[[], Config],
        *,
        clock: Callable[[], datetime],
        edited: Callable[[str], None],
    ) -> None:
        self._files = files
        self._log = log
        self._library = library
        self._repository = repository
        self._config = config
        self._edited = edited
        self._journal = TuningJournal(files, clock)
        self._guard = threading.RLock()
        self._reading = log.reading()
        self._stamp: object = None
        self._known: object = None
        self._table: DecisionTable | None = None
        self._proofs: Proofs | None = None

    def table(self) -> DecisionTable:
        """The log as it can be replayed; the same one until log, topics or settings change.

        What was added to the log since the last look is all that is read of it then, and rows that were
        there keep their numbers.
        """
        with self._guard:
            config = self._config()
            stamp = self._log.stamp()
            topics, embedding = self._library.topics, config.watchers.embedding
            if self._proofs is None or self._proofs.embedding != embedding:
                self._proofs = Proofs(self._files, embedding)
            known = topics, config.watchers, config.gate.provider, self._proofs(topics)
            if self._table is None or stamp != self._stamp or known != self._known:
                decisions = self._reading.update().decisions
                with uncollected():
                    self._table = DecisionTable(decisions, *known)
                self._stamp, self._known = stamp, known
            return self._table

    def propose(self, topic: str, *, folds: int = 5) -> Proposal:
        """What the labels speak for (``fit.propose``).

        Raises:
            TopicError: Neither a file nor the log knows the topic.
        """
        table = self.table()
        if topic not in table.topics:
            raise _unknown(topic)
        return propose(table, topic, folds=folds)

    def apply(self, topic: str, thresholds: Thresholds) -> Applied:
        """Writes thresholds into a topic's file, keeping everything else in it, and commits the file.

        Numbers get two to four digits. A threshold that the policy table gives by itself loses its line;
        “never”, where the table has a number, is written as 1. The thresholds are 0 ≤ gate ≤ activate ≤ 1.

        Raises:
            TopicError: There is no such topic, its file was changed since it was read, or it names these
                thresholds already.
            AutopoiesisError: The thresholds are not valid.
            DocumentError: The file's header cannot be edited.
            WriteFailed, ReadOnly: The file is as it was.
        """
        known = self._library.get(topic)
        if known is None:
            raise _unknown(topic)
        thresholds = _checked(thresholds)
        settings = self._config().watchers
        wanted = own_thresholds(known, settings, thresholds)
        message = f"tune {shown(topic)}"
        if wanted == OwnThresholds.of(known):
            made = self._uncommitted(known, wanted)
            if made is not None:
                return self._done(known, wanted, message, before=made.before)
            raise TopicError(
                f"has these thresholds already: {_said(today(known, settings))}", where=known.path
            )
        with self._guard, self._files.lock():
            self._write(known, wanted)
        return self._done(known, wanted, message)

    def undo(self) -> Applied:
        """Takes the last change back that ``apply`` made, whenever that was.

        A file that has not changed since gets every byte back; another only the thresholds.

        Raises:
            TopicError: There is no such change, or the file names other thresholds since.
            DocumentError: The file's header cannot be edited.
            WriteFailed, ReadOnly: The file is as it was.
        """
        with self._guard, self._files.lock():
            change = self._journal.last()
            if change is None:
                raise TopicError("no change of thresholds is left to take back")
            topic = self._library.get(change.topic)
            if topic is None or topic.path != change.path:
                raise TopicError("is gone, so its thresholds cannot be taken back", where=change.path)
            self._files.update(change.path, lambda data: self._begun(change, topic, data))
            # Only a change that is taken back in the history too is closed: the next one to take back is the
            # one before, and not this one once more.
            done = self._done(topic, change.before, f"undo tune {shown(change.topic)}", before=change.after)
            if not self._is_changed(change.path):
                self._journal.close(change.id)
        return done

    def label(self, index: int, useful: bool | None) -> None:
        """Labels a decision of the table as a person, in the log and in the table.

        The local gate learns from it the next time ``Labels.learn`` runs, which takes too long for a key.
        ``useful=None`` takes the person's label back.

        Raises:
            WriteFailed, ReadOnly: The label was not recorded.
        """
        with self._guard, self._files.lock():
            table = self._table if self._table is not None else self.table()
            is_current = self._log.stamp() == self._stamp
            labelled = self._log.label_known(table.decision(index), useful)
            table.replaced(index, labelled)
            if is_current:
                self._stamp = self._log.stamp()

    def _write(self, topic: Topic, thresholds: OwnThresholds) -> None:
        """Writes thresholds into a topic's file, whose journal says so first."""
        recorded: dict[str, str] = {}

        def change(data: bytes | None) -> bytes:
            if data is None or digest_of(data) != topic.digest:
                self._edited(topic.path)
                raise TopicError(
                    "was changed since its thresholds were read" if data is not None else "is gone",
                    where=topic.path,
                    hint="look at it again, then apply again",
                )
            new = with_thresholds(data, topic, thresholds)
            digest = digest_of(new)
            name = self._journal.record(
                topic.name,
                topic.path,
                OwnThresholds.of(topic),
                thresholds,
                header=header_of(data, topic.path),
                digest=digest,
            )
            recorded[name] = digest
            return new

        try:
            self._files.update(topic.path, change)
        except AutopoiesisError:
            with contextlib.suppress(AutopoiesisError, OSError):
                for name, digest in recorded.items():
                    # The new content may be there although it is not known to have reached the disk.
                    if digest_of(self._files.read(topic.path)) != digest:
                        self._journal.close(name)
            raise

    def _begun(self, change: Change, topic: Topic, data: bytes | None) -> bytes:
        """As ``_restored``, after the journal says that it is about to be done."""
        restored = self._restored(change, topic, data)
        if restored != data:
            self._journal.begin(change.id)
        return restored

    def _restored(self, change: Change, topic: Topic, data: bytes | None) -> bytes:
        """A topic's file with its thresholds of before a change."""
        if data is None:
            raise TopicError("is gone, so its thresholds cannot be taken back", where=change.path)
        now = thresholds_in(data, change.path)
        if now != change.after:
            if now == change.before:
                if self._journal.is_begun(change.id) and self._is_changed(change.path):
                    return data  # by a run that was interrupted before its commit
                self._journal.close(change.id)
                raise TopicError("its last change of thresholds was taken back already", where=change.path)
            names = _said(today(now.on(topic), self._config().watchers))
            raise TopicError(
                f"names other thresholds since ({names}), so the last change stays",
                where=change.path,
                hint=f"set them with: {_COMMAND} {shown(change.topic)} --gate X --activate Y --apply",
            )
        if digest_of(data) == change.digest:
            return change.header.encode("latin-1") + data[len(header_of(data, change.path)) :]
        return with_thresholds(data, topic, change.before)

    def _uncommitted(self, topic: Topic, thresholds: OwnThresholds) -> Change | None:
        """The last change where it gave a topic these thresholds and was interrupted before its commit."""
        change = self._journal.last()
        if change is None or (change.path, change.after, change.digest) != (
            topic.path,
            thresholds,
            topic.digest,
        ):
            return None
        return change if self._is_changed(topic.path) else None

    def _is_changed(self, path: str) -> bool:
        """Whether a file differs from the newest commit, where commits are wanted and can be made."""
        if not self._config().git.auto_commit:
            return False
        try:
            return self._repository.state(count=False).can_commit and bool(self._repository.changed(path))
        except AutopoiesisError:
            return False

    def _done(
        self, topic: Topic, own: OwnThresholds, message: str, before: OwnThresholds | None = None
    ) -> Applied:
        """Reads the topic again, commits its file, and says what was done."""
        self._edited(topic.path)
        settings = self._config().watchers
        was = topic if before is None else before.on(topic)
        old, new = today(was, settings), today(own.on(topic), settings)
        commit, why = "", "git.auto_commit is off"
        if self._config().git.auto_commit:
            try:
                said = commit_message("maintenance", f"{message}: {_said(new)}")
                found = self._repository.commit([topic.path], said)
                commit, why = found or "", "" if found else "nothing new to commit"
            except AutopoiesisError as error:
                why = str(error)
        return Applied(topic.name, topic.path, old, new, commit, why)


def _checked(thresholds: Thresholds) -> Thresholds:
    """Thresholds as they are written.

    Raises:
        AutopoiesisError: They are not valid.
    """
    if not all(
        threshold is None or 0 <= threshold <= 1 for threshold in (thresholds.gate, thresholds.activate)
    ):
        raise AutopoiesisError(f"{_said(thresholds)}: a threshold is a number from 0 to 1")
    found = Thresholds(rounded(thresholds.gate), rounded(thresholds.activate))
    if found.gate is not None and found.activate is not None and found.gate > found.activate:
        raise AutopoiesisError(
            f"{_said(found)}: the gate's threshold lies above the other",
            hint="use the same number for both where nothing is to be asked",
        )
    return found


def _said(thresholds: Thresholds) -> str:
    gate, activate = (
        "never" if threshold is None else limit(threshold)
        for threshold in (thresholds.gate, thresholds.activate)
    )
    return f"gate {gate}, active {activate}"


def _unknown(topic: str) -> TopicError:
    return TopicError(f"there is no topic {shown(topic)}", hint="see: autopoiesis topics list")
