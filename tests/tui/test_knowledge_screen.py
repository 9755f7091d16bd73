"""The knowledge screen on the sample: groups, notes of moved files, the digest, and references."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.events import FileChanged
from engine.knowledge.category_files import entries
from engine.knowledge.digest import Digest
from engine.knowledge.knowledge_entries import KnowledgeEntries
from engine.knowledge.notes import NoteFiles
from tests.store.history import commit, git
from tests.tui.conftest import SIZES, Driven, Prepare, Watch
from tests.tui.every_screen import NOW
from tests.tui.screen_driven import ScreenDriven, WatchingEngine
from tui.kit.overlays import ConfirmScreen
from tui.screens.knowledge.pieces import TITLES, DigestPiece, Group, name_of, sign_of
from tui.screens.knowledge.screen import KnowledgeScreen

FACTS, DIGEST = "knowledge/facts.md", "knowledge/digest.md"
NEW, STAGING = "KVA-02 still connects with an empty client id", "Staging is rebuilt on Mondays."
CHANGED = FileChanged(NOW, FACTS, "changed")
Picture = Callable[[Driven, str], None]


class KnowledgeDriven(ScreenDriven[KnowledgeScreen]):
    kind, key = KnowledgeScreen, "K"

    def listed(self) -> list[tuple[str, str]]:
        """The sign and text of each item in the group."""
        pieces = self.screen.pieces
        found = [pieces.item_at(at) for at in range(pieces.row_count)]
        return [(sign_of(each).strip(), name_of(each)) for each in found]

    def selected(self) -> str:
        """The text of the selected item."""
        piece = self.screen.pieces.selected
        return name_of(piece) if piece is not None else ""

    def counts(self) -> dict[str, str]:
        """The item count of each group, after its mark if it needs attention."""
        return {item.group: f"{item.mark} {item.count}".strip() for item in self.screen.groups.items}

    async def group(self, name: Group) -> None:
        """Selects a group and goes to its items."""
        self.screen.groups.select(list(TITLES).index(name))
        await self.press("2")


open_screen = partial(KnowledgeDriven.on_files, now=NOW, grace_s=0.0, engine=WatchingEngine)


def add(root: Path, path: str, text: str) -> None:
    """Appends to a file."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    with (root / path).open("a", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def root(prepare: Prepare) -> Path:
    """The sample with notes of a file that was copied and deleted, and an entry without a description."""

    def make(root: Path) -> None:
        add(root, FACTS, f"- {STAGING} [from: staging-host, 2026-06-10]\n  - It takes twenty minutes.\n")
        blue, white = "The pier is painted blue.", "The pier stays white."
        add(
            root,
            "knowledge/decisions.md",
            f"- {blue} [from: paint, 2026-05-01]\n"
            f"- {white} (supersedes: “{blue}”, 2026-05-01) [from: paint, 2026-06-12]\n",
        )
        add(
            root,
            "knowledge/deploying/KNOWLEDGE.md",
            "---\nname: deploying\n---\n# Deploying\n\nPush, wait, look.\n",
        )
        add(
            root,
            "knowledge/tidemark-incidents/KNOWLEDGE.md",
            "\nSee [deploying](../deploying/KNOWLEDGE.md).\n",
        )
        commit(root, "memory: more", "2026-06-12T10:00:00Z")

    root = prepare("knowledge", make)
    code = "".join(f"rate_{number} = {number} * 17\n" for number in range(40))
    add(root, "scripts/rates.py", code)
    with Engine.open(root, clock=lambda: NOW) as engine:  # remembers where the file was seen
        engine.knowledge.notes.add("scripts/rates.py", "The rates are per minute.")
    (root / "scripts/rates.py").unlink()
    for name in ("copy_a", "copy_b"):
        add(root, f"scripts/{name}.py", code)
    return root


