"""A complete run opens, changes and starts nothing outside the workspace, the user's folders and the program.

It is watched twice: by an audit hook, which sees what Python does, and, where available, by strace, which
also sees SQLite, git and every child process, with links resolved.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.agents.wire import socket_folder
from tests.transcripts.logs import SESSION, ClaudeCode, dump

ROOT = Path(__file__).parents[1]
SYSTEM = tuple(map(Path, ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys", "/dev", "/opt/pyca")))
"""Folders that any program may read; the last one is where OpenSSL looks for its settings, in the wheels of
cryptography, which MCP imports."""
DEVICES = {"/dev/null", "/dev/tty", "/dev/urandom"}
PLANTED = ("git", "rg", "ps", "sh", "python", "python3", "claude", "json.py", "tui.py", "sitecustomize.py")
INTERRUPTED = {"-C {root} serve --port 0 --show-token": 130}
WRITES = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC")
CHANGES = "mkdir|rename|unlink|rmdir|link|symlink|truncate|chmod|fchmodat|chown|lchown|fchownat|utime|mknod"


@dataclass(frozen=True)
class Watched:
    """A run: its folder and the recorded events."""

    place: Path
    audited: list[tuple[str, str, int]]
    ended: list[tuple[str, int, str]]
    traces: list[list[str]]

    @property
    def own(self) -> tuple[Path, ...]:
        """Folders that may be written."""
        sockets = Path(socket_folder())  # where agents' hooks are answered, private to this user
        return (*(self.place / name for name in ("memory", "home", "tmp")), sockets)

    @property
    def port(self) -> int:
        """The port on which the server listened and was queried by the run itself."""
        found = [re.search(r"http://127\.0\.0\.1:(\d+)/", said) for _, _, said in self.ended]
        (port,) = {int(each[1]) for each in found if each}
        return port

    @property
    def readable(self) -> tuple[Path, ...]:
        """Folders that may be read."""
        program = (ROOT, Path(sys.prefix), Path(sys.base_prefix))
        return (*self.own, *program, *(path.resolve() for path in program), *SYSTEM)


pytestmark = pytest.mark.timeout(600)  # the first test does the whole run under strace


@pytest.fixture(scope="module", params=[(), pytest.param(("--sample",), marks=pytest.mark.thorough)])
def watched(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Watched:
    """The run in a new workspace, and in the sample one, whose entire history the workbench then traces."""
    place = tmp_path_factory.mktemp("openers").resolve()
    for name in ("home", "tmp", "here", "neighbour", "trace"):
        (place / name).mkdir()
    (place / "home" / ".gitconfig").write_text(
        "[user]\n\tname = Robin Example\n\temail = robin@example.org\n"
    )
    for name in PLANTED:
        mark = f"{place}/neighbour/PWNED"
        text = f"open({mark!r}, 'w')\n" if name.endswith(".py") else f"#!/bin/sh\n: > {mark}\n"
        (place / "here" / name).write_text(text)
        (place / "here" / name).chmod(0o755)
    session_log(place / "home" / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl")
    report = place / "tmp" / "report.json"
    line = [sys.executable, "-P", str(ROOT / "tests" / "opening_run.py"), str(place / "memory"), str(report)]
    line += request.param
    if strace := shutil.which("strace"):
        calls = f"/^(open|creat|exec|chdir|{CHANGES})"
        line = [
            strace,
            "-ff",
            "--seccomp-bpf",  # stops only at recorded calls, not at every call
            "-y",
            "-qq",
            "-s",
            "4096",
            "-e",
            f"trace={calls},connect,bind",
            "-o",
            str(place / "trace" / "of"),
            *line,
        ]
    done = subprocess.run(
        line,
        cwd=place / "here",
        env={
            "PATH": f".::{os.environ['PATH']}:",
            "HOME": str(place / "home"),
            "TMPDIR": str(place / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "TZ": "UTC",
        },
        stdin=subprocess.DEVNULL,  # commands that ask find no terminal
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    recorded = json.loads(report.read_text())
    traces = [each.read_text().splitlines() for each in sorted((place / "trace").iterdir())]
    return Watched(place, [tuple(each) for each in recorded["seen"]], recorded["ended"], traces)


def session_log(path: Path) -> None:
    """Write a session log as Claude Code does, with a tool call."""
    log = ClaudeCode()
    path.parent.mkdir(parents=True)
    path.write_bytes(
        dump(
            log.user("Why does /etc/hosts matter to the deploy?"),
            log.calls("c1", "Read", file_path="/etc/hosts"),
            log.result("c1", "127.0.0.1 localhost"),
            log.says("It names the server; see https://example.org/hosts and ../../outside.md."),
        )
    )


def is_below(path: str, folders: tuple[Path, ...]) -> bool:
    if Path(path).name.startswith("__editable__."):
        return True  # not a path: setuptools' name for an editable install in sys.path
    plain = Path(os.path.normpath(path))
    return any(plain == folder or folder in plain.parents for folder in folders)


def test_the_run_completed_its_commands(watched: Watched) -> None:
    assert [each for each in watched.ended if each[1] not in (0, 1, INTERRUPTED.get(each[0]))] == []
    said = {command.removeprefix("-C {root} "): text for command, _, text in watched.ended}
    assert said["GET /api/cache"].startswith("HTTP/1.1 200") and "watched.md" in said["watch --json"]
    assert "committed as" in said["import claude-code"]
    screens = said["workbench"].split()
    assert len(screens) == len(set(screens)) == 8 and "Workbench" not in screens
    assert (watched.place / "memory" / "memory.db").is_file()
    assert not (watched.place / "neighbour" / "PWNED").exists()


def test_python_opens_nothing_outside(watched: Watched) -> None:
    wrong = []
    for event, path, flags in watched.audited:
        if event in ("start", "speak", "change"):
            continue
        if event == "open" and "/" not in path and not path.startswith("__editable__."):
            # Relative to an open folder, which was itself recorded; a link could lead anywhere.
            wrong += [] if flags & os.O_NOFOLLOW else [(event, path)]
        elif event == "ctypes.dlopen":
            wrong += [] if "/" not in path or is_below(path, watched.readable) else [(event, path)]
        else:
            is_written = (
                event == "open" and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and path not in DEVICES
            )
            allowed = watched.own if is_written else watched.readable
            wrong += [] if is_below(path, allowed) else [(event, path)]
    assert wrong == []
    assert any(path.startswith(str(watched.place / "memory")) for _, path, _ in watched.audited)


def test_python_changes_nothing_outside_and_makes_no_connections(watched: Watched) -> None:
    changed = [path for event, path, _ in watched.audited if event == "change"]
    assert changed and [path for path in changed if not is_below(path, watched.own)] == []
    connections = [
        what for event, what, _ in watched.audited if event == "speak" and socket_folder() not in what
    ]
    assert connections == ["socket.bind ('127.0.0.1', 0)", f"socket.connect ('127.0.0.1', {watched.port})"]


def test_python_starts_programs_by_full_path_and_itself_with_a_safe_sys_path(watched: Watched) -> None:
    started = [json.loads(what) for event, what, _ in watched.audited if event == "start"]
    assert any(words[0].endswith("/git") for words in started)
    assert any(words[0] == sys.executable for words in started)
    for words in started:
        assert Path(words[0]).is_absolute() and not is_below(words[0], (watched.place,)), words
        assert words[0] != sys.executable or words[1] in ("-P", "-I"), words


@dataclass(frozen=True)
class Call:
    """A system call as reported by strace."""

    name: str
    arguments: str
    result: str
    here: str

    @property
    def named(self) -> list[str]:
        """The paths in its arguments."""
        found, folder = [], self.here
        for piece in re.finditer(r'(?:AT_FDCWD|\d+)<(/[^>]*)>|"((?:[^"\\]|\\.)*)"', self.arguments):
            if piece[1] is not None:
                folder = piece[1]
            else:
                found.append(os.path.join(folder, piece[2]))
        return found

    @property
    def opened(self) -> str:
        """The path actually opened; of a failed call, the path in its arguments."""
        led = re.match(r"\d+<(/[^>]*)>", self.result)
        return led[1].removesuffix(" (deleted)") if led else self.named[0]

    @property
    def changed(self) -> list[str]:
        """The paths it changes; the target of a symlink is not among them."""
        return self.named[-1:] if self.name.startswith("symlink") else self.named


@pytest.fixture(scope="module")
def calls(watched: Watched) -> list[Call]:
    if not watched.traces:
        pytest.skip("strace is not available")
    return list(parse_traces(watched))


def parse_traces(watched: Watched) -> Iterator[Call]:
    """Every call; a process's working directory becomes known at the latest when it loads its libraries."""
    for trace in watched.traces:
        here = str(watched.place / "here")
        for line in trace:
            found = re.fullmatch(r"(\w+)\((.*)\)\s+= (.*)", line)
            if found is None:
                continue
            if cwd := re.search(r"AT_FDCWD<(/[^>]*)>", found[2]):
                here = cwd[1]
            call = Call(found[1], found[2], found[3], here)
            if call.name == "chdir" and call.result == "0":
                here = call.named[0]
            else:
                yield call


