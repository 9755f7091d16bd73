"""Programs and modules in the current folder or in a workspace are never run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.workspace.hooks import NAMES, text_of
from tests.cli.conftest import Command
from tui.screens.workbench import commandline

MODULES = (
    "tui", "engine", "themes", "json", "os", "re", "sitecustomize", "usercustomize", "click", "yaml", "apsw",
    "numpy", "site", "codecs", "encodings", "subprocess", "logging", "random",
)  # fmt: skip
PROGRAMS = ("git", "rg", "claude", "sh", "ps", "python", "python3", "nano", "vi", "autopoiesis", "touch")


@pytest.fixture
def planted(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Plant modules and programs in the current folder and in the sample; list those that ran."""
    marks = tmp_path / "marks"
    marks.mkdir()
    current = tmp_path / "here"
    current.mkdir()
    for folder in (current, sample):
        for name in MODULES:
            mark = marks / f"{folder.name}-{name}.py"
            (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
        for name in PROGRAMS:
            mark = marks / f"{folder.name}-{name}"
            (folder / name).write_text(f"#!/bin/sh\n: > {shlex.quote(str(mark))}\n")
            (folder / name).chmod(0o755)
    monkeypatch.chdir(current)
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{own}{os.pathsep}{os.environ['PATH']}{os.pathsep}")
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}.")
    monkeypatch.setenv("PYTHONSTARTUP", "startup.py")
    return lambda: sorted(each.name for each in marks.iterdir())


def test_a_command_line_of_the_workbench_runs_nothing_planted(
    sample: Path, planted: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert commandline.run_line(sample, "topics list")
    monkeypatch.chdir(sample)
    assert commandline.run_line(sample, "topics list")
    assert planted() == []


def test_commands_that_run_git_run_nothing_planted(
    apo: Command, sample: Path, planted: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in (["doctor"], ["search", "deploy"], ["trace", "deploy"]):
        assert apo(*command, "-C", sample).out
    monkeypatch.chdir(sample)
    assert apo("doctor", "-C", ".").out
    assert apo("init", ".").code == 0
    assert planted() == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("interpreter", [sys.executable, ""])
def test_git_hooks_run_nothing_planted(
    sample: Path, planted: Callable[[], list[str]], name: str, interpreter: str
) -> None:
    hook = sample.parent / name
    hook.write_bytes(text_of(name).replace(b" &\n", b"\n"))  # in the foreground
    git = ["/usr/bin/git", "-C", str(sample), "config"]
    if interpreter:
        subprocess.run([*git, "autopoiesis.python", interpreter], check=True)
    else:
        subprocess.run([*git, "--unset", "autopoiesis.python"], check=True)
    # Like git, with the workspace as the current folder.
    subprocess.run(["/bin/sh", str(hook)], cwd=sample, capture_output=True, timeout=60, check=False)
    assert planted() == []
