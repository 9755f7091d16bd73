"""Sweeps the fault points of commands that write and commit, in forked children; prints the counts as JSON.

A child is killed at one point; the command is started again, killed there once more, and then left alone.
Another child meets an error of the disk there, and the command is started again. Whatever happened, the end
is the same as that of a run which nothing disturbed, all of it committed, with nothing left staged.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import filelock

from engine.activation.decisions import DecisionLog
from engine.activation.tuning import tuning
from engine.context import tokens
from engine.conversations import imports
from engine.engine import Engine
from engine.history import undo
from engine.knowledge import digest, plan, reviewing, similarity
from engine.knowledge.item import Item, Origin, item_id
from engine.knowledge.ledger import LedgerEntry
from engine.knowledge.review import Waiting
from engine.settings import editing as configuration
from engine.settings.trust import VARIABLE
from engine.store import change, commits, faults
from engine.workspace import initialise
from tests.store.write_steps import strays
from tui.cli import cli, importing, review
from tui.cli import config as config_commands
from tui.cli import history_back as history_commands
from tui.cli import tuning as tune_commands
from tui.cli.base import run

LOADED = (
    filelock, configuration, imports, initialise, tuning, DecisionLog, tokens, digest, similarity, plan,
    reviewing, change, commits, config_commands, importing, review, undo, history_commands,
    tune_commands,
)  # fmt: skip
"""Here once, and not in each of hundreds of children."""

AT = datetime(2026, 6, 12, 18, 45, tzinfo=UTC)
MOST_HITS = 60
LOOKED_AT = (".", ":!scratch", ":!logs/tuning")
"""What has to be committed in the end; the record of tuning never is."""
SHA256 = "a" * 64
TOPIC = "code-review"
FACTS = (
    Item("facts", "The gauge at Nordersiel drops to minus 0.4 m at spring tide.", voice="agent"),
    Item(
        "decisions", "Alarms hold for 15 min, because 41 mails in a night silence the phone.", voice="agent"
    ),
    Item("notes", "The gauge was read twice.", "knowledge/journal/2026-06-12.md"),
    Item("tasks_done", "Write the advisory for the Hafenamt.", voice="agent"),
)
IDS = [item_id(item, "talk") for item in FACTS]

Words = tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """Commands that are started one after the other, and started anew after a kill.

    Attributes:
        commands: What is typed after ``autopoiesis -C DIR``; ``LOG`` stands for a session log.
        before: What has been done before, likewise.
    """

    commands: tuple[Words, ...]
    before: tuple[Words, ...] = ()


TUNE = ("tune", TOPIC, "--gate", "0.21", "--activate", "0.57", "--apply")
AGREE, REVOKE = ("trust", "--yes"), ("trust", "--revoke")
SET_ACTING = ("config", "set", "capture.redact", "false")
SET_MARKED = ("config", "set", "cache.anthropic_ttl", "1h")
ACCEPT = ("review", "accept", *IDS[:3])
UNDO = ("history", "undo", "HEAD^{/^memory: accepted}", "--apply")
SCENARIOS = {
    "review": Scenario((ACCEPT, ("review", "reject", IDS[3]))),
    "tune": Scenario((TUNE,)),
    "tune undo": Scenario((("tune", "--undo"),), before=(TUNE,)),
    "undo": Scenario((UNDO,), before=(ACCEPT,)),
    "config": Scenario((("config", "set", "cache.anthropic_ttl", "1h"),)),
    "import": Scenario((("import", "claude-code", "LOG"),)),
    "trust": Scenario((AGREE, SET_MARKED, AGREE), before=(SET_ACTING, REVOKE)),
    "trust taken back": Scenario((REVOKE, SET_MARKED, AGREE), before=(SET_ACTING,)),
}


def prepare(folder: Path) -> Path:
    """A workspace with what waits for review and a session log beside it; made in a process of its own."""
    root = folder / "pristine"
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        return root
    initialise.initialise(root)
    with Engine.open(root) as engine:
        engine.knowledge.ledger.record(
            SHA256, LedgerEntry("conversations/talk.md", "harvested", AT.isoformat())
        )
        origin = Origin("talk", "2026-06-12")
        engine.knowledge.review.queue.put(
            Waiting(
                name, AT.isoformat(), item, "comes from tool output", origin, "conversations/talk.md", SHA256
            )
            for name, item in zip(IDS, FACTS, strict=True)
        )
        paths = ["knowledge/ledger.json", *engine.knowledge.review.queue.paths]
        assert engine.repository.commit(paths, "memory: what waits")
    os._exit(0)


def session_log(folder: Path) -> Path:
    """A log of Claude Code with two exchanges."""
    path = folder / "log.jsonl"
    with path.open("w") as log:
        for number in range(4):
            role = "assistant" if number % 2 else "user"
            content: object = (
                [{"type": "text", "text": f"answer {number}"}] if number % 2 else f"question {number}"
            )
            record = {
                "type": role, "uuid": f"u{number}", "sessionId": "5e5510af-0000-4000-8000-000000000001",
                "timestamp": f"2026-02-16T18:{number:02}:00.000Z",
                "message": {"role": role, "content": content},
            }  # fmt: skip
            log.write(json.dumps(record) + "\n")
    return path


def fresh(folder: Path, name: str) -> Path:
    """A workspace and the person's settings as they were; trust goes by its path, always the same."""
    root = folder / "w"
    for of, to in ((name, root), (f"settings of {name}", folder / "settings")):
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(folder / of, to, symlinks=True)
    return root