SEMAPHORES = "/dev/shm/sem."
"""Whether there are semaphores is tried out when scikit-learn is loaded."""
OPENING = re.compile(r"open|openat|openat2|creat")


def test_strace_shows_nothing_opened_outside(watched: Watched, calls: list[Call]) -> None:
    wrong = []
    for call in dict.fromkeys(calls):
        if OPENING.fullmatch(call.name):
            is_written = any(flag in call.arguments for flag in WRITES) and call.opened not in DEVICES
            if call.opened.startswith(SEMAPHORES):
                continue
            if not is_below(call.opened, watched.own if is_written else watched.readable):
                wrong.append((call.name, call.opened, call.result))
    assert wrong == []
    assert any("memory.db-wal" in call.arguments for call in calls), "SQLite's files are recorded too"


def test_strace_shows_nothing_changed_outside(watched: Watched, calls: list[Call]) -> None:
    changes = [
        (call.name, path)
        for call in calls
        if re.match(CHANGES, call.name)
        for path in call.changed
        if not path.startswith(SEMAPHORES)
    ]
    assert changes and [each for each in changes if not is_below(each[1], watched.own)] == []


def test_strace_shows_only_expected_programs_started(watched: Watched, calls: list[Call]) -> None:
    started = {call.named[0] for call in calls if call.name == "execve"}
    assert not [path for path in started if is_below(path, (watched.place,))]
    names = {Path(path).name for path in started}
    assert {"git"} < names <= {"git", "ps", Path(sys.executable).name}


def test_strace_shows_no_connection_except_to_the_server(watched: Watched, calls: list[Call]) -> None:
    connections = [call.arguments for call in calls if call.name in ("connect", "bind")]
    # The C library asks a system daemon for user names, and agents' hooks are answered.
    known = ("/run/", f"{socket_folder()}/")
    connections = [
        each for each in connections if "AF_UNIX" not in each or not any(name in each for name in known)
    ]
    address = re.compile(r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("127\.0\.0\.1"\)')
    ports = [int(found[1]) for each in connections if (found := address.search(each))]
    assert len(ports) == len(connections) and sorted(ports) == [0, watched.port], "the server and its client"
