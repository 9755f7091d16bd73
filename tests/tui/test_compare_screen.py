"""The compare screen with the real engine: diffs and merging."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.store.history import commit, git
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.screen_driven import ScreenDriven
from tests.tui.test_history_screen import NOW, write
from tests.tui.test_hostile_text import HOSTILE, assert_harmless
from tui.screens.compare.screen import CompareScreen

FACTS = "knowledge/facts.md"
LINES = [f"- Gauge {number} stands at pier {number}.\n" for number in range(1, 31)]
TOPIC = """---
type: topic
description: How mail is written.
activation: manual
priority: low
---

# Mail

"""


class CompareDriven(ScreenDriven[CompareScreen]):
    kind, key = CompareScreen, "B"

    def names(self) -> list[str]:
        """The listed branches and snapshots."""
        return [each.name for each in self.screen.sides.items]


open_screen = partial(CompareDriven.on_files, now=NOW)


@pytest.fixture(scope="module")
def _memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("compared") / "memory"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root.parent))
        root.parent.joinpath(".gitconfig").write_text("[user]\nname = Robin\nemail = robin@example.org\n")
        write(root, "memory-config.yaml", "days:\n  time_zone: UTC\n")
        write(root, ".gitignore", "scratch/\nlogs/\nmemory.db*\n")
        write(root, FACTS, "# Facts\n\n" + "".join(LINES))
        write(root, "topics/mail.md", f"{TOPIC}Write at length.\n")
        git(root, "init", "-q", "-b", "main")
        commit(root, "maintenance: a new memory", "2026-06-01T08:00:00Z")
        git(root, "tag", "memory/milestone/begun")
        git(root, "checkout", "-q", "-b", "explore/tone")
        brief = "".join(LINES).replace("Gauge 20 stands at pier 20.", "Gauge 20 has moved to the outer mole.")
        write(root, FACTS, f"# Facts\n\n{brief}- The harbour tables come from the mill.\n")
        write(root, "topics/mail.md", f"{TOPIC}Write briefly.\n")
        commit(root, "explore: a briefer tone", "2026-06-11T08:00:00Z")
        git(root, "checkout", "-q", "-b", "extract/clash", "main")
        write(root, FACTS, "# Facts\n\n" + "".join(LINES).replace("at pier 3.", "at pier 33."))
        commit(root, "extract: anew", "2026-06-10T08:00:00Z")
        git(root, "checkout", "-q", "main")
        write(root, FACTS, "# Facts\n\n" + "".join(LINES).replace("at pier 3.", "at the lock."))
        commit(root, "memory: the lock", "2026-06-12T08:00:00Z")
    return root


@pytest.fixture
def root(_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory in the user's home folder."""
    (tmp_path / ".gitconfig").write_text("[user]\nname = Robin\nemail = robin@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    return Path(shutil.copytree(_memory, tmp_path / "memory"))


async def test_two_sides_are_compared_by_files_and_texts(
    root: Path, picture: Callable[[Driven, str], None]
) -> None:
    shutil.rmtree(root / ".git/logs")  # otherwise branches are as old as the test run
    async with open_screen(root) as driven:
        assert driven.names() == ["main", "explore/tone", "extract/clash", "memory/milestone/begun"]
        assert "◂  main" in driven.line("◂") and "▸  explore/tone" in driven.line("1 d +1")
        assert "M  knowledge/facts.md" in driven.text and "+3 −2" in driven.text
        assert "facts 30 31 +1" in driven.flat()
        await driven.press("2", "j")
        driven.app.clear_notifications()
        await driven.settle()
        left, _, right = driven.line("outer mole").strip("│").partition(" │ ")
        assert (
            "− - Gauge 20 stands at pier 20." in left and "+ - Gauge 20 has moved to the outer mole." in right
        )
        assert "⋯ 10 unchanged lines" in driven.text and "Gauge 9 " not in driven.text
        picture(driven, "compare/120x40")
        await driven.press("w")
        assert "unchanged lines" not in driven.text and "Gauge 9 " in driven.text
        await driven.press("w", "1", "G", "l")
        assert "◂  memory/milestone/begun" in driven.text and "+1 −1" not in driven.line("2 differ")
        await driven.resize(*SIZES["80x24"])
        await driven.press("g", "l", "2", "j", "3")
        assert "−  - Gauge 20" not in driven.text
        lines = [line.strip("│ ") for line in driven.lines]
        await driven.press("1")
        picture(driven, "compare/80x24")
        at = next(at for at, line in enumerate(lines) if line.startswith("− - Gauge 3 stands at the lock."))
        assert lines[at + 1].startswith("+ - Gauge 3 stands at pier 3.")
        await driven.resize(80, 18)  # one panel at a time
        await driven.press("2", "enter")
        assert driven.focused_panel() == "text" and not driven.screen.files.display
        await driven.press("escape", "escape", "escape")
        assert not driven.is_open()


async def test_a_branch_is_merged_after_confirmation(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    async with open_screen(root) as driven:
        await driven.press("m", "ctrl+r")  # changes nothing
        assert "2 files would change, +3 −2; nothing is merged yet: m asks for confirmation" in driven.flat()
        await driven.press("m", "enter")  # Cancel has the focus
        assert git(root, "rev-parse", "HEAD") == head

        step = "the branch has changed since the preview"
        more = git(root, "commit-tree", "explore/tone^{tree}", "-p", "explore/tone", "-m", "explore: more")
        await driven.press("m")
        git(root, "update-ref", "refs/heads/explore/tone", more)
        await driven.press("right", "enter")
        await driven.until(lambda: "is not what was shown" in driven.toasts and not driven.pending())
        assert git(root, "rev-parse", "HEAD") == head and driven.screen.merge is None, step
        driven.app.clear_notifications()
        await driven.press("m")
        assert "nothing is merged yet" in driven.flat(), step

        await driven.press("m", "right", "enter")
        await driven.until(
            lambda: "merged " in driven.toasts and "commit " in driven.toasts and not driven.pending()
        )
        assert git(root, "log", "-1", "--format=%s") == "explore: merge tone"
        text = (root / FACTS).read_text()
        assert "outer mole" in text and "at the lock." in text and git(root, "status", "-s") == ""
        assert driven.names() == ["main", "extract/clash", "memory/milestone/begun"]

        head = git(root, "rev-parse", "HEAD")
        await driven.press("m")
        assert "extract/clash: conflicts" in driven.text
        for words in ("ours | - Gauge 3 stands at the lock.", "theirs | - Gauge 3 stands at pier 33."):
            assert words in driven.flat()
        await driven.press("m")
        assert "cannot merge: both sides changed the same content" in driven.toasts
        assert git(root, "rev-parse", "HEAD") == head and git(root, "branch", "--list", "extract/clash")
        await driven.press("escape", "1", "G", "r", "m")
        assert "the right side is not an explore/ or extract/ branch" in driven.toasts
        await driven.press("k", "l", "m")
        assert driven.screen.merge is None
    async with open_screen(root, read_only=True) as driven:
        await driven.press("m")
        assert "the workspace is read-only" in driven.toasts


async def test_foreign_text_is_not_markup_or_a_terminal_sequence(root: Path) -> None:
    bad = [each.replace("\0", "") for each in HOSTILE if each.replace("\0", "").strip()]
    git(root, "checkout", "-q", "explore/tone")
    (root / "knowledge/-rf [b]\x1b[31m\n\u202e.md").write_bytes("".join(bad).encode("utf-8", "surrogatepass"))
    (root / FACTS).write_bytes("\n".join(bad).encode("utf-8", "surrogatepass"))
    git(root, "add", "-A")
    message = "explore: " + "\n\n".join(bad)
    git(root, "commit", "-q", "--no-verify", "-F", "-", stdin=message.encode("utf-8", "surrogatepass"))
    git(root, "checkout", "-q", "main")
    async with open_screen(root, (80, 24)) as driven:
        for keys in (["2", "j"], ["j"], ["3", "Y"], ["w"], ["m"], ["m"], ["escape"]):
            await driven.press(*keys)
            assert_harmless(driven)
        for size in ((60, 16), (200, 60)):
            await driven.resize(*size)
            assert_harmless(driven)
            assert driven.is_open()


async def test_missing_history_or_branches_are_explained(run: Run, root: Path) -> None:
    async with run((80, 24)) as workbench:
        driven = CompareDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.press("B")
        assert "cannot read the branches" in driven.text and "run: git init, and commit" in driven.flat()
        await driven.press("m", "p", "l", "r", "w", "enter")
        assert "there is nothing to compare with" in driven.toasts and driven.is_open()
    for name in ("explore/tone", "extract/clash"):
        git(root, "branch", "-q", "-D", name)
    git(root, "tag", "-d", "memory/milestone/begun")
    async with open_screen(root) as driven:
        assert "autopoiesis history explore NAME" in driven.flat()
