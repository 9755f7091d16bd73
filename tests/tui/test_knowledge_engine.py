"""The knowledge screen with the real engine on the sample workspace."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.engine import Engine
from engine.knowledge.category_files import entries
from tests.store.history import git
from tests.tui.screen_driven import KnowledgeDriven
from tui.screens.knowledge.pieces import DigestPiece

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)


open_screen = partial(KnowledgeDriven.on_files, now=NOW)


async def test_groups_match_the_files_and_the_digest_is_switched(sample: Path) -> None:
    facts = entries((sample / "knowledge/facts.md").read_bytes(), "knowledge/facts.md")
    digest = (sample / "knowledge/digest.md").read_text(encoding="utf-8")
    with Engine.open(sample, clock=lambda: NOW) as engine:
        scan = engine.knowledge_entries.scan()
    async with open_screen(sample) as driven:
        assert driven.counts()["facts"] == str(len(facts)) and driven.selected() == facts[-1].text
        inside = [text for sign, text in driven.listed() if sign == "●"]
        assert inside and all(text[:40] in digest for text in inside)
        await driven.group("entries")
        knowledge = {each.name for each in scan.entries if each.kind == "knowledge"}
        assert {text.partition(":")[0] for _sign, text in driven.listed()} == knowledge
        await driven.group("digest")
        sections = [each for each in driven.screen.pieces.items if isinstance(each, DigestPiece)]
        assert digest.count("\n- ") == sum(each.inside for each in sections)
        await driven.press("D", "right", "enter")
        await driven.until(lambda: "the digest is off" in driven.toasts)
        await driven.settle()
        assert driven.counts()["digest"] == "off" and not (sample / "knowledge/digest.md").exists()
        assert "memory: digest turned off" in git(sample, "log", "-4", "--format=%B")
        await driven.press("R")
        await driven.until(lambda: "digest regenerated" in driven.toasts)
        await driven.settle()
        assert (sample / "knowledge/digest.md").is_file() and driven.counts()["digest"] != "off"


async def test_unclear_notes_are_assigned(sample: Path) -> None:
    (sample / "scripts").mkdir(exist_ok=True)
    old = sample / "scripts/rates.py"
    text = "".join(f"rate_{number} = {number} * 17\n" for number in range(40))
    old.write_text(text)
    with Engine.open(sample, clock=lambda: NOW) as engine:
        engine.knowledge.notes.add("scripts/rates.py", "The rates are per minute.")
    (sample / "scripts/copy_a.py").write_text(text)
    (sample / "scripts/copy_b.py").write_text(text)
    old.unlink()
    async with open_screen(sample) as driven:
        await driven.settle()
        await driven.group("notes")
        assert driven.listed()[0] == ("?", "scripts/rates.py")
        await driven.press("b", "right", "enter")
        await driven.until(lambda: "notes of scripts/copy_" in driven.toasts)
        await driven.settle()
        assert not any(sign == "?" and text == "scripts/rates.py" for sign, text in driven.listed())
    assert "moved to scripts/copy_" in git(sample, "log", "-4", "--format=%B")


async def test_read_only_shows_and_changes_nothing(sample: Path) -> None:
    before = (sample / "knowledge/digest.md").read_bytes()
    async with open_screen(sample, read_only=True) as driven:
        await driven.press("D", "R")
        assert "the workspace is read-only" in driven.toasts and driven.listed()
    assert (sample / "knowledge/digest.md").read_bytes() == before