async def test_each_group_shows_its_items(root: Path, picture: Picture) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        facts = entries((root / FACTS).read_bytes(), FACTS)
        digest = (root / DIGEST).read_text(encoding="utf-8")
        counts = driven.counts()
        assert counts["facts"] == str(len(facts)) and counts["notes"] == "1? 3" and counts["entries"] == "! 6"
        picture(driven, "knowledge/full-80x24-dark")
        for group in TITLES:
            await driven.group(group)
            assert TITLES[group] in driven.text
            if group == "decisions":
                await driven.press("G", "k", "k")
            if group in ("decisions", "skills", "notes", "digest"):
                picture(driven, f"knowledge/{group}-80x24-dark")
        await driven.press("1", "g")
        for size in SIZES:  # newest first, marked if in the digest
            await driven.resize(*SIZES[size])
            if size != "80x24":
                picture(driven, f"knowledge/full-{size}-dark")
            await driven.press("2", "g")
            listed = driven.listed()
            assert listed[0][1] == STAGING and {sign for sign, _text in listed} == {"●", "○"}
            assert all(text[:40] in digest for sign, text in listed if sign == "●")
            assert "It takes twenty minutes." in driven.text and f"{FACTS}:35-36" in driven.text
            assert "no, left out" in driven.screen.reading.selected_text()
            await driven.press("j")
            assert driven.selected().startswith(NEW) and "yes" in driven.line("in digest")
            assert f"{FACTS}:34" in driven.text and "2026-06-12-morning-round" in driven.text
            await driven.press("1", "g")
        await driven.resize(60, 16)
        picture(driven, "knowledge/groups-60x16")
        await driven.press("2")
        assert driven.focused_panel() == "pieces" and driven.shows("pieces")
        await driven.press("3")
        assert driven.focused_panel() == "reading" and not driven.shows("pieces")
        await driven.resize(120, 40)
        await driven.group("decisions")
        superseded = [text for sign, text in driven.listed() if sign == "×"]
        assert superseded == ["The pier is painted blue."]
        await driven.press("g", *["j"] * [sign for sign, _text in driven.listed()].index("×"))
        assert "by knowledge/decisions.md:" in driven.text
        await driven.group("done")
        assert {sign for sign, _text in driven.listed()} == {"✓"}
        await driven.group("digest")
        sections = [each for each in driven.screen.pieces.items if isinstance(each, DigestPiece)]
        assert digest.count("\n- ") == sum(each.inside for each in sections)
        await driven.group("entries")
        assert driven.listed()[0] == ("!", "deploying")
        assert "Push, wait, look." in driven.screen.reading.selected_text()
        assert "knowledge/tidemark-incidents/KNOWLEDGE.md:" in driven.line("linked in")
        await driven.press("j", "j", "j")
        assert "2026-05-22-wal-disk-full" in driven.line("contains")
        assert "knowledge/deploying/KNOWLEDGE.md" in driven.screen.reading.selected_text()
        assert "1.2.0" in driven.line("version")


async def test_navigation_filter_and_back(root: Path, watch: Watch) -> None:
    regenerated = watch(Digest, "regenerate")
    async with open_screen(root) as driven:
        total = len(driven.listed())
        await driven.press("enter")
        assert driven.focused_panel() == "pieces"
        await driven.press("enter")
        assert driven.zoomed() == "reading"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.focused_panel() == "reading"
        await driven.press("escape")
        assert driven.focused_panel() == "pieces"

        await driven.press("slash")
        await driven.type("rebuilt on mondays")
        assert len(driven.listed()) == 1 and f"1 of {total}" in driven.text
        await driven.press("enter", "escape")
        assert len(driven.listed()) == total
        await driven.press("slash")
        await driven.type("nowhere at all")
        assert "nothing here matches" in driven.text
        await driven.press("enter", "1", "j")  # the next group is not filtered
        assert len(driven.listed()) > 10 and driven.screen.state.group == "decisions"

        await driven.group("done")
        await driven.press("slash")
        await driven.type("full")
        await driven.press("enter")
        await driven.group("entries")  # starts at its first row, even if another one matches the filter
        assert driven.selected() == "deploying" and len(driven.listed()) == 6

        await driven.group("digest")
        await driven.press("G", "g")
        assert driven.selected() == "Open tasks" and not regenerated
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


async def test_unclear_notes_come_first_with_the_command_that_assigns_them(root: Path) -> None:
    async with open_screen(root) as driven:
        await driven.group("notes")
        assert driven.listed()[0] == ("?", "scripts/rates.py") and driven.listed()[1][0] == "–"
        assert "autopoiesis notes scripts/rates.py --move-to" in driven.text


async def test_the_digest_is_turned_off_after_confirmation_and_regenerated(root: Path) -> None:
    before = (root / DIGEST).read_bytes()
    async with open_screen(root, read_only=True) as driven:
        await driven.press("D", "R")
        assert "the workspace is read-only" in driven.toasts and driven.listed()
        assert (root / DIGEST).read_bytes() == before
    async with open_screen(root) as driven:
        await driven.press("D")
        assert "Delete and turn off" in driven.text
        await driven.press("enter")
        assert (root / DIGEST).exists()
        await driven.press("D", "right", "enter")
        await driven.until(lambda: "the digest is off" in driven.toasts)
        await driven.settle()
        assert driven.counts()["digest"] == "off" and not (root / DIGEST).exists()
        assert "memory: digest turned off" in git(root, "log", "-1", "--format=%B")
        assert {sign for sign, _text in driven.listed()} == {""} and "no, the digest is off" in driven.text
        driven.app.clear_notifications()
        await driven.press("D")
        assert "the digest is already off" in driven.toasts
        await driven.group("digest")
        assert "regenerate and turn on" in driven.text
        await driven.press("R")
        await driven.until(lambda: "digest regenerated" in driven.toasts)
        await driven.settle()
        assert (root / DIGEST).is_file() and driven.counts()["digest"] != "off"
        await driven.group("facts")
        assert driven.listed()[0][0] == "●"


