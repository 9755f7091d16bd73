"""Small read-only values shown in the user interfaces beside traces and prompts."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.context.fixed import DIGEST, DIGEST_MAX_BYTES
from engine.errors import AutopoiesisError, Problem
from engine.store.files import Files

DIGEST_PATH = DIGEST
LEDGER_PATH = "knowledge/ledger.json"


@dataclass(frozen=True, slots=True)
class DigestView:
    """``knowledge/digest.md``, whose presence switches the knowledge block on (knowledge-curation 6).

    ``size`` and ``limit`` are bytes; ``problem`` is set if the file cannot be read.
    """

    on: bool
    size: int
    limit: int
    text: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One entry of ``knowledge/ledger.json`` (knowledge-curation 4)."""

    sha256: str  # of the conversation's content
    status: str  # ``harvested``, ``harvest-failed``, ``deleted-unharvested`` or ``too-large``
    at: str  # ISO 8601 time as written
    name: str  # the conversation's file name
    items_total: int  # number of harvested items
    items: dict[str, int] = field(default_factory=dict, hash=False)  # by category
    deleted: bool = False  # whether the conversation was reclaimed
    error: str = ""  # why it failed


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The ledger, newest entry first; ``problem`` is set if the file cannot be read."""

    entries: tuple[LedgerRow, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StatusView:
    """An overview of the state of workspace and engine."""

    branch: str  # git branch, or why there is none
    dirty: int  # number of uncommitted files
    watch_mode: str  # ``live``, ``polling`` or ``off``
    watch_why: str  # why it is not live
    gate: str  # the gate's provider
    model: str  # the gate's model; may be empty
    topics: int  # number of topics
    problems: tuple[Problem, ...]  # of settings and topics
    read_only: bool
    waiting_rules: int = 0  # number of rules that wait for the person's decision
    waiting_items: int = 0  # number of items in the review queue


def read_digest(files: Files) -> DigestView:
    """Reads the digest, which is off without its file. Never raises."""
    try:
        data = files.read(DIGEST_PATH, limit=1024 * 1024)
    except FileNotFoundError:
        return DigestView(on=False, size=0, limit=DIGEST_MAX_BYTES, text="")
    except (AutopoiesisError, OSError) as error:
        return DigestView(on=False, size=0, limit=DIGEST_MAX_BYTES, text="", problem=str(error))
    text = data.decode("utf-8", "replace")
    return DigestView(on=True, size=len(data), limit=DIGEST_MAX_BYTES, text=text)


def count_waiting_rules(files: Files) -> int:
    """The number of rules that wait for the person's decision and are not unlikely; 0 if the file cannot be
    read.
    """
    from engine.rules.rulebook import PATH, is_unlikely, rules_in  # noqa: PLC0415 — only where it is counted

    try:
        return sum(not is_unlikely(rule) for rule in rules_in(files.read(PATH)).waiting)
    except (OSError, AutopoiesisError):
        return 0
