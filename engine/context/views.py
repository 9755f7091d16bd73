"""Small read-only values that a face shows beside traces and prompts; each is read from a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.context.fixed import DIGEST, DIGEST_MAX_BYTES
from engine.errors import AutopoiesisError, Problem
from engine.store.files import Files

DIGEST_PATH = DIGEST
LEDGER_PATH = "knowledge/ledger.json"


@dataclass(frozen=True, slots=True)
class DigestView:
    """``knowledge/digest.md``: its presence switches the knowledge block on (knowledge-curation 6).

    ``size`` and ``limit`` are bytes; ``problem`` says why an existing file cannot be read.
    """

    on: bool
    size: int
    limit: int
    text: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One entry of ``knowledge/ledger.json`` (knowledge-curation 4).

    Attributes:
        sha256: Hash of the conversation's content.
        status: ``harvested``, ``harvest-failed``, ``deleted-unharvested`` or ``too-large``.
        at: ISO 8601 time as written.
        name: The conversation's file name.
        items_total: Items harvested, all categories together.
        items: Items by category.
        deleted: Whether the conversation was reclaimed.
        error: Why it failed, where it did.
    """

    sha256: str
    status: str
    at: str
    name: str
    items_total: int
    items: dict[str, int] = field(default_factory=dict)
    deleted: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The ledger, newest entry first; ``problem`` says why an existing file cannot be read."""

    entries: tuple[LedgerRow, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StatusView:
    """The state of the workspace and of the engine at a glance.

    Attributes:
        branch: Git branch, or why there is none.
        dirty: Files changed and not committed.
        watch_mode: ``live``, ``polling`` or ``off``.
        watch_why: Why it is not live.
        gate: The gate's provider.
        model: The gate's model, empty where it has none.
        topics: Topics loaded.
        problems: Everything found wrong while reading settings and topics.
        read_only: Nothing can be written.
    """

    branch: str
    dirty: int
    watch_mode: str
    watch_why: str
    gate: str
    model: str
    topics: int
    problems: tuple[Problem, ...]
    read_only: bool


def read_digest(files: Files) -> DigestView:
    """Reads the digest; a missing file means it is switched off. Never raises."""
    try:
        data = files.read(DIGEST_PATH, limit=1024 * 1024)
    except FileNotFoundError:
        return DigestView(on=False, size=0, limit=DIGEST_MAX_BYTES, text="")
    except (AutopoiesisError, OSError) as error:
        return DigestView(on=False, size=0, limit=DIGEST_MAX_BYTES, text="", problem=str(error))
    text = data.decode("utf-8", "replace")
    return DigestView(on=True, size=len(data), limit=DIGEST_MAX_BYTES, text=text)
