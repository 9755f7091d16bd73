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

LEAST_OF_AN_ID = 4
_FROM_NO_FILE = ("steering", "catalog:")
"""How the labels begin of sections that are put together from several files, or from what the agent did."""


@dataclass(frozen=True, slots=True)
class Telling:
    """One run of an agent's hook with the prompt that it added to, or a prompt of our own (no ``run``)."""

    run: HookRun | None
    injection: Injection | None = None

    @property
    def at(self) -> str:
        """ISO 8601, UTC."""
        return self.run.at if self.run else self.injection.at if self.injection else ""

    @property
    def id(self) -> str:
        """By which it is found: of a prompt that of the injection log, of a session's start the session's."""
        return self.injection.id if self.injection else self.run.session_id if self.run else ""

    @property
    def agent(self) -> str:
        """Empty for a prompt of our own."""
        return self.run.agent if self.run else self.injection.by if self.injection else ""

    @property
    def session_id(self) -> str:
        """Empty where none was named."""
        return self.run.session_id if self.run else self.injection.session_id if self.injection else ""

    @property
    def project(self) -> str:
        """Slug; empty where it is not known."""
        return self.run.project if self.run else ""

    @property
    def moment(self) -> str:
        """As in ``engine.agents.contracts.Moment``; empty where what the agent sent named none."""
        return self.run.moment if self.run else "prompt"

    @property
    def tokens(self) -> int:
        """That were told; 0 where nothing was."""
        return self.run.tokens if self.run else self.injection.tokens if self.injection else 0

    @property
    def failed(self) -> bool:
        """Whether the hook failed."""
        return self.run is not None and self.run.failed


@dataclass(frozen=True, slots=True)
class Piece:
    """A section of what was told."""

    section: InjectedSection
    topic: str  # whose playbook it is; empty for a file, an excerpt, and a topic that is there no more
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
                yield Telling(each, waiting.pop(each.injection, None))
            elif each.by:  # its hook began before, so it comes later
                waiting[each.id] = each
            else:
                yield Telling(None, each)
        yield from (Telling(None, each) for each in waiting.values())

    def find(self, name: str) -> Telling:
        """The prompt whose id begins so; of a session's id, the last time that its agent was told what holds
        throughout.

        Raises:
            AutopoiesisError: There is none, or there are several.
        """
        cure = "list them: autopoiesis injections list"
        if len(name) < LEAST_OF_AN_ID:
            raise AutopoiesisError(f"{name!r} is too short for an id", cure=cure)
        found: dict[str, Telling] = {}
        for each in self.tellings():
            if each.id.startswith(name) and (each.injection or (each.run and each.run.told)):
                found.setdefault(each.id, each)
        if not found:
            raise AutopoiesisError(f"nothing that was told has the id {name}", cure=cure)
        if len(found) > 1:
            raise AutopoiesisError(f"{len(found)} ids begin with {name}", cure="give more of the id")
        return next(iter(found.values()))

    def pieces(self, telling: Telling) -> tuple[Piece, ...]:
        """Its sections, in the order in which they were told, with their text of today."""
        if telling.injection is not None:
            sections = telling.injection.sections
        else:
            told = telling.run.told if telling.run else ()
            sections = tuple(InjectedSection(path, lines, 1, 0, None) for path, lines in told)
        shown = self._engine.injections.shown(sections)
        topics = {topic.path: topic.name for topic in self._engine.library.topics}
        return tuple(
            Piece(section, topics.get(section.path, "") if section.priority == 2 else "", one.text)
            for section, one in zip(sections, shown, strict=True)
        )

    def rules(self, telling: Telling) -> tuple[str, ...]:
        """The rules that were told, in the words of today; an id where a rule is there no more."""
        if telling.injection is not None:
            ids = telling.injection.rules.called if telling.injection.rules else ()
        else:
            ids = telling.run.rules if telling.run else ()
        known = {rule.id: rule.text for rule in self._engine.rules.book().rules} if ids else {}
        return tuple(known.get(each, each) for each in ids)

    @staticmethod
    def unfiled(telling: Telling) -> tuple[str, ...]:
        """The labels of what was told beside that and stands in no file."""
        labels = telling.run.labels if telling.run else ()
        return tuple(each for each in labels if each.startswith(_FROM_NO_FILE))

    def judge(self, telling: Telling, numbers: Collection[int], useful: bool) -> tuple[str, ...]:
        """Takes down whether sections were of use, by their numbers from 1; all of them where none is given.

        Of a topic that is the label of its decision, from which it is tuned. Of every section it is noted in
        the injection log: a file that was of use counts for ranking, and one that was not counts no more.

        Returns:
            The topics whose decisions were labelled.

        Raises:
            AutopoiesisError: There is no such section, or none that can be judged.
            WriteFailed, ReadOnly: It was not recorded.
        """
        injection = telling.injection
        if injection is None or not injection.sections:
            raise AutopoiesisError(
                "there is nothing here that was chosen for a message",
                cure="what holds throughout is changed in its files; see autopoiesis injections show ID",
            )
        pieces = self.pieces(telling)
        wanted = set(numbers) or set(range(1, len(pieces) + 1))
        if unknown := wanted - set(range(1, len(pieces) + 1)):
            raise AutopoiesisError(
                f"there is no section {min(unknown)}", cure=f"they are numbered from 1 to {len(pieces)}"
            )
        topics = tuple(piece.topic for n, piece in enumerate(pieces, 1) if n in wanted and piece.topic)
        if topics and not injection.is_claimed:
            raise AutopoiesisError(
                f"{topics[0]} cannot be labelled: its message is in no transcript yet",
                cure="label it once the agent has answered and its session was captured",
            )
        for topic in topics:
            self._engine.labels.label(injection.turn, topic, useful)
        states = [useful if number in wanted else None for number in range(1, len(pieces) + 1)]
        self._engine.injections.judge(injection, states)
        return topics
