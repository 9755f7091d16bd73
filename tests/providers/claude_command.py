"""A fake ``claude`` command that runs a test's script."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Protocol

HANGS = 'sleep 600 & echo $! > "$LOG/child"; echo $$ > "$LOG/leader"; wait'


class Install(Protocol):
    """Puts a ``claude`` with the given script on PATH; returns the folder available to it as ``$LOG``."""

    def __call__(self, script: str, interpreter: str = "/bin/sh") -> Path: ...


def printing(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND"


async def wait_until_gone(log: Path, *names: str) -> None:
    """Wait for the end of the processes whose ids are in the files, if they were written."""
    for name in names:
        number = (log / name).read_text().strip() if (log / name).exists() else ""
        while number and not _has_ended(number):
            await asyncio.sleep(0.01)


def _has_ended(number: str) -> bool:
    command = ["ps", "-o", "stat=", "-p", number]
    state = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    return state == "" or state.startswith("Z")


def is_written(path: Path) -> bool:
    return path.exists() and bool(path.read_text().strip())


async def wait_until_exists(path: Path) -> None:
    while not is_written(path):
        await asyncio.sleep(0.01)
