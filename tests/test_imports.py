"""Import cost: heavy packages are imported only where they are used, never for a trace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HEAVY = {
    "sklearn", "scipy", "anthropic", "openai", "google", "textual", "rich", "torch", "sentence_transformers",
    "py3langid", "watchfiles", "asyncio", "mcp",
}  # fmt: skip


def modules_loaded_by(code: str) -> set[str]:
    """The modules loaded in a fresh interpreter after running some code."""
    listing = "import json, sys\nprint(json.dumps(sorted(sys.modules)))"
    program = f"{code}\n{listing}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return set(found)


def test_the_command_line_imports_nothing_heavy() -> None:
    assert not modules_loaded_by("import tui.cli") & (HEAVY | {"numpy", "apsw", "pydantic", "regex"})


def modules_for_trace(root: Path) -> set[str]:
    """The modules loaded in a process that traces one message."""
    return modules_loaded_by(
        f"from engine.engine import Engine\n"
        f"with Engine.open({str(root)!r}) as engine:\n"
        f"    trace = engine.trace('Can you review the PR that just came in?')\n"
        f"assert trace.active == ('github-pr-review',), trace.active"
    )


def test_a_trace_loads_nothing_heavy_and_nothing_needed_only_by_an_interface(sample: Path) -> None:
    assert "pydantic" in modules_for_trace(sample)
    loaded = modules_for_trace(sample)
    assert "pydantic" not in loaded, "unchanged settings are not validated again"
    shown = {
        "engine.events",
        "engine.live.feed",
        "engine.context.views",
        "engine.context.compiled",
        "engine.transcripts.turn",
    }
    assert not loaded & (HEAVY | {"apsw", "torch"} | shown)
    (sample / "memory-config.yaml").write_text("watchers:\n  preset: spec\n")
    loaded = modules_for_trace(sample)
    assert "pydantic" in loaded
    assert not loaded & (HEAVY | {"apsw", "numpy"}), "the specification's preset needs no numpy"


def test_a_compile_loads_no_model_client_server_or_interface(sample: Path) -> None:
    loaded = modules_loaded_by(
        f"from engine.engine import Engine\n"
        f"with Engine.open({str(sample)!r}) as engine:\n"
        f"    engine.compile('What did Odile ask for?')"
    )
    assert not loaded & (HEAVY - {"asyncio"})


def test_the_engine_imports_no_interface() -> None:
    modules = "engine.engine, engine.live.live, engine.workspace.initialise, engine.workspace.doctor"
    loaded = modules_loaded_by(f"import {modules}")
    assert "engine.live.live" in loaded and not loaded & {"tui", "themes", "textual", "rich", "click"}
