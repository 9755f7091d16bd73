"""Runs git so that nothing in the repository can start a program (design 6.5, G5, G6).

A cloned or unpacked repository has its own configuration, hooks and attributes. Commands are started
without a shell; hooks, file-system monitor, signing, pager, external diff and text conversion are off; every
configured content filter is disabled by its exact name (but see ``engine.store.crypt``); submodules are not
entered. Path arguments are literal: no path can become an option or a pattern.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from collections.abc import Mapping as AbcMapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RepositoryError
from engine.store import programs
from engine.store.crypt import own_filters
from engine.store.git_folder import pipe, repository_folder
from engine.store.leftovers import EXCLUDES

_TIMEOUT_S = 60.0

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "true",
    "core.fsync": "committed,reference",
    "core.quotePath": "false",
    # What a person set for all repositories: files to ignore or filter here would be left out without a word.
    "core.excludesFile": str(EXCLUDES),
    "core.attributesFile": os.devnull,
    "diff.orderFile": os.devnull,
    "log.showRoot": "true",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "merge.verifySignatures": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "user.useConfigOnly": "true",
    "i18n.commitEncoding": "utf-8",
    "i18n.logOutputEncoding": "utf-8",
    "advice.detachedHead": "false",
    "color.ui": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
    "protocol.ext.allow": "never",
}
_FLAGS = {
    "status": ("--ignore-submodules=all",),
    "diff": ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"),
    "diff-tree": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "log": ("--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature", "--ignore-submodules=all"),
    "show": ("--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature"),
    "blame": ("--no-textconv",),
}
_FILTERING = frozenset(
    {"status", "diff", "update-index", "add", "checkout", "restore", "reset", "revert", "worktree", "merge",
     "cherry-pick", "stash", "switch", "blame", "archive", "sparse-checkout"}
)  # fmt: skip
_OWN_VARIABLES = frozenset(
    {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
     "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
     "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}
)  # fmt: skip

_NETWORK_SETTINGS = {
    "credential.interactive": "false",
    "fetch.writeCommitGraph": "false",
    "push.followTags": "false",
    "push.gpgSign": "false",
    "transfer.bundleURI": "false",
}
_NETWORK = {
    # Other protocols can run programs.
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
    # Fail instead of prompting; credential helpers and the ssh agent still work.
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_NETWORK_VARIABLES = frozenset(
    {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT",
     "GIT_SSL_KEY", "GIT_PROXY_SSL_CAINFO"}
)  # fmt: skip
"""Variables of the user's environment that say how to reach a remote."""
_END_S = 3.0

_PACKING_S = 600.0


@dataclass(frozen=True, slots=True)
class GitResult:
    """Result of a git command."""

    code: int
    output: bytes
    message: str
    """The last line of standard error without ``fatal:`` or ``error:``."""

    @property
    def text(self) -> str:
        """Standard output as text, without the final line end."""
        return self.output.decode("utf-8", "surrogateescape").rstrip("\n")


