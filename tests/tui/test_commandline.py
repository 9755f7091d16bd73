"""A command line runs as in a shell, and failures come back as messages."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from tests.cases import each_case
from tui.screens.workbench import commandline


def test_a_line_runs_as_in_a_shell(tmp_path: Path) -> None:
    output = commandline.run_line(tmp_path, "--help")
    assert "Usage: autopoiesis" in output and "trace" in output
    assert "\x1b" not in output


def test_a_failed_command_raises_its_output(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="No such command 'nonsense'"):
        commandline.run_line(tmp_path, "nonsense")


def test_an_unparsable_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="close the quotes"):
        commandline.run_line(tmp_path, "trace 'open")


def test_commands_that_need_a_terminal_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="watch needs its own terminal"):
        commandline.run_line(tmp_path, "watch --json")


def test_slow_commands_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commandline, "_START", "import time; time.sleep(600)")
    with pytest.raises(AutopoiesisError, match="run it in a shell"):
        commandline.run_line(tmp_path, "--help", deadline_s=0.001)


def test_arguments_are_passed_unchanged(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError) as caught:
        commandline.run_line(tmp_path, "'$(touch pwned); x'")
    assert "$(touch pwned); x" in str(caught.value)
    assert not list(tmp_path.iterdir())


@each_case(
    ("line", "expected"),
    [
        ("doc", ["doctor"]),
        ("di", ["digest"]),
        ("wat", []),  # it needs its own terminal
        ("topics ch", ["check"]),
        ("trace --ex", ["--explain"]),
        ("trace --direction ", ["input", "output"]),
        ("import know", ["knowledge/"]),
        ("import knowledge/", ["knowledge/a.md", "knowledge/'my notes.md'"]),
        ("nonsense know", []),
        ("import nowhere/", []),
        ("search 'open", []),
    ],
)
def test_the_last_word_is_completed(tmp_path: Path, line: str, expected: list[str]) -> None:
    (tmp_path / "knowledge").mkdir(exist_ok=True)
    for name in ("a.md", "my notes.md", ".hidden"):
        (tmp_path / "knowledge" / name).touch()
    assert commandline.completions(tmp_path, line) == expected


def code_starting_child(reader: Path) -> str:
    """A command that starts a child process, which writes its pid to a named pipe, and waits for it."""
    second = f"import os, time; open({str(reader)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    return (
        f"print('begun', flush=True); import subprocess; subprocess.run([sys.executable, '-c', {second!r}])"
    )


def has_ended(process: int) -> bool:
    """Whether a process ends within a generous time."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_a_stopped_command_ends_with_its_children_and_keeps_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, reader = threading.Event(), tmp_path / "reader"
    os.mkfifo(reader)
    child = f"import os, time; open({str(reader)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    start = (
        f"import subprocess; print('begun', flush=True); subprocess.run([sys.executable, '-c', {child!r}])"
    )
    monkeypatch.setattr(commandline, "_START", start)
    printed: list[str] = []
    running = threading.Thread(target=lambda: printed.append(commandline.run_line(tmp_path, "doctor", stop)))
    running.start()
    process = int(reader.read_text())  # waits until the child process has started
    stop.set()
    running.join(60)
    assert printed == ["begun\nstopped\n"] and has_ended(process)
