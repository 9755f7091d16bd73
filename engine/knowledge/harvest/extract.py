"""Takes the knowledge out of one conversation, with a model or without one (``knowledge-curation.md`` 5).

A second attempt is made only when a model wrote a bad reply. A service that does not answer is its provider's
matter, which has tried as often as it may; a spent budget is the person's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.context.replies import BadReply, quoted
from engine.context.tokens import count as count_tokens
from engine.errors import AutopoiesisError
from engine.knowledge.harvest.extraction import Extraction
from engine.knowledge.harvest.markers import marked
from engine.knowledge.harvest.parts import (
    SUMMARIZE_THRESHOLD_BYTES,
    SourcePart,
    covered,
    parts_of,
    record_of,
    summaries_of,
)
from engine.knowledge.harvest.prompt import HARVEST, SUMMARY, SYSTEM, prompt_of, shown, task
from engine.knowledge.harvest.proposals import proposed
from engine.knowledge.harvest.reply import Reply, once, read_reply
from engine.knowledge.ledger import MARKERS
from engine.knowledge.secrets import without_secrets
from engine.provenance.hold import voice_of
from engine.redaction.detect import redacted

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import SourceText
    from engine.providers.asking import Question
    from engine.providers.chat import ChatProvider, ChatReply, Spending
    from engine.settings.model import HarvestSettings
    from engine.store.files import Files
    from engine.transcripts.turn import Turn

HARVEST_MAX_ATTEMPTS = 2
"""How often a model is asked for items before what it writes is given up."""

MOST_TOKENS = 65_536
"""Tokens of the longest reply that is asked for after one was cut off."""

_SUMMARY_TOKENS = 900
"""Roughly the tokens of a summary of the requested length."""
_REPLY_TOKENS = 700
"""Roughly the tokens of an ordinary reply."""
_STOPPED = "stopped before it was finished"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a harvest of one conversation would take."""

    tokens: int  # sent, all questions together; 0 if no model is asked
    cost_usd: float | None  # with replies of ordinary length; ``None`` if the price is unknown


