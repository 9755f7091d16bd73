"""The keys of the knowledge screen: each does what help and footer say, or says why it cannot."""

from __future__ import annotations

import threading

import pytest

from engine.errors import AutopoiesisError
from engine.events import FileChanged
from tests.tui.conftest import SIZES, Run
from tests.tui.fake_engine import NOW
from tests.tui.knowledge_data import digest_view
from tests.tui.screen_driven import open_knowledge
from tests.tui.test_cache_live import record_output
from tui.kit.overlays import ConfirmScreen


async def test_each_group_shows_its_items(run: Run) -> None:
    async with open_knowledge(run) as driven:
        assert driven.counts() == {
            "facts": "3", "decisions": "3", "questions": "1", "playbooks": "0", "open": "1", "done": "2",
            "notes": "1? 3", "entries": "! 3", "skills": "1", "digest": "0.7/4.0 KB",
        }  # fmt: skip
        for size in SIZES.values():  # newest first, marked if in the digest
            await driven.resize(*size)
            await driven.press("2", "g")
            assert driven.listed() == [
                ("●", "The quota of the object store is 40 GB from July on."),
                ("●", "Staging is rebuilt on Mondays."),
                ("○", "CI runs on two cores."),
            ]
            assert "knowledge/facts.md:6" in driven.text and "2026-06-12-morning-inbox" in driven.text
            assert "yes" in driven.line("in digest")
            await driven.press("j")
            assert "It takes twenty minutes." in driven.text and "knowledge/facts.md:4-5" in driven.text
            await driven.press("j")
            assert "no, left out" in driven.text
        await driven.resize(120, 40)
        await driven.group("decisions")
        await driven.press("G")
        assert driven.listed()[-1] == ("×", "The chart is drawn on canvas.")
        assert "by knowledge/decisions.md:5" in driven.text
        await driven.group("open")
        assert [text for _sign, text in driven.listed()] == ["Re-index after the schema change."]
        await driven.group("done")
        assert [sign for sign, _text in driven.listed()] == ["✓", "✓"]
        await driven.group("entries")
        assert [text.partition(":")[0] for _sign, text in driven.listed()] == [
            "deploying", "incidents", "full-disk",
        ]  # fmt: skip
        assert driven.listed()[0][0] == "!"
        assert "Push, wait, look." in driven.screen.reading.selected_text()
        assert "knowledge/incidents/KNOWLEDGE.md:" in driven.line("linked in")
        await driven.press("j")
        assert "1.2.0" in driven.line("version") and "full-disk" in driven.line("contains")
        assert "knowledge/deploying/KNOWLEDGE.md" in driven.line("links to")


async def test_navigation_filter_and_back(run: Run) -> None:
    async with open_knowledge(run) as driven:
        await driven.press("enter")
        assert driven.focused_panel() == "pieces"
        await driven.press("enter")
        assert driven.zoomed() == "reading"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.focused_panel() == "pieces"

        await driven.press("slash")
        await driven.type("quota")
        assert len(driven.listed()) == 1 and "1 of 3" in driven.text
        await driven.press("enter", "escape")
        assert len(driven.listed()) == 3
        await driven.press("slash")
        await driven.type("nowhere at all")
        assert "nothing here matches" in driven.text
        await driven.press("enter", "1", "j")  # the next group is not filtered
        assert len(driven.listed()) == 3 and driven.screen.state.group == "decisions"

        await driven.group("done")
        await driven.press("slash")
        await driven.type("disk")
        await driven.press("enter")
        await driven.group("entries")  # starts at its first row, even if another one matches the filter
        assert driven.selected() == "deploying" and len(driven.listed()) == 3

        await driven.group("digest")
        await driven.press("G", "g")
        assert driven.selected() == "Open tasks" and not driven.engine.calls_of("regenerate")
        await driven.press("j", "j", "enter")  # a section leads to its group
        assert driven.screen.state.group == "decisions"

        for size in ((60, 16), (80, 24), (120, 40)):
            await driven.resize(*size)
            for number, name in enumerate(("groups", "pieces", "reading"), 1):
                await driven.press(str(number))
                assert driven.focused_panel() == name and driven.screen.panel_named(name).display
            await driven.press("tab")
            assert driven.focused_panel() == "groups"
        await driven.press("escape")
        assert not driven.is_open()