async def test_changes_run_in_order_despite_errors_and_after_closing(root: Path, watch: Watch) -> None:
    made, off = watch(Digest, "regenerate"), watch(Digest, "turn_off")
    made.error = AutopoiesisError("is full", where="the disk", hint="make room")
    async with open_screen(root) as driven:

        async def regenerate_and_turn_off() -> None:
            """Regenerates the digest, which is held, and then turns it off."""
            before = len(made)
            await driven.send("R")
            await driven.until(lambda: len(made) > before)
            await driven.send("D")
            await driven.until(lambda: isinstance(driven.app.screen, ConfirmScreen))
            await driven.send("right", "enter")
            await driven.until(lambda: not isinstance(driven.app.screen, ConfirmScreen))

        with made.held():
            await regenerate_and_turn_off()
            assert not off
        await driven.until(lambda: "the digest is off" in driven.toasts)
        await driven.settle()
        assert "the disk: is full; make room" in driven.toasts
        made.error = None
        await driven.group("digest")
        await driven.press("R")
        await driven.until(lambda: driven.counts()["digest"] != "off")
        with made.held():
            await regenerate_and_turn_off()
            await driven.send("escape", "escape")
            await driven.until(lambda: not driven.is_open())
            assert len(off) == 1
        await driven.until(lambda: len(off) == 2 and not (root / DIGEST).exists())


async def test_e_opens_the_line_and_y_copies_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "knowledge/playbooks.md").unlink()
    async with open_screen(root) as driven:
        opened: list[tuple[str, int]] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: opened.append((path, line)))
        at = [text for _sign, text in driven.listed()].index(STAGING)
        await driven.press("e", "2", *["j"] * at)
        await driven.press("e", "y")
        assert opened == [(FACTS, 0), (FACTS, 35)]
        assert driven.app.clipboard.endswith("\n  - It takes twenty minutes.")
        await driven.group("playbooks")
        await driven.press("e")
        assert "the file does not exist yet" in driven.toasts


async def test_file_changes_are_shown_and_parts_fail_alone(
    root: Path, watch: Watch, picture: Picture
) -> None:
    scans, questions = watch(KnowledgeEntries, "scan"), watch(NoteFiles, "questions")
    questions.error = AutopoiesisError(
        "cannot be read", where="scratch/file-sightings.json", hint="delete it"
    )
    async with open_screen(root, SIZES["80x24"]) as driven:
        assert "scratch/file-sightings.json: cannot be read; delete it" in driven.toasts
        assert driven.counts()["notes"] == "3"
        driven.app.clear_notifications()
        questions.error = None
        await driven.press("ctrl+r", "2", "j")
        selected, output, before = driven.selected(), await driven.record_output(), len(scans)
        driven.engine.publish(CHANGED)
        await driven.settle()
        assert len(scans) > before and output == []  # nothing is redrawn

        add(root, FACTS, "- Something new. [from: x, 2026-06-13]\n")
        driven.engine.publish(CHANGED)
        await driven.settle()
        assert driven.listed()[0] == ("○", "Something new.") and driven.selected() == selected

        (root / FACTS).unlink()
        (root / FACTS).mkdir()
        await driven.press("ctrl+r")  # breaks only its group
        assert driven.counts()["facts"] == "! !" and "cannot read this group" in driven.text
        assert int(driven.counts()["decisions"]) > 10
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(NoteFiles, "all", broken)
            await driven.press("ctrl+r")
            await driven.group("notes")
            driven.app.clear_notifications()
            await driven.settle()
            picture(driven, "knowledge/error-80x24")


def broken(_notes: NoteFiles) -> None:
    raise AutopoiesisError("cannot be read (Input/output error)", where="knowledge/files", hint="look")


async def test_keys_do_not_wait_for_reads_and_an_empty_memory_says_so(
    root: Path, watch: Watch, picture: Picture
) -> None:
    scans, off = watch(KnowledgeEntries, "scan"), watch(Digest, "turn_off")
    with scans.held() as release:
        async with open_screen(root, settle=False) as driven:
            await driven.until(lambda: bool(scans))
            assert "loading knowledge" in driven.text
            for key in ("j", "enter", "b", "D", "e", "y", "slash", "escape", "1"):
                await driven.send(key)
            await driven.pilot.pause()
            assert not off
            release()
            await driven.settle()
            assert int(driven.counts()["facts"]) > 30
    for path in (
        *root.glob("knowledge/*.md"),
        *root.glob("knowledge/**/KNOWLEDGE.md"),
        *root.rglob("SKILL.md"),
    ):
        path.unlink()
    for path in root.glob("knowledge/files/*"):
        path.unlink()
    async with open_screen(root) as driven:
        picture(driven, "knowledge/empty-120x40")


async def test_references_are_followed_and_esc_goes_back(root: Path) -> None:
    async with open_screen(root) as driven:
        add(root, "knowledge/people/ada.md", "# Ada\n\nTea, not coffee. [[engine]]\n")
        add(root, "knowledge/shared/team/engine.md", "# Engine\n\nBrass.\n")
        add(root, FACTS, "- Ask [[Ada]] and [[team/engine]]. [from: x, 2026-06-13]\n")
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
        assert "Tea" not in driven.text and driven.screen.file == FACTS
        await driven.press("2", "j")
        assert "f follow  " not in driven.lines[-1]
        await driven.press("f")
        assert "no references here" in driven.toasts
