"""Takes the knowledge out of one conversation, with a model or without one (``knowledge-curation.md`` 5).

A second attempt is made only when a model wrote a bad reply. A service that does not answer is its provider's
matter, which has tried as often as it may; a spent budget is the person's.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.context.replies import BadReply, quoted
from engine.errors import AutopoiesisError
from engine.knowledge.harvest.markers import marked
from engine.knowledge.harvest.parts import (
    SUMMARIZE_THRESHOLD_BYTES,
    SourcePart,
    covered,
    parts_of,
    record_of,
    summaries_of,
)
from engine.knowledge.harvest.prompt import (
    HARVEST,
    SUMMARY,
    SYSTEM,
    prompt_of,
    shown,
    task,
    without_secrets,
)
from engine.knowledge.harvest.proposals import proposed
from engine.knowledge.harvest.reply import Reply, once, read_reply
from engine.knowledge.item import Item
from engine.knowledge.ledger import MARKERS
from engine.provenance.hold import voice_of
from engine.redaction.detect import redacted

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import SourceText
    from engine.providers.asking import Asked, Question
    from engine.providers.chat import ChatProvider, ChatReply, Spending
    from engine.settings.model import HarvestSettings
    from engine.store.files import Files
    from engine.transcripts.turn import Turn

HARVEST_MAX_ATTEMPTS = 2
"""How often a model is asked for items before what it writes is given up."""

MOST_TOKENS = 65_536
"""Tokens of the longest reply that is asked for after one was cut off."""

_STOPPED = "stopped before it was finished"


Outcome = Literal["extracted", "failed", "too-large", "unclear"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What came of asking about one conversation."""

    outcome: Outcome  # Only ``extracted`` has items. ``unclear``: nothing tells who speaks.
    items: tuple[Item, ...] = ()  # in order, each once
    provider: str = ""  # ``markers`` asks no model
    model: str = ""
    attempts: int = 0  # how often the model was asked for items
    shown: int = 0  # bytes of the conversation that were looked at whole
    size: int = 0  # bytes of the conversation
    summarised: bool = False
    """Only a summary was looked at, made part by part; the parts cover ``shown`` of ``size``."""
    redacted: int = 0  # secrets that were masked before anything was sent
    input_tokens: int = 0
    output_tokens: int = 0  # all calls together, as are the output tokens
    cost_usd: float | None = 0.0  # ``None`` if a price is unknown
    refused: tuple[str, ...] = ()  # a line for each part of the model's reply that could not be used
    error: str = ""  # why there are no items, one line; empty otherwise
    lasting: bool = False  # every other conversation would fail alike until a person changes something

    @property
    def coverage(self) -> float:
        """Share of the conversation that was looked at, 0 to 1."""
        return self.shown / self.size if self.size else 1.0


