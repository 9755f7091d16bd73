"""The recap of a session in a model's words, in place of the one that quotes it.

The model is shown a day of the session and the recap found without it, and replies with lines of its own.
Each is checked as an item of a harvest; what may come from an outsider or do harm is left out, and said. What
tools changed is told as it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine.context.quoting import fenced
from engine.errors import AutopoiesisError
from engine.knowledge.harvest.inquiry import ExtractionFailed, Inquiry, shortened, shown, without_secrets
from engine.knowledge.harvest.reply import fields_of, item_of, read_rows, single
from engine.knowledge.item import Item
from engine.knowledge.proposed import why_held
from engine.provenance.hold import voice_of
from engine.provenance.spoken import voices_of

if TYPE_CHECKING:
    from engine.transcripts.turn import Turn

NAME = "journal"
"""The list in a reply, and the extractor."""
MAX_CHARACTERS = 120_000
"""Maximum characters of a day in a prompt; a longer one is cut in the middle."""
MAX_LINES = 8
LINE_CHARACTERS = 280
_LABELS = ("Asked", "Then asked", "Decided", "Learned", "Chose", "Changed earlier", "Changed", "Done", "Open")
_WORDED = ("Asked", "Decided", "Learned", "Done", "Open")
"""The labels a model may use."""


@dataclass(eq=False)
class Wording:
    """Words the recaps of one session, and keeps what came of it."""

    inquiry: Inquiry
    task: str
    refused: list[str] = field(default_factory=list)  # a line for each line that was left out
    errors: list[str] = field(default_factory=list)
    lasting: bool = False  # every further question would fail, too

    def of(
        self, lines: Sequence[str], turns: Sequence[Turn], heard: Sequence[Turn], first: int
    ) -> tuple[str, ...]:
        """The lines of a recap; empty if the model gave none that can be used.

        Args:
            lines: The recap found without a model.
            turns: The turns it is about.
            heard: All turns up to the last of them, which tell whose words they are.
            first: The number of the first of them.
        """
        record = "\n".join(shown(*each) for each in without_secrets(enumerate(turns, first))[0])
        wanted = f"{self.task}\n\nThe recap found so far:\n\n{fenced(chr(10).join(lines))}"
        try:
            reply = self.inquiry.reply(
                [shortened(record, MAX_CHARACTERS, MAX_CHARACTERS * 2 // 3)],
                wanted,
                lambda text, cut: read_rows(text, (NAME,), lambda _name, row: read_line(row), cut=cut),
            )
        except (ExtractionFailed, AutopoiesisError) as failed:
            self.errors.append(str(failed))
            self.lasting = failed.lasting
            return ()
        self.refused += reply.refused
        voices = voices_of(heard)
        worded: list[tuple[str, str]] = []
        for item in reply.items[:MAX_LINES]:
            doubt = why_held(replace(item, voice=voice_of(item.text, voices)), voices)
            if doubt is None:
                worded.append((item.section, item.text))
            else:
                self.refused.append(f"{item.section}: {doubt.reason}")
        if not worded:
            return ()
        found = [(label, text) for label, _, text in (line.partition(": ") for line in lines)]
        labels = {label for label, _ in worded}
        kept = [each for each in found if each[0] not in _WORDED or each[0] == "Asked" not in labels]
        kept = [each for each in kept if each[0] in _LABELS and each[0] != "Then asked"]
        return tuple(
            f"{label}: {text}" for name in _LABELS for label, text in (*kept, *worded) if label == name
        )


def read_line(row: Any) -> Item:
    """The line in a row, ``{"label": …, "text": …}``; its label is the section.

    Raises:
        ValueError: It is none; the message is one clause.
    """
    label, text = map(single, fields_of(row, "label", "text"))
    if label not in _WORDED:
        raise ValueError("has an unknown label")
    if len(text) > LINE_CHARACTERS:
        raise ValueError(f"has {len(text):,} characters, more than {LINE_CHARACTERS}")
    return replace(item_of("facts", text), category="pages", section=label)
