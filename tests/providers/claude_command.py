"""A ``claude`` command that does what a test says."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Protocol

HANGS = 'sleep 600 & echo $! > "$LOG/child"; echo $$ > "$LOG/leader"; wait'


class Install(Protocol):
    """Puts a ``claude`` with a given script on PATH; gives the folder that the script knows as ``$LOG``."""

    def __call__(self, script: str, interpreter: str = "/bin/sh") -> Path: ...


def says(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND"


async def until_gone(log: Path, *names: str) -> None:
    """Waits for the end of processes that wrote their numbers down, if they got so far."""
    for name in names:
        number = (log / name).read_text().strip() if (log / name).exists() else ""
        while number and not _has_ended(number):
            await asyncio.sleep(0.01)


def _has_ended(number: str) -> bool:
    command = ["ps", "-o", "stat=", "-p", number]
    state = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    return state == "" or state.startswith("Z")


async def until_there(path: Path) -> None:
    while not path.exists() or not path.read_text().strip():
        await asyncio.sleep(0.01)
