"""Hostile text in lines, notes, entries, digest and errors: the knowledge screen shows it as text only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import entries
from engine.knowledge.notes import Candidate, FileNotes, Rebinding
from tests.tui.conftest import Run
from tests.tui.knowledge_data import digest_view
from tests.tui.knowledge_driven import knowing
from tests.tui.test_hostile_text import HOSTILE, assert_harmless
from tui.render.knowledge_groups import TITLES


@pytest.mark.parametrize("text", HOSTILE)
async def test_nothing_of_it_acts(run: Run, text: str) -> None:
    size = (80, 24) if len(text) % 2 else (200, 60)
    async with knowing(run, size) as driven:
        engine, root = driven.engine, driven.engine.root
        data = text.encode("utf-8", "surrogatepass")
        for name in ("facts", "decisions", "questions", "playbooks"):
            (root / f"knowledge/{name}.md").write_bytes(
                b"- " + data + b" [from: " + data + b", 2026-06-12]\n  " + data
            )
        (root / "knowledge/deploying/KNOWLEDGE.md").write_bytes(
            b"---\nname: '" + data + b"'\ndescription: '" + data + b"'\n---\n" + data
        )
        held = entries(b"- " + data, text)
        engine.knowledge.notes.files = (FileNotes(text, text, held, is_here=False),)
        engine.knowledge.notes.unclear = (Rebinding(text, text, text, (Candidate(text, text, text),) * 2),)
        engine.digest_view = replace(digest_view(f"## Facts\n\n- {text}\n"), problem="")
        await driven.press("ctrl+r")
        for group in TITLES:
            await driven.group(group)
            assert_harmless(driven)
            if group in ("facts", "notes"):
                await driven.press("y", "3", "plus", "escape")
                assert_harmless(driven)
        await driven.group("notes")
        await driven.press("b")
        assert_harmless(driven)
        await driven.press("right", "enter")
        assert engine.asked("rebind") and driven.is_open()
        assert_harmless(driven)


@pytest.mark.parametrize("text", HOSTILE)
async def test_as_an_error(run: Run, text: str) -> None:
    broken = AutopoiesisError(text, where=text, cure=text)
    async with knowing(run, failing={"notes": broken, "scan": broken, "questions": broken}) as driven:
        await driven.group("notes")
        assert "This cannot be read." in driven.text
        assert_harmless(driven)
        driven.engine.failing["turn off"] = broken
        await driven.press("D", "right", "enter")
        assert_harmless(driven)
