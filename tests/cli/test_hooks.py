"""Git hooks for commits made by hand: they run everywhere, refuse bad commits, and are checked by doctor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.transcripts.importers.state import STATE_FIELD
from engine.transcripts.importers.text import BodyDigest
from engine.workspace.doctor import examine
from engine.workspace.finding import Finding
from engine.workspace.hooks import NAMES, text_of
from engine.workspace.initialise import initialise, renew_hooks
from tests.cli.conftest import Command

FOLDER = "raw/conversations/2026/01/05"
ENDED, OPEN = f"{FOLDER}/0900-ended.md", f"{FOLDER}/1000-open.md"
BODY = "\n# A talk\n\n## 09:00 — user\n\nThe codename is Walrus.\n"


def transcript(name: str, ended: str = "", body: str = BODY, **fields: str) -> str:
    more = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return (
        f"---\ntype: conversation\nsession_id: {name}\nstarted: 2026-01-05T09:00:00Z\n"
        f"{f'ended: {ended}' + chr(10) if ended else ''}{more}---\n{body}"
    )


def imported(body: str) -> str:
    """An ended transcript as an import leaves it."""
    fingerprint = BodyDigest([body.encode()]).fingerprint
    state = f"read=9 turns=1 source=0 text={fingerprint} kept=5"
    return transcript("imported", "2026-01-05T10:00:00Z", body, **{STATE_FIELD: state})


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hooks") / "a memory's place"
    initialise(root)
    (root / FOLDER).mkdir(parents=True)
    (root / ENDED).write_text(transcript("ended", "2026-01-05T09:30:00Z"))
    (root / OPEN).write_text(transcript("open"))
    git(root, "add", "raw")
    git(root, "commit", "-qm", "talks", "--no-verify")
    return root


@pytest.fixture
def root(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "a memory's place", symlinks=True))


def git(root: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", str(root), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def found(root: Path, *, staged: bool = False) -> list[Finding]:
    """Findings that are not about a bare workspace."""
    wanted = ("raw/", "hooks", "no prompt")
    return [
        each
        for each in examine(root, staged=staged)
        if each.level in ("warning", "error") and each.text.startswith(wanted)
    ]


def only_git(tmp_path: Path) -> str:
    """A PATH with git and a shell's tools, and without this program."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return str(folder)


def test_they_run_without_the_program_on_the_path(root: Path, tmp_path: Path) -> None:
    path = only_git(tmp_path)
    (root / ENDED).write_text(transcript("ended", "2026-01-05T09:30:00Z", BODY.replace("Walrus", "Otter")))
    refused = git(root, "commit", "-qam", "x", PATH=path)
    assert refused.returncode == 1
    assert f"✗ {ENDED} was changed although its session has ended" in refused.stdout + refused.stderr
    assert "git commit --no-verify" in refused.stdout + refused.stderr
    assert git(root, "commit", "-qam", "x", "--no-verify", PATH=path).returncode == 0
    assert found(root) == [], "what was meant is not held against the person"


def test_what_is_in_order_is_committed(root: Path, tmp_path: Path) -> None:
    (root / OPEN).write_text(
        transcript("open", "2026-01-05T11:00:00Z", f"{BODY}\n## 09:05 — agent\n\nYes.\n")
    )
    assert git(root, "commit", "-qam", "x", PATH=only_git(tmp_path)).returncode == 0


def test_where_the_program_is_gone_they_refuse_and_name_the_way_out(root: Path, tmp_path: Path) -> None:
    path = only_git(tmp_path)
    git(root, "config", "autopoiesis.python", str(tmp_path / "gone" / "bin" / "python"))
    (root / "topics" / "more.md").write_text("# More\n")
    git(root, "add", "topics")
    refused = git(root, "commit", "-qm", "x", PATH=path)
    assert refused.returncode == 1
    for words in (
        "nothing was checked",
        "autopoiesis init --hooks",
        "git commit --no-verify",
        "gone/bin/python",
    ):
        assert words in refused.stderr
    assert git(root, "commit", "-qm", "x", "--no-verify", PATH=path).returncode == 0


def test_without_its_interpreter_the_program_on_the_path_is_taken(root: Path, tmp_path: Path) -> None:
    git(root, "config", "--unset", "autopoiesis.python")
    path = only_git(tmp_path)
    stand_in = Path(path) / "autopoiesis"
    stand_in.write_text('#!/bin/sh\necho "ran: $*" >&2\nexit 1\n')
    stand_in.chmod(0o755)
    (root / "topics" / "more.md").write_text("# More\n")
    git(root, "add", "topics")
    assert f"ran: -C {root} doctor --staged" in git(root, "commit", "-qm", "x", PATH=path).stderr


