"""What a hook loads when no program has the workspace open: every prompt of such a session pays for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cases import each_case

_HOOK = """
import json, re._compiler as compiler, sys
found, compile = [], compiler.compile

def traced(pattern, flags=0):
    frame = sys._getframe()
    while "/re/" in frame.f_code.co_filename or frame.f_code is traced.__code__ or frame.f_code.co_name in (
        "expression", "__getattr__"
    ):
        frame = frame.f_back
    if frame.f_globals.get("__name__", "").startswith("engine."):
        found.append((frame.f_globals["__name__"], frame.f_code.co_name))
    return compile(pattern, flags)

compiler.compile = traced
from engine.engine import Engine
from engine.agents import hooks

hooks.SECONDS = 100  # for a slow machine
with Engine.open(sys.argv[1]) as engine:
    told = hooks.Hooks(engine, lambda job: None).answer("claude-code", sys.stdin.buffer.read())
print(json.dumps({"told": bool(told), "compiled": found, "modules": sorted(sys.modules)}))
"""


@each_case("moment", ["SessionStart", "UserPromptSubmit"])
def test_a_cold_hook_compiles_only_the_expressions_that_it_uses(sample: Path, moment: str) -> None:
    event = {
        "session_id": "0b3f6a52-6c1e-4f7e-9a55-0d5b7f6f2c11",
        "transcript_path": "/nonexistent.jsonl",
        "cwd": "/home/robin/tidemark",
        "hook_event_name": moment,
        "source": "startup",
        "prompt": "Can you review the PR that just came in?",
    }
    command = [sys.executable, "-c", _HOOK, str(sample)]
    done = subprocess.run(command, input=json.dumps(event), capture_output=True, text=True, check=True)
    ran = json.loads(done.stdout)
    assert ran["told"] and ran["compiled"], done.stderr
    assert [name for name, place in ran["compiled"] if place == "<module>"] == []
    unused = {"engine.rules.agent_files", "engine.rules.watch"}
    assert not unused & set(ran["modules"])
