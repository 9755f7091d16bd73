"""Gate answers that survive a restart (spec 5.3, design 3.10).

A JSON-lines file under ``scratch/`` that may be deleted at any time. It is read at the first look-up, and
rewritten with the most recently used answers once it holds twice as many as the limit. Answers added by
another process are seen after the next start.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.activation.gate_question import as_cached
from engine.activation.trace import GateOutcome
from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.files import Files

CACHE_PATH = "scratch/gate-cache.jsonl"
CACHE_LIMIT = 5_000

_LOCK_WAIT_S = 1.0


class GateCache:
    """Outcomes by question key.

    Args:
        on_problem: Called once if the file cannot be read or written; answers are then kept in memory only.
    """

    def __init__(
        self, files: Files, *, limit: int = CACHE_LIMIT, on_problem: Callable[[str], None] | None = None
    ) -> None:
        self._files = files
        self._limit = limit
        self._on_problem = on_problem
        self._known: dict[str, GateOutcome] | None = None
        self._lines = 0
        self._guard = threading.Lock()

    def get(self, key: str) -> GateOutcome | None:
        """The outcome, marked as cached; ``None`` for a new question."""
        with self._guard:
            known = self._load()
            outcome = known.pop(key, None)
            if outcome is None:
                return None
            known[key] = outcome  # keeps the most recently used last
            return as_cached(outcome)

    def put(self, answers: Sequence[tuple[str, GateOutcome]]) -> None:
        """Stores outcomes in memory, and on disk in one append."""
        if not answers:
            return
        with self._guard:
            known = self._load()
            for key, outcome in answers:
                known.pop(key, None)
                known[key] = outcome
            while len(known) > self._limit:
                del known[next(iter(known))]
            self._lines += len(answers)
            try:
                with self._files.lock(timeout=_LOCK_WAIT_S):
                    if self._lines > 2 * self._limit:
                        self._files.replace(CACHE_PATH, _lines(list(known.items())))
                        self._lines = len(known)
                    else:
                        self._files.append(CACHE_PATH, _lines(answers))
            except AutopoiesisError as error:
                self._report(f"gate answers are kept in memory only: {error}")

    def _load(self) -> dict[str, GateOutcome]:
        if self._known is None:
            self._known = {}
            try:
                data = self._files.read(CACHE_PATH)
            except FileNotFoundError:
                return self._known
            except AutopoiesisError as error:
                self._report(f"earlier gate answers cannot be read: {error}")
                return self._known
            for line in data.splitlines():
                self._lines += 1
                entry = _entry(line)
                if entry is not None:
                    self._known.pop(entry[0], None)
                    self._known[entry[0]] = entry[1]
        return self._known

    def _report(self, text: str) -> None:
        if self._on_problem is not None:
            self._on_problem(text)
            self._on_problem = None


def _lines(answers: Sequence[tuple[str, GateOutcome]]) -> bytes:
    return b"".join(
        json.dumps(
            {
                "key": key,
                "answer": outcome.answer,
                "provider": outcome.provider,
                "model": outcome.model,
                "probability": outcome.probability,
                "reason": outcome.reason[:200],
            },
            separators=(",", ":"),
        ).encode()
        + b"\n"
        for key, outcome in answers
    )


def _entry(line: bytes) -> tuple[str, GateOutcome] | None:
    try:
        data = json.loads(line)
        texts = [data[name] for name in ("key", "provider", "model", "reason")]
        answer, probability = data["answer"], data["probability"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if answer not in ("yes", "no") or not all(isinstance(text, str) for text in texts):
        return None
    key, provider, model, reason = texts
    known = probability if isinstance(probability, float) else None
    return key, GateOutcome(answer, provider, model, probability=known, reason=reason)
