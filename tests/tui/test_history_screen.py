"""The history screen with the real engine and a small repository."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from engine.history.model import Learned
from tests.conftest import GIT_IDENTITY
from tests.store.history import commit, git
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.screen_driven import ScreenDriven
from tests.tui.test_hostile_text import HOSTILE, assert_harmless
from tui.screens.history import state as history_state
from tui.screens.history.screen import HistoryScreen

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
CONVERSATION = "raw/conversations/2026/06/02/0800-ses_1-port.md"
FACTS = "knowledge/facts.md"
PORT = "- The broker listens on Port 1883. [from: 0800-ses_1-port, 2026-06-02]\n"
HOUSE = "- The house is red.\n"
Picture = Callable[[Driven, str], None]


class HistoryDriven(ScreenDriven[HistoryScreen]):
    kind, key = HistoryScreen, "h"

    def revision(self) -> str:
        """The selected commit's revision."""
        item = self.screen.item
        return item.revision if item is not None else ""

    def view(self) -> str:
        """The view next to the commit."""
        return self.screen.state.view

    def titles(self) -> list[str]:
        """The subjects in the list."""
        commits = self.screen.commits
        return [commits.item_at(row).entry.title for row in range(commits.row_count)]


open_screen = partial(HistoryDriven.on_files, now=NOW)


def write(root: Path, path: str, text: str) -> None:
    """Writes a file by hand."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture(scope="module")
def _memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("past") / "memory"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_IDENTITY.items():
            patch.setenv(name, value)
        write(root, "memory-config.yaml", "days:\n  time_zone: UTC\n")
        write(root, ".gitignore", "scratch/\nlogs/\nmemory.db*\n")
        write(root, FACTS, f"# Facts\n\n{HOUSE}")
        git(root, "init", "-q", "-b", "main")
        commit(root, "maintenance: a new memory", "2026-06-01T08:00:00Z")
        head = "---\ntype: transcript\nsession_id: ses_1\nended: 2026-06-02T09:00:00Z\n---\n"
        write(root, CONVERSATION, f"{head}# Port\n\n## User 08:01\n\nThe broker listens on Port 1883.\n")
        commit(root, f"conversation: port\n\nSession: {CONVERSATION}", "2026-06-02T09:00:00Z")
        write(root, FACTS, f"# Facts\n\n{HOUSE}{PORT}- Kvalnes has a modem.\n")
        write(root, "knowledge/people/odile.md", "# Odile\n\nwrites on Fridays\n")
        commit(
            root, f"memory: what was learned of the broker\n\nSession: {CONVERSATION}", "2026-06-02T10:00:00Z"
        )
        git(root, "tag", "memory/before/rewrite")
        write(root, FACTS, f"# Facts\n\n{PORT}- Kvalnes has no modem.\n- The pier has two gauges.\n")
        commit(root, "memory: the house is gone, Kvalnes has no modem", "2026-06-10T10:00:00Z")
        write(root, "topics/mail.md", "# Mail\n")
        (root / "knowledge/people/odile.md").unlink()
        commit(root, "by hand, without a type", "2026-06-11T11:00:00Z")
    return root


@pytest.fixture
def root(_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory in the user's home folder."""
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Robin Example\n\temail = robin@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    return Path(shutil.copytree(_memory, tmp_path / "memory"))


async def test_timeline_commit_and_diff(root: Path, picture: Picture) -> None:
    async with open_screen(root) as driven:
        assert len(driven.titles()) == 5 and driven.titles()[0] == "by hand, without a type"
        assert "topics/mail.md" in driven.text and "D  knowledge/people/odile.md" in driven.text
        await driven.press("j", "j")
        assert driven.revision() == git(root, "rev-parse", "memory/before/rewrite")
        assert "⚑ before/rewrite" in driven.text and CONVERSATION[-20:] in driven.text
        assert "knowledge/facts.md +2 −0" in driven.flat()
        assert f"message Session: {CONVERSATION}" in " ".join(driven.screen.commit.selected_text().split())
        picture(driven, "history/diff-120x40")
        await driven.press("2", "j")
        assert "knowledge/people/odile.md +3 −0" in driven.flat()
        await driven.press("k", "k", "k", "k", "enter")  # the conversation named in the commit message
        assert driven.focused_panel() == "text" and "## User 08:01" in driven.text
        await driven.press("escape", "1", "j", "slash")
        await driven.type("modem")
        await driven.press("enter")
        assert driven.titles() == ["the house is gone, Kvalnes has no modem"]
        await driven.press("escape", "t", "t")
        assert driven.screen.state.kind == "memory" and len(driven.titles()) == 2
        await driven.press("escape", "G", "f")
        assert driven.screen.state.path == ".gitignore" and len(driven.titles()) == 1
        await driven.press("escape", "question_mark")
        assert "Not now" in driven.text or "no conversation" in driven.flat()
        await driven.press("escape", "escape")
        assert not driven.is_open()


