"""Running the command line inside the test's own process."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tui.cli import cli
from tui.cli.base import run


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


Command = Callable[..., Ran]


@pytest.fixture
def apo(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs ``autopoiesis`` with arguments and standard input."""

    def command(*arguments: str | Path, stdin: str = "") -> Ran:
        monkeypatch.setattr("sys.argv", ["autopoiesis", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capfd.readouterr()
        code = run(cli)
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return command


@pytest.fixture
def sample(indexed_sample: Path) -> Path:
    """A sample workspace that was worked in before, for all commands but those of the first day."""
    return indexed_sample
