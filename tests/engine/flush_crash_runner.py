"""Flushes again and again, killed at another fault point each time and finished by a second process.

Run as a program of its own: it forks, which a test runner with threads must not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import ahocorasick
import filelock

from engine.context import tokens
from engine.errors import WriteFailed
from engine.flush import due
from engine.knowledge import plan
from engine.providers import asking
from engine.providers.chat import ChatRequest
from engine.store import faults
from tests.engine.flush_support import NOTES, Desk, Provider, reply

MOST_HITS = 60
LOADED = (
    ahocorasick,
    filelock,
    plan,
    tokens.count("a"),
)  # Loaded once here, and not in each of hundreds of children.


class Instant:
    """A question that is answered without an event loop: ending one takes longer than all else here."""

    def __init__(
        self, completer: Provider, _system: str, prompt: str, *, max_tokens: int, deadline_s: float
    ) -> None:
        self._completer = completer
        self._prompt = prompt

    def answer(self) -> asking.Asked:
        """The provider's answer."""
        waiting = self._completer.chat(ChatRequest((), self._prompt, 1), timeout=1.0)
        try:
            waiting.send(None)
        except StopIteration as done:
            return asking.Asked(done.value)
        raise AssertionError("it waits")


def desk_at(root: Path) -> Desk:
    """Two parts, the second of them with other notes than the first."""
    due.PART_TOKENS = 130
    asking.Question = Instant  # type: ignore[assignment,misc]
    provider = Provider(by=lambda prompt: reply(*(NOTES if "Question 0" in prompt else NOTES[1:3])))
    return Desk(root, provider)


def prepare(folder: Path) -> None:
    """The workspace that every run begins with; made in another process, as no lock is inherited."""
    child = os.fork()
    if not child:
        desk = desk_at(folder / "pristine")
        desk.project()
        desk.talk(3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def fresh(folder: Path) -> Path:
    root = folder / "w"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(folder / "pristine", root)
    return root


def in_child(root: Path, fault: str) -> bool:
    """Recovers, plans and flushes in a process of its own; whether it came to the end."""
    child = os.fork()
    if not child:
        if fault:
            faults.arm_from(fault)
        desk = desk_at(root)
        try:
            desk.flusher.recover()
            desk.flush(room=120)
        except WriteFailed:
            desk.flusher.recover()
            desk.flush(room=120)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, f"{fault}: exit status {status}"
    return True


def content(root: Path) -> dict[str, bytes]:
    return desk_at(root).memory()


def check_beginning(root: Path, wanted: dict[str, bytes]) -> None:
    """Whatever stands in memory's files and in the log stands there in the end, and nothing twice."""
    for path, data in content(root).items():
        if path.startswith("scratch"):
            continue
        lines = data.splitlines()
        assert set(lines) <= set(wanted[path].splitlines()), path
        notes = [line for line in lines if line.startswith((b"- ", b"{"))]
        assert len(notes) == len(set(notes)), path


def sweep(folder: Path, step: int) -> dict[str, int]:
    """How often each fault point was reached; the process was killed there, and then met an error.

    Of the hits of a point it is the first, and every ``step``-th after it.
    """
    prepare(folder)
    root = fresh(folder)
    assert in_child(root, "")
    wanted = content(root)
    assert len(wanted) == 5 and sum(data.count(b"\n- ") for data in wanted.values()) == 5
    reached: dict[str, int] = {}
    for point in sorted(faults.FAULT_POINTS):
        for hit in range(1, MOST_HITS, step):
            root = fresh(folder)
            finished = in_child(root, f"{point}:kill:{hit}")
            check_beginning(root, wanted)
            if finished:
                break
            reached[point] = hit
            # Killed once more in the same place, then left alone.
            if not in_child(root, f"{point}:kill"):
                check_beginning(root, wanted)
                assert in_child(root, "")
            assert content(root) == wanted, (point, hit)
            kind = "EIO" if "fsync" in point else "ENOSPC"
            root = fresh(folder)
            assert in_child(root, f"{point}:{kind}:{hit}")
            assert content(root) == wanted, (point, hit, kind)
    return reached


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]))))
