"""Scores the log anew to try other thresholds on it, and writes thresholds to topic files (spec 5.5)."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from engine.activation.decisions import DecisionReading
from engine.activation.numbers import format_threshold
from engine.activation.policy import Thresholds
from engine.activation.trace import Message, TopicTrace
from engine.activation.tuning.fit import Proposal, propose
from engine.activation.tuning.table import (
    ACTIVE,
    MessageTable,
    OwnThresholds,
    messages_in,
    own_thresholds,
    rounded,
    thresholds_in,
    today,
    with_thresholds,
)
from engine.errors import AutopoiesisError, TopicError
from engine.store.change import commit_message
from engine.store.paths import shown
from engine.store.revisions import blobs

if TYPE_CHECKING:
    from engine.activation.decisions import Decision, DecisionLog
    from engine.activation.pipeline import WatcherPipeline
    from engine.activation.similarity import Hits
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository
    from engine.topics.library import TopicLibrary
    from engine.topics.model import Topic

_COMMAND = "autopoiesis tune"
_TRAILERS = ("Tuned", "From", "To")
"""Trailers of a commit: the file, and its two thresholds before and after."""
_UNDOES = "Reverts"
"""Trailer with the commit that is undone, as by ``history undo``."""
_SEARCHED_COMMITS = 500


@dataclass(frozen=True, slots=True)
class Applied:
    """Thresholds written to a topic's file."""

    topic: str
    path: str
    before: Thresholds
    after: Thresholds
    commit: str  # empty if none was made
    why: str = ""  # why there is no commit


