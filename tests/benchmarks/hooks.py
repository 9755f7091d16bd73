"""How long an agent waits when the user sends a prompt: its hook as a whole process, and a bare Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from engine.agents.listener import Listener
from engine.engine import Engine
from engine.transcripts.places import session_files
from tests.benchmarks.inputs import Words, topics, write_transcripts
from tests.benchmarks.rows import Row
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Action, alternate

PROGRAM = (sys.executable, "-c", "from engine.agents.client import main; main()", "claude-code", "-C")
BARE = (sys.executable, "-c", "pass")
TOPICS, TRANSCRIPTS = 1_000, 600  # About 17 chunks each.


def run(setting: Setting) -> Iterator[Row]:
    """Time the hook on the sample and with 1,000 topics and 10,000 chunks; alone and next to a workbench."""
    words = Words(5, setting.size(20_000, 500))
    big = setting.workspace("agents").root
    write_transcripts(words, big, setting.size(TRANSCRIPTS, 2))
    (big / "topics").mkdir()
    for topic in topics(words, setting.size(TOPICS, 5), instructions=600):
        trigger = f"triggers:\n  - type: pattern\n    match: {json.dumps(topic.triggers[0].match)}"
        head = f"---\ntype: topic\ndescription: {words.text(60)}\n{trigger}\n---\n\n"
        (big / topic.path).write_text(f"{head}## Instructions\n\n{topic.instructions}\n")
    for name, root in (("the sample", setting.sample), (f"{TOPICS:,} topics, 10,000 chunks", big)):
        environment = _environment(setting)
        with Engine.open(root) as engine:
            engine.configuration.change("hooks.linger_minutes", "0")
            # Index and fit first, as in real use: hooks leave both to another process.
            engine.projects.note(session_files(engine.workspace))  # as an import does
            engine.index.refresh()
            engine.pipeline.process("Can you review the PR?", record=False)
        alone, bare = alternate(
            [_hook(root, words, environment), _bare(environment)], rounds=setting.size(15, 1)
        )
        yield Row(f"hook alone, {name}", alone, "python -c pass", bare)
        with Engine.open(root) as engine:
            engine.start()
            listener = Listener(engine)
            listener.start()
            listener.listening.wait(20)
            beside, bare = alternate(
                [_hook(root, words, environment), _bare(environment)], rounds=setting.size(25, 1)
            )
            listener.stop()
            engine.stop()
        yield Row(f"hook, a workbench open, {name}", beside, "python -c pass", bare)


def _environment(setting: Setting) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(setting.folder / "bytecode")}


def _hook(root: Path, words: Words, environment: dict[str, str]) -> Action:
    def action(number: int) -> None:
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": f"ses-{number}",
            "cwd": str(root),
            "prompt": f"Can you review the PR about {words.text(60)}?",
        }
        command = [*PROGRAM, str(root)]
        subprocess.run(
            command, input=json.dumps(event).encode(), check=True, stdout=subprocess.DEVNULL, env=environment
        )

    return action


def _bare(environment: dict[str, str]) -> Action:
    def action(_number: int) -> None:
        subprocess.run(BARE, check=True, env=environment)

    return action
