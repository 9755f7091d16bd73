"""Hostile text in lines, notes, entries, digest and errors is shown only as text on the knowledge screen."""

from __future__ import annotations

from dataclasses import replace

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import entries
from engine.knowledge.notes import Candidate, FileNotes, Rebinding
from tests.tui.conftest import Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.knowledge_data import digest_view
from tests.tui.knowledge_driven import open_knowledge
from tests.tui.test_hostile_text import COMBINED, assert_harmless
from tui.screens.knowledge.pieces import TITLES


def poison(engine: FakeEngine, text: str) -> None:
    """Puts a text in every field that the screen displays."""
    data = text.encode("utf-8", "surrogatepass")
    for name in ("facts", "decisions", "questions", "playbooks"):
        (engine.root / f"knowledge/{name}.md").write_bytes(
            b"- " + data + b" [from: " + data + b", 2026-06-12]\n  " + data
        )
    (engine.root / "knowledge/deploying/KNOWLEDGE.md").write_bytes(
        b"---\nname: '" + data + b"'\ndescription: '" + data + b"'\n---\n" + data
    )
    notes = entries(b"- " + data, text)
    engine.knowledge.notes.files = (FileNotes(text, text, notes, is_here=False),)
    engine.knowledge.notes.unclear = (Rebinding(text, text, text, (Candidate(text, text, text),) * 2),)
    engine.digest_view = replace(digest_view(f"## Facts\n\n- {text}\n"), problem="")


async def test_hostile_text_is_shown_and_has_no_effect(run: Run) -> None:
    async with open_knowledge(run, (80, 24)) as driven:
        engine = driven.engine
        poison(engine, COMBINED)
        await driven.press("ctrl+r")
        for group in TITLES:
            await driven.group(group)
            assert_harmless(driven)
            if group in ("facts", "notes"):
                await driven.press("y", "3", "plus", "escape")
                assert_harmless(driven)
        await driven.resize(200, 60)
        assert_harmless(driven)
        await driven.group("notes")
        await driven.press("b")
        assert_harmless(driven)
        await driven.press("right", "enter")
        assert engine.calls_of("rebind")[-1][1] == COMBINED and driven.is_open()
        assert_harmless(driven)
        await driven.resize(80, 24)
        broken = AutopoiesisError(COMBINED, where=COMBINED, hint=COMBINED)
        engine.failing = dict.fromkeys(("notes", "scan", "questions", "turn off"), broken)
        driven.app.clear_notifications()
        await driven.press("ctrl+r")
        await driven.group("notes")
        assert "cannot read this group" in driven.text
        assert_harmless(driven)
        await driven.press("D", "right", "enter")
        assert_harmless(driven)
