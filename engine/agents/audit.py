"""What agents were told, why, and what came of it: the log of hooks and the injection log, read together."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.agents.log import HookLog, HookRun
from engine.errors import AutopoiesisError
from engine.injections.model import InjectedSection, Injection

if TYPE_CHECKING:
    from engine.engine import Engine

_LEAST = 4
"""Characters of an id by which something is found."""
_FROM_NO_FILE = ("steering", "catalog:")
"""How labels begin of what is put together from several files, or from what the agent did."""


@dataclass(frozen=True, slots=True)
class Telling:
    """One run of an agent's hook with the prompt that it added to, or a prompt of our own (no ``run``)."""

    id: str  # of a prompt that of the injection log, else the session's
    at: str  # ISO 8601, UTC
    agent: str  # empty for a prompt of our own
    moment: str  # as in ``engine.agents.contracts.Moment``; empty where the agent named none
    session_id: str  # empty where none was named
    project: str  # slug; empty where it is not known
    tokens: int  # that were told; 0 where nothing was
    run: HookRun | None
    injection: Injection | None

    @property
    def failed(self) -> bool:
        """Whether the hook failed."""
        return self.run is not None and self.run.failed


@dataclass(frozen=True, slots=True)
class Piece:
    """A section of what was told."""

    section: InjectedSection
    topic: str  # whose playbook it is; empty for what is none, and for a topic that is there no more
    text: str  # as its file has it today; empty where it has it no more


class Audit:
    """Reads what agents were told, and takes down what a person says of it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._runs = HookLog(engine.files, engine.clock)

    def tellings(self) -> Iterator[Telling]:
        """Every run of a hook and every prompt, newest first, reading no more of the logs than is taken."""
        waiting: dict[str, Injection] = {}
        prompts: Iterator[HookRun | Injection] = self._engine.injections.log.backwards()
        for each in heapq.merge(prompts, self._runs.backwards(), key=lambda one: one.at, reverse=True):
            if isinstance(each, HookRun):
                yield _of_run(each, waiting.pop(each.injection, None))
            elif each.by:  # its hook began before, so it comes later
                waiting[each.id] = each
            else:
                yield _of_prompt(each)
        yield from map(_of_prompt, waiting.values())

    def find(self, name: str) -> Telling:
        """The prompt whose id begins so; for a session's id, its last start at which something was told.

        Raises:
            AutopoiesisError: There is none, or there are several.
        """
        found: dict[str, Telling] = {}
        for each in self.tellings() if len(name) >= _LEAST else ():
            if each.id.startswith(name) and each.tokens:
                found.setdefault(each.id, each)
        if len(found) != 1:
            what = f"{len(found)} ids begin with {name}" if found else f"nothing was told under the id {name}"
            raise AutopoiesisError(what, hint="list the ids: autopoiesis injections list")
        return next(iter(found.values()))

    def pieces(self, telling: Telling) -> tuple[Piece, ...]:
        """Its sections, in the order in which they were told, with their text of today."""
        if telling.injection is not None:
            sections = telling.injection.sections
        else:
            told = telling.run.told if telling.run else ()
            sections = tuple(InjectedSection(path, lines, 1, 0, None) for path, lines in told)
        topics = {topic.path: topic.name for topic in self._engine.library.topics}
        return tuple(
            Piece(each, topics.get(each.path, "") if each.priority == 2 else "", shown.text)
            for each, shown in zip(sections, self._engine.injections.shown(sections), strict=True)
        )

    def beside(self, telling: Telling) -> tuple[str, ...]:
        """What else was told: rules, in the words of today, and what stands in no file, by its label."""
        if telling.injection is not None:
            ids = telling.injection.rules.called if telling.injection.rules else ()
        else:
            ids = telling.run.rules if telling.run else ()
        known = {rule.id: rule.text for rule in self._engine.rules.book().rules} if ids else {}
        labels = telling.run.labels if telling.run else ()
        unfiled = (f"{each}, whose text is not kept" for each in labels if each.startswith(_FROM_NO_FILE))
        return (*(f"rule: {known.get(each, each)}" for each in ids), *unfiled)

    def judge(self, telling: Telling, numbers: Collection[int], useful: bool) -> tuple[str, ...]:
        """Takes down whether sections were of use, by their numbers from 1; all of them where none is given.

        Of a topic that is the label of its decision, from which it is tuned. Of every section it is noted in
        the injection log: a file that was of use counts for ranking, and one that was not counts no more.

        Returns:
            The topics whose decisions were labelled.

        Raises:
            AutopoiesisError: There is no such section, or its message is in no transcript yet.
            WriteFailed, ReadOnly: It was not recorded.
        """
        injection, pieces = telling.injection, self.pieces(telling)
        every = range(1, len(pieces) + 1) if injection is not None else range(0)
        wanted = set(numbers or every)
        if injection is None or not wanted or wanted - set(every):
            raise AutopoiesisError(
                "there is no such section that was chosen for a message",
                hint=f"see autopoiesis injections show {telling.id}",
            )
        topics = tuple(piece.topic for at, piece in enumerate(pieces, 1) if at in wanted and piece.topic)
        if topics and not injection.is_claimed:
            raise AutopoiesisError(
                f"{topics[0]} cannot be labelled: its message is in no transcript yet",
                hint="label it once the agent has answered and its session was captured",
            )
        for topic in topics:
            self._engine.labels.label(injection.turn, topic, useful)
        self._engine.injections.judge(injection, [useful if at in wanted else None for at in every])
        return topics


def _of_run(run: HookRun, injection: Injection | None) -> Telling:
    name = injection.id if injection is not None else run.session_id
    place = run.session_id, run.project
    return Telling(name, run.at, run.agent, run.moment, *place, run.tokens, run, injection)


def _of_prompt(made: Injection) -> Telling:
    return Telling(made.id, made.at, made.by, "prompt", made.session_id, "", made.tokens, None, made)
