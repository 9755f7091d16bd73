"""Sample data for the search tests: files of most kinds, and a tiny embedding model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from engine.search.embeddings import Embedder
from engine.search.query import words
from engine.store.paths import Workspace

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

TRANSCRIPT = """---
session_id: ses_a1b2c3d4
started: 2026-02-16T18:45:00Z
tags: [coding, git]
---

# Storage talk

## 18:45 — user
Should the memory live in SQLite or in plain files?

## 18:47 — agent
> [tool:read] knowledge/projects/atlas/context.md → 40 lines

Plain files: people can read them, and git keeps every version.

## 18:52 — agent [memory]
> [knowledge:updated] knowledge/projects/atlas/context.md — storage decision
"""

FILES = {
    "raw/conversations/2026/02/16/1845-ses_a1b2c3d4-storage-talk.md": TRANSCRIPT,
    "knowledge/memory/MEMORY.md": (
        "---\ntype: memory\n---\n\n# Core Memory\n\n## Lessons Learned\n"
        "- Test webhooks with real payloads\n\n## Active Context\n- The bakery launch is in March\n"
    ),
    "knowledge/journal/2026-02-16.md": "## 2026-02-16\n\n### kitchen\n- Baked rye bread with caraway seeds\n",
    "knowledge/people/ada.md": (
        "---\ntype: person\nname: Ada Example\ndescription: beekeeper and accountant\n---\n\n"
        "# Ada Example\n\n## Communication\nPrefers short answers in the morning.\n"
    ),
    "knowledge/procedures/release.md": "# Release\n\nTag the commit, then publish the wheel.\n",
    "knowledge/facts.md": "# Facts\n\n- The server room is on the third floor\n",
    "topics/email-triage.md": (
        "---\ntype: topic\n---\n\n# Email Triage\n\n## Instructions\nSort the inbox by urgency.\n"
    ),
    "conversations/walk.txt": "Notes from a walk.\n\nThe heron stood in the river.\n",
    "archive/journal/2025-01-02.md": "## 2025-01-02\n\n- Planted tulips near the fence\n",
}


class BagOfWords(Embedder):
    """Embeds a text as its bag of words: texts without a common word are dissimilar."""

    def __init__(self, dimensions: int = 512, name: str = "bag-of-words") -> None:
        self.id = name
        self.dimensions = dimensions
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Floats:
        vectors = numpy.zeros((len(texts), self.dimensions), dtype=numpy.float32)
        for row, text in enumerate(texts):
            for word in words(text):
                vectors[row, zlib.crc32(word.encode("utf-8", "replace")) % self.dimensions] += 1
            length = numpy.linalg.norm(vectors[row])
            if length:
                vectors[row] /= length
        self.texts += len(texts)
        return vectors


def put(workspace: Workspace, path: str, content: str | bytes) -> None:
    """Write a file and its folders as another program would."""
    place = workspace.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
