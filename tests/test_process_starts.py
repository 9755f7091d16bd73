"""No process is started without ``engine.store.programs``, which keeps the current folder off every path.

The test reads the source, so that a new violation is found before it can be exploited.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.cases import each_case

ROOT = Path(__file__).parents[1]
HELPER = "engine/store/programs.py"
NAMES_THE_INTERPRETER = {HELPER, "engine/workspace/hooks.py", "engine/workspace/initialise.py"}
"""Besides the helper: modules that tell git which interpreter runs its hooks. They start nothing."""

FORKS = {("engine/agents/standalone.py", "os.fork"), ("engine/agents/client.py", "os.fork")}
"""The same program continues in a second process: nothing is looked up."""

STARTS = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "os": {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"},
    "pty": {"spawn", "fork"},
    "webbrowser": {"open", "open_new", "open_new_tab", "get"},
}
MODULES = {"multiprocessing", "concurrent.futures.process", "webbrowser", "pty", "runpy"}


_SUSPICIOUS = re.compile(
    r"subprocess|executable|shutil|\bos\.(?:exec|spawn|popen|system|fork|posix|startfile)|"
    r"from os import|import os as|multiprocessing|concurrent|\bpty\b|webbrowser|runpy"
)
"""Present in any file that could start a process; parsing all files would take seconds."""


def sources() -> dict[str, str]:
    paths = (path for folder in ("engine", "tui", "themes") for path in (ROOT / folder).rglob("*.py"))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}
    return {place: text for place, text in sorted(texts.items()) if _SUSPICIOUS.search(text)}


def dotted_name(node: ast.expr) -> str:
    """``a.b.c`` for such an expression; empty for any other."""
    return ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""


def is_start(name: str) -> bool:
    module, _, function = name.rpartition(".")
    if module == "os" and function.startswith(("exec", "spawn")):
        return True
    return function in STARTS.get(module, set())


def violations(text: str, place: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        at = f"{place}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute):
            if dotted_name(node) == "sys.executable" and place not in NAMES_THE_INTERPRETER:
                yield f"{at} takes sys.executable; use programs.python"
            if dotted_name(node) == "shutil.which" and place != HELPER:
                yield f"{at} looks a program up; use programs.find"
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{each.name}" for each in node.names}
            taken = [name for name in names if is_start(name) or name in ("sys.executable", "shutil.which")]
            yield from (f"{at} takes {name} by its bare name" for name in taken)
            yield from (f"{at} imports {node.module}" for _ in [0] if node.module in MODULES)
        elif isinstance(node, ast.Import):
            yield from (f"{at} imports {each.name}" for each in node.names if each.name in MODULES)
            starters = (each for each in node.names if each.asname and each.name in STARTS)
            yield from (f"{at} gives {each.name} another name" for each in starters)
        elif isinstance(node, ast.Call) and is_start(dotted_name(node.func)):
            keywords = {each.arg for each in node.keywords}
            if (
                "shell" in keywords
                or dotted_name(node.func).endswith("_shell")
                or dotted_name(node.func) == "os.system"
            ):
                yield f"{at} starts a shell"
            if "env" not in keywords and (place, dotted_name(node.func)) not in FORKS:
                yield f"{at} starts a process without programs.surroundings"
            line = node.args[0] if node.args else None
            first = line.elts[0] if isinstance(line, ast.List) and line.elts else line
            if isinstance(first, ast.Constant):
                yield f"{at} starts {first.value!r} by its bare name; use programs.find"


def test_every_start_goes_through_the_helper() -> None:
    assert HELPER in sources()
    assert [violation for place, text in sources().items() for violation in violations(text, place)] == []


@each_case(
    "text",
    [
        "import subprocess\nsubprocess.run(['git', 'status'], env={})",
        "import subprocess\nsubprocess.run([program])",
        "import subprocess\nsubprocess.Popen('git status', shell=True, env={})",
        "from subprocess import Popen",
        "import subprocess as s",
        "import sys, subprocess\nsubprocess.run([sys.executable, '-c', ''], env={})",
        "from sys import executable",
        "import shutil\nshutil.which('git')",
        "import os\nos.execvp('git', ['git'])",
        "import asyncio\nasyncio.create_subprocess_exec(*argv)",
        "import multiprocessing",
        "import webbrowser",
    ],
)
def test_starts_without_the_helper_are_detected(text: str) -> None:
    assert list(violations(text, "engine/new.py"))
