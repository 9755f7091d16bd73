"""Shared knowledge of others: fetched if allowed, indexed, marked as theirs, and never written to."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from engine.context.delimiters import OF_OTHERS
from engine.engine import Engine
from engine.errors import AutopoiesisError, PathRefused, RepositoryError
from engine.lifecycle.retention.retention import why_kept
from engine.provenance.tools import brings_outside
from engine.transcripts.turn import ToolCall
from engine.workspace.sharing_state import sharing_findings
from tests.cases import each_case
from tests.sharing.conftest import committed
from tests.sync.machines import Machine, git

PATH = "knowledge/shared/team"
Machines = tuple[Machine, Machine, Path]


def recorded(machine: Machine) -> str:
    """Returns the submodule commit recorded in HEAD; empty if there is none."""
    mode, _, name, *_ = (git(machine.root, "ls-tree", "HEAD", PATH) or "- - -").split()
    return name if mode == "160000" else ""


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


def errors(engine: Engine) -> list[str]:
    """Returns what the doctor reports about shared knowledge."""
    return [each.text for each in sharing_findings(engine.files, engine.repository) if each.level != "ok"]


def test_shared_knowledge_is_found_marked_and_never_written(machines: Machines, team: Path) -> None:
    desk, _, _ = machines
    added = desk.engine.sharing.add(str(team))
    assert (added.name, added.here, added.problem) == ("team", head(team), "")
    assert recorded(desk) == head(team) and desk.status() == ""
    assert git(desk.root, "submodule", "status").startswith(head(team))
    # Their symlink is a plain file here: its target would be a file of this machine.
    link = desk.root / PATH / "guides/hosts.md"
    assert not link.is_symlink() and link.read_text() == "/etc/hosts"

    found = desk.engine.search("zanzibar pipeline")
    assert (found[0].path, found[0].category) == (f"{PATH}/guides/release.md", "shared")
    (desk.root / "topics/release.md").write_text(
        f"---\ntype: topic\nactivation: auto\ntriggers:\n  - type: keywords\n    keywords: [zanzibar]\n"
        f"subscriptions:\n  - {PATH}/guides/release.md\n---\n# Release\n"
    )
    with Engine.open(desk.root, clock=desk.clock) as engine:
        catalogued = engine.compile("what of Hafenamt tasks?").text
        subscribed = engine.compile("the zanzibar is late").text
        assert engine.knowledge_entries.problems() == ()
    assert f"team: How they release. ({PATH}/KNOWLEDGE.md; {OF_OTHERS})" in catalogued
    assert f"<!-- subscription:{PATH}/guides/release.md · {OF_OTHERS} -->" in subscribed
    assert brings_outside(ToolCall("read", f"{PATH}/guides/release.md", ""))

    files = desk.engine.files
    for write in (
        partial(files.append, f"{PATH}/KNOWLEDGE.md", b"mine\n"),
        partial(files.replace, f"{PATH}/new/mine.md", b"mine\n"),
        partial(files.remove, f"{PATH}/KNOWLEDGE.md"),
        partial(files.move, "knowledge/facts.md", f"{PATH}/facts.md"),
    ):
        with pytest.raises(PathRefused, match="belongs to a nested repository"):
            write()
    (desk.root / PATH / "mine.md").write_text("mine\n")
    with pytest.raises(RepositoryError, match="belongs to a nested repository"):
        desk.repository.commit([f"{PATH}/mine.md"], "memory: theirs")
    with pytest.raises(AutopoiesisError, match="it is shared knowledge"):
        desk.engine.retention.archive([PATH])
    assert "it is shared knowledge" in why_kept(f"{PATH}/guides/release.md")
    assert desk.engine.commits.commit().left_out == () and recorded(desk) == head(team)


def test_shared_knowledge_is_synced_to_another_machine(machines: Machines, team: Path) -> None:
    desk, laptop, _ = machines
    first = desk.engine.sharing.add(str(team)).here
    desk.sync()
    laptop.sync()
    assert errors(laptop.engine) == [f"{PATH}: is not checked out here"]
    # Files in the place of a submodule that is not checked out would replace it in a commit.
    (laptop.root / PATH).mkdir(parents=True)
    (laptop.root / PATH / "mine.md").write_text("mine\n")
    with pytest.raises(RepositoryError, match="belongs to a nested repository"):
        laptop.repository.commit([f"{PATH}/mine.md"], "memory: theirs")
    shutil.rmtree(laptop.root / PATH)
    (team / "more.md").write_text("# More\n")
    second = head(committed(team))
    assert [each.after for each in laptop.engine.sharing.update(recorded=True)] == [first]
    assert [each.after for each in laptop.engine.sharing.update()] == [second]
    laptop.sync()
    report = desk.sync()
    assert report.changed == (PATH,) and "share update --recorded" in report.notes[0]
    assert recorded(desk) == second and desk.status() == f"M {PATH}"
    assert "the memory records" in errors(desk.engine)[0]


def test_a_submodule_moved_on_both_machines(machines: Machines, team: Path) -> None:
    desk, laptop, _ = machines
    first = desk.engine.sharing.add(str(team)).here
    desk.sync()
    git(laptop.root, "pull", "-q")
    laptop.engine.sharing.update()
    newer = {}
    for machine in (laptop, desk):
        (team / "more.md").write_text(f"# {machine.root.name}\n")
        newer[machine] = head(committed(team))
        machine.engine.sharing.update()
    laptop.sync()
    # The commit that builds on the other wins without a conflict.
    assert not desk.sync(dry_run=True).conflicts
    # If that cannot be determined, a person decides.
    (desk.root / PATH).rename(desk.root.parent / "away")
    (conflict,) = desk.sync().conflicts
    assert (conflict.path, conflict.why) == (
        PATH,
        "each side moved the shared knowledge to a different commit",
    )
    desk.sync(take=[("theirs", PATH)])
    assert recorded(desk) == newer[laptop] and first not in newer.values()


def test_local_changes_in_shared_knowledge_are_reported_and_kept(machines: Machines, team: Path) -> None:
    desk, _, _ = machines
    first = desk.engine.sharing.add(str(team)).here
    (desk.root / PATH / "more.md").write_text("mine\n")
    assert errors(desk.engine) == [f"{PATH}: has 1 changed file"]
    assert "has 1 changed file" in desk.engine.sharing.update()[0].why
    with pytest.raises(RepositoryError, match="1 changed file"):
        desk.engine.sharing.remove("team")
    committed(desk.root / PATH, "mine")
    with pytest.raises(RepositoryError, match="1 commit of its own"):
        desk.engine.sharing.remove("team")
    git(desk.root / PATH, "checkout", "-q", first)
    git(team, "commit", "-q", "--amend", "-m", "rewritten")
    assert "was rewound or rewritten" in desk.engine.sharing.update()[0].why
    assert [each.after for each in desk.engine.sharing.update(rewound=True)] == [head(team)]
    desk.engine.sharing.remove("team")
    assert not (desk.root / PATH).exists() and not (desk.root / ".gitmodules").exists()
    assert recorded(desk) == "" and desk.engine.config.git.shared == () and desk.status() == ""


@each_case(
    "address",
    ["ext::sh -c touch% canary", "fd::3", "--upload-pack=touch canary", "-x", "git://host/x.git", "knowledge",
     "https://robin:secret@host/x.git", "ssh://-oProxyCommand=touch/x", "host::x", "file:///nowhere/x.git"],
)  # fmt: skip
def test_unsafe_addresses_are_refused(machines: Machines, address: str) -> None:
    desk, _, _ = machines
    before = head(desk.root)
    with pytest.raises(RepositoryError) as refused:
        desk.engine.sharing.add(address, name="team")
    assert "secret" not in str(refused.value)
    assert not (desk.root / PATH).exists() and head(desk.root) == before
    assert not list(desk.root.rglob("canary")) and not Path("canary").exists()


@each_case("name", ["../out", "a..b", ".git", "-x", "a/b", "x.git", ""])
def test_invalid_names_are_refused(machines: Machines, team: Path, name: str) -> None:
    desk, _, _ = machines
    with pytest.raises(AutopoiesisError):
        desk.engine.sharing.add(str(team), name=name or "\x1b")
    assert not (desk.root / "knowledge/out").exists() and desk.status() == ""


def test_a_malicious_gitmodules_file_has_no_effect(
    machines: Machines, team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop, _ = machines
    desk.engine.sharing.add(str(team))
    desk.sync()
    laptop.sync()
    canary, victim = tmp_path / "canary", tmp_path / "victim"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{canary}"\ncat\n')
    program.chmod(0o755)
    git(tmp_path, "clone", "-q", str(team), str(victim))
    before = head(victim), git(victim, "for-each-ref"), git(victim, "status", "--porcelain")
    outside = tmp_path / "outside"
    outside.mkdir()
    shared = desk.root / "knowledge/shared"
    desk.write(
        ".gitmodules",
        '[submodule "../../hooks"]\n\tpath = knowledge/shared/../../.git/hooks\n\turl = ext::touch canary\n'
        '[submodule "dash"]\n\tpath = knowledge/shared/dash\n\turl = --upload-pack=touch canary\n'
        '[submodule "link"]\n\tpath = knowledge/shared/link\n\turl = ' + str(team) + "\n"
        '[submodule "file"]\n\tpath = knowledge/shared/file\n\turl = ' + str(team) + "\n"
        '[submodule "team"]\n\tpath = knowledge/shared/team\n\turl = ' + str(tmp_path / "elsewhere") + "\n"
        "\tupdate = !touch canary\n\tbranch = --upload-pack=x\n",
    )
    (shared / "link").symlink_to(outside)
    (shared / "file").mkdir()
    (shared / "file/.git").write_text(f"gitdir: {victim}/.git\n")
    with (shared / "team/.git/config").open("a") as file:
        file.write(
            f'[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n[filter "x"]\n\tclean = {program}\n'
            f"\tsmudge = {program}\n\tprocess = {program}\n[include]\n\tpath = {tmp_path}/more\n"
        )
    (shared / "team/.gitattributes").write_text("* filter=x\n")
    (shared / "team/.git/hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (shared / "team/.git/hooks" / hook).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (shared / "team/.git/hooks" / hook).chmod(0o755)
    desk.engine.configuration.change("git.shared", [str(team), "--upload-pack=touch canary"])
    problems = {each.name: each.problem for each in desk.engine.sharing.all()}
    assert set(problems) == {"dash", "link", "file", "team"}
    assert "symlink" in problems["link"] and "points elsewhere" in problems["file"]
    assert len(errors(desk.engine)) == 4
    why = {each.name: each.why for each in desk.engine.sharing.update()}
    assert all(why.values()) and "is not allowed" in why["team"]
    desk.sync()
    assert (head(victim), git(victim, "for-each-ref"), git(victim, "status", "--porcelain")) == before
    assert not canary.exists() and not list(outside.iterdir())
    assert not list(desk.root.rglob("canary"))

    # In an untrusted workspace, an address in its files is never fetched.
    monkeypatch.delenv("AUTOPOIESIS_TRUST")
    with Engine.open(laptop.root) as engine:
        assert "is not allowed" in engine.sharing.update()[0].why
        with pytest.raises(RepositoryError, match="not trusted"):
            engine.sharing.add(str(team), name="other")
    assert not (laptop.root / PATH / ".git").exists()


def test_a_clone_made_with_plain_git_works(machines: Machines, team: Path, tmp_path: Path) -> None:
    desk, _, bare = machines
    first = desk.engine.sharing.add(str(team)).here
    desk.sync()
    clone = tmp_path / "clone"
    allowed = (
        "-c",
        "protocol.file.allow=always",
        "clone",
        "-q",
        "--recurse-submodules",
        str(bare),
        str(clone),
    )
    subprocess.run(["git", *allowed], check=True, capture_output=True)
    assert (clone / PATH / ".git").is_file()
    (team / "more.md").write_text("# More\n")
    committed(team)
    with Engine.open(clone) as engine:
        assert [(each.here, each.problem) for each in engine.sharing.all()] == [(first, "")]
        assert [each.after for each in engine.sharing.update()] == [head(team)]
    git(clone, "rm", "-q", "--cached", PATH)
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{first},topics/theirs")
    with Engine.open(clone) as engine:
        problems = {each.path: each.problem for each in engine.sharing.all()}
    assert (
        problems[PATH] == "is not recorded in the memory" and "treated as yours" in problems["topics/theirs"]
    )