class _Failed(Exception):
    """There will be no items; the message is one line.

    ``lasting`` is that of ``Extraction``.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class Extractor:
    """Takes knowledge out of conversations, one at a time. ``stop`` may be called from any thread.

    Without a ``completer`` it takes what conversations mark themselves.
    """

    def __init__(
        self,
        settings: HarvestSettings,
        completer: ChatProvider | None = None,
        spending: Spending | None = None,
    ) -> None:
        self.settings = settings
        self._completer = completer
        self._spending = spending
        self._guard = threading.Lock()
        self._stopped = False
        self._under_way: Question | None = None

    def extract(self, source: SourceText, files: Files | None = None) -> Extraction:
        """What a conversation taught. Never raises for what is in it or for what a provider does.

        Prompts of the workspace ``files`` go before the shipped ones.
        """
        blank = self._blank(source)
        if source.state == "empty":
            return replace(blank, outcome="extracted", shown=source.size, error=source.why)
        if source.state != "read":
            outcome: Outcome = "failed" if source.state == "unreadable" else source.state
            return replace(blank, outcome=outcome, error=source.why)
        if self._completer is None:
            items = once((*marked(source.turns), *proposed(source.turns)))
            return replace(blank, outcome="extracted", items=items, shown=source.read)
        turns, secrets = without_secrets(source.shown)
        blank = replace(blank, redacted=secrets)
        if not turns:
            # Nothing but memory operations, which need no model.
            return replace(blank, outcome="extracted", items=marked(source.turns), shown=source.read)
        asking = _Asking(self, self._completer, source, files, self._completer.model)
        return asking.extraction(turns, blank)

    def stop(self) -> None:
        """Gives up what is under way, and everything that would be asked after it."""
        with self._guard:
            self._stopped = True
            question = self._under_way
        if question is not None:
            question.give_up()

    def _blank(self, source: SourceText) -> Extraction:
        completer = self._completer
        name, model = (MARKERS, "") if completer is None else (completer.name, completer.model)
        return Extraction("failed", provider=name, model=model, size=source.size)

    def answer(self, completer: ChatProvider, prompt: str, session: str, limit: int = 0) -> Asked:
        """What came of a question; ``limit`` is the tokens of its reply where they are not those set.

        Raises:
            AutopoiesisError: The budget is spent.
            _Failed: It was stopped.
        """
        from engine.providers.asking import Question  # noqa: PLC0415 — brings asyncio, and most harvests ask no model

        if self._spending is not None:
            self._spending.allow()
        with self._guard:
            if self._stopped:
                raise _Failed(_STOPPED)
            limits = self.settings
            question = Question(
                completer,
                SYSTEM,
                prompt,
                max_tokens=limit or limits.max_tokens,
                deadline_s=limits.deadline_s,
            )
            self._under_way = question
        try:
            answer = question.answer()
        finally:
            with self._guard:
                self._under_way = None
        if answer.completed is None and self._stopped:
            raise _Failed(_STOPPED)
        if answer.completed is not None and self._spending is not None:
            self._spending.spent(answer.completed, (), session)
        return answer


@dataclass(slots=True)
class _Asking:
    """The questions about one conversation, and what they took so far."""

    extractor: Extractor
    completer: ChatProvider
    source: SourceText
    files: Files | None
    model: str
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    def extraction(self, turns: Sequence[tuple[int, Turn]], blank: Extraction) -> Extraction:
        is_long = self.source.text_size > SUMMARIZE_THRESHOLD_BYTES
        reply = Reply(())
        looked_at, error, lasting = 0, "", False
        try:
            wanted = task(HARVEST, self.files)
            if is_long:
                record, looked_at = self._summarised(turns)
            else:
                record, looked_at = [shown(number, turn) for number, turn in turns], self.source.read
            if record:
                reply = self._reply(record, wanted)
        except (_Failed, AutopoiesisError) as failed:
            error, looked_at, lasting = str(failed), 0, failed.lasting
        return replace(
            blank,
            outcome="failed" if error else "extracted",
            items=tuple(replace(item, voice=voice_of(item.text, self.source.said)) for item in reply.items),
            model=self.model,
            attempts=self.attempts,
            shown=looked_at,
            summarised=is_long,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
            refused=reply.refused,
            error=error,
            lasting=lasting,
        )

    def _summarised(self, turns: Sequence[tuple[int, Turn]]) -> tuple[list[str], int]:
        """The summaries of the parts, and the bytes of the file that these cover."""
        wanted = task(SUMMARY, self.files)

        def ask(part: SourcePart) -> tuple[str, bool] | str:
            completed = self._answer([part.text], wanted)
            return completed if isinstance(completed, str) else (completed.text, completed.cut)

        summaries = summaries_of(parts_of(self.source, turns), ask)
        asked = [summary for summary in summaries if summary.part.text]
        if asked and not any(summary.text or not summary.error for summary in asked):
            raise _Failed(f"no part could be summed up: {asked[0].error}")
        return record_of(summaries), covered(summaries)

    def _reply(self, record: Sequence[str], wanted: str) -> Reply:
        """The items about a record. What a reply holds that was cut off is kept, and only the rest is asked
        for, with room for a longer one.
        """
        set_limit = self.extractor.settings.max_tokens
        wrong, limit = "", set_limit
        kept: Reply | None = None
        for _ in range(HARVEST_MAX_ATTEMPTS):
            self.attempts += 1
            try:
                completed = self._answer(record, wanted, wrong=wrong, limit=limit)
            except (AutopoiesisError, _Failed) as error:
                if kept is None:
                    raise
                completed = str(error)
            if isinstance(completed, str):
                if kept is None:
                    raise _Failed(completed)
                return _cut_off(kept, completed)
            try:
                found = read_reply(completed.text, cut=completed.cut)
            except BadReply as bad:
                wrong = str(bad)
            else:
                kept = found if kept is None else _both(kept, found)
                if not completed.cut:
                    return kept
                wrong = "it was cut off at the token limit (harvest.max_tokens)"
                if kept.items:
                    last = quoted(kept.items[-1].text)
                    wrong += f"; give only the items behind “{last}”"
            if completed.cut:
                limit = min(2 * limit, MOST_TOKENS)
                if limit <= set_limit:
                    break
        if kept is not None and kept.items:
            return _cut_off(kept, "raise harvest.max_tokens")
        raise _Failed(f"the reply could not be used after {self.attempts} attempts: {wrong}")

    def _answer(
        self, record: Sequence[str], wanted: str, *, wrong: str = "", limit: int = 0
    ) -> ChatReply | str:
        """The reply to a question, or why there is none.

        Raises:
            AutopoiesisError, _Failed: As ``Extractor.answer``, or no further question would get an answer.
        """
        prompt = prompt_of(record, wanted, name=redacted(self.source.name), wrong=wrong)
        answer = self.extractor.answer(self.completer, prompt, self.source.session, limit)
        completed = answer.completed
        if completed is None:
            if answer.lasting:
                raise _Failed(answer.error, lasting=True)
            return answer.error
        self.model = completed.model or self.model
        self.input_tokens += completed.usage.input_tokens
        self.output_tokens += completed.usage.output_tokens
        known, cost = self.cost_usd, completed.cost_usd
        self.cost_usd = None if known is None or cost is None else known + cost
        return completed


def _both(first: Reply, second: Reply) -> Reply:
    return Reply(once((*first.items, *second.items)), (*first.refused, *second.refused))


def _cut_off(reply: Reply, why: str) -> Reply:
    """A reply that is incomplete, and says so."""
    said = f"the reply was cut off (items kept: {len(reply.items)}): {why}"
    return replace(reply, refused=(*reply.refused, said))
