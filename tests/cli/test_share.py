"""``share``, ``private`` and ``knowledge links`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.sharing.conftest import committed
from tests.sharing.conftest import git_crypt as git_crypt
from tests.sharing.conftest import team as team
from tests.sync.machines import git


def test_shared_repositories_are_added_updated_and_removed(apo: Command, sample: Path, team: Path) -> None:
    assert "no shared knowledge yet" in apo("-C", sample, "share", "list").out
    added = apo("-C", sample, "share", "add", team, "--name", "team")
    assert added.code == 0 and "knowledge/shared/team is at " in added.out
    refused = apo("-C", sample, "share", "add", "ext::sh", "--name", "other")
    assert refused.code == 1 and "is not allowed" in refused.err
    (team / "\x1b[31m.md").write_text("# More\n")
    after = git(committed(team), "rev-parse", "HEAD")
    updated = apo("-C", sample, "share", "update", "--json").json
    assert [(each["name"], each["after"], each["why"]) for each in updated] == [("team", after, "")]
    assert "team: already at " in apo("-C", sample, "share", "update", "team").out
    assert apo("-C", sample, "share", "update", "nobody").code == 1
    made = apo("-C", sample, "history", "explore", "agent", "--only", "topics, knowledge/shared/team")
    assert made.code == 0 and "with knowledge/shared/team, topics only" in made.out
    assert apo("-C", sample, "history", "explore", "agent", "--only", "topics", "--diff").code == 2
    assert [each["name"] for each in apo("-C", sample, "share", "list", "--json").json] == ["team"]
    (sample / "knowledge/shared/team/mine.md").write_text("mine")
    assert "has 1 changed file" in apo("-C", sample, "share", "update").err
    assert apo("-C", sample, "share", "remove", "team").code == 1
    (sample / "knowledge/shared/team/mine.md").unlink()
    assert apo("-C", sample, "share", "remove", "team").code == 0


def test_private_files_are_encrypted(
    apo: Command, sample: Path, git_crypt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sample / "knowledge/private").mkdir()
    (sample / "knowledge/private/money.md").write_text("# Money\n")
    assert "in no commit" not in apo("-C", sample, "private", "status").out
    done = apo("-C", sample, "private", "setup")
    assert done.code == 0 and "1 file encrypted from now on" in done.out and "keep a copy" in done.out
    status = apo("-C", sample, "private", "status", "--json")
    assert status.code == 0 and status.json["files"] == {"knowledge/private/money.md": "encrypted"}
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if not Path("/usr/bin/git-crypt").exists():
        missing = apo("-C", sample, "private", "setup")
        assert missing.code == 1 and "git-crypt is not installed; install it" in missing.err
        assert apo("-C", sample, "private", "status").code == 1


def test_links_of_a_page_are_shown_in_both_directions(apo: Command, sample: Path) -> None:
    page = sample / "knowledge/reference/page.md"
    page.write_text("# Page\n\n[[Lee Okafor]] [[people/jonas-brandt|him]] [[nobody]]\n")
    shown = apo("-C", sample, "knowledge", "links", "page")
    assert shown.code == 0 and "knowledge/people/jonas-brandt.md (line 3)" in shown.out
    assert "knowledge/reference/page.md:3: [[nobody]] is a broken link" in shown.err
    back = apo("-C", sample, "knowledge", "links", "[[people/LEE-OKAFOR]]", "--json").json
    assert back["path"] == "knowledge/people/lee-okafor.md"
    assert ("knowledge/reference/page.md", 3) in [(each["source"], each["line"]) for each in back["incoming"]]
    assert "did you mean lee-okafor?" in apo("-C", sample, "knowledge", "links", "lee-okafro").err
