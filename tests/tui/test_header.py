"""The header: what is wrong comes first, in fewer letters rather than not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.tui.every_screen import open_workbench
from tui.kit.bars import Header, HeaderView, header
from tui.render.roles import PLAIN


async def test_without_a_repository_it_says_so_in_words_and_names_no_branch(sample: Path) -> None:
    shutil.rmtree(sample / ".git")
    async with open_workbench(sample, (90, 24)) as driven:
        status = driven.bench.status
        assert status is not None and "  no git  " in driven.lines[0]
        await driven.resize(160, 40)
        assert f"  {status.branch}  " in driven.lines[0] and "not a git repository" in status.branch


async def test_problems_come_first_and_are_shortened_rather_than_left_out(sample: Path) -> None:
    (sample / "topics/deploy.md").write_text("---\ntriggers: 3\n---\n")
    (sample / "topics/release.md").write_text("---\ntriggers: 4\n---\n")
    async with open_workbench(sample, (80, 24)) as driven:
        view = driven.bench.query_one(Header).view
        status, compiled = view.status, view.compiled
        assert status is not None and compiled is not None
        assert driven.lines[0].index("! 8  ") < driven.lines[0].index("live")
        for root in (Path("/m"), Path("/home/somebody/a-folder-with-a-name/memory")):
            for width in range(60, 200):
                line = header(HeaderView(root, status, compiled), width, PLAIN).text
                assert "! 8" in line and ("● live" in line or width < 80), (width, line)
                assert line[: line.index(f"{compiled.tokens:,}/")].endswith("  "), (width, line)
                assert "git" in line or ("gate" not in line and "topics" not in line), (width, line)
