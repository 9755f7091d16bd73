"""Extracts the knowledge from one conversation, with or without a model (``knowledge-curation.md`` 5).

Retries are handled by ``engine.knowledge.harvest.inquiry``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.inquiry import (
    HARVEST,
    SUMMARY,
    SYSTEM,
    Asker,
    ExtractionFailed,
    Inquiry,
    shown,
    task,
    without_secrets,
)
from engine.knowledge.harvest.parts import (
    SUMMARIZE_THRESHOLD_BYTES,
    SourcePart,
    covered_bytes,
    parts_of,
    record_of,
    summaries_of,
)
from engine.knowledge.harvest.proposals import to_review
from engine.knowledge.harvest.reply import Reply, read_reply
from engine.knowledge.item import Item
from engine.knowledge.ledger import MARKERS, LedgerEntry
from engine.provenance.hold import voice_of
from engine.transcripts.projects import project_of

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import SourceText
    from engine.providers.chat import ChatProvider, Spending
    from engine.settings.model import HarvestSettings
    from engine.store.files import Files
    from engine.transcripts.turn import Turn


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of extracting from one conversation."""

    entry: LedgerEntry
    """What to record, without the time and what was written; only if it is ``harvested``, there are items."""
    items: tuple[Item, ...] = ()  # in order, without duplicates
    lasting: bool = False  # every conversation would fail like this until a person intervenes


class Extractor:
    """Extracts knowledge from conversations, one at a time. ``stop`` may be called from any thread.

    Without a ``completer``, everything it finds is a proposal for review.
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
        """Extracts the knowledge from a conversation. Never raises because of its content or a provider.

        Prompts in the workspace ``files`` override the shipped ones.
        """
        blank = self._blank(source)
        if source.state == "empty":
            return Extraction(replace(blank, status="harvested", shown=source.size, error=source.why))
        if source.state != "read":
            return Extraction(
                replace(
                    blank,
                    status="too-large" if source.state == "too-large" else "harvest-failed",
                    error=source.why,
                )
            )
        if self._asker is None:
            project = project_of(files.workspace.root / source.path) if files is not None else ""
            items = to_review(source.turns, project)
            return Extraction(replace(blank, status="harvested", shown=source.read), items)
        turns, _ = without_secrets(source.shown)
        if not turns:
            return Extraction(replace(blank, status="harvested", shown=source.read))
        inquiry = Inquiry(self._asker, source.name, source.session, blank.model)
        return _ModelExtraction(inquiry, source, files).extraction(turns, blank)

    def stop(self) -> None:
        """Cancels the open question and refuses further ones."""
        if self._asker is not None:
            self._asker.stop()

    def _blank(self, source: SourceText) -> LedgerEntry:
        completer = None if self._asker is None else self._asker.completer
        name, model = (MARKERS, "") if completer is None else (completer.name, completer.model)
        return LedgerEntry(
            source.path, "harvest-failed", "", provider=name, model=model, cost_usd=0.0, size=source.size
        )


@dataclass(slots=True)
class _ModelExtraction:
    """Asks a model about a conversation, whole or by summaries."""

    inquiry: Inquiry
    source: SourceText
    files: Files | None

    def extraction(self, turns: Sequence[tuple[int, Turn]], blank: LedgerEntry) -> Extraction:
        is_long = self.source.text_size > SUMMARIZE_THRESHOLD_BYTES
        reply = Reply(())
        examined, error, lasting = 0, "", False
        try:
            instructions = task(HARVEST, self.files)
            if is_long:
                record, examined = self._summarised(turns)
            else:
                record, examined = [shown(number, turn) for number, turn in turns], self.source.read
            if record:
                reply = self.inquiry.reply(record, instructions, lambda text, cut: read_reply(text, cut=cut))
        except (ExtractionFailed, AutopoiesisError) as failed:
            error, examined, lasting = str(failed), 0, failed.lasting
        entry = replace(
            blank,
            status="harvest-failed" if error else "harvested",
            model=self.inquiry.model,
            shown=examined,
            summarised=is_long,
            input_tokens=self.inquiry.input_tokens,
            output_tokens=self.inquiry.output_tokens,
            cost_usd=self.inquiry.cost_usd,
            refused=reply.refused,
            error=error,
        )
        items = tuple(replace(item, voice=voice_of(item.text, self.source.voices)) for item in reply.items)
        return Extraction(entry, items, lasting)

    def _summarised(self, turns: Sequence[tuple[int, Turn]]) -> tuple[list[str], int]:
        """The summaries of the parts, and the bytes of the file they cover."""
        instructions = task(SUMMARY, self.files)

        def ask(part: SourcePart) -> tuple[str, bool] | str:
            completed = self.inquiry.answer([part.text], instructions)
            return completed if isinstance(completed, str) else (completed.text, completed.cut)

        summaries = summaries_of(parts_of(self.source, turns), ask)
        asked = [summary for summary in summaries if summary.part.text]
        if asked and not any(summary.text or not summary.error for summary in asked):
            raise ExtractionFailed(f"no part could be summarised: {asked[0].error}")
        return record_of(summaries), covered_bytes(summaries)
