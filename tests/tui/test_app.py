"""Starting and exiting: refusals, restoring the terminal, and imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from tests.cases import each_case
from tests.cli.test_terminal import Terminal
from tests.tui.fake_engine import FakeEngine
from tests.tui.test_commandline import code_starting_child, has_ended
from tui.app import run_workbench, unusable

SCRIPT = """
import sys
from pathlib import Path
from tests.tui.fake_engine import FakeEngine
from tui.app import run_workbench
sys.exit(run_workbench(FakeEngine(Path(sys.argv[1])), preferences=Path(sys.argv[1]) / "tui.yaml"))
"""


@each_case("kind", ["dumb", ""])
def test_unsupported_terminals_are_refused_in_one_line(kind: str) -> None:
    reason = unusable({"TERM": kind}, terminal=True)
    assert "autopoiesis trace" in reason and "\n" not in reason
    assert unusable({"TERM": "xterm"}, terminal=True) == ""


def test_without_a_terminal_it_reports_an_error_and_returns_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pipe:
        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Pipe())
    assert run_workbench(FakeEngine(tmp_path)) == 1
    assert "the workbench needs a terminal; autopoiesis trace" in capsys.readouterr().err


@contextmanager
def spawn_workbench(
    tmp_path: Path, *, script: str = SCRIPT, dimensions: tuple[int, int] = (24, 80), **environment: str
) -> Iterator[pexpect.spawn]:
    """The workbench on a real pseudo-terminal."""
    child = pexpect.spawn(
        sys.executable,
        ["-c", script, str(tmp_path)],
        env={**os.environ, "TERM": "xterm-256color", "HOME": str(tmp_path), **environment},
        dimensions=dimensions,
        timeout=60,
    )
    child.delaybeforesend = None
    try:
        yield child
    finally:
        child.close(force=True)


class FakeWorkbench(Terminal):
    """The workbench over a fake engine, and the screen it draws."""

    program = ("-c", SCRIPT)


def end_by_signal(child: pexpect.spawn, number: int) -> None:
    """The terminal is restored and the exit code says why."""
    child.kill(number)
    child.expect_exact("\x1b[?1049l")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 128 + number


@pytest.mark.parametrize(("keys", "number"), [("j", signal.SIGTERM), (":", signal.SIGHUP)])
def test_keys_typed_before_the_first_paint_wait_for_it_and_signals_restore_the_terminal(
    tmp_path: Path, keys: str, number: int
) -> None:
    terminal = FakeWorkbench([str(tmp_path)], 80, 24, HOME=str(tmp_path))
    try:
        terminal.until(lambda _: b"\x1b[?2004h" in terminal.raw, "that keys are no longer echoed")
        terminal.process.send(keys + "i" * (keys != "i") + "typed ahead")
        terminal.until(lambda text: "typed ahead" in text, "what was typed")
        end_by_signal(terminal.process, number)
    finally:
        terminal.close()


def test_a_terminal_that_hangs_up_leaves_no_process(tmp_path: Path) -> None:
    """It sends SIGHUP and SIGCONT, in either order, to a program that was not suspended."""
    with spawn_workbench(tmp_path, script=SCRIPT) as child:
        child.expect_exact("following")
        os.kill(child.pid, signal.SIGCONT)
        child.kill(signal.SIGHUP)
        child.expect_exact("\x1b[?1049l")
        assert b"\x1b[?1049h" not in child.before, "started once more, with threads that nobody ends"
        child.expect(pexpect.EOF)
        child.wait()


def test_a_terminal_without_a_size_has_80_columns_and_24_lines_until_it_is_resized(tmp_path: Path) -> None:
    terminal = FakeWorkbench([str(tmp_path)], 0, 0, HOME=str(tmp_path))
    terminal.draw_on(120, 40)
    try:
        terminal.until(lambda _: "? help" in terminal.screen.display[23], "the footer in line 24")
        assert not any(line.strip() for line in terminal.screen.display[24:])
        terminal.process.setwinsize(40, 120)
        terminal.until(lambda _: "? help" in terminal.screen.display[39], "the footer in line 40")
        terminal.process.send("q")
        terminal.process.expect(pexpect.EOF)
    finally:
        terminal.close()


def test_it_draws_again_after_resuming_and_restores_the_terminal_on_q(tmp_path: Path) -> None:
    """Standard error, on which Textual draws by default, is a file."""
    log = tmp_path / "log"
    script = f"import os\nos.dup2(os.open({str(log)!r}, os.O_CREAT | os.O_WRONLY), 2)\n{SCRIPT}"
    with spawn_workbench(tmp_path, script=script) as child:
        child.expect_exact("following")
        child.send("\x1a")
        child.expect_exact("\x1b[?1049l")
        _pid, status = os.waitpid(child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        os.kill(child.pid, signal.SIGCONT)
        child.expect_exact("\x1b[?1049h")
        child.expect_exact("following")
        child.send("q")
        child.expect_exact("\x1b[?1049l")
        child.expect(pexpect.EOF)
        child.wait()
        assert child.exitstatus == 0
    assert log.read_bytes() == b""


def test_a_command_is_stopped_from_its_page_and_on_quit(tmp_path: Path) -> None:
    reader = tmp_path / "reader"
    os.mkfifo(reader)
    start = code_starting_child(reader)
    patch = (
        f"from tui.kit import conductor\nfrom tui.screens.workbench import commandline\n"
        f"commandline._START, conductor.LEAVE_COMMAND_S = {start!r}, 60.0\n"
    )
    with spawn_workbench(tmp_path, script=f"{patch}{SCRIPT}") as child:
        child.expect("following")
        for key in ("\x1b", "\x03"):
            child.send(":doctor\r")
            process = int(reader.read_text())
            child.send(key)
            child.expect("stopped")
            assert has_ended(process)
            child.send("q")
        child.send(":doctor\r")
        process = int(reader.read_text())
        child.send("q")
        child.send("q")
        child.expect(pexpect.EOF)
        assert has_ended(process)


def test_a_failing_thread_does_not_write_to_the_screen(tmp_path: Path) -> None:
    script = SCRIPT.replace(
        "sys.exit(run_workbench(FakeEngine(Path(sys.argv[1]))",
        "import threading\n"
        "engine = FakeEngine(Path(sys.argv[1]))\n"
        "engine.start = lambda: threading.Thread(target=lambda: 1 / 0).start()\n"
        "sys.exit(run_workbench(engine",
    )
    assert "1 / 0" in script
    with spawn_workbench(tmp_path, script=script, dimensions=(40, 120)) as child:
        child.expect("ZeroDivisionError")
        assert b"Traceback" not in child.before
        child.send("q")
        child.expect(pexpect.EOF)
        assert b"Traceback" not in child.before


def test_the_thread_hook_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.excepthook
    monkeypatch.setenv("TERM", "dumb")
    run_workbench(FakeEngine(tmp_path))
    assert threading.excepthook is before


def test_opening_the_workbench_imports_no_heavy_modules() -> None:
    code = "import sys, tui.app; print(*sorted(sys.modules))"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    heavy = {
        "sklearn",
        "anthropic",
        "openai",
        "numpy",
        "py3langid",
        "apsw",
        "engine.engine",
    }
    assert not heavy & loaded