class _Failed(Exception):
    """There will be no items; the message is one line.

    ``lasting`` is that of ``Extraction``.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


@dataclass(slots=True)
class _Taken:
    """What the questions about one conversation took so far."""

    model: str = ""
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    def add(self, completed: ChatReply) -> None:
        self.model = completed.model or self.model
        self.input_tokens += completed.usage.input_tokens
        self.output_tokens += completed.usage.output_tokens
        known, cost = self.cost_usd, completed.cost_usd
        self.cost_usd = None if known is None or cost is None else known + cost


class Extractor:
    """Takes knowledge out of conversations, one at a time. ``stop`` may be called from any thread.

    Without a ``completer`` it takes what conversations mark themselves. ``price`` is of so many tokens, sent
    and received; ``None`` if it is unknown. Prompts of the workspace ``files`` go before the shipped ones.
    """

    def __init__(
        self,
        settings: HarvestSettings,
        completer: ChatProvider | None = None,
        spending: Spending | None = None,
        count: Callable[[str], int] = count_tokens,
        price: Callable[[int, int], float | None] = lambda _sent, _received: None,
        files: Files | None = None,
    ) -> None:
        self._settings = settings
        self._completer = completer
        self._spending = spending
        self._count = count
        self._price = price
        self._files = files
        self._guard = threading.Lock()
        self._stopped = False
        self._under_way: Question | None = None

    def extract(self, source: SourceText, files: Files | None = None) -> Extraction:
        """What a conversation taught. Never raises for what is in it or for what a provider does.

        ``files`` is a workspace other than the extractor's.
        """
        blank = self._blank(source)
        if source.state == "too-large":
            return replace(blank, outcome="too-large", error=source.why)
        if source.state == "unclear":
            return replace(blank, outcome="unclear", error=source.why)
        if source.state == "unreadable":
            return replace(blank, error=source.why)
        if source.state == "empty":
            return replace(blank, outcome="extracted", shown=source.size, error=source.why)
        if self._completer is None:
            items = once((*marked(source.turns), *proposed(source.turns)))
            return replace(blank, outcome="extracted", items=items, shown=source.read)
        turns, secrets = without_secrets(source.shown)
        blank = replace(blank, redacted=secrets)
        if not turns:
            # Nothing but memory operations, which need no model.
            return replace(blank, outcome="extracted", items=marked(source.turns), shown=source.read)
        return self._asked(self._completer, source, turns, blank, files or self._files)

    def estimate(self, source: SourceText, files: Files | None = None) -> Estimate:
        """What ``extract`` would take at its first attempt.

        ``files`` is a workspace other than the extractor's.

        Raises:
            AutopoiesisError: The workspace's own prompt cannot be used.
        """
        if self._completer is None or source.state != "read" or not source.shown:
            return Estimate(0, 0.0)
        files = files or self._files
        system, wanted = self._count(SYSTEM), self._count(task(HARVEST, files))
        if source.text_size <= SUMMARIZE_THRESHOLD_BYTES:
            said = sum(self._count(shown(number, turn)) for number, turn in source.shown)
            tokens, received = system + wanted + said, _REPLY_TOKENS
        else:
            parts = [part for part in parts_of(source) if part.text]
            summing = self._count(task(SUMMARY, files)) + system
            sent = sum(self._count(part.text) + summing for part in parts)
            tokens = sent + system + wanted + _SUMMARY_TOKENS * len(parts)
            received = _SUMMARY_TOKENS * len(parts) + _REPLY_TOKENS
        return Estimate(tokens, self._price(tokens, received))

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

    def _asked(
        self,
        completer: ChatProvider,
        source: SourceText,
        turns: Sequence[tuple[int, Turn]],
        blank: Extraction,
        files: Files | None,
    ) -> Extraction:
        taken = _Taken(completer.model)
        is_long = source.text_size > SUMMARIZE_THRESHOLD_BYTES
        reply = Reply(())
        looked_at, error, lasting = 0, "", False
        try:
            wanted = task(HARVEST, files)
            if is_long:
                record, looked_at = self._summarised(completer, source, turns, taken, files)
            else:
                record, looked_at = [shown(number, turn) for number, turn in turns], source.read
            if record:
                reply = self._reply(completer, source, record, wanted, taken)
        except (_Failed, AutopoiesisError) as failed:
            error, looked_at, lasting = str(failed), 0, failed.lasting
        return replace(
            blank,
            outcome="failed" if error else "extracted",
            items=tuple(replace(item, voice=voice_of(item.text, source.said)) for item in reply.items),
            model=taken.model,
            attempts=taken.attempts,
            shown=looked_at,
            summarised=is_long,
            input_tokens=taken.input_tokens,
            output_tokens=taken.output_tokens,
            cost_usd=taken.cost_usd,
            refused=reply.refused,
            error=error,
            lasting=lasting,
        )

    def _summarised(
        self,
        completer: ChatProvider,
        source: SourceText,
        turns: Sequence[tuple[int, Turn]],
        taken: _Taken,
        files: Files | None,
    ) -> tuple[list[str], int]:
        """The summaries of the parts, and the bytes of the file that these cover."""
        wanted = task(SUMMARY, files)

        def ask(part: SourcePart) -> tuple[str, bool] | str:
            prompt = prompt_of([part.text], wanted, name=redacted(source.name))
            completed = self._answer(completer, source, prompt, taken)
            return completed if isinstance(completed, str) else (completed.text, completed.cut)

        summaries = summaries_of(parts_of(source, turns), ask)
        asked = [summary for summary in summaries if summary.part.text]
        if asked and not any(summary.text or not summary.error for summary in asked):
            raise _Failed(f"no part could be summed up: {asked[0].error}")
        return record_of(summaries), covered(summaries)

    def _reply(
        self, completer: ChatProvider, source: SourceText, record: Sequence[str], wanted: str, taken: _Taken
    ) -> Reply:
        """The items about a record. What a reply holds that was cut off is kept, and only the rest is asked
        for, with room for a longer one.
        """
        wrong, limit = "", self._settings.max_tokens
        kept: Reply | None = None
        for _ in range(HARVEST_MAX_ATTEMPTS):
            taken.attempts += 1
            prompt = prompt_of(record, wanted, name=redacted(source.name), wrong=wrong)
            try:
                completed = self._answer(completer, source, prompt, taken, limit)
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
                if limit <= self._settings.max_tokens:
                    break
        if kept is not None and kept.items:
            return _cut_off(kept, "raise harvest.max_tokens")
        raise _Failed(f"the reply could not be used after {taken.attempts} attempts: {wrong}")

    def _answer(
        self,
        completer: ChatProvider,
        source: SourceText,
        prompt: str,
        taken: _Taken,
        limit: int = 0,
    ) -> ChatReply | str:
        """The reply to a question, or why there is none.

        Raises:
            AutopoiesisError: The budget is spent.
            _Failed: It was stopped, or further questions would get no answer either.
        """
        from engine.providers.asking import Question  # noqa: PLC0415 — brings asyncio, and most harvests ask no model

        if self._spending is not None:
            self._spending.allow()
        with self._guard:
            if self._stopped:
                raise _Failed(_STOPPED)
            limits = self._settings
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
        if answer.completed is None:
            if self._stopped:
                raise _Failed(_STOPPED)
            if answer.lasting:
                raise _Failed(answer.error, lasting=True)
            return answer.error
        taken.add(answer.completed)
        if self._spending is not None:
            self._spending.spent(answer.completed, (), source.session)
        return answer.completed


def _both(first: Reply, second: Reply) -> Reply:
    return Reply(once((*first.items, *second.items)), (*first.refused, *second.refused))


def _cut_off(reply: Reply, why: str) -> Reply:
    """A reply that is incomplete, and says so."""
    said = f"the reply was cut off (items kept: {len(reply.items)}): {why}"
    return replace(reply, refused=(*reply.refused, said))
