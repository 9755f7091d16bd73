"""The log of audits, archived and restored entries: ``logs/cleanup.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine.errors import AutopoiesisError
from engine.redaction.detect import without_secrets
from engine.store.files import Files

CLEANUP = "logs/cleanup.jsonl"
_TOOL = "knowledge"

Record = dict[str, Any]


@dataclass(eq=False)
class CleanupLog:
    """Writes and reads the append-only cleanup log."""

    files: Files
    clock: Callable[[], datetime]

    def add(
        self,
        summary: str,
        *,
        candidates: int,
        size: int,
        dry_run: bool,
        human_approved: bool,
        **more: str,
    ) -> None:
        """Adds a line with secrets redacted; raises ``WriteFailed`` or ``ReadOnly`` if it cannot be written.

        ``size`` is in bytes; ``human_approved`` says that a person agreed to the change.
        """
        record = {
            "ts": self.clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tool": _TOOL,
            "dry_run": dry_run,
            "candidates": candidates,
            "bytes": size,
            "human_approved": human_approved,
            "summary": summary,
            **more,
        }
        self.files.append(CLEANUP, (json.dumps(without_secrets(record)) + "\n").encode("ascii"))

    def records(self) -> Iterator[Record]:
        """All readable records, oldest first, without those of other tools."""
        try:
            data = self.files.read(CLEANUP, limit=None)
        except (FileNotFoundError, AutopoiesisError):
            return
        for line in data.splitlines():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict) and record.get("tool") == _TOOL:
                yield record
