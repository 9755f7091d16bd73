"""Git hooks for commits made by hand: they run everywhere, refuse bad commits, and are checked by doctor."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.transcripts.importers.existing import BodyDigest
from engine.transcripts.importers.state import STATE_FIELD
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
    """An ended transcript as written by an import."""
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
    git(root, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "talks")  # no hook writes while it is copied
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


def findings(root: Path, *, staged: bool = False) -> list[Finding]:
    """Warnings and errors of doctor about transcripts, hooks and the prompt."""
    wanted = ("raw/", "hooks", "no prompt")
    return [
        each
        for each in examine(root, staged=staged)
        if each.level in ("warning", "error") and each.text.startswith(wanted)
    ]


def only_git(tmp_path: Path) -> str:
    """Create a PATH with git and a shell, but without this program."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return str(folder)


def test_hooks_run_without_the_program_on_the_path(root: Path, tmp_path: Path) -> None:
    path = only_git(tmp_path)
    (root / ENDED).write_text(transcript("ended", "2026-01-05T09:30:00Z", BODY.replace("Walrus", "Otter")))
    refused = git(root, "commit", "-qam", "x", PATH=path)
    assert refused.returncode == 1
    assert f"✗ {ENDED} was changed although its session has ended" in refused.stdout + refused.stderr
    assert "git commit --no-verify" in refused.stdout + refused.stderr
    assert git(root, "commit", "-qam", "x", "--no-verify", PATH=path).returncode == 0
    assert findings(root) == [], "a commit with --no-verify is reported afterwards"


def test_a_valid_change_is_committed(root: Path, tmp_path: Path) -> None:
    (root / OPEN).write_text(
        transcript("open", "2026-01-05T11:00:00Z", f"{BODY}\n## 09:05 — agent\n\nYes.\n")
    )
    assert git(root, "commit", "-qam", "x", PATH=only_git(tmp_path)).returncode == 0


def test_hooks_refuse_with_a_hint_if_the_program_is_gone(root: Path, tmp_path: Path) -> None:
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


def test_hooks_without_an_interpreter_run_the_program_on_the_path(root: Path, tmp_path: Path) -> None:
    git(root, "config", "--unset", "autopoiesis.python")
    path = only_git(tmp_path)
    fake_program = Path(path) / "autopoiesis"
    fake_program.write_text('#!/bin/sh\necho "ran: $*" >&2\nexit 1\n')
    fake_program.chmod(0o755)
    (root / "topics" / "more.md").write_text("# More\n")
    git(root, "add", "topics")
    assert f"ran: -C {root} doctor --staged" in git(root, "commit", "-qm", "x", PATH=path).stderr


@pytest.mark.parametrize("staged", [True, False])
def test_changing_or_deleting_an_ended_transcript_is_an_error(root: Path, staged: bool) -> None:
    (root / ENDED).unlink()
    (root / OPEN).unlink()
    if staged:
        git(root, "add", "-A")
    (wrong,) = findings(root, staged=staged)
    assert (wrong.level, wrong.text) == ("error", f"{ENDED} was deleted although its session has ended")
    command = wrong.hint.partition("; ")[0].removeprefix("restore it: git ")
    git(root, *shlex.split(command))
    git(root, "restore", "--source=HEAD", "--staged", "--worktree", "--", OPEN)
    assert findings(root, staged=staged) == []
    (root / ENDED).write_text(transcript("ended", "", BODY))
    if staged:
        git(root, "add", "-A")
    (wrong,) = findings(root, staged=staged)
    assert "was changed" in wrong.text


def test_renaming_an_ended_transcript_counts_as_deleting_it(root: Path) -> None:
    git(root, "mv", ENDED, f"{FOLDER}/0900-other.md")
    (wrong,) = findings(root, staged=True)
    assert "was deleted" in wrong.text


