"""Audits injections: what agents got, why, and whether it was useful, from the hook and injection logs."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.agents.log import HookLog, HookRun
from engine.context.subscriptions import offers
from engine.conversations.conversations import is_conversation
from engine.errors import AutopoiesisError
from engine.injections.log import InjectedSection, Injection
from engine.recall.labels import Place
from engine.recall.recall import spans

if TYPE_CHECKING:
    from engine.engine import Engine

_MIN_ID_CHARS = 4
"""Minimum length of an id's prefix to search by."""
_UNFILED = ("steering", "catalog:")
"""Label prefixes of sections that do not come from a single file."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One hook run with its injection, or a prompt sent from here (without a ``run``)."""

    id: str  # the injection's, or else the session's
    at: str  # ISO 8601, UTC
    agent: str  # empty for a prompt sent from here
    moment: str  # as in ``engine.agents.contracts.Moment``; may be empty
    session_id: str  # may be empty
    project: str  # slug; empty if unknown
    tokens: int  # injected
    run: HookRun | None
    injection: Injection | None

    @property
    def failed(self) -> bool:
        return self.run is not None and self.run.failed


@dataclass(frozen=True, slots=True)
class Piece:
    """An injected section."""

    section: InjectedSection
    topic: str  # of its playbook; empty if it is no playbook, or the topic no longer exists
    text: str  # as in the file now; empty if it is no longer there


class Audit:
    """Reads what was injected, and records a person's judgement of it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._runs = HookLog(engine.files, engine.clock)

    def entries(self) -> Iterator[AuditEntry]:
        """Every hook run and every prompt, newest first; reads the logs lazily."""
        waiting: dict[str, Injection] = {}
        prompts: Iterator[HookRun | Injection] = self._engine.injections.log.backwards()
        for each in heapq.merge(prompts, self._runs.backwards(), key=lambda one: one.at, reverse=True):
            if isinstance(each, HookRun):
                yield _of_run(each, waiting.pop(each.injection, None))
            elif each.by:  # its hook run started earlier, so it follows in this order
                waiting[each.id] = each
            else:
                yield _of_prompt(each)
        yield from map(_of_prompt, waiting.values())

    def find(self, name: str) -> AuditEntry:
        """The entry whose id starts with ``name``; for a session's id, its latest entry with an injection.

        Raises:
            AutopoiesisError: There is none, or there are several.
        """
        found: dict[str, AuditEntry] = {}
        for each in self.entries() if len(name) >= _MIN_ID_CHARS else ():
            if each.id.startswith(name) and each.tokens:
                found.setdefault(each.id, each)
        if len(found) != 1:
            what = f"{len(found)} ids start with {name}" if found else f"no injection has the id {name}"
            raise AutopoiesisError(what, hint="list the ids: autopoiesis injections list")
        return next(iter(found.values()))

    def pieces(self, entry: AuditEntry) -> tuple[Piece, ...]:
        """The injected sections in order, with their current text."""
        if entry.injection is not None:
            sections = entry.injection.sections
        else:
            injected = entry.run.told if entry.run else ()
            sections = tuple(InjectedSection(path, lines, 1, 0, None) for path, lines in injected)
        topics = {topic.path: topic for topic in self._engine.library.topics}
        return tuple(
            Piece(
                each,
                topics[each.path].name if each.priority == 2 and each.path in topics else "",
                offers([topics[each.path]], by_name=True)[0].text
                if each.is_offer and each.path in topics
                else shown.text,
            )
            for each, shown in zip(sections, self._engine.injections.shown(sections), strict=True)
        )

    def extras(self, entry: AuditEntry) -> tuple[str, ...]:
        """Everything else that was injected: rules with their current text, and labels of other sections."""
        if entry.injection is not None:
            ids = entry.injection.rules.called if entry.injection.rules else ()
        else:
            ids = entry.run.rules if entry.run else ()
        known = {rule.id: rule.text for rule in self._engine.rules.book().rules} if ids else {}
        labels = entry.run.labels if entry.run else ()
        unfiled = (f"{each}, whose text is not kept" for each in labels if each.startswith(_UNFILED))
        return (*(f"rule: {known.get(each, each)}" for each in ids), *unfiled)

    def judge(self, entry: AuditEntry, numbers: Collection[int], useful: bool) -> tuple[str, ...]:
        """Records whether sections were useful, by 1-based numbers; without numbers, all of them.

        For a topic, this labels its decision, which is used for tuning; for a passage of an earlier session,
        the passage, and noise is not told again. For every section it is recorded in
        the injection log: useful files are ranked higher, others no longer are.

        Returns:
            The topics whose decisions were labelled.

        Raises:
            AutopoiesisError: There is no such section, or its message is not in a transcript yet.
            WriteFailed, ReadOnly: It was not recorded.
        """
        injection, pieces = entry.injection, self.pieces(entry)
        every = range(1, len(pieces) + 1) if injection is not None else range(0)
        wanted = set(numbers or every)
        if injection is None or not wanted or wanted - set(every):
            raise AutopoiesisError(
                "no such section was selected for a message",
                hint=f"see autopoiesis injections show {entry.id}",
            )
        topics = tuple(piece.topic for at, piece in enumerate(pieces, 1) if at in wanted and piece.topic)
        if topics and not injection.is_claimed:
            raise AutopoiesisError(
                f"{topics[0]} cannot be labelled: its message is not in a transcript yet",
                hint="label it once the agent has answered and its session has been captured",
            )
        for topic in topics:
            self._engine.labels.label(injection.turn, topic, useful)
        told = [
            Place(piece.section.path, first)
            for at, piece in enumerate(pieces, 1)
            if at in wanted and is_conversation(piece.section.path)
            for first, _ in spans(piece.section.lines)
        ]
        if told:
            prompt = Place(injection.turn.partition("#")[0], 0)
            self._engine.recall.labels.label(prompt, told, useful)
        self._engine.injections.judge(injection, [useful if at in wanted else None for at in every])
        return topics


def _of_run(run: HookRun, injection: Injection | None) -> AuditEntry:
    name = injection.id if injection is not None else run.session_id
    place = run.session_id, run.project
    return AuditEntry(name, run.at, run.agent, run.moment, *place, run.tokens, run, injection)


def _of_prompt(made: Injection) -> AuditEntry:
    return AuditEntry(made.id, made.at, made.by, "prompt", made.session_id, "", made.tokens, None, made)
