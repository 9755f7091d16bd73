"""Fixtures that run the command line inside the test process."""

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
class Result:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


Command = Callable[..., Result]


@pytest.fixture
def apo(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run ``autopoiesis`` with arguments and standard input."""

    def command(*arguments: str | Path, stdin: str = "") -> Result:
        monkeypatch.setattr("sys.argv", ["autopoiesis", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capfd.readouterr()
        code = run(cli)
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return command