class Tuning:
    """Tuning for the user interfaces. Thread-safe, but its tables are not.

    ``edited`` is called with the path of a topic's file that was written.
    """

    def __init__(
        self,
        files: Files,
        log: DecisionLog,
        library: TopicLibrary,
        repository: Repository,
        config: Callable[[], Config],
        pipeline: Callable[[], WatcherPipeline],
        *,
        edited: Callable[[str], None],
    ) -> None:
        self._files = files
        self._log = log
        self._library = library
        self._repository = repository
        self._config = config
        self._pipeline = pipeline
        self._edited = edited
        self._guard = threading.RLock()
        self._reading = DecisionReading(log.months)
        self._scored_by: object = None
        self._messages: list[tuple[str, Hits]] = []
        self._known: object = None
        self._table: MessageTable | None = None

    def table(self) -> MessageTable:
        """The logged messages with the scores of today; the same object until log, topics, settings or scores
        change.

        After a change only the added part of the log is read. Tier 2 learns from new labels first. The scores
        of messages that are labels are held out from the last ``hold_out`` on.

        Raises:
            AutopoiesisError: The log cannot be read, or the settings allow no scoring.
        """
        with self._guard:
            config, pipeline = self._config(), self._pipeline()
            pipeline.relearn()
            if pipeline is not self._scored_by:
                self._batch, self._scored_by = pipeline.batch(), pipeline
            known = self._log.months.stamp(), self._library.topics, config.watchers, config.gate.provider
            if self._table is None or known != self._known or not self._table.held_out:
                decisions = self._reading.update()
                topics = {topic.name: topic for topic in self._library.topics}
                messages = messages_in(decisions, topics)
                self._messages = [(message.text, message.hits) for message in messages]
                scores, held_out = self._batch.score(sorted(topics), self._messages)
                if self._table is None or known != self._known or held_out:
                    self._table = MessageTable(decisions, messages, *known[1:], scores, held_out=held_out)
                self._known = known
            return self._table

    def hold_out(self) -> MessageTable:
        """As ``table``, with the scores of labelled messages from fits without them, which takes seconds the
        first time after a label."""
        table = self.table()
        if table.held_out:
            return table
        self._batch.prepare(self._messages)
        return self.table()

    def unlearnt(self) -> dict[tuple[str, str], bool]:
        """For topic and message hash of each label, whether the topic is active by a fit without it; takes
        seconds the first time after a label.

        Raises:
            AutopoiesisError: As ``table``.
        """
        table = self.hold_out()
        found = {}
        for topic in table.topics:
            outcomes = table.outcomes(topic)
            for row in np.flatnonzero(table.labels[:, table.columns[topic]] >= 0).tolist():
                found[topic, table.messages[row].hash] = bool(outcomes[row] == ACTIVE)
        return found

    def decision(self, table: MessageTable, row: int, topic: str) -> Decision:
        """The decision about a topic for a message of a table, logged first if it was not: tier 2 may now
        find likely what it once found too unlikely to log.

        Raises:
            WriteFailed, ReadOnly: The decision was not recorded.
        """
        message = table.messages[row]
        found = message.decisions.get(topic)
        if found is None:
            known, now = table.topics[topic], table.today(topic)
            score = float(table.scores[row, table.columns[topic]])
            trace = TopicTrace(
                topic, known.priority, known.activation, (), score, now.gate or 0.0, now.activate, now.gate,
                "labelled", None, "dropped", "",
            )  # fmt: skip
            like = next(iter(message.decisions.values()))
            sent = Message(like.message, message.direction, like.session_id, like.time)
            found = message.decisions[topic] = self._log.add(sent, message.hash, trace)
        return found

    def propose(self, topic: str) -> Proposal:
        """Proposes thresholds from the labels (``fit.propose``), whose messages are scored without them.

        Raises:
            TopicError: There is no such topic.
        """
        table = self.hold_out()
        if topic not in table.topics:
            raise _unknown(topic)
        return propose(table, topic)

    def apply(self, topic: str, thresholds: Thresholds) -> Applied:
        """Writes thresholds to a topic's file, keeping everything else in it, and commits the file.

        Numbers get two to four digits. A threshold equal to the policy table's needs no line; “never”, where
        the table has a number, is written as 1. Valid thresholds are 0 ≤ gate ≤ activate ≤ 1.

        Raises:
            TopicError: No such topic, its file has changed since it was read, or it already has these
                thresholds.
            AutopoiesisError: The thresholds are not valid.
            DocumentError: The file's header cannot be edited.
            WriteFailed, ReadOnly: The file is unchanged.
        """
        known = self._library.get(topic)
        if known is None:
            raise _unknown(topic)
        thresholds = _checked(thresholds)
        settings = self._config().watchers
        wanted = own_thresholds(known, settings, thresholds)
        is_written = wanted == OwnThresholds.of(known)
        if not is_written:
            self._write(known, wanted)
        before = self._committed(known) if is_written else OwnThresholds.of(known)
        written = (json.dumps(list(astuple(each))) for each in (before, wanted))
        done = self._done(known, wanted, "tune", zip(_TRAILERS, (known.path, *written), strict=True))
        if is_written and not done.commit:  # else an interrupted run had only written the file
            raise TopicError(f"already has these thresholds: {_described(done.after)}", where=known.path)
        return done

    def undo(self, expected: Applied | None = None) -> Applied:
        """Undoes the last change that ``apply`` committed, whenever that was; completes an undo that was
        interrupted. Whatever else changed in the file is kept.

        Args:
            expected: The change the user agreed to undo; by default, whatever is the last.

        Raises:
            TopicError: There is no such change, it is another one than expected, or the file has changed
                since it was read, or has other thresholds by now.
            DocumentError: The file's header cannot be edited.
            WriteFailed, ReadOnly: The file is unchanged.
        """
        self._repository.recover()
        for commit, path, before, after in self._changes():
            if expected is not None and commit != expected.commit:
                raise TopicError("is not the last threshold change that was committed", where=expected.path)
            topic = next((each for each in self._library.topics if each.path == path), None)
            if topic is None:
                raise TopicError("no longer exists, so its thresholds cannot be restored", where=path)
            now = OwnThresholds.of(topic)
            if now == after:
                self._write(topic, before)
            elif now != before:
                has = _described(self._effective(topic))
                raise TopicError(
                    f"now has other thresholds ({has}), so the last change was not undone",
                    where=path,
                    hint=f"set them with: {_COMMAND} {shown(topic.name)} --gate X --activate Y --apply",
                )
            done = self._done(after.on(topic), before, "undo tune", [(_UNDOES, commit)])
            if done.commit or now == after:  # else it was undone by hand
                return done
        raise TopicError("no threshold change to undo")

    def _changes(self) -> Iterator[tuple[str, str, OwnThresholds, OwnThresholds]]:
        """The changes that ``apply`` committed and that were not undone, newest first: commit, path of the
        file, and its thresholds before and after.
        """
        undone: set[str] = set()
        for commit in self._repository.log(_SEARCHED_COMMITS):
            trailers = dict(line.partition(": ")[::2] for line in commit.body.splitlines())
            undone.add(trailers.get(_UNDOES, ""))
            if commit.revision not in undone:
                with contextlib.suppress(KeyError, TypeError, ValueError):  # not one of ours
                    path, *written = (trailers[name] for name in _TRAILERS)
                    before, after = (OwnThresholds(*json.loads(each)) for each in written)
                    yield commit.revision, path, before, after

    def _committed(self, topic: Topic) -> OwnThresholds:
        """The thresholds in the committed file of a topic, or else in its file."""
        with contextlib.suppress(AutopoiesisError):
            (data,) = blobs(self._repository.git, [f"HEAD:{topic.path}"])
            if data is not None:
                return thresholds_in(data, topic.path)
        return OwnThresholds.of(topic)

    def _write(self, topic: Topic, thresholds: OwnThresholds) -> None:
        """Writes thresholds to a topic's file."""

        def change(data: bytes | None) -> bytes:
            if data is None or sha256(data).hexdigest() != topic.digest:
                self._edited(topic.path)
                raise TopicError(
                    "changed since its thresholds were read" if data is not None else "no longer exists",
                    where=topic.path,
                    hint="look at it again and retry",
                )
            return with_thresholds(data, topic, thresholds)

        with self._guard, self._files.lock():
            self._files.update(topic.path, change)

    def _done(
        self, topic: Topic, own: OwnThresholds, what: str, trailers: Iterable[tuple[str, str]]
    ) -> Applied:
        """Has the topic read again, and commits its file."""
        self._edited(topic.path)
        old, new = self._effective(topic), self._effective(own.on(topic))
        commit, why = "", "git.auto_commit is off"
        if self._config().git.auto_commit:
            try:
                line = f"{what} {shown(topic.name)}: {_described(new)}"
                text = commit_message("maintenance", line, trailers=trailers)
                found = self._repository.commit([topic.path], text)
                commit, why = found or "", "" if found else "nothing new to commit"
            except AutopoiesisError as error:
                why = str(error)
        return Applied(topic.name, topic.path, old, new, commit, why)

    def _effective(self, topic: Topic) -> Thresholds:
        return today(topic, self._config().watchers)


def _checked(thresholds: Thresholds) -> Thresholds:
    """Valid thresholds, rounded as they are written.

    Raises:
        AutopoiesisError: They are not valid.
    """
    if not all(
        threshold is None or 0 <= threshold <= 1 for threshold in (thresholds.gate, thresholds.activate)
    ):
        raise AutopoiesisError(f"{_described(thresholds)}: thresholds must be between 0 and 1")
    found = Thresholds(rounded(thresholds.gate), rounded(thresholds.activate))
    if found.gate is not None and found.activate is not None and found.gate > found.activate:
        raise AutopoiesisError(
            f"{_described(found)}: the gate threshold is above the activation threshold",
            hint="use the same number for both if the gate should not be asked",
        )
    return found


def _described(thresholds: Thresholds) -> str:
    gate, activate = (
        "never" if threshold is None else format_threshold(threshold)
        for threshold in (thresholds.gate, thresholds.activate)
    )
    return f"gate {gate}, active {activate}"


def _unknown(topic: str) -> TopicError:
    return TopicError(f"there is no topic {shown(topic)}", hint="see: autopoiesis topics list")
