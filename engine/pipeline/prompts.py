"""Compiles prompts from a message, its trace and the earlier turns (spec 6)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.compiled import OFFER_LINES
from engine.context.compiler import CompileRequest
from engine.context.recaps import is_recap
from engine.conversations.conversations import tool_paths
from engine.conversations.turns import Before
from engine.errors import IndexFailed
from engine.pipeline.answers import answers, beside, with_readers
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from engine.context.budget import Candidate
    from engine.context.compiled import Compiled
    from engine.context.compiler import ContextCompiler
    from engine.context.request import Part, Query, ToolDefinition
    from engine.recall.recall import Recall
    from engine.rules.agent_files import Stated
    from engine.search.index import SearchIndex
    from engine.search.results import SearchResult
    from engine.topics.library import TopicLibrary

NOTHING_BEFORE = Before()


class Prompts:
    """Compiles prompts. Thread-safe.

    Args:
        index: The search index, created on first use.
        flushed: Numbers, from 1, of the earlier turns that were flushed.
        file_notes: Files of notes about paths in earlier turns, the newest first.
        zone: The time zone of days.
        project: The names of the project of a transcript by path, see ``CompileRequest``.
        doubtful: The projects that may be the same as one with some names.
        recall: Finds what past sessions can tell; without it, nothing is said of them beside a message.
        records: Answers a message from the record of a project's other sessions, given its names and the
            transcript of the message's own.
    """

    def __init__(
        self,
        library: TopicLibrary,
        compiler: Callable[[], ContextCompiler],
        index: Callable[[], SearchIndex],
        clock: Callable[[], datetime],
        flushed: Callable[[Before], frozenset[int]] = lambda _before: frozenset(),
        file_notes: Callable[[Sequence[str]], tuple[str, ...]] = lambda _paths: (),
        zone: Callable[[], str] = lambda: "",
        project: Callable[[str], tuple[str, ...]] = lambda _path: (),
        recall: Callable[[], Recall] | None = None,
        doubtful: Callable[[Sequence[str]], Sequence[str]] = lambda _names: (),
        records: Callable[[str, tuple[str, ...], str], tuple[Candidate, ...]] = lambda *_asked: (),
    ) -> None:
        self._library = library
        self._compiler = compiler
        self._index = index
        self._clock = clock
        self._zone = zone
        self._project = project
        self._doubtful = doubtful
        self._recall = recall
        self._records = records
        self._flushed = flushed
        self._file_notes = file_notes

    def compile(
        self,
        text: str,
        trace: Trace | None,
        before: Before = NOTHING_BEFORE,
        *,
        budget: int | None = None,
        tools: tuple[ToolDefinition, ...] | None = None,
        part: Part = "whole",
        project: tuple[str, ...] = (),
        agent: str = "",
        injected: frozenset[tuple[str, str]] = frozenset(),
        held_from: int | None = None,
        unsearched: str = "",
        stated: Stated | None = None,
        until: float | None = None,
        searches: dict[str, list[SearchResult]] | None = None,
    ) -> Compiled:
        """The prompt for a message.

        Args:
            trace: ``None`` for the part ``standing``, which has no message.
            before: The earlier turns of its conversation.
            budget: Tokens for prompt and reply reserve; by default the workspace's setting.
            tools, part, agent, injected, held_from: As in ``CompileRequest``; topics in ``injected`` are
                left out.
            unsearched: Why not to search the memory, in one clause; ``""`` to search it.
            stated: For the part ``asked``: what the agent knows anyway.
            until: When to give up searching, by the monotonic clock. What cannot be searched is left out,
                and ``problems`` says why.
            project: The names of the project; by default that of the conversation.
            searches: What was found for this message, by query, when it was compiled with a larger budget.

        Raises:
            BudgetError: The parts that are never dropped exceed the budget.
        """
        project = project or (self._project(before.path) if before.path else ())
        active = dict.fromkeys((*(trace.active if trace else ()), *before.steering))
        topics = [topic for name in active if (topic := self._library.get(name)) is not None]
        known = {path for path, lines in injected if lines != OFFER_LINES}
        may = [topic for name in (trace.offered if trace else ()) if (topic := self._library.get(name))]
        today = local_day(self._clock(), self._zone())
        records = self._records(text, project, before.path) if project and part != "standing" else ()

        def is_near(path: str) -> bool:
            return not project or not (names := self._project(path)) or not set(names).isdisjoint(project)

        def search(asked: Query) -> list[SearchResult]:
            found = self._index().search(
                asked.text,
                limit=asked.limit,
                room=asked.room,
                exclude=asked.exclude,
                today=today,
                in_full=False,
                context=asked.context,
            )
            if part not in ("message", "asked"):
                return found
            # The whole session decides what is told of others, not the message alone.
            recall = self._recall() if self._recall is not None else None
            told = recall.find(text, before.turns, before.path, injected) if recall is not None else []
            answered = answers(self._index(), asked, text, today, is_near, before.path)
            told = [*answered, *(each for each in told if not _overlaps(each, answered))]
            if part == "asked":
                whole = with_readers(self._index(), told)
                whole += beside(found, text, asked.text, answered, is_recorded=bool(records))
                return [each for each in whole if stated is None or not stated.says(each.text)]
            return [
                *with_readers(self._index(), told),
                *(each for each in found if _is_beside(each, before.path)),
            ]

        def retrieve(asked: Query) -> list[SearchResult]:
            if unsearched:
                raise IndexFailed(unsearched)
            made = {} if searches is None else searches
            if asked.text not in made:
                made[asked.text] = search(asked) if until is None else _in_time(lambda: search(asked), until)
            return made[asked.text]

        return self._compiler().compile(
            CompileRequest(
                message=text,
                today=today,
                topics=tuple(topic for topic in topics if topic.path not in known),
                trace=trace,
                offered=tuple(
                    topic
                    for topic in may
                    if topic.path not in known and (topic.path, OFFER_LINES) not in injected
                ),
                history=before.turns,
                retrieve=retrieve,
                budget=budget,
                tools=tools,
                session_id=before.session_id,
                conversation=before.path,
                project=project,
                doubtful=lambda: self._doubtful(project),
                corrections=before.corrections,
                records=records,
                file_notes=self._file_notes(tool_paths(reversed(before.turns)))
                if before.turns and part != "asked"
                else (),
                flushed=self._flushed(before) if before.turns and part == "whole" else frozenset(),
                part=part,
                agent=agent,
                injected=injected,
                held_from=held_from,
            )
        )


def _overlaps(result: SearchResult, others: Sequence[SearchResult]) -> bool:
    """Whether a passage has lines of others."""
    return any(
        each.path == result.path and each.start_line <= result.end_line and result.start_line <= each.end_line
        for each in others
    )


def _is_beside(result: SearchResult, conversation: str) -> bool:
    """Whether a search result may stand beside a message: knowledge, and turns of the same conversation,
    which the agent may have lost.
    """
    if result.category == "conversation":
        return result.path == conversation
    return not is_recap(result)


def _in_time(search: Callable[[], list[SearchResult]], until: float) -> list[SearchResult]:
    """The results of a search; one that takes too long goes on in the background.

    Raises:
        IndexFailed: It takes too long.
    """
    found: list[list[SearchResult]] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(search())
        except BaseException as error:  # noqa: BLE001 — raised below
            failed.append(error)

    left = until - time.monotonic()
    if left > 0:
        thread = threading.Thread(target=run, name="autopoiesis-search", daemon=True)
        thread.start()
        thread.join(left)
    if failed:
        raise failed[0]
    if not found:
        raise IndexFailed("it takes too long")
    return found[0]