async def test_unclear_notes_come_first_and_are_assigned_after_confirmation(run: Run) -> None:
    async with open_knowledge(run) as driven:
        for key in ("b", "space"):
            await driven.press(key)
            assert driven.toasts == "no notes of a missing file are selected"
            driven.app.clear_notifications()
        await driven.group("notes")
        assert driven.listed() == [("?", "src/old_name.py"), ("–", "other/laptop.cfg"), ("", "src/client.py")]
        assert "two have its content" in driven.text and "▸ src/new_name.py" in driven.text
        await driven.press("space")
        assert "▸ src/copy.py" in driven.text
        await driven.press("b")
        assert isinstance(driven.app.screen, ConfirmScreen)
        await driven.press("enter")
        assert not driven.engine.calls_of("rebind")
        await driven.press("b", "right", "enter")
        assert driven.engine.calls_of("rebind") == [("rebind", "src/old_name.py", "/repo/src/copy.py")]
        assert driven.engine.calls_of("commit")[0][1] == ("knowledge/files/src-old_name.py.md",)
        assert "commit ccccccc" in driven.toasts


async def test_the_digest_is_turned_off_after_confirmation_and_regenerated(run: Run) -> None:
    async with open_knowledge(run) as driven:
        await driven.press("D")
        assert "Delete and turn off" in driven.text
        await driven.press("enter")
        assert not driven.engine.calls_of("turn off")
        await driven.press("D", "right", "enter")
        assert driven.counts()["digest"] == "off" and "the digest is off" in driven.toasts
        assert {sign for sign, _text in driven.listed()} == {""}
        assert "no, the digest is off" in driven.text
        driven.app.clear_notifications()
        await driven.press("D")
        assert "the digest is already off" in driven.toasts
        await driven.group("digest")
        assert "regenerate and turn on" in driven.text
        await driven.press("R")
        assert (
            driven.counts()["digest"] == "0.7/4.0 KB" and driven.engine.calls_of("regenerate")[0][1] is True
        )
        await driven.group("facts")
        assert driven.listed()[0][0] == "●"


async def test_changes_run_in_order_despite_errors_and_after_closing(run: Run) -> None:
    release = threading.Event()
    broken = AutopoiesisError("is full", where="the disk", hint="make room")
    async with open_knowledge(run, blocked={"regenerate": release}, failing={"regenerate": broken}) as driven:

        async def regenerate_and_turn_off() -> None:
            """Regenerates the digest, which blocks, and then turns it off."""
            before = len(driven.engine.calls_of("regenerate"))
            await driven.send("R")
            await driven.until(lambda: len(driven.engine.calls_of("regenerate")) > before)
            await driven.send("D")
            await driven.until(lambda: isinstance(driven.app.screen, ConfirmScreen))
            await driven.send("right", "enter")
            await driven.until(lambda: not isinstance(driven.app.screen, ConfirmScreen))

        await regenerate_and_turn_off()
        assert not driven.engine.calls_of("turn off")
        release.set()
        await driven.settle()
        assert "the disk: is full; make room" in driven.toasts and "the digest is off" in driven.toasts

        release.clear()
        driven.engine.digest_view = digest_view()
        await driven.press("ctrl+r")
        await regenerate_and_turn_off()
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())
        assert len(driven.engine.calls_of("turn off")) == 1
        release.set()
        await driven.until(lambda: len(driven.engine.calls_of("turn off")) == 2)