class Git:
    """Runs git in one folder, which must itself be the top of its repository.

    Args:
        private: Whether git-crypt may be run: the user has set it up and trusts the workspace.
    """

    def __init__(self, root: Path, *, private: Callable[[], bool] = bool) -> None:
        self.root = root
        self.private = private

    @staticmethod
    def program() -> str | None:
        """The git program; ``None`` if it is not installed."""
        return programs.find("git")

    def run(
        self,
        *arguments: str,
        paths: Sequence[str] = (),
        stdin: bytes | None = None,
        environment: AbcMapping[str, str] | None = None,
        reading: bool = True,
        accept: Sequence[int] = (0,),
        filters: AbcMapping[str, str] | None = None,
        deadline_s: float = _TIMEOUT_S,
    ) -> GitResult:
        """Run one git command.

        Args:
            paths: Paths put after ``--``, taken literally.
            environment: Additional variables.
            reading: The command only reads, and must not take optional locks.
            accept: Exit codes that count as success.
            filters: The result of a recent ``filters_off``; by default it is called again.
            deadline_s: Timeout in seconds.

        Raises:
            RepositoryError: Git is missing, timed out, or exited with another code.
        """
        program = self.program()
        if program is None:
            raise RepositoryError("git is not installed", hint="install git to keep a history of the memory")
        command, *options = arguments
        settings = _SETTINGS.copy()
        if command in _FILTERING:
            settings |= self._filters(program) if filters is None else filters
        literal = () if command == "check-ignore" else ("--literal-pathspecs",)
        line = [program, "--no-pager", *literal, command, *_FLAGS.get(command, ()), *options]
        if paths:
            line += ["--", *paths]
        variables = self._environment(settings, environment, reading)
        if command == "init":
            # Paths that do not exist yet cannot be checked.
            del variables["GIT_WORK_TREE"]
        result = self._start(line, variables, stdin, deadline_s)
        if result.code not in accept:
            what = f"git {command} failed" + (f": {result.message}" if result.message else "")
            raise RepositoryError(what, where=str(self.root))
        return result

    def network(
        self, *arguments: str, deadline_s: float, environment: AbcMapping[str, str] | None = None
    ) -> GitResult:
        """Run a git command that contacts a remote; see ``engine.sync.transport``.

        It has no terminal for prompts, and on timeout it is killed with all its child processes.

        Args:
            deadline_s: Total timeout in seconds.

        Raises:
            RepositoryError: Git is missing or timed out. Exit codes are left to the caller.
        """
        program = self.program()
        if program is None:
            raise RepositoryError("git is not installed", hint="install git to keep a history of the memory")
        own = {name: value for name, value in os.environ.items() if name in _NETWORK_VARIABLES}
        more = {**own, **_NETWORK, **(environment or {})}
        variables = self._environment(_SETTINGS | _NETWORK_SETTINGS, more, reading=False)
        variables.pop("SSH_ASKPASS", None)
        return self._start([program, "--no-pager", *arguments], variables, None, deadline_s, alone=True)

    def through(self, program: str, *arguments: str, stdin: bytes | None = None) -> GitResult:
        """Run a program that calls git, under the same rules. Exit codes are left to the caller.

        Args:
            program: Its full path.

        Raises:
            RepositoryError: It could not be started, or timed out.
        """
        return self._start([program, *arguments], self._environment(_SETTINGS, None, reading=False), stdin)

    def encrypts(self, name: str) -> bool:
        """Whether a filter is git-crypt's own and may be run."""
        program = self.program()
        return program is not None and self._filters(program).get(f"filter.{name}.required") == "true"

    def filters_off(self) -> dict[str, str]:
        """Settings that disable every configured content filter, to be shared by successive commands."""
        program = self.program()
        return {} if program is None else self._filters(program)

    def _filters(self, program: str) -> dict[str, str]:
        """Settings that disable every configured content filter, except git-crypt's if it may be run."""
        environment = self._environment(_SETTINGS, None, reading=True)
        listed = self._start([program, "config", "--list", "-z"], environment, None)
        configured: dict[str, str] = {}
        settings: dict[str, str] = {}
        for raw in listed.output.split(b"\0"):
            name, _, value = raw.decode("utf-8", "surrogateescape").partition("\n")
            section, _, variable = name.rpartition(".")
            if section.startswith("filter.") and variable in ("clean", "smudge", "process"):
                configured[name] = value
                settings[name] = ""
                settings[f"{section}.required"] = "false"
        if not configured or not self.private():
            return settings
        return settings | own_filters(configured, repository_folder(self.root))

    def _environment(
        self, settings: AbcMapping[str, str], more: AbcMapping[str, str] | None, reading: bool
    ) -> dict[str, str]:
        variables = {
            name: value
            for name, value in programs.surroundings().items()
            if not name.startswith("GIT_") or name in _OWN_VARIABLES
        }
        variables |= {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_PAGER": "cat",
            "GIT_EDITOR": "true",
            "GIT_WORK_TREE": str(self.root),
            "GIT_CEILING_DIRECTORIES": str(self.root.parent),
            "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ADVICE": "0",
            "LC_ALL": "C",
            "LANGUAGE": "",
        }
        if reading:
            variables["GIT_OPTIONAL_LOCKS"] = "0"
        variables["GIT_CONFIG_COUNT"] = str(len(settings))
        for index, (name, value) in enumerate(settings.items()):
            variables[f"GIT_CONFIG_KEY_{index}"] = name
            variables[f"GIT_CONFIG_VALUE_{index}"] = value
        return variables | dict(more or {})

    def _start(
        self,
        line: list[str],
        environment: dict[str, str],
        stdin: bytes | None,
        deadline_s: float = _TIMEOUT_S,
        *,
        alone: bool = False,
    ) -> GitResult:
        """``alone`` detaches the program from the terminal, so that it is killed with its child processes."""
        if found := pipe(repository_folder(self.root)):
            raise RepositoryError("is not a file, and git would wait for it", where=found, hint="delete it")
        try:
            with subprocess.Popen(
                line,
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=alone,
            ) as process:
                try:
                    output, errors = process.communicate(stdin, timeout=deadline_s)
                except BaseException:
                    _end(process, alone=alone)
                    raise
        except subprocess.TimeoutExpired as error:
            raise RepositoryError(
                f"git timed out after {deadline_s:g} s", where=str(self.root), hint="try again"
            ) from error
        except (OSError, ValueError) as error:
            raise RepositoryError(f"git could not be started ({error})", where=str(self.root)) from error
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        fatal = [text for text in lines if text.startswith(("fatal:", "error:"))] or lines[-1:]
        message = fatal[0].removeprefix("fatal:").removeprefix("error:").strip() if fatal else ""
        return GitResult(process.returncode, output, message)


def read_status(output: bytes) -> tuple[int, bool]:
    """Number of changed files, and whether there are conflicts."""
    entries = iter(output.split(b"\0"))
    kinds = []
    for entry in entries:
        kinds.append(entry[:2])
        if entry.startswith(b"2 "):
            next(entries, None)  # the old name
    return sum(kind in (b"1 ", b"2 ", b"u ", b"? ") for kind in kinds), b"u " in kinds


def _end(process: subprocess.Popen[bytes], *, alone: bool) -> None:
    """Kill a program, together with its whole session if it has its own."""
    if not alone:
        process.kill()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_END_S)


def name_length(git: Git) -> int:
    """Number of hex digits in the repository's object names."""
    return 64 if git.run("rev-parse", "--show-object-format").text == "sha256" else 40


def blob_name(data: bytes, length: int) -> str:
    """The object name of a file's bytes, with ``length`` digits."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


def store_blob(git: Git, data: bytes) -> str:
    """Store bytes in the repository and return their object name."""
    return git.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data, reading=False).text


def pack(git: Git, least: int = 2_000) -> int:
    """Pack loose objects once there are at least ``least``, and return how many were packed.

    Each commit leaves a few loose objects. After a year they take ten times the space of a pack, and a search
    of the history opens each one. The history itself does not change.
    """
    count = int(git.run("count-objects").text.split()[0])
    if count < least:
        return 0
    git.run("repack", "-d", "-l", "-q", reading=False, deadline_s=_PACKING_S)
    return count