def keep(folder: Path) -> None:
    """Makes what the commands before have left the beginning of every run."""
    for of, to in (("w", "pristine"), ("settings", "settings of pristine")):
        shutil.rmtree(folder / to, ignore_errors=True)
        shutil.copytree(folder / of, folder / to, symlinks=True)


def in_child(root: Path, commands: tuple[Words, ...], fault: str = "") -> bool:
    """Runs commands in a process of its own; whether it was not killed."""
    child = os.fork()
    if not child:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        if fault:
            faults.arm_from(fault)
        for words in commands:
            typed = [str(root.parent / "log.jsonl") if word == "LOG" else word for word in words]
            sys.argv = ["autopoiesis", "-C", str(root), *typed]
            if run(cli) not in (0, 1):
                os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, f"{fault}: exit status {status}"
    return True


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)
    return done.stdout.decode()


def content(root: Path) -> dict[str, object]:
    """What stands in the workspace in the end, and what of it is committed, without times."""
    listed = [path for path in sorted(root.rglob("*")) if path.is_file() and ".tmp-" not in path.name]
    names = {path.relative_to(root).as_posix(): path for path in listed}
    kept = {
        name: path.read_bytes()
        for name, path in names.items()
        if name.startswith(("knowledge/", "topics/", "raw/", "memory-config"))
    }
    logs = [
        json.loads(line) for name in names if name.startswith("logs/review") for line in names[name].open()
    ]
    status = git(root, "status", "--porcelain", "--untracked-files=all", "--", *LOOKED_AT)
    return {
        **{name: _timeless(data) for name, data in kept.items()},
        "trust": trusted(root.parent),
        "verdicts": Counter((each["id"], each["verdict"]) for each in logs if "verdict" in each),
        "uncommitted": [line for line in status.splitlines() if ".tmp-" not in line],
        "committed": sorted(git(root, "ls-tree", "-r", "--name-only", "HEAD").split("\n")),
        "strays": [name for name in strays(root / ".git") if "index" in name],
        "locked": (root / ".git/index.lock").exists(),
    }


def trusted(folder: Path) -> dict[str, str]:
    """What was agreed to last by workspace, in a file that is whole at every moment."""
    path = folder / "settings" / "autopoiesis" / "trust.json"
    found: dict[str, dict[str, list[str]]] = json.loads(path.read_bytes())["workspaces"]
    assert all(len(set(each["trusted"])) == len(each["trusted"]) for each in found.values()), found
    return {name: each["trusted"][-1] for name, each in found.items()}


def _timeless(data: bytes) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") if b"imported_at" not in line)


def differences(found: dict[str, object], wanted: dict[str, object]) -> dict[str, tuple[object, object]]:
    keys = found.keys() | wanted.keys()
    return {key: (found.get(key), wanted.get(key)) for key in keys if found.get(key) != wanted.get(key)}


def check_meanwhile(root: Path, wanted: dict[str, object]) -> None:
    """Nothing that was there is gone, and no line of knowledge stands twice."""
    for name, data in wanted.items():
        if name.startswith("knowledge/") and name.endswith(".md") and (root / name).exists():
            assert isinstance(data, bytes)
            lines = [line for line in (root / name).read_bytes().split(b"\n") if line.startswith(b"- ")]
            assert len(lines) == len(set(lines)), (name, lines)
    elsewhere = os.path.realpath(root.parent / "pristine")
    assert trusted(root.parent)[elsewhere] == wanted["trust"][elsewhere], "another workspace is trusted still"  # type: ignore[index]


def sweep(folder: Path, name: str, parts: int, points: tuple[str, ...]) -> dict[str, int]:
    """Disturbs every ``parts``-th hit of the points, and the first of each.

    Returns:
        How often each point was reached.
    """
    scenario = SCENARIOS[name]
    os.environ["XDG_CONFIG_HOME"] = str(folder / "settings")
    os.environ.pop(VARIABLE, None)
    prepare(folder)
    shutil.copytree(folder / "settings", folder / "settings of pristine")
    session_log(folder)
    if scenario.before:
        assert in_child(fresh(folder, "pristine"), scenario.before)
        keep(folder)
    root = fresh(folder, "pristine")
    before = content(root)
    assert in_child(root, scenario.commands)
    wanted = content(root)
    assert wanted != before and wanted["uncommitted"] == [], differences(wanted, before)
    reached: dict[str, int] = {}
    number = 0
    for point in points or sorted(faults.FAULT_POINTS):
        for hit in range(1, MOST_HITS):
            number += 1
            if number % parts and hit > 1:
                continue
            root = fresh(folder, "pristine")
            if in_child(root, scenario.commands, f"{point}:kill:{hit}"):
                break
            reached[point] = hit
            check_meanwhile(root, wanted)
            in_child(root, scenario.commands, f"{point}:kill")
            check_meanwhile(root, wanted)
            assert in_child(root, scenario.commands)
            found = content(root)
            assert found == wanted, (name, point, hit, "kill", differences(found, wanted))
            kind = "EIO" if "fsync" in point else "ENOSPC"
            root = fresh(folder, "pristine")
            assert in_child(root, scenario.commands, f"{point}:{kind}:{hit}")
            check_meanwhile(root, wanted)
            assert in_child(root, scenario.commands)
            found = content(root)
            assert found == wanted, (name, point, hit, kind, differences(found, wanted))
    return reached


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), tuple(sys.argv[4:]))))
