"""A session with what looks like a secret is named when it ends, and not again when others do."""

from __future__ import annotations

from pathlib import Path

from engine.agents.hooks import Hooks
from engine.engine import Engine
from tests.agents.agent import Agent
from tests.redaction.test_kept_nowhere import KEY

SECOND = "5d0f4a51-0c0d-4b7e-8a51-77aa51d2c0aa"


def test_a_held_session_is_named_once_with_its_line_and_kind(
    engine: Engine, hooks: Hooks, tmp_path: Path
) -> None:
    engine.configuration.change("capture.redact", False)
    said = []
    for session, text in (("", f"Use {KEY}"), (SECOND, "Nothing of note")):
        agent = Agent(hooks.answer, tmp_path / "claude", **({"session_id": session} if session else {}))
        agent.start()
        agent.prompt(text)
        agent.end()
        said.append(next(hooks.log.backwards()).said)
    path = next(each for each in said[0].split() if each.startswith("raw/") and ".md:" in each)
    file, _, line = path.partition(":")
    assert KEY in (engine.workspace.root / file).read_text().splitlines()[int(line) - 1]
    assert "(GitHub token)" in said[0] and "secrets redact" in said[0] and "secrets allow" in said[0]
    assert "committed as" in said[1] and "secret" not in said[1]