async def test_when_learned_blame_and_file_at_a_commit(root: Path, picture: Picture) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        picture(driven, "history/full-80x24")
        await driven.press("b")  # a file deleted by this commit
        assert "before 2026-06-11" in driven.text and "writes on Fridays" in driven.text
        await driven.press("escape", "p")
        assert "as of 2026-06-02 10:00" not in driven.text and "writes on Fridays" in driven.text
        await driven.press("escape", "j", "p")
        assert "as of 2026-06-10 10:00" in driven.text and driven.focused_panel() == "commits"
        await driven.press("escape", "b")
        assert driven.screen.blame.display and driven.focused_panel() == "commits"
        await driven.press("escape", "2", "1")
        await driven.press("w")
        await driven.type("the HOUSE is red")
        await driven.press("enter")
        driven.app.clear_notifications()
        await driven.settle()
        assert driven.titles()[driven.screen.commits.cursor] == "a new memory"
        assert (
            "as of 2026-06-01 08:00" in driven.text and "no longer there: removed 2026-06-10" in driven.flat()
        )
        assert driven.screen.text.page.lit == (2, 3) and driven.focused_panel() == "text"
        picture(driven, "history/when-80x24")
        await driven.press("1", "k", "k")  # the same file in a later commit
        assert "as of 2026-06-02 10:00" in driven.text and "learned here" not in driven.text
        assert "Port 1883" in driven.screen.text.selected_text()
        await driven.press("k", "b")
        assert "blame" in driven.text and "as of 2026-06-10" in driven.text
        rows = {each.number: each for each in driven.screen.blame.items}
        assert (
            rows[3].conversation == CONVERSATION
            and rows[3].entry
            and rows[3].entry.title.startswith("what was learned")
        )
        await driven.press("3", "j", "j", "c")
        assert "## User 08:01" in driven.screen.text.selected_text()
        await driven.press("escape", "1", "b", "3", "g", "j", "j", "enter")
        assert driven.titles()[driven.screen.commits.cursor] == "what was learned of the broker"
        assert driven.view() == "diff" and driven.focused_panel() == "commits"
        await driven.press("w")
        await driven.type("nobody ever said this")
        await driven.press("enter")
        assert "was not found in memory" in driven.toasts
        (root / "topics/mail.md").write_text("# Mail\n\nbrand new words\n")
        await driven.press("w")
        await driven.type("brand new words")
        await driven.press("enter")
        assert "is not committed yet; found in topics/mail.md:3" in driven.toasts


async def test_snapshot_and_undo_with_confirmation(root: Path, picture: Picture) -> None:
    head = git(root, "rev-parse", "HEAD")
    async with open_screen(root) as driven:
        await driven.press("s")
        await driven.type("before/the undo")
        await driven.press("enter")
        assert "is not a valid name for a snapshot" in driven.toasts
        await driven.press("s")
        await driven.type("before/undo")
        await driven.press("enter")
        assert git(root, "rev-parse", "memory/before/undo") == head and "⚑" in driven.line("by hand")

        facts = root / FACTS
        facts.write_text(facts.read_text() + "- Not committed.\n")
        await driven.press("j", "z", "enter")
        assert "cannot be undone: knowledge/facts.md has uncommitted changes" in driven.flat()
        assert "see the reasons above" in driven.toasts
        facts.write_text(facts.read_text().replace("- Not committed.\n", ""))
        await driven.press("escape", "1", "z")
        driven.app.clear_notifications()
        await driven.settle()
        assert "nothing is changed yet; enter to confirm" in driven.flat()
        assert "+ - The house is red." in driven.text and "- - The pier has two gauges." in driven.text
        picture(driven, "history/undo-120x40")
        await driven.press("enter", "enter")  # Cancel has the focus
        assert git(root, "rev-parse", "HEAD") == head and driven.view() == "undo"
        await driven.press("enter", "right", "enter")
        await driven.until(lambda: driven.revision() not in ("", head) and not driven.pending())
        assert driven.revision() == git(root, "rev-parse", "HEAD") != head
        assert driven.titles()[0].startswith("undo memory: the house is gone") and HOUSE in facts.read_text()
        assert "undid " in driven.toasts and len(driven.titles()) == 6

        git(root, "checkout", "-q", "--detach")
        await driven.press("ctrl+r", "z")
        assert "HEAD is detached" in driven.toasts and driven.view() == "diff"
    async with open_screen(root, read_only=True) as driven:
        await driven.press("z", "s")
        assert "the workspace is read-only" in driven.toasts and not driven.screen.in_line
        await driven.press("b")
        assert len(driven.titles()) == 6


