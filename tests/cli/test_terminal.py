"""The program on a real pseudo-terminal: it draws, responds to keys, and restores the terminal."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest


class Terminal:
    """A program on a pseudo-terminal and the screen it draws."""

    program: tuple[str, ...] = ("-m", "tui.cli")

    def __init__(
        self,
        arguments: list[str],
        columns: int,
        lines: int,
        **environment: str,
    ) -> None:
        self.draw_on(columns, lines)
        self.raw = b""
        clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TMUX", "STY")}
        clean |= {
            "TERM": "xterm-256color",
            "TEXTUAL_ANIMATIONS": "none",
            "COLUMNS": "",
            "LINES": "",
        } | environment
        self.process = pexpect.spawn(
            sys.executable, [*self.program, *arguments], dimensions=(lines, columns), env=clean, timeout=30
        )
        self.process.delaybeforesend = None

    def draw_on(self, columns: int, lines: int) -> None:
        """Draw on an empty screen of this size from now on, whatever size the program is told."""
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)

    def read(self, seconds: float = 0.1) -> bool | None:
        """Process output; return False if none came in time, None at the end of the output."""
        try:
            data = self.process.read_nonblocking(65536, timeout=seconds)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            return None
        self.raw += data
        self._stream.feed(data)
        return True

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def until(self, condition: Callable[[str], bool], what: str, seconds: float = 120) -> None:
        """Wait for a condition of the screen; it should be complete, as the screen may be half drawn."""
        end = time.monotonic() + seconds
        while not condition(self.text):
            if time.monotonic() > end or self.read() is None:
                pytest.fail(f"{what} did not show:\n{self.text}")

    def has_read(self) -> bool:
        """Whether the program has read all its input."""
        terminal = os.open(f"/proc/{self.process.pid}/fd/0", os.O_RDONLY | os.O_NOCTTY)
        try:
            return not any(fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))
        finally:
            os.close(terminal)

    def close(self) -> None:
        if self.process.isalive():
            self.process.terminate(force=True)


class NestedTerminal(Terminal):
    """The workbench as a child of a process that ignores SIGHUP."""

    program = (
        "-c",
        "import pathlib, signal, subprocess, sys\n"
        "signal.signal(signal.SIGHUP, lambda *_: None)\n"
        "child = subprocess.Popen([sys.executable, '-m', 'tui.cli', 'open', sys.argv[1]])\n"
        "pathlib.Path(sys.argv[2]).write_text(str(child.pid))\n"
        "child.wait()\n",
    )


Start = Callable[..., Terminal]


@pytest.fixture
def quick(sample: Path) -> Path:
    """The sample without its conversations, all of which the workbench traces when it starts. Its topics are
    those of its fit, so that no process makes another.
    """
    shutil.rmtree(sample / "raw/conversations")
    return sample


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Terminal] = []

    def begin(*arguments: str | Path, columns: int = 120, lines: int = 40, **environment: str) -> Terminal:
        terminal = Terminal([str(argument) for argument in arguments], columns, lines, **environment)
        started.append(terminal)
        return terminal

    yield begin
    for terminal in started:
        terminal.close()


def test_the_demo_shows_five_live_panels_and_a_message_changes_trace_and_gauge(
    start: Start, tmp_path: Path
) -> None:
    terminal = start("demo", tmp_path / "sample")
    terminal.until(lambda text: "creating the sample workspace" in text, "what takes some seconds")
    terminal.until(
        lambda text: all(f"{number} {name}" in text for number, name in enumerate(
            ("feed", "activation", "digest", "ledger", "budget"), 1))
        and "● live" in text and "try a message" in text,
        "five panels",
    )  # fmt: skip
    # On a slow machine it has left the screen before it is looked for.
    terminal.until(lambda text: "Back at my desk" in text or b"Back at my desk" in terminal.raw, "the replay")
    terminal.until(lambda text: "/8,192" in text, "the gauge")
    terminal.process.send("i")
    terminal.until(lambda text: "enter keeps it" in text, "the line")
    terminal.process.send("Can you review the PR that just came in?")
    terminal.until(lambda text: "● github-pr-review" in text, "the trace of what is typed")
    terminal.process.send("\r")
    terminal.until(lambda text: "● github-pr-review" in text and "esc back" in text, "the kept trace")
    terminal.process.send("\x1b")
    terminal.until(lambda text: "esc back" not in text, "the live view")
    terminal.process.send("q")
    terminal.process.expect(pexpect.EOF, timeout=60)
    terminal.process.close()
    assert terminal.process.exitstatus == 0


def test_the_workbench_draws_only_changes_and_exits_when_its_terminal_closes_without_a_signal(
    quick: Path, tmp_path: Path
) -> None:
    """As under ``make``: the session leader gets the signal and keeps waiting."""
    number = tmp_path / "number"
    terminal = NestedTerminal([str(quick), str(number)], 120, 40)
    terminal.until(lambda text: "5 budget" in text and "● live" in text, "the workbench")
    end = time.monotonic() + 60
    while terminal.read(1.5):
        assert time.monotonic() < end, "it keeps drawing although nothing changes"
    _wait_until(lambda: number.exists() and bool(number.read_text()))
    workbench = int(number.read_text())
    terminal.process.ptyproc.fileobj.close()
    _wait_until(lambda: not _is_running(workbench))


def _wait_until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not met():
        assert time.monotonic() < deadline, "condition never became true"
        time.sleep(0.1)


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_dumb_terminal_is_refused_with_a_hint(start: Start, quick: Path) -> None:
    terminal = start("open", quick, TERM="dumb")
    terminal.process.expect(pexpect.EOF, timeout=60)
    terminal.process.wait()
    written = terminal.process.before or b""
    assert b"autopoiesis trace" in written and b"\x1b" not in written
    assert terminal.process.exitstatus == 1
