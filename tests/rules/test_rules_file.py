"""The rules file is written completely, and never over what the person saved."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.errors import ChangeRefused, WriteFailed
from engine.rules.learning import Learned, learned
from engine.rules.rulebook import PATH, Rulebook
from engine.store.faults import trip
from tests.rules.conftest import Say


def texts(engine: Engine) -> list[str]:
    return [rule.text for rule in engine.rules.book().rules]


@pytest.mark.parametrize("failed_write", ["append:write", "replace:rename"])
def test_a_rule_is_learned_although_a_write_failed_before(failed_write: str, sample: Path, say: Say) -> None:
    say("2031-05-01", "we always squash before we merge")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        say("2031-05-02", "never amend commits")

        def fail() -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with trip(failed_write, fail), pytest.raises(WriteFailed):
            engine.rules.learn()
        engine.rules.learn()
        assert "never amend commits" in texts(engine)
        (sample / PATH).write_bytes(b"\n".join(
            line for line in (sample / PATH).read_bytes().split(b"\n") if b"amend" not in line
        ))  # fmt: skip
        engine.rules.learn()
        assert "never amend commits" not in texts(engine), "the person deleted it"


def test_an_editor_that_saves_while_rules_are_learned_is_not_overwritten(
    sample: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("2031-05-01", "never amend commits")

    def slow(book: Rulebook, *given: Any) -> Learned:
        if not (sample / PATH).exists():
            (sample / PATH).write_text("# Rules\n\n## In force\n\n- Answer in French.\n")
        return learned(book, *given)

    monkeypatch.setattr("engine.rules.rules.learned", slow)
    with Engine.open(sample) as engine:
        engine.rules.learn()
        assert {"Answer in French.", "never amend commits"} == {*texts(engine)}


@pytest.mark.parametrize("project", ["two words", "a{b}"])
def test_a_scope_that_the_line_cannot_hold_is_refused(project: str, sample: Path) -> None:
    with Engine.open(sample) as engine:
        rule = engine.rules.add("Answer briefly.", "gauges").rules[0]
        with pytest.raises(ChangeRefused, match="spaces or braces"):
            engine.rules.add("Answer in French.", project)
        with pytest.raises(ChangeRefused, match="spaces or braces"):
            engine.rules.narrow(rule.id, project=project)
        assert rule in engine.rules.book().rules
