"""Sentences of strangers, and the ways in which each gets into a session (``planted.jsonl``).

Ten languages; a paste of a review comment, a mail, a diff, a file or a text to correct, a quotation, output
of a tool that is broken up, and a chat that somebody else committed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_suffix(".jsonl")


@dataclass(frozen=True)
class Planted:
    """A sentence and how it gets in.

    Attributes:
        way: The kind of the way.
        language: ISO 639-1.
        plant: The sentence.
        text: What the person's message or the tool's result contains.
        call: The tool that shows it and what the agent asked of it, if one does.
        author: Whose conversation it is, if somebody else committed it.
    """

    way: str
    language: str
    plant: str
    text: str
    call: tuple[str, ...] = ()
    author: str = ""

    def session(self, label: str = "", answer: str = "I had a look.") -> str:
        """A transcript in which the sentence gets in, perhaps after a label such as ``Fact:``."""
        text = self.text.replace(self.plant, f"{label}{self.plant}")
        shown = f"\n> [tool:{self.call[0]}] {self.call[1]} → {' '.join(text.split())}\n" if self.call else ""
        asked = "Run it." if self.call else text
        header = f"author: {self.author}\n" if self.author else ""
        return (
            f"---\nsession_id: ses_11112222\nstarted: 2031-06-01T10:00:00Z\n{header}---\n\n# Session\n"
            f"\n## 10:01 — user\n\n{asked}\n\n## 10:02 — agent\n{shown}\n{answer}\n"
        )


def planted() -> list[Planted]:
    """The sentences of the file, in order."""
    lines = PATH.read_text(encoding="utf-8").splitlines()
    return [Planted(**{**row, "call": tuple(row.get("call", ()))}) for row in map(json.loads, lines)]
