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
from engine.knowledge.harvest.parts import SUMMARIZE_THRESHOLD_BYTES, SourcePart, parts_of, summarised
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
        asker = self._asker
        name, model = (MARKERS, "") if asker is None else (asker.completer.name, asker.completer.model)
        blank = LedgerEntry(
            source.path, "harvested", "", provider=name, model=model, cost_usd=0.0,
            size=source.size, shown=source.read, error=source.why,
        )  # fmt: skip
        if source.state == "empty":
            return Extraction(replace(blank, shown=source.size))
        if source.state != "read":
            is_large = source.state == "too-large"
            return Extraction(replace(blank, status="too-large" if is_large else "harvest-failed", shown=0))
        if asker is None:
            project = project_of(files.workspace.root / source.path) if files is not None else ""
            return Extraction(blank, to_review(source.turns, project))
        turns, _ = without_secrets(source.shown)
        return _asked(Inquiry(asker, source.name, source.session, model), source, turns, files, blank)

    def stop(self) -> None:
        """Cancels the open question and refuses further ones."""
        if self._asker is not None:
            self._asker.stop()


def _asked(
    inquiry: Inquiry,
    source: SourceText,
    turns: Sequence[tuple[int, Turn]],
    files: Files | None,
    blank: LedgerEntry,
) -> Extraction:
    """Asks a model about a conversation, whole or by summaries."""
    is_long = source.text_size > SUMMARIZE_THRESHOLD_BYTES
    reply, examined, error, lasting = Reply(()), source.read, "", False
    try:
        instructions = task(HARVEST, files)
        if is_long:
            record, examined = _summarised(inquiry, parts_of(source, turns), task(SUMMARY, files))
        else:
            record = [shown(number, turn) for number, turn in turns]
        if record:
            reply = inquiry.reply(record, instructions, lambda text, cut: read_reply(text, cut=cut))
    except (ExtractionFailed, AutopoiesisError) as failed:
        error, examined, lasting = str(failed), 0, failed.lasting
    entry = replace(
        blank,
        status="harvest-failed" if error else "harvested",
        model=inquiry.model,
        shown=examined,
        summarised=is_long,
        input_tokens=inquiry.input_tokens,
        output_tokens=inquiry.output_tokens,
        cost_usd=inquiry.cost_usd,
        refused=reply.refused,
        error=error,
    )
    items = tuple(replace(item, voice=voice_of(item.text, source.voices)) for item in reply.items)
    return Extraction(entry, items, lasting)


def _summarised(inquiry: Inquiry, parts: Sequence[SourcePart], instructions: str) -> tuple[list[str], int]:
    """The summaries of parts, and the bytes of the file they cover."""

    def ask(part: SourcePart) -> tuple[str, bool] | str:
        completed = inquiry.answer([part.text], instructions)
        return completed if isinstance(completed, str) else (completed.text, completed.cut)

    record, covered, problem = summarised(parts, ask)
    if problem:
        raise ExtractionFailed(f"no part could be summarised: {problem}")
    return record, covered
