"""Takes the knowledge out of one conversation, with a model or without one (``knowledge-curation.md`` 5).

What is asked twice and what is not: ``engine.knowledge.harvest.inquiry``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.inquiry import Asker, Failed, Inquiry
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
    shown,
    task,
    without_secrets,
)
from engine.knowledge.harvest.proposals import proposed
from engine.knowledge.harvest.reply import Reply, once, read_reply
from engine.knowledge.item import Item
from engine.knowledge.ledger import MARKERS
from engine.provenance.hold import voice_of

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import SourceText
    from engine.providers.chat import ChatProvider, Spending
    from engine.settings.model import HarvestSettings
    from engine.store.files import Files
    from engine.transcripts.turn import Turn

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
        self._asker = (
            None if completer is None else Asker(completer, settings, SYSTEM, "harvest.max_tokens", spending)
        )

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
        if self._asker is None:
            items = once((*marked(source.turns), *proposed(source.turns)))
            return replace(blank, outcome="extracted", items=items, shown=source.read)
        turns, secrets = without_secrets(source.shown)
        blank = replace(blank, redacted=secrets)
        if not turns:
            # Nothing but memory operations, which need no model.
            return replace(blank, outcome="extracted", items=marked(source.turns), shown=source.read)
        inquiry = Inquiry(self._asker, source.name, source.session, blank.model)
        return _Asking(inquiry, source, files).extraction(turns, blank)

    def stop(self) -> None:
        """Gives up what is under way, and everything that would be asked after it."""
        if self._asker is not None:
            self._asker.stop()

    def _blank(self, source: SourceText) -> Extraction:
        completer = None if self._asker is None else self._asker.completer
        name, model = (MARKERS, "") if completer is None else (completer.name, completer.model)
        return Extraction("failed", provider=name, model=model, size=source.size)


@dataclass(slots=True)
class _Asking:
    """A conversation that a model is asked about, whole or by its summaries."""

    inquiry: Inquiry
    source: SourceText
    files: Files | None

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
                reply = self.inquiry.reply(record, wanted, lambda text, cut: read_reply(text, cut=cut))
        except (Failed, AutopoiesisError) as failed:
            error, looked_at, lasting = str(failed), 0, failed.lasting
        return replace(
            blank,
            outcome="failed" if error else "extracted",
            items=tuple(replace(item, voice=voice_of(item.text, self.source.said)) for item in reply.items),
            model=self.inquiry.model,
            attempts=self.inquiry.attempts,
            shown=looked_at,
            summarised=is_long,
            input_tokens=self.inquiry.input_tokens,
            output_tokens=self.inquiry.output_tokens,
            cost_usd=self.inquiry.cost_usd,
            refused=reply.refused,
            error=error,
            lasting=lasting,
        )

    def _summarised(self, turns: Sequence[tuple[int, Turn]]) -> tuple[list[str], int]:
        """The summaries of the parts, and the bytes of the file that these cover."""
        wanted = task(SUMMARY, self.files)

        def ask(part: SourcePart) -> tuple[str, bool] | str:
            completed = self.inquiry.answer([part.text], wanted)
            return completed if isinstance(completed, str) else (completed.text, completed.cut)

        summaries = summaries_of(parts_of(self.source, turns), ask)
        asked = [summary for summary in summaries if summary.part.text]
        if asked and not any(summary.text or not summary.error for summary in asked):
            raise Failed(f"no part could be summed up: {asked[0].error}")
        return record_of(summaries), covered(summaries)
