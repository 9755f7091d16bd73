"""Whole processes, which a user or a hook waits for, compared with the imports alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.rows import Row
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Action, alternate

TEXT = "Can you review the PR that just came in?"
PEERS = ("pass", "import click, apsw, yaml, filelock", "import sklearn")


def run(setting: Setting) -> Iterator[Row]:
    """Time ``trace`` and ``compile`` on the sample, from the start of the interpreter to its end."""
    program = [sys.executable, "-m", "tui.cli", "-C", str(setting.sample)]
    commands = [[*program, "trace", TEXT], [*program, "compile", TEXT]]
    commands += [[sys.executable, "-c", peer] for peer in PEERS]
    runners = [_runner(command, setting.folder / "bytecode") for command in commands]
    trace, compiled, *peers = alternate(runners, rounds=setting.size(9, 1))
    for name, ours in (("trace TEXT", trace), ("compile TEXT", compiled)):
        for peer, theirs in zip(PEERS, peers, strict=True):
            yield Row(name, ours, f'python -c "{peer}"', theirs)


def _runner(command: list[str], bytecode: Path) -> Action:
    # Installed code is compiled once; with bytecode disabled, every process would compile it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)

    def action(_number: int) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)

    return action