@pytest.mark.parametrize("staged", [True, False])
def test_changes_and_deletions_of_what_has_ended_are_seen(root: Path, staged: bool) -> None:
    (root / ENDED).unlink()
    (root / OPEN).unlink()
    if staged:
        git(root, "add", "-A")
    (wrong,) = found(root, staged=staged)
    assert (wrong.level, wrong.text) == ("error", f"{ENDED} was deleted although its session has ended")
    command = wrong.hint.partition("; ")[0].removeprefix("restore it: git ")
    git(root, *shlex.split(command))
    git(root, "restore", "--source=HEAD", "--staged", "--worktree", "--", OPEN)
    assert found(root, staged=staged) == []
    (root / ENDED).write_text(transcript("ended", "", BODY))
    if staged:
        git(root, "add", "-A")
    (wrong,) = found(root, staged=staged)
    assert "was changed" in wrong.text


def test_a_renamed_one_is_gone(root: Path) -> None:
    git(root, "mv", ENDED, f"{FOLDER}/0900-other.md")
    (wrong,) = found(root, staged=True)
    assert "was deleted" in wrong.text


def test_an_import_may_go_on_where_it_ended(root: Path) -> None:
    path = root / FOLDER / "1100-imported.md"
    path.write_text(imported(BODY))
    git(root, "add", "raw")
    git(root, "commit", "-qm", "imported", "--no-verify")
    grown = f"{BODY}\n## 09:10 — user\n\nAnd the place is Ghent.\n"
    path.write_text(imported(grown))
    assert found(root) == []
    path.write_text(imported(grown).replace("Ghent", "Turku"))
    (wrong,) = found(root)
    assert "was changed" in wrong.text
    path.write_text(imported(BODY[: len(BODY) // 2]))
    assert found(root), "an import never shortens"


def test_doctor_looks_at_the_hooks(root: Path) -> None:
    assert any(each.text.startswith("hooks: .git/hooks/ checks") for each in examine(root))
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.chmod(0o644)
    assert [each.hint for each in found(root)] == ["run: chmod +x .git/hooks/pre-commit"]
    hook.chmod(0o755)
    hook.write_text("#!/bin/sh\nexit 0\n")
    assert [each.text for each in found(root)] == ["hooks: .git/hooks/pre-commit is not our hook"]
    hook.unlink()
    assert [each.text for each in found(root)] == ["hooks: .git/hooks/pre-commit is missing"]
    renew_hooks(root)
    assert hook.read_bytes() == text_of("pre-commit") and found(root) == []
    git(root, "config", "autopoiesis.python", "/nowhere/python")
    assert "hooks: their interpreter /nowhere/python no longer exists" in found(root)[0].text
    git(root, "config", "core.hooksPath", "elsewhere")
    assert [each.text for each in found(root)] == [
        "hooks: git runs those in elsewhere, not those in .git/hooks/"
    ]
    git(root, "config", "--unset", "core.hooksPath")
    git(root, "config", "--global", "core.hooksPath", "/everywhere")
    try:
        assert "hooks: git runs those in /everywhere" in found(root)[0].text
    finally:
        git(root, "config", "--global", "--unset", "core.hooksPath")


def test_init_bakes_in_its_interpreter_and_takes_a_new_one(apo: Command, root: Path) -> None:
    assert git(root, "config", "autopoiesis.python").stdout.strip() == sys.executable
    git(root, "config", "autopoiesis.python", "/nowhere/python")
    (root / "topics" / "mine.md").write_text("# Mine\n")
    files = sorted(path for path in root.rglob("*") if ".git/" not in f"{path}/")
    ran = apo("init", "--hooks", root)
    assert ran.code == 0 and f"are checked by {sys.executable}" in ran.out
    assert git(root, "config", "autopoiesis.python").stdout.strip() == sys.executable
    assert sorted(path for path in root.rglob("*") if ".git/" not in f"{path}/") == files
    assert apo("init", "--hooks", "--sample", root).code == 2
    assert "not a workspace" in apo("init", "--hooks", root / "topics").err


def test_init_takes_no_hook_into_use_that_it_did_not_write(apo: Command, root: Path) -> None:
    hook = root / ".git" / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh\necho taken\n")
    ran = apo("init", root)
    assert ".git/hooks/post-commit: is not our hook" in ran.out + ran.err
    assert hook.read_text() == "#!/bin/sh\necho taken\n"
    hook.unlink()
    (root / "elsewhere").write_text("#!/bin/sh\necho taken\n")
    hook.symlink_to(root / "elsewhere")
    ran = apo("init", "--hooks", root)
    assert ".git/hooks/post-commit: is not our hook" in ran.out + ran.err
    assert (root / "elsewhere").read_text() == "#!/bin/sh\necho taken\n"


def shipped(root: Path, tmp_path: Path, *names: str) -> tuple[Path, Path]:
    """A clone of a workspace that ships our hooks and some of its own, and the file to which these write."""
    mark = tmp_path / "PWNED"
    (root / ".githooks").mkdir()
    for each in dict.fromkeys((*NAMES, *names)):
        written = f"#!/bin/sh\necho {each} >> {shlex.quote(str(mark))}\n".encode()
        (root / ".githooks" / each).write_bytes(written if each in names else text_of(each))
        (root / ".githooks" / each).chmod(0o755)
    git(root, "add", ".githooks")
    git(root, "commit", "-qm", "hooks", "--no-verify")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
    return clone, mark


def used(root: Path) -> None:
    """Commands of git that run the one or the other hook."""
    (root / "topics" / "more.md").write_text("# More\n")
    git(root, "add", "topics")
    git(root, "commit", "-qm", "x")
    git(root, "checkout", "-q", "-b", "other")
    git(root, "checkout", "-q", "main")
    git(root, "pull", "-q", "--no-rebase")
    git(root, "commit", "-q", "--amend", "--no-edit", "--no-verify")


@pytest.mark.parametrize("words", [(), ("--hooks",)])
def test_init_on_a_clone_runs_no_hook_that_came_with_it_and_names_it(
    apo: Command, root: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    names = ("post-checkout", "pre-commit", "prepare-commit-msg", "reference-transaction")
    clone, mark = shipped(root, tmp_path, *names)
    ran = apo("init", *words, clone)
    for name in names:
        assert f".githooks/{name}: was not installed by init, so git does not run it" in ran.out + ran.err
    assert sorted(each.text for each in found(clone)) == [
        f"hooks: .githooks/{name} was not installed by init; git does not run it" for name in names
    ]
    used(clone)
    assert not mark.exists(), mark.read_text()
    assert git(clone, "config", "core.hooksPath").stdout == ""


def test_a_pull_brings_no_hook_into_use(apo: Command, root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
    assert apo("init", clone).code == 0
    (tmp_path / "other").mkdir()
    _, mark = shipped(root, tmp_path / "other", "post-merge")
    git(clone, "pull", "-q", "--no-rebase")
    assert (clone / ".githooks" / "post-merge").exists()
    used(clone)
    assert not mark.exists()


def test_what_an_earlier_version_armed_in_the_work_tree_is_moved_where_no_pull_reaches(root: Path) -> None:
    shutil.rmtree(root / ".git" / "hooks")
    (root / ".githooks").mkdir()
    for name in NAMES:
        (root / ".githooks" / name).write_bytes(text_of(name))
    git(root, "config", "core.hooksPath", ".githooks")
    assert "which every pull can change" in found(root)[0].text
    assert renew_hooks(root).problems == [] and found(root) == []
    assert git(root, "config", "core.hooksPath").stdout == ""
    assert (root / ".git" / "hooks" / "pre-commit").stat().st_mode & 0o111


def test_foreign_hooks_that_an_earlier_version_armed_are_named(root: Path) -> None:
    (root / ".githooks").mkdir()
    (root / ".githooks" / "post-merge").write_text("#!/bin/sh\n")
    git(root, "config", "core.hooksPath", ".githooks")
    assert [each.text for each in found(root)] == [
        "hooks: .githooks/post-merge was not installed by init; git runs it",
        "hooks: git runs those in .githooks/, which every pull can change",
    ]
    told = renew_hooks(root).problems
    assert [problem.path for problem in told] == [".githooks/post-merge", ".git/hooks"]
    assert "git config --unset core.hooksPath" in told[1].hint


def test_a_hooks_folder_that_is_a_link_is_neither_followed_nor_written_to(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(root / ".git" / "hooks")
    (root / ".git" / "hooks").symlink_to(outside)
    (root / ".githooks").symlink_to(outside)
    told = renew_hooks(root).problems
    assert [problem.path for problem in told] == [".githooks", *(f".git/hooks/{name}" for name in NAMES)]
    assert not list(outside.iterdir())


def test_init_leaves_a_hooks_folder_that_somebody_has_chosen(apo: Command, root: Path) -> None:
    git(root, "config", "core.hooksPath", "mine")
    ran = apo("init", root)
    assert "git runs the hooks in mine" in ran.out + ran.err
    assert git(root, "config", "core.hooksPath").stdout == "mine\n"


def test_hooks_of_an_earlier_version_are_replaced(root: Path) -> None:
    about = (
        "# Brings the search index up to date in the background; it is a cache, so a failure does no harm."
    )
    old = (
        f"#!/bin/sh\n{about}\ncommand -v autopoiesis >/dev/null 2>&1 || exit 0\n"
        'autopoiesis -C "$(git rev-parse --show-toplevel)" index >/dev/null 2>&1 &\n'
    )
    (root / ".git" / "hooks" / "post-commit").write_text(old)
    assert [each.text for each in found(root)] == ["hooks: .git/hooks/post-commit is from an earlier version"]
    renew_hooks(root)
    assert all((root / ".git" / "hooks" / name).read_bytes() == text_of(name) for name in NAMES)


def test_doctor_sees_that_no_prompt_is_possible(root: Path) -> None:
    assert any(each.text.startswith("prompt: system prompt and identity take") for each in examine(root))
    (root / "knowledge" / "identity" / "SOUL.md").write_text("# Soul\n\n" + "I remember everything.\n" * 3000)
    (wrong,) = found(root)
    assert wrong.level == "error"
    assert wrong.text.startswith("no prompt can be compiled: context_compiler.token_budget: ")
    assert "knowledge/identity/SOUL.md" in wrong.text and wrong.hint.startswith("raise the budget")


@pytest.fixture
def checked(root: Path, tmp_path: Path) -> Path:
    """A workspace whose hooks run the code that is tested, wherever another version is installed."""
    python = tmp_path / "python"
    here = shlex.quote(str(Path(__file__).parents[2]))
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={here} exec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    git(root, "config", "autopoiesis.python", str(python))
    return root


def test_a_commit_by_hand_is_checked_for_headers_sizes_topics_and_secrets(checked: Path) -> None:
    root, memory = checked, "knowledge/memory/MEMORY.md"
    facts = [f"- Fact {number}.\n" for number in range(201)]
    topic = "---\ntype: topic\ntriggers:\n  - type: pattern\n    match: '{}'\n---\n\n# T\n\nDo it.\n"

    def committed(files: dict[str, str]) -> subprocess.CompletedProcess[str]:
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
            git(root, "add", path)
        return git(root, "commit", "-qm", "x")

    refused = committed(
        {
            "knowledge/people/ada.md": "---\ntype: person\n---\n\n# Ada\n",
            memory: "".join(facts),
            "topics/t.md": topic.format("(unclosed"),
            "raw/conversations/2026/01/05/1200-x.md": "no header\n",
            "attachments/key.txt": f"AWS {'AKIA' + 'Z7QX4M2N9P6R3T5V'}\n",
        }
    )
    assert refused.returncode == 1
    for why in (
        "✗ knowledge/people/ada.md:1: the header has no 'name'",
        f"✗ {memory}:201: has 201 lines; agents read only the first 200",
        "✗ topics/t.md:4: pattern does not compile",
        "✗ raw/conversations/2026/01/05/1200-x.md: the header has no 'session_id'",
        "✗ attachments/key.txt:1: contains what looks like a secret",
    ):
        assert why in refused.stdout + refused.stderr, (why, refused)
    git(root, "reset", "-q", "--hard")
    allowed = committed({memory: "".join(facts[:181]), "topics/t.md": topic.format("closed")})
    assert allowed.returncode == 0
    assert f"! {memory}: has 181 of at most 200 lines" in allowed.stdout + allowed.stderr


def test_what_is_staged_is_checked_and_not_what_stands_on_disk(checked: Path) -> None:
    root, path = checked, "knowledge/people/ada.md"
    (root / path).write_text("---\ntype: person\n---\n\n# Ada\n")
    git(root, "add", path)
    (root / path).write_text("---\ntype: person\nname: Ada\n---\n\n# Ada\n")
    assert git(root, "commit", "-qm", "x").returncode == 1
    git(root, "add", path)
    (root / path).write_text("---\ntype: person\n---\n\n# Ada\n")
    assert git(root, "commit", "-qm", "x").returncode == 0