def test_an_import_can_append_to_an_ended_transcript(root: Path) -> None:
    path = root / FOLDER / "1100-imported.md"
    path.write_text(imported(BODY))
    git(root, "add", "raw")
    git(root, "commit", "-qm", "imported", "--no-verify")
    grown = f"{BODY}\n## 09:10 — user\n\nAnd the place is Ghent.\n"
    path.write_text(imported(grown))
    assert findings(root) == []
    path.write_text(imported(grown).replace("Ghent", "Turku"))
    (wrong,) = findings(root)
    assert "was changed" in wrong.text
    path.write_text(imported(BODY[: len(BODY) // 2]))
    assert findings(root), "an import never shortens a transcript"


def test_doctor_checks_the_hooks(root: Path) -> None:
    assert any(each.text.startswith("hooks: .git/hooks/ checks") for each in examine(root))
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.chmod(0o644)
    assert [each.hint for each in findings(root)] == ["run: chmod +x .git/hooks/pre-commit"]
    hook.chmod(0o755)
    hook.write_text("#!/bin/sh\nexit 0\n")
    assert [each.text for each in findings(root)] == ["hooks: .git/hooks/pre-commit is not our hook"]
    hook.unlink()
    assert [each.text for each in findings(root)] == ["hooks: .git/hooks/pre-commit is missing"]
    renew_hooks(root)
    assert hook.read_bytes() == text_of("pre-commit") and findings(root) == []
    git(root, "config", "autopoiesis.python", "/nowhere/python")
    assert "hooks: their interpreter /nowhere/python no longer exists" in findings(root)[0].text
    git(root, "config", "core.hooksPath", "elsewhere")
    assert [each.text for each in findings(root)] == [
        "hooks: git runs those in elsewhere, not those in .git/hooks/"
    ]
    git(root, "config", "--unset", "core.hooksPath")
    git(root, "config", "--global", "core.hooksPath", "/everywhere")
    try:
        assert "hooks: git runs those in /everywhere" in findings(root)[0].text
    finally:
        git(root, "config", "--global", "--unset", "core.hooksPath")


def test_init_stores_its_interpreter_and_updates_it(apo: Command, root: Path) -> None:
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


def test_init_does_not_touch_foreign_hooks(apo: Command, root: Path) -> None:
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho taken\n")
    ran = apo("init", root)
    assert ".git/hooks/pre-commit: is not our hook" in ran.out + ran.err
    assert hook.read_text() == "#!/bin/sh\necho taken\n"
    hook.unlink()
    (root / "elsewhere").write_text("#!/bin/sh\necho taken\n")
    hook.symlink_to(root / "elsewhere")
    ran = apo("init", "--hooks", root)
    assert ".git/hooks/pre-commit: is not our hook" in ran.out + ran.err
    assert (root / "elsewhere").read_text() == "#!/bin/sh\necho taken\n"


def clone_with_hooks(root: Path, tmp_path: Path, *names: str) -> tuple[Path, Path]:
    """Clone a workspace with our and foreign hooks; return the clone and the file foreign hooks write to."""
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


def run_git_commands(root: Path) -> None:
    """Run git commands that trigger various hooks."""
    (root / "topics" / "more.md").write_text("# More\n")
    git(root, "add", "topics")
    git(root, "commit", "-qm", "x")
    git(root, "checkout", "-q", "-b", "other")
    git(root, "checkout", "-q", "main")
    git(root, "pull", "-q", "--no-rebase")
    git(root, "commit", "-q", "--amend", "--no-edit", "--no-verify")


def test_a_pull_activates_no_hook(apo: Command, root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
    assert apo("init", clone).code == 0
    (tmp_path / "other").mkdir()
    _, mark = clone_with_hooks(root, tmp_path / "other", "post-merge")
    git(clone, "pull", "-q", "--no-rebase")
    assert (clone / ".githooks" / "post-merge").exists()
    run_git_commands(clone)
    assert not mark.exists()


def test_a_symlinked_hooks_folder_is_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(root / ".git" / "hooks")
    (root / ".git" / "hooks").symlink_to(outside)
    problems = renew_hooks(root).problems
    assert [problem.path for problem in problems] == [f".git/hooks/{name}" for name in NAMES]
    assert not list(outside.iterdir())


def test_init_keeps_a_configured_hooks_folder(apo: Command, root: Path) -> None:
    git(root, "config", "core.hooksPath", "mine")
    ran = apo("init", root)
    assert "git runs the hooks in mine" in ran.out + ran.err
    assert git(root, "config", "core.hooksPath").stdout == "mine\n"


def test_git_lfs_can_have_its_hook_after_commits(apo: Command, root: Path) -> None:
    hook = root / ".git" / "hooks" / "post-commit"
    assert not hook.exists()
    hook.write_text('#!/bin/sh\ngit lfs post-commit "$@"\n')
    assert apo("init", "--hooks", root).code == 0 and findings(root) == []
    assert "git lfs" in hook.read_text()


def test_what_is_committed_by_hand_is_found_without_a_hook(apo: Command, root: Path) -> None:
    assert apo("-C", root, "index").code == 0
    (root / "knowledge" / "facts.md").write_text("# Facts\n\n- The bittern nests in the reeds.\n")
    git(root, "commit", "-qam", "x", "--no-verify")
    assert "knowledge/facts.md" in apo("-C", root, "search", "bittern").out


def test_doctor_does_not_read_again_what_a_commit_has_checked(root: Path) -> None:
    key = f"ghp_{hashlib.sha256(b'x').hexdigest()[:36]}"
    broken = transcript("broken", "2026-01-05T09:30:00Z", f"{BODY}{key}\n", tags="[unclosed")

    def told(*, every: bool = False) -> list[str]:
        return [each.text for each in examine(root, every=every) if each.text.startswith("raw/")]

    (root / FOLDER / "1100-broken.md").write_text(broken)
    assert len(told()) == 2
    git(root, "add", "raw")
    git(root, "commit", "-qm", "broken", "--no-verify")
    assert told() == [] and len(told(every=True)) == 2
    headers = next(each for each in examine(root) if "all headers valid" in each.text)
    assert headers.hint == "read the 3 committed transcripts again too: autopoiesis doctor --all"
    with (root / ENDED).open("a") as file:
        file.write(f"{key}\n")  # changed since
    assert any(ENDED in text and "GitHub token" in text for text in told())


def test_doctor_reports_that_no_prompt_fits_the_budget(root: Path) -> None:
    assert any(each.text.startswith("prompt: system prompt and identity take") for each in examine(root))
    (root / "knowledge" / "identity" / "SOUL.md").write_text("# Soul\n\n" + "I remember everything.\n" * 3000)
    (wrong,) = findings(root)
    assert wrong.level == "error"
    assert wrong.text.startswith("no prompt can be compiled: context_compiler.token_budget: ")
    assert "knowledge/identity/SOUL.md" in wrong.text and wrong.hint.startswith("raise the budget")


@pytest.fixture
def checked(root: Path, tmp_path: Path) -> Path:
    """A workspace whose hooks run the code under test, even if another version is installed."""
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

    def commit(files: dict[str, str]) -> subprocess.CompletedProcess[str]:
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
            git(root, "add", path)
        return git(root, "commit", "-qm", "x")

    refused = commit(
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
    allowed = commit({memory: "".join(facts[:181]), "topics/t.md": topic.format("closed")})
    assert allowed.returncode == 0
    assert f"! {memory}: has 181 of at most 200 lines" in allowed.stdout + allowed.stderr


def test_hooks_check_staged_content_instead_of_the_work_tree(checked: Path) -> None:
    root, path = checked, "knowledge/people/ada.md"
    (root / path).write_text("---\ntype: person\n---\n\n# Ada\n")
    git(root, "add", path)
    (root / path).write_text("---\ntype: person\nname: Ada\n---\n\n# Ada\n")
    assert git(root, "commit", "-qm", "x").returncode == 1
    git(root, "add", path)
    (root / path).write_text("---\ntype: person\n---\n\n# Ada\n")
    assert git(root, "commit", "-qm", "x").returncode == 0