async def test_older_pages_are_loaded_and_a_distant_commit_is_found(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(f"line {number}\n" for number in range(30))
    write(root, "knowledge/long.md", lines)
    commit(root, "memory: long", "2026-06-11T12:00:00Z")
    stream = "".join(
        f"commit refs/heads/main\ncommitter R <r@example.org> {1781200000 + at} +0000\ndata 8\nentry{at:03}\n"
        + ("from refs/heads/main^0\n" if not at else "")
        for at in range(300)
    )
    git(root, "fast-import", "--quiet", "--force", stdin=stream.encode())
    monkeypatch.setattr(history_state, "PAGE", 50)
    monkeypatch.setattr(history_state, "FAR", 100)
    monkeypatch.setattr("tui.screens.history.draw.MAX_DIFF_LINES", 10)
    async with open_screen(root, SIZES["80x24"]) as driven:
        commits = driven.screen.commits
        assert len(commits.items) == 50 and "50+" in driven.text
        await driven.press("G")
        assert len(commits.items) > 50
        await driven.press("slash")
        await driven.type("entry007")
        assert commits.row_count == 0 and "enter in the filter searches older commits" in driven.flat()
        await driven.press("enter")
        await driven.until(lambda: not driven.pending())
        assert driven.titles() == ["entry007"]
        await driven.press("escape", "g")
        git(root, "commit", "-q", "--no-verify", "--allow-empty", "-m", "memory: the newest")
        before = len(commits.items)
        await driven.press("ctrl+r")
        assert driven.titles()[0] == "the newest" and len(commits.items) == before + 1
        await driven.press("w")
        await driven.type("line 29")
        await driven.press("enter")
        await driven.until(lambda: not driven.pending())
        assert driven.titles()[commits.cursor] == "long" and driven.screen.text.page.lit == (29, 30)
        await driven.press("escape")
        assert "10 of 31 lines shown" in driven.flat()


async def test_missing_history_is_explained(run: Run, tmp_path: Path) -> None:
    async with run((80, 24)) as workbench:
        driven = HistoryDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.press("h")
        assert "the workspace is not a git repository; run: git init, and commit" in driven.flat()
        await driven.press("z", "s", "w", "b", "p", "c", "enter", "f")
        assert driven.focused_panel() == "commits" and set(driven.toasts.split("\n")) == {
            "no commit is selected"
        }
    empty = tmp_path / "empty"
    write(empty, "memory-config.yaml", "")
    git(empty, "init", "-q")
    async with open_screen(empty) as driven:
        assert "ctrl+r tries again" in driven.text and driven.titles() == []


async def test_hostile_subjects_paths_and_lines_are_text(root: Path) -> None:
    bad = [each.replace("\0", "") for each in HOSTILE if each.replace("\0", "").strip()]
    (root / "knowledge/-rf [b]\x1b[31m\n\u202e.md").write_bytes("".join(bad).encode("utf-8", "surrogatepass"))
    message = "\n\n".join(bad) + "\n\nSession: \x1b[2J[red]/etc/passwd"
    git(root, "add", "-A")
    git(root, "commit", "-q", "--no-verify", "-F", "-", stdin=message.encode("utf-8", "surrogatepass"))
    async with open_screen(root, (80, 24)) as driven:
        for keys in (["2", "3"], ["p"], ["b"], ["c"], ["z", "Y"], ["escape", "1", "f"], ["y", "w"]):
            await driven.press(*keys)
            assert_harmless(driven)
        for number, size in enumerate(((60, 16), (200, 60))):
            await driven.resize(*size)
            assert_harmless(driven)
            assert driven.is_open(), number


async def test_a_late_result_takes_neither_the_prompt_nor_the_commit_being_named(root: Path) -> None:
    async with open_screen(root) as driven:
        history = driven.screen.bench.engine.history
        find, go_on = history.when, threading.Event()

        def slowly(text: str) -> Learned:
            assert go_on.wait(60)
            return find(text)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(driven.screen._whens, "_work", slowly)
            for key in ("w", *"Port 1883", "enter", "s", *"fir"):
                await driven.send(key)
                await driven.run()
            named = driven.revision()
            go_on.set()
            await driven.settle()
        assert driven.screen.in_line and driven.revision() != named
        await driven.type("st")
        await driven.press("enter")
        await driven.until(lambda: "created snapshot memory/milestone/first" in driven.toasts)
        assert git(root, "rev-parse", "memory/milestone/first^{commit}").strip() == named
        assert driven.focused_panel() == "text"
