"""Proposes successful build, test and check commands: "run the tests with …".

Only commands that run a project tool count, not ``ls``. Successes are counted across all conversations of a
project (``engine.knowledge.review``), and a command is shown only after a few.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from engine.knowledge.harvest.reply import item_of
from engine.knowledge.item import Item
from engine.knowledge.pages import commands_page
from engine.knowledge.proposed import WHY
from engine.transcripts.turn import ToolCall, Turn

MAX_COMMANDS = 4
"""Maximum commands proposed from one conversation."""

_SHELLS = frozenset({"bash", "shell", "exec", "exec_command", "local_shell", "run_shell_command", "terminal"})
_FAILED = re.compile(
    r"(?:exit (?!0\b)\d|error\b|fail|refused|rejected|interrupted|timed? ?out|command not found"
    r"|no such file|traceback"
    r"|permission denied|killed)|\b(?:FAIL|FAILED|Error:|panic:|fatal:|command not found"
    r"|[1-9]\d* (?:failed|errors?))\b",
)
_KINDS: tuple[tuple[str, str], ...] = (
    ("Run the tests", r"\btests?\b|pytest|\bjest\b|vitest|rspec|phpunit|\btox\b|\bnox\b|ctest|\bspec\b"),
    ("Check types", r"mypy|pyright|\btsc\b|type-?check|\btypes\b"),
    ("Lint", r"\blint\w*\b|ruff check|eslint|clippy|golangci|\bvet\b|flake8|pylint|shellcheck"),
    ("Run the checks", r"\bcheck\b"),
    ("Format", r"\bfmt\b|\bformat\b|gofmt|prettier|\bblack\b|rustfmt"),
    ("Build", r"\bbuild\b|\bcompile\b|\bassemble\b|\bdist\b|\bpackage\b"),
    ("Generate", r"\bgenerate\b|\bcodegen\b|protoc"),
    ("Migrate the database", r"\bmigrate\b|\bmigrations?\b"),
    ("Deploy", r"\bdeploy\b|\brelease\b|\bpublish\b"),
    ("Set up", r"\binstall\b|\bsetup\b|\bbootstrap\b|\bsync\b"),
)
_RUNNER = re.compile(
    r"(?:\w+=\S+\s+)*(?:(?:npx|uvx?|uv run|poetry run|pipenv run|bundle exec|pdm run|hatch run|rye run"
    r"|docker compose (?:run|exec) \S+|python3? -m|\.venv/bin/|\./)\s*)?"
    r"(?P<tool>make|mise(?: run)?|just|task|npm(?: run)?|pnpm(?: run)?|yarn(?: run)?|bun(?: run)?|cargo"
    r"|go|gradle|"
    r"\./gradlew|gradlew|mvn|dotnet|mix|rake|rails|tox|nox|pytest|jest|vitest|rspec|phpunit|ctest|cmake"
    r"|ninja|bazel|"
    r"mypy|pyright|ruff|eslint|prettier|black|tsc|golangci-lint|clippy|shellcheck|composer|flutter|swift"
    r"|zig|sbt|lein|terraform|ansible-playbook|helm|kubectl|alembic|manage\.py|bin/\w+|scripts?/[\w./-]+"
    r"|[\w-]+\.sh)\b(?P<rest>.*)"
)
_DROPPED = re.compile(
    r"\s*(?:[12&]?>+\s*(?:&\d|/dev/null|\S+)|\|\s*(?:head|tail|grep|less|cat|tee|wc|sort|rg|sed|awk)\b.*"
    r"|\|\|\s*(?:true|echo\b.*)|;\s*echo\b.*)"
)
_CHANGES_PLACE = re.compile(r"^cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")
_NARROWED = re.compile(
    r"(?:\s-(?:run|k|t|p|m|e|c)\b|\s\.?/?\w\S*/\.\.\.|::|\s--(?:filter|grep|only|package|testNamePattern|exact)\b|/tmp/"
    r"|/home/|/Users/|[$`\"']"
    r"|\s\S+_test\.\w+|\stest_\S+|\s\S+\.(?:py|go|ts|tsx|js|rs|rb|java|sh|json)\b|\s\S+/\S+\.\w+)"
)
"""A single test, file or temporary value: not worth repeating."""
_PART = re.compile(r"\s\.{0,2}/?\w[\w.-]*/\w")
"""A subfolder rather than all tests."""


def commands_of(turns: Iterable[Turn], project: str = "") -> list[Item]:
    """The commands in a conversation, most frequent first: lines of the project's page of commands, or
    playbooks if ``project`` (a slug) is empty.
    """
    counts: Counter[str] = Counter()
    for turn in turns:
        for tool in turn.tools:
            if tool.name.casefold() in _SHELLS and _succeeded(tool):
                counts.update(dict.fromkeys(_commands(tool.summary), 1))
    found: list[Item] = []
    for command, times in counts.most_common(MAX_COMMANDS):
        try:
            item = item_of("playbooks", _name(command), command, "agent")
        except ValueError:
            continue
        if project:
            item = replace(
                item, category="pages", path=commands_page(project), subject=f"Commands of {project}"
            )
        found.append(replace(item, why=WHY["command"], times=times))
    return found


def _succeeded(tool: ToolCall) -> bool:
    return bool(tool.result) and not _FAILED.search(tool.result[:400])


def _commands(line: str) -> Iterator[str]:
    """The commands in a shell line that run a project tool, without parts that trim the output."""
    line = _CHANGES_PLACE.sub("", line.strip())
    if line.endswith("…"):
        return  # truncated in the transcript
    for part in re.split(r"\s*(?:&&|;)\s*", line):
        command = " ".join(_DROPPED.sub("", part).split())
        match = _RUNNER.fullmatch(command)
        if match is not None and (match["rest"].strip() or match["tool"] in _ALONE) and _is_whole(command):
            yield command


_ALONE = frozenset(
    {"make", "pytest", "tox", "nox", "jest", "vitest", "rspec", "phpunit", "ctest", "mypy", "tsc"}
)


def _is_whole(command: str) -> bool:
    """True if a command has a known purpose and is not limited to a part."""
    name = _name(command)
    if not name or _NARROWED.search(command):
        return False
    return name != "Run the tests" or _PART.search(command) is None


def _name(command: str) -> str:
    """The purpose of a command; empty if unclear."""
    found = next((name for name, words in _KINDS if re.search(words, command)), "")
    return found or ("Build" if command == "make" else "")


MAX_STEPS = 6
"""Maximum commands in a sequence; a longer one is not a procedure."""


def sequence_of(turns: Iterable[Turn]) -> tuple[str, str] | None:
    """The purpose and the commands of the longest sequence of distinct successful commands; the last of
    equally long ones. ``None`` if there is no sequence of two.

    A failed or repeated command starts a new sequence.
    """
    best: list[str] = []
    run: list[str] = []
    for turn in turns:
        for tool in turn.tools:
            found = list(_commands(tool.summary)) if tool.name.casefold() in _SHELLS else []
            if found and not _succeeded(tool):
                run = []
                continue
            for command in found:
                if command in run:
                    run = []
                run = [*run, command]
                if len(best) <= len(run) <= MAX_STEPS:
                    best = run
    if len(best) < 2:
        return None
    first, *rest = dict.fromkeys(map(_name, best))
    return ", ".join((first, *map(str.lower, rest))), " -> ".join(best)
