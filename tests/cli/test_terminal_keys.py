"""Keys on a real pseudo-terminal: typed ahead, pasted, or meant for an editor."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pexpect
import pytest

from tests.cli.test_terminal import Terminal, quick

__all__ = ["quick"]

Open = Callable[..., Terminal]


@pytest.fixture
def bench(quick: Path) -> Iterator[Open]:
    """Open the workbench on the sample and wait until it is ready."""
    opened: list[Terminal] = []

    def begin(columns: int = 120, lines: int = 24, **environment: str) -> Terminal:
        terminal = Terminal(["open", str(quick)], columns, lines, **environment)
        opened.append(terminal)
        terminal.until(lambda text: "● live" in text and "15 topics ▸" in text, "the workbench")
        return terminal

    yield begin
    for terminal in opened:
        terminal.close()


def wait_for_exit(terminal: Terminal) -> tuple[int | None, bytes]:
    """Wait for the program to exit; return its exit code and all output."""
    terminal.process.expect(pexpect.EOF, timeout=60)
    terminal.process.close()
    return terminal.process.exitstatus, terminal.raw + (terminal.process.before or b"")


def _contains_all(words: tuple[str, ...], text: str) -> bool:
    return all(word in text for word in words)


def test_neither_an_editor_that_cannot_start_nor_its_signals_end_the_workbench_but_its_own_do(
    bench: Open, tmp_path: Path
) -> None:
    """Ctrl+C and ctrl+\\ go to every process of the foreground group; vim handles both itself."""
    editor = tmp_path / "editor"
    terminal = bench(200, EDITOR=str(editor), VISUAL="")
    # Single words, as the message wraps depending on the length of the path.
    for case, words in (
        ("it does not exist", ("start", "$EDITOR", "such")),
        ("it is not a program", ("start", "$EDITOR", "Exec")),
    ):
        terminal.process.send("3e")
        terminal.until(partial(_contains_all, words), f"the reason, if {case}")
        editor.write_bytes(b"\x7fELF this is no program")
        editor.chmod(0o755)
    editor.write_text("#!/bin/sh\ntrap : INT QUIT\nkill -INT 0\nkill -QUIT 0\n")
    shown = terminal.raw.count(b"\x1b[?1049h")
    terminal.process.send("3e")
    terminal.until(
        lambda _: (parts := terminal.raw.split(b"\x1b[?1049h"))[shown + 1 :] != [] and b"live" in parts[-1],
        "the workbench again",
    )
    terminal.process.send("1?")
    terminal.until(lambda text: "Go to the digest" in text, "the help in the running workbench")
    terminal.process.kill(signal.SIGQUIT)
    code, written = wait_for_exit(terminal)
    assert code == 128 + signal.SIGQUIT
    assert written.rindex(b"\x1b[?1049l") > written.rindex(b"\x1b[?1049h")


def test_a_paste_is_inserted_as_text_and_keys_typed_after_the_quit_key_are_ignored(bench: Open) -> None:
    terminal = bench()
    terminal.process.send("\x1b[200~T\x1bTq\rq\x1b[201~")
    terminal.process.send("i")
    terminal.until(lambda text: "enter keeps it" in text, "the line")
    terminal.process.send("\x1b[200~first line\nsecond \x1bTline\r\x1b[A")
    terminal.until(lambda _: terminal.has_read(), "that the first half was read")
    terminal.process.send("third line\x1b[201~")
    terminal.until(
        lambda _: (
            {"▸ first line", "second Tline", "[Athird line"}
            <= {line[1:-1].strip() for line in terminal.screen.display}
        ),
        "the pasted text",
    )
    terminal.process.send("\x1b\rfourth line")
    terminal.until(lambda text: "fourth line" in text and "[Athird line" in text, "another line")
    assert "theme" not in terminal.text
    terminal.process.send("\r")
    terminal.until(lambda text: "tried" in text, "the kept message")
    terminal.process.send("\x1b")
    terminal.until(lambda text: "esc back" not in text, "the live view")
    terminal.process.send("tqqsL\x10")
    code, written = wait_for_exit(terminal)
    assert code == 0
    assert b"Traceback" not in written and b"NoMatches" not in written
    assert written.rstrip().endswith(b"\x1b[?1006l")