async def test_e_opens_the_line_and_y_copies_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_knowledge(run) as driven:
        opened: list[tuple[str, int]] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: opened.append((path, line)))
        await driven.press("e", "2", "j", "e", "y")
        assert opened == [("knowledge/facts.md", 0), ("knowledge/facts.md", 4)]
        assert driven.app.clipboard.endswith("\n  - It takes twenty minutes.")
        await driven.group("playbooks")
        await driven.press("e")
        assert "the file does not exist yet" in driven.toasts


async def test_file_changes_are_shown(run: Run) -> None:
    async with open_knowledge(run) as driven:
        changed = FileChanged(NOW, "knowledge/facts.md", "changed")
        await driven.press("2", "j")
        output = await record_output(driven)
        driven.engine.publish(changed)
        await driven.settle()
        assert len(driven.engine.calls_of("scan")) >= 2 and output == []  # nothing is redrawn

        file = driven.engine.root / "knowledge/facts.md"
        file.write_text(file.read_text() + "- Something new. [from: x, 2026-06-12]\n")
        driven.engine.publish(changed)
        await driven.settle()
        assert driven.listed()[0] == ("○", "Something new.")
        assert driven.selected() == "Staging is rebuilt on Mondays."

        driven.engine.digest_view = digest_view("")
        await driven.press("ctrl+r")
        assert {sign for sign, _text in driven.listed()} == {""}

        file.unlink()
        file.mkdir()
        await driven.press("ctrl+r")  # breaks only its group
        assert driven.counts()["facts"] == "! !" and "cannot read this group" in driven.text
        assert driven.counts()["decisions"] == "3"


async def test_keys_do_not_wait_for_reads_and_parts_fail_alone(run: Run) -> None:
    release = threading.Event()
    broken = AutopoiesisError("cannot be read", where="scratch/file-sightings.json", hint="delete it")
    async with open_knowledge(
        run, settle=False, blocked={"scan": release}, failing={"questions": broken}
    ) as driven:
        await driven.until(lambda: bool(driven.engine.calls_of("scan")))
        assert "loading knowledge" in driven.text
        for key in ("j", "enter", "b", "D", "e", "y", "slash", "escape", "1"):
            await driven.send(key)
        await driven.pilot.pause()
        assert not driven.engine.calls_of("turn off")
        release.set()
        await driven.settle()
        assert "scratch/file-sightings.json: cannot be read; delete it" in driven.toasts
        assert driven.counts()["facts"] == "3" and driven.counts()["notes"] == "3"


async def test_references_are_followed_and_esc_goes_back(run: Run) -> None:
    async with open_knowledge(run) as driven:
        root = driven.engine.root
        (root / "knowledge/people").mkdir(exist_ok=True)
        (root / "knowledge/people/ada.md").write_text("# Ada\n\nTea, not coffee. [[engine]]\n")
        (root / "knowledge/shared/team").mkdir(parents=True)
        (root / "knowledge/shared/team/engine.md").write_text("# Engine\n\nBrass.\n")
        facts = root / "knowledge/facts.md"
        facts.write_text(facts.read_text() + "- Ask [[Ada]] and [[team/engine]]. [from: x, 2026-06-13]\n")
        await driven.press("ctrl+r", "2", "g")
        await driven.until(lambda: driven.selected().startswith("Ask [[Ada]]"))
        await driven.press("F")
        assert "f follows one" in driven.toasts
        await driven.press("f")
        await driven.until(lambda: "Tea, not coffee." in driven.text)
        assert "F next of 2" in driven.text and driven.screen.file == "knowledge/people/ada.md"
        await driven.press("F")
        await driven.until(lambda: "Brass." in driven.text)
        assert "shared by others" in driven.text
        await driven.press("F", "f")
        await driven.until(lambda: len(driven.screen.state.trail) == 2)
        assert "Brass." in driven.text
        await driven.press("escape")
        assert "Tea, not coffee." in driven.text
        await driven.press("escape")
        assert "Tea" not in driven.text and driven.screen.file == "knowledge/facts.md"
        await driven.press("j", "f")
        await driven.until(lambda: "has no references" in driven.toasts)
