"""``history``: text and JSON, safe on a terminal, and no changes without ``--apply``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.history.conftest import HOSTILE, SESSION, _memory, root, write  # noqa: F401 — fixtures
from tests.store.history import git

FACTS = "knowledge/facts.md"


@pytest.fixture
def past(root: Path) -> Path:  # noqa: F811
    return root


def test_the_timeline_and_the_changes_of_a_commit(apo: Command, past: Path) -> None:
    bare, listed = apo("-C", past, "history"), apo("history", "list", "-C", past)
    assert bare.code == 0 and bare.out == listed.out and "\x1b" not in bare.out
    lines = bare.out.splitlines()
    assert len(lines) == 8 and lines[0].split()[1:] == ["2026-06-10", "10:00", "maintenance", "2", "archived"]
    assert "␛[2J made by hand" in bare.out or "\\x1b[2J made by hand" in bare.out
    page = apo("-C", past, "history", "list", "--limit", "1", "--type", "memory", "--json").json
    assert [(each["kind"], each["subject"]) for each in page["entries"]] == [("memory", "memory: Odile")]
    rest = apo("-C", past, "history", "list", "--type", "memory", "--before", page["next"], "--json").json
    assert [each["sessions"] for each in rest["entries"]] == [[SESSION]]
    assert apo("-C", past, "history", "changes", "HEAD").out.splitlines()[-2:] == [
        "R  knowledge/people/odile.md → archive/odile.md", f"M  {FACTS}",
    ]  # fmt: skip
    assert "+- Kvalnes has no modem." in apo("-C", past, "history", "changes", "HEAD", FACTS).out
    odd = apo("-C", past, "history", "changes", "HEAD~3", "--json").json
    assert [each["path"] for each in odd["files"]] == [HOSTILE] or len(odd["files"]) == 1


def test_when_and_blame(apo: Command, past: Path) -> None:
    ran = apo("-C", past, "history", "when", "port 1883")
    assert ran.code == 0
    assert f"    {FACTS}:4\n" in ran.out and f"    from {SESSION}\n" in ran.out
    assert f"now in {FACTS}:4" in ran.out
    gone = apo("-C", past, "history", "when", "has a modem")
    assert "removed 2026-06-10 10:00" in gone.out
    tree = apo("-C", past, "history", "when", "has a modem", "--json").json
    assert (tree["hits"][0]["entry"]["kind"], tree["went"]["line"]) == ("memory", 5)
    assert apo("-C", past, "history", "when", "never").code == 1
    one = apo("-C", past, "history", "blame", f"{FACTS}:4")
    assert "what was learned" in one.out and SESSION in one.out
    assert len(apo("-C", past, "history", "blame", FACTS).out.splitlines()) == 5
    assert len(apo("-C", past, "history", "blame", FACTS, "--json").json["lines"]) == 5
    missing = apo("-C", past, "history", "blame", "knowledge/no.md")
    assert missing.code == 1 and "no such file" in missing.err
    assert apo("-C", past, "history", "blame", HOSTILE).out.startswith("odd\nwritten  ")


def test_changed_and_recall(apo: Command, past: Path) -> None:
    write(past, "knowledge/new.md", "x")
    ran = apo("-C", past, "history", "changed", "--since", "2026-06-10")
    assert ran.out.startswith("2 files changed since ") and "    -- Kvalnes has a modem." in ran.out
    assert "R  knowledge/people/odile.md → archive/odile.md: 0 lines added, 0 removed" in ran.out
    assert ran.err == "not included, because it is not committed: knowledge/new.md\n"
    tree = apo("-C", past, "history", "changed", "--since", "2026-06-10", "--stat", "--json").json
    assert (tree["added"], tree["removed"]) == (1, 1) and not any("text" in each for each in tree["files"])
    recalled = apo("-C", past, "history", "recall", "2026-06-02", FACTS)
    assert recalled.out.endswith("- Kvalnes has a modem.\n") and "as of" in recalled.err
    assert apo("-C", past, "history", "recall", "2026-06-02", FACTS, "--json").json["path"] == FACTS
    assert apo("-C", past, "history", "recall", "HEAD", "knowledge/no.md").code == 1


def test_undo_changes_nothing_without_apply(apo: Command, past: Path) -> None:
    head = git(past, "rev-parse", "HEAD")
    ran = apo("-C", past, "history", "undo")
    assert ran.code == 0 and "+- Kvalnes has a modem." in ran.out
    assert f"nothing was changed; to do it: autopoiesis history undo {head[:8]} --apply" in ran.out
    assert git(past, "rev-parse", "HEAD") == head and git(past, "status", "--porcelain") == ""
    done = apo("-C", past, "history", "undo", head[:8], "--apply")
    assert done.code == 0 and "undone, committed as " in done.out
    again = apo("-C", past, "history", "undo", head, "--json")
    assert again.code == 1 and not again.json["can_apply"] and "nothing left to undo" in again.err
    refused = apo("-C", past, "history", "undo", "HEAD~1^{/conversation: port}", "--apply")
    assert refused.code == 1 and "is a transcript, which is never changed" in refused.err


def test_snapshots_and_branches(apo: Command, past: Path) -> None:
    assert apo("-C", past, "history", "snapshot", "one").out == "memory/milestone/one\n"
    assert apo("-C", past, "history", "snapshot", "2026-06-02", "--kind", "daily").code == 0
    assert apo("-C", past, "history", "snapshot", "2026-06-07", "--kind", "daily").code == 1
    assert apo("-C", past, "history", "snapshot", "soon", "--kind", "weekly").code == 2
    tags = [each["tag"] for each in apo("-C", past, "history", "snapshots", "--json").json]
    assert tags == ["memory/milestone/one", "memory/daily/2026-06-02"]
    git(past, "branch", "explore/a")
    listed = apo("-C", past, "history", "branches").out
    assert listed.startswith("explore/a  ") and "autopoiesis compare NAME" in listed
    assert apo("-C", past, "compare").out == apo("-C", past, "compare", "explore/a").out
    assert "memory/milestone/one: " in apo("-C", past, "compare", "memory/milestone/one", "HEAD").out
    assert apo("-C", past, "history", "branches", "--prune").out == "no branches to remove\n"
    assert apo("-C", past, "history", "branches", "--apply").code == 2


def test_an_exploration_is_merged_or_deleted(
    apo: Command, past: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    explore = ("-C", past, "history", "explore")
    assert "no explore branches yet" in apo(*explore).out
    made = apo(*explore, "tone", "--json").json
    folder = Path(made["folder"])
    assert made["branch"] == "explore/tone" and folder.is_relative_to(tmp_path / "data")
    assert f"  {folder}\n" in apo(*explore, "tone").out
    assert "0 days old" in apo(*explore, "--list").out and "0 commits ahead" in apo(*explore).out
    (folder / "knowledge/facts.md").write_text("# Facts\n\n- \x1b[2JThe house is blue.\n")
    left = apo(*explore, "tone", "--delete", "--apply")
    assert left.code == 1 and "uncommitted changes in knowledge/facts.md" in left.err and folder.exists()
    assert apo("-C", folder, "commit").code == 0
    shown = apo(*explore, "tone", "--diff")
    assert "M  knowledge/facts.md  +1 −" in shown.out and "facts  " in shown.out and "\x1b" not in shown.out
    head = git(past, "rev-parse", "HEAD")
    dry = apo(*explore, "tone", "--merge")
    assert dry.code == 0 and "would change 1 file; dry run" in dry.out
    assert git(past, "rev-parse", "HEAD") == head
    text = (past / "knowledge/facts.md").read_text()
    (past / "knowledge/facts.md").write_text(text.replace("The house is red", "The house is green"))
    git(past, "commit", "-q", "-a", "--no-verify", "-m", "memory: green")
    conflict = apo(*explore, "tone", "--merge", "--apply")
    assert conflict.code == 1 and "conflicts in 1 file; nothing was merged" in conflict.out
    assert f"git -C {folder} merge main" in conflict.out and "\x1b" not in conflict.out
    assert "theirs | - ␛[2JThe house is blue." in conflict.out.replace("  ", " ") and folder.exists()
    assert "1 commit ahead" in apo(*explore, "tone", "--delete").out
    gone = apo(*explore, "tone", "--delete", "--apply")
    assert gone.code == 0 and "git branch explore/tone" in gone.out and not folder.exists()
    for wrong in (("tone", "--list"), ("tone", "--diff", "--merge"), ("tone", "--apply"), ("--merge",)):
        assert apo(*explore, *wrong).code == 2, wrong
    assert "no branch explore/tone" in apo(*explore, "tone", "--merge").err
