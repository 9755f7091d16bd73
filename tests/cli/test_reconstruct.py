"""``reconstruct`` and ``compare`` on the command line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.lifecycle.extraction_support import NAME, SESSION, session

PAGE = "knowledge/projects/tidemark/context.md"
FIRST = session(
    ("user", "Please look at the tide tables of Aubrac."),
    ("user", "Decision: Tide tables are computed in UTC."),
    ("agent", "Fact: The gauge at Aubrac stamps in local time.\n\nI look."),
    project="tidemark",
)
SECOND = session(
    ("user", "Please print the tables of next week."),
    ("user", "Decision: The print is made on Fridays at noon."),
    project="tidemark",
    session="ses_tide0002",
)
SECOND_PATH = SESSION.replace("0001", "0002")
FROM = f"[from: {NAME}, 2026-06-12]"
DECIDED = f"- 2026-06-12: Tide tables are computed in UTC. {FROM}"
PRINTED = f"- 2026-06-12: The print is made on Fridays at noon. {FROM.replace('0001', '0002')}"
LINE = "text:2026-06-12: The print is made on Fridays at noon"  # worded as only in the page
OWN = "- 2026-06-13: The harbour master has the last word."


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def workspace_files(root: Path) -> dict[str, bytes]:
    """All files but the caches, which earlier commands may still be writing; of ``.git``, the index, HEAD and
    the branch.
    """
    kept = (".git/index", ".git/HEAD", ".git/refs/heads/main")
    return {
        name: path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and (
            not (name := path.relative_to(root).as_posix()).startswith((".git/", "memory.db", "scratch/"))
            or name in kept
        )
    }


@pytest.fixture
def root(tmp_path: Path, apo: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two extracted sessions and a line written by hand."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "memory"
    assert apo("init", root).code == 0
    for path, text in ((SESSION, FIRST), (SECOND_PATH, SECOND)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    assert apo("-C", root, "extract", "--apply").code == 0
    with (root / PAGE).open("a") as page:
        page.write(f"\n## Rules\n\n{OWN}\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "memory: what I know")
    return root


def test_reconstructed_branches_are_compared_by_recall_and_merged(
    root: Path, tmp_path: Path, apo: Command
) -> None:
    assert apo(
        "-C", root, "probe", "add", "When are the tables printed?", "--expect", LINE
    ).code == 0  # fmt: skip
    before, head = workspace_files(root), git(root, "rev-parse", "HEAD")

    dry = apo("-C", root, "reconstruct", "--branch", "same")
    assert (dry.code, dry.err) == (0, "")
    assert "2 sessions to read, 12 readings\nno model used, $0\n" in dry.out
    assert workspace_files(root) == before and not git(root, "branch", "--list", "extract/*")

    same = apo("-C", root, "reconstruct", "--branch", "extract/same", "--apply")
    assert (same.code, same.err) == (0, "") and "tag memory/extract/same\n" in same.out
    assert git(root, "rev-parse", "extract/same^{tree}") == git(root, "rev-parse", "HEAD^{tree}")
    assert git(root, "rev-parse", "extract/same^", "memory/extract/same") == "\n".join(
        (head, git(root, "rev-parse", "extract/same"))
    )
    message = git(root, "log", "-1", "--format=%B", "extract/same")
    assert message.startswith(f"extract: regenerated knowledge with same\n\nBase: {head}\n")
    assert "Extractor: decisions 1\n" in message and "Sessions: 2" in message

    # A session has changed: one branch for each of two extractors.
    (root / SECOND_PATH).write_text(SECOND.replace("on Fridays at noon", "on Mondays at six"))
    before = workspace_files(root)
    one = apo("-C", root, "reconstruct", "--branch", "mondays", "--extractor", "decisions", "--apply")
    assert one.code == 0 and workspace_files(root) == before
    page = git(root, "show", f"extract/mondays:{PAGE}")
    assert PRINTED not in page and "on Mondays at six" in page and DECIDED in page and OWN in page

    compared = apo("-C", root, "compare", "mondays").out
    assert f"M  {PAGE}  +1 −1\n" in compared and f"    -{PRINTED}\n" in compared
    tree = apo("-C", root, "compare", "extract/same", "mondays", "--json").json
    assert [each["path"] for each in tree["files"]] == [PAGE]
    two = apo("-C", root, "reconstruct", "--branch", "days", "--extractor", "journal", "--apply")
    assert two.code == 0
    assert "on Mondays at six" in git(root, "show", "extract/days:knowledge/journal/2026-06-12.md")
    for branch, recall in (("HEAD", 1.0), ("extract/mondays", 0.0), ("extract/days", 1.0)):
        assert apo("-C", root, "probe", "run", "--as-of", branch, "--json").json["recall"] == recall

    # Later commits are kept; uncommitted changes prevent the merge.
    since = "- 2026-06-14: The print goes by boat."
    with (root / "knowledge/facts.md").open("a") as page_:
        page_.write(f"{since}\n")
    git(root, "add", "knowledge/facts.md")
    git(root, "commit", "-q", "-m", "memory: by boat", "--", "knowledge/facts.md")
    shown = apo("-C", root, "reconstruct", "--merge", "mondays")
    assert shown.code == 0 and f"    -{PRINTED}\n" in shown.out and "dry run" in shown.out
    text = (root / PAGE).read_text()
    (root / PAGE).write_text(f"{text}- mine\n")
    refused = apo("-C", root, "reconstruct", "--merge", "mondays", "--apply")
    assert refused.code == 1 and "would be overwritten by the merge" in refused.err
    assert (root / PAGE).read_text() == f"{text}- mine\n"
    (root / PAGE).write_text(text)
    merged = apo("-C", root, "reconstruct", "--merge", "mondays", "--apply")
    assert (merged.code, merged.err) == (0, "") and "removed extract/mondays\n" in merged.out
    text = (root / PAGE).read_text()
    assert OWN in text and "on Mondays at six" in text and PRINTED not in text
    assert since in (root / "knowledge/facts.md").read_text()
    assert len(git(root, "log", "-1", "--format=%P").split()) == 2
    assert git(root, "status", "--porcelain", "--", "knowledge") == ""
    assert git(root, "branch", "--list", "extract/mondays") == ""
    assert not list((tmp_path / "cache/autopoiesis/reconstructions").glob("*[!k]/"))


def test_conflicts_with_a_branch_are_explained_by_file_and_nothing_is_merged(
    root: Path, apo: Command
) -> None:
    (root / SECOND_PATH).write_text(SECOND.replace("on Fridays at noon", "on Mondays at six"))
    assert apo("-C", root, "reconstruct", "--branch", "mondays", "--apply").code == 0
    corrected = PRINTED.replace("on Fridays at noon", "on Sundays")
    page = (root / PAGE).read_text()
    assert PRINTED in page
    (root / PAGE).write_text(page.replace(PRINTED, corrected))
    (root / "knowledge/facts.md").write_text("# Facts\n\n- Mine alone.\n")
    git(root, "commit", "-q", "-a", "--no-verify", "-m", "memory: on Sundays")
    before, tip = workspace_files(root), git(root, "rev-parse", "extract/mondays", "memory/extract/mondays")
    for more in ((), ("--apply",)):
        conflict = apo("-C", root, "reconstruct", "--merge", "mondays", *more)
        assert conflict.code == 1 and workspace_files(root) == before, conflict
        assert (
            f"{PAGE}: " in conflict.out
            and "on Sundays" in conflict.out
            and "on Mondays at six" in conflict.out
        )
        assert (
            "theirs" in conflict.out
            and "memory: on Sundays" in conflict.out
            and "then reconstruct again" in conflict.out
        )
        assert "nothing was merged" in conflict.out
    tree = apo("-C", root, "reconstruct", "--merge", "mondays", "--json")
    assert (
        tree.code == 1 and tree.json["commit"] == "" and PAGE in [e["path"] for e in tree.json["conflicts"]]
    )
    assert git(root, "rev-parse", "extract/mondays", "memory/extract/mondays") == tip


def test_an_invalid_branch_name_is_refused(root: Path, apo: Command) -> None:
    before = git(root, "for-each-ref")
    for name in ("", "..", "a..b", "-d", "--all", "a/b", "a.lock", "x y", "x\ny", "a^", "é" * 101, "\x1b[2J"):
        for option in ("--branch", "--merge"):
            done = apo("-C", root, "reconstruct", f"{option}={name}", "--apply")
            assert done.code == 1 and "\x1b" not in done.err and done.err.count("\n") == 1, done
        assert apo("-C", root, "compare", "--", name or "-").code == 1, name
    assert git(root, "for-each-ref") == before


def test_existing_branches_and_missing_git_are_refused_and_the_work_tree_is_kept(
    root: Path, apo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / PAGE).write_text("# edited, and not committed\n")
    (root / "knowledge/new.md").write_text("new\n")
    git(root, "add", "knowledge/new.md")
    git(root, "checkout", "-q", "--detach")
    before = workspace_files(root)
    assert "ignores uncommitted changes in 2 files" in apo("-C", root, "reconstruct", "--branch", "a").out
    assert apo("-C", root, "reconstruct", "--branch", "a", "--apply").code == 0
    assert workspace_files(root) == before
    assert git(root, "diff", "--name-only", "HEAD", "extract/a") == ""
    again = apo("-C", root, "reconstruct", "--branch", "a", "--apply")
    assert again.code == 1 and "extract/a already exists" in again.err
    assert "HEAD is detached" in apo("-C", root, "reconstruct", "--merge", "a", "--apply").err

    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    for words in (
        ("reconstruct", "--branch", "b", "--apply"),
        ("compare", "a"),
        ("reconstruct", "--merge", "a"),
    ):
        done = apo("-C", root, *words)
        assert done.code == 1 and "git is not installed" in done.err, done


def test_an_untrusted_workspace_uses_no_model(
    root: Path, apo: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AUTOPOIESIS_TRUST")
    config = root / "memory-config.yaml"
    config.write_text(f"{config.read_text()}\nextraction:\n  provider: anthropic\n")
    for more in ((), ("--provider", "openai"), ("--model", "some-model")):
        done = apo("-C", root, "reconstruct", "--branch", "a", "--apply", *more)
        assert done.code == 1 and "the workspace is not trusted" in done.err.splitlines()[-1]
    assert not git(root, "branch", "--list", "extract/*")
    assert apo("-C", root, "reconstruct", "--branch", "a", "--provider", "none", "--apply").code == 0
