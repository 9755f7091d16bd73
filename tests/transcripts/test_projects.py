"""Which names projects get, and what they stand for afterwards."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.errors import ChangeRefused
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.sync.contents import kind_of, merged_logs
from engine.transcripts import projects
from engine.transcripts.places import read_head
from engine.transcripts.projects import Projects, project_of
from tests.cases import each_case

ACME, WIDGETS = "https://github.com/acme/shop", "git@github.com:widgets/shop.git"


class Memory:
    """A workspace, and sessions in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = Files(Workspace.open(root))
        self.now = datetime(2031, 1, 5, 10, tzinfo=UTC)
        self.projects = Projects(self.files, self.clock)
        shutil.rmtree(root / "raw/conversations", ignore_errors=True)
        shutil.rmtree(root / "knowledge/projects", ignore_errors=True)
        self._count = 0

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def session(self, cwd: Path | str, *lines: str, note: bool = True, **fields: str) -> Path:
        """Write a session with some lines of an agent's turn, and record its project."""
        self._count += 1
        folder = self.root / "raw/conversations/2031/01/05"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"10{self._count:02}-ses_{self._count:08x}-work.md"
        more = "".join(f"{name}: {value}\n" for name, value in fields.items())
        turn = "\n## 10:00 — agent\n" + "\n".join(lines) + "\n" if lines else ""
        path.write_text(f"---\nsession_id: ses_{self._count:08x}\ncwd: {cwd}\n{more}---\n\n# Work\n{turn}")
        if note:
            self.projects.note([path])
        return path

    def old(self, *names: str, rules: str = "") -> None:
        """Use names as an older workspace did: for notes, or for a rule."""
        for name in names:
            folder = self.root / f"knowledge/projects/{name}"
            folder.mkdir(parents=True)
            (folder / "context.md").write_text(f"# {name}\n")
        if rules:
            line = f"- never amend commits {{#3f2a91c told=3 project={rules} last=2031-01-01}}\n"
            (self.root / "knowledge/rules.md").write_text(f"---\ntype: rules\n---\n\n## In force\n\n{line}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def memory(sample: Path, home: Path) -> Memory:
    return Memory(sample)


def repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=R", "-c", "user.email=r@x.org", *words], cwd=folder, check=True)


def test_two_repositories_of_one_name_are_told_apart_by_owner(memory: Memory, home: Path) -> None:
    first = memory.session(repository(home / "acme/shop", ACME))
    second = memory.session(repository(home / "widgets/shop", WIDGETS))
    assert (project_of(first), project_of(second)) == ("shop", "shop-widgets")
    third = memory.session(repository(home / "own/shop"))
    fourth = memory.session(repository(home / "x/own/shop"))
    assert project_of(third) == "shop-own" and project_of(fourth).startswith("shop-")
    assert len({project_of(each) for each in (first, second, third, fourth)}) == 4
    assert memory.projects.names(str(home / "acme/shop/packages")) == ("shop",)


def test_where_no_name_is_in_use_no_session_is_read_for_one(
    memory: Memory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = memory.session(repository(home / "acme/shop", ACME), note=False)
    read: list[Path] = []

    def noted(path: Path) -> bytes:
        read.append(path)
        return read_head(path)

    monkeypatch.setattr(projects, "read_head", noted)
    (memory.root / "knowledge/rules.md").unlink(missing_ok=True)
    assert Projects(memory.files).names(str(home / "acme/shop")) == ("shop",) and not read
    memory.old("shop")
    assert Projects(memory.files).names(str(home / "acme/shop")) == ("shop",) and read == [shop]


def test_clones_of_one_remote_and_its_work_trees_have_one_name(memory: Memory, home: Path) -> None:
    shop = repository(home / "acme/shop", ACME)
    git(shop, "commit", "-q", "--allow-empty", "-m", "one")
    git(shop, "worktree", "add", "-q", str(home / "trees/1"))
    places = (shop, repository(home / "elsewhere/clone", f"{ACME}.git"), home / "trees/1")
    assert {project_of(memory.session(place)) for place in places} == {"shop"}


def test_a_name_is_the_same_on_a_second_machine(
    memory: Memory, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [
        memory.session(home / "notes"),
        memory.session(repository(home / "widgets/shop", WIDGETS), repository="github.com/widgets/shop"),
        memory.session(repository(home / "acme/shop", ACME)),  # captured before headers named the repository
        memory.session(home / "acme/shop/packages/web"),
    ]
    names = [project_of(path) for path in sessions]
    assert names == ["notes", "shop", "shop-acme", "shop-acme"]
    other = tmp_path / "other-machine"
    shutil.copytree(memory.root, other)
    for path in sessions:  # there the home folder has another name, and nothing lies in it
        copy = other / path.relative_to(memory.root)
        copy.write_text(copy.read_text().replace(str(home), "/Users/robin"))
    shutil.rmtree(home)
    assert [project_of(other / path.relative_to(memory.root)) for path in sessions] == names
    monkeypatch.setenv("HOME", str(tmp_path / "new"))
    there = Projects(Files(Workspace.open(other)))
    assert there.names(str(repository(tmp_path / "new/src/their-shop", ACME)))[0] == "shop-acme"


def test_a_remote_added_or_removed_later_changes_no_name(memory: Memory, home: Path) -> None:
    shop = repository(home / "src/shop")
    before = memory.session(shop)
    git(shop, "remote", "add", "origin", ACME)
    assert memory.projects.names(str(shop)) == ("shop",)
    after = memory.session(shop, repository="github.com/acme/shop")
    clone = memory.session(repository(home / "other/clone", ACME))
    assert {project_of(each) for each in (before, after, clone)} == {"shop"}
    git(shop, "remote", "remove", "origin")
    assert memory.projects.names(str(shop)) == ("shop",)
    assert memory.projects.all()[0].keys == ("~/src/shop", "github.com/acme/shop")


def test_a_folder_that_is_gone_belongs_to_the_project_that_contained_it(memory: Memory, home: Path) -> None:
    shop = repository(home / "src/shop", ACME)
    memory.session(shop)
    shutil.rmtree(shop)
    for gone in ("src/shop/packages/web", "src/shop/.claude/worktrees/x", "src/shop-worktrees/y", "src/shop"):
        assert project_of(memory.session(home / gone)) == "shop", gone
    assert project_of(memory.session(home / "src/shopping")) == "shopping"
    (home / "src/shop").mkdir()
    assert project_of(memory.session(home / "src/shop")) == "shop-src", "another folder in its place"


def test_the_home_folders_own_repository_claims_no_folder_that_is_gone(memory: Memory, home: Path) -> None:
    git(home, "init", "-q")
    assert project_of(memory.session(home)) == "home"
    assert project_of(memory.session(home / "gone/notes")) == "notes"


def test_the_headers_own_project_comes_first(memory: Memory, home: Path) -> None:
    shop = repository(home / "src/shop", ACME)
    assert project_of(memory.session(shop, project="Till Roll")) == "till-roll"
    assert memory.projects.all() == []


def test_names_in_use_before_still_stand_for_their_project(memory: Memory, home: Path) -> None:
    shop = repository(home / "src/shop", ACME)
    git(shop, "commit", "-q", "--allow-empty", "-m", "one")
    git(shop, "worktree", "add", "-q", str(home / "trees/1"))
    memory.old("shop", "web", rules="1")
    for place in (home / "trees/1", shop / "packages/web", shop):
        memory.session(place, note=False)
    assert memory.projects.names(str(shop))[0] == "shop"
    assert set(memory.projects.names(str(shop))) == {"shop", "web", "1"}, "before anything is recorded"
    memory.session(shop)
    assert set(memory.projects.names(str(shop / "packages"))) == {"shop", "web", "1"}
    other = repository(home / "other/shop", WIDGETS)
    assert memory.projects.names(str(other)) == ("shop-widgets",)
    assert memory.projects.disputed() == {}


def test_a_name_in_use_of_two_projects_stands_for_neither_until_decided(memory: Memory, home: Path) -> None:
    acme, widgets = repository(home / "a/shop", ACME), repository(home / "w/shop", WIDGETS)
    memory.old(rules="shop")
    old = [memory.session(place, note=False) for place in (acme, widgets)]
    assert [project_of(path) for path in old] == ["shop-acme", "shop-widgets"]
    assert memory.projects.disputed() == {"shop": ("github.com/acme/shop", "github.com/widgets/shop")}
    memory.session(acme)
    assert list(memory.projects.disputed()) == ["shop"]
    assert memory.projects.assign("shop", str(widgets)).names[0] == "shop"
    assert memory.projects.disputed() == {}
    assert memory.projects.names(str(widgets)) == ("shop", "shop-widgets"), (
        "what it was called meanwhile holds"
    )
    assert memory.projects.names(str(acme)) == ("shop-acme",)


def test_a_name_that_nothing_uses_is_not_disputed(memory: Memory, home: Path) -> None:
    for place in (repository(home / "a/shop", ACME), repository(home / "w/shop", WIDGETS)):
        memory.session(place, note=False)
    assert memory.projects.disputed() == {}
    assert memory.projects.names(str(home / "a/shop")) == ("shop",)


def test_two_machines_that_gave_a_name_to_different_projects_are_asked(memory: Memory, home: Path) -> None:
    acme, widgets = repository(home / "a/shop", ACME), repository(home / "w/shop", WIDGETS)
    here = memory.session(acme)
    (log,) = (memory.root / "logs/projects").iterdir()
    ours = log.read_bytes()
    log.unlink()
    here.unlink()
    memory.session(widgets)  # on the other machine, where the first session has not arrived
    theirs = log.read_bytes()
    assert kind_of(log.relative_to(memory.root).as_posix()) == "log"
    memory.old("shop")
    for merged in (merged_logs(b"", ours, theirs), merged_logs(b"", theirs, ours)):
        log.write_bytes(merged)
        assert memory.projects.names(str(acme)) == ("shop-acme",)
        assert memory.projects.names(str(widgets)) == ("shop-widgets",)
        assert set(memory.projects.disputed()["shop"]) == {"github.com/acme/shop", "github.com/widgets/shop"}
    assert memory.projects.assign("shop", "github.com/acme/shop").name == "shop"
    assert memory.projects.names(str(widgets)) == ("shop-widgets",)


def test_a_repository_that_moved_joins_its_project_and_a_project_is_renamed(
    memory: Memory, home: Path
) -> None:
    old, new = repository(home / "a/shop", ACME), repository(home / "b/shop", WIDGETS)
    before, after = memory.session(old), memory.session(new)
    assert project_of(after) == "shop-widgets"
    joined = memory.projects.assign("shop", "shop-widgets")
    assert joined.names == ("shop", "shop-widgets")
    assert joined.keys == ("github.com/acme/shop", "github.com/widgets/shop")
    assert memory.projects.assign("till", "shop").names == ("till", "shop", "shop-widgets")
    assert project_of(before) == project_of(after) == "till"


@each_case("name, key", [("Shop!", "github.com/acme/shop"), ("shop", "github.com/x/y"), ("shop", "/nowhere")])
def test_what_cannot_be_decided_is_refused(memory: Memory, home: Path, name: str, key: str) -> None:
    with pytest.raises(ChangeRefused):
        memory.projects.assign(name, key)


def test_damaged_records_are_skipped(memory: Memory, home: Path) -> None:
    shop = repository(home / "a/shop", ACME)
    memory.session(shop)
    with next((memory.root / "logs/projects").iterdir()).open("ab") as log:
        log.write(
            b'{"name":7}\n[]\n{"key":"x"}\n{"name":"","key":"y"}\n{"same":"z","key":"z"}\n{"name":"../x","key":"github.com/acme/shop"}\n\xff\n{"na'
        )
    assert memory.projects.names(str(shop)) == ("shop",)


# Work trees and folders that are gone.

PUSHED = "> [tool:Bash] git push -u origin one → To github.com:acme/shop.git … branch 'one' set up (3 lines)"
OPENED = "> [tool:Bash] gh pr create --fill → https://github.com/acme/shop/pull/7"
UNCERTAIN = {
    "elsewhere": ["> [tool:Bash] cd ../other && ls → a", PUSHED],
    "a folder that begins alike": [PUSHED.replace("git push", "cd /srv/old/till-two && git push")],
    "another folder": [PUSHED.replace("git push", "git -C /srv/shop push")],
    "another remote": [PUSHED.replace("origin one", "heroku main")],
    "a name in SSH settings": [PUSHED.replace("github.com", "github-work")],
    "two": [PUSHED, OPENED.replace("acme", "widgets")],
    "somebody's words": [PUSHED.removeprefix("> ")],
}


def test_work_trees_of_a_program_that_are_gone_are_the_repository_of_that_name(
    memory: Memory, home: Path
) -> None:
    trees = (
        "conductor/workspaces/shop/lima",
        ".cursor/worktrees/shop/x1",
        ".codex/worktrees/ab12/shop/packages",
    )
    gone = [memory.session(home / tree, note=False) for tree in trees]
    live = memory.session(repository(home / "src/shop", ACME), note=False)
    memory.projects.note([*gone, live])
    assert {project_of(path) for path in (*gone, live)} == {"shop"}
    assert memory.projects.names(str(home / "conductor/workspaces/shop/oslo")) == ("shop",)
    (shop,) = memory.projects.all()
    assert shop.names == ("shop",) and "~/conductor/workspaces/shop/*" in shop.keys


def test_a_work_tree_that_exists_tells_of_those_beside_it(memory: Memory, home: Path) -> None:
    till = repository(home / "src/till", "git@github.com:acme/till.git")
    git(till, "commit", "-q", "--allow-empty", "-m", "one")
    git(till, "worktree", "add", "-q", str(home / "conductor/workspaces/old-name/lima"))
    memory.session(home / "conductor/workspaces/old-name/lima")
    assert project_of(memory.session(home / "conductor/workspaces/old-name/oslo")) == "till"


def test_work_trees_without_any_repository_are_one_project(memory: Memory, home: Path) -> None:
    gone = [memory.session(home / f"conductor/workspaces/shop/{name}") for name in ("lima", "oslo")]
    assert {project_of(path) for path in gone} == {"shop"}


@pytest.mark.parametrize("line", [PUSHED, OPENED], ids=["a push", "a pull request"])
def test_a_folder_that_is_gone_is_the_repository_that_its_sessions_pushed_to(
    line: str, memory: Memory, home: Path
) -> None:
    shop = memory.session(repository(home / "src/shop", ACME))
    told = memory.session(home / "old/till", line, note=False)
    silent = memory.session(home / "old/till/packages", note=False)
    memory.projects.note([told, silent])
    assert project_of(told) == project_of(silent) == project_of(shop) == "shop"


@pytest.mark.parametrize("lines", UNCERTAIN.values(), ids=UNCERTAIN)
def test_what_does_not_tell_the_repository_for_certain_joins_nothing(
    lines: list[str], memory: Memory, home: Path
) -> None:
    memory.session(repository(home / "src/shop", ACME))
    assert project_of(memory.session("/srv/old/till", *lines)) == "till"


def test_a_command_that_names_the_folder_itself_tells_its_repository(memory: Memory, home: Path) -> None:
    memory.session(repository(home / "src/shop", ACME))
    pushed = PUSHED.replace("git push", "cd /srv/old/till/packages && git push")
    assert project_of(memory.session("/srv/old/till", pushed)) == "shop"


def test_a_repository_that_was_moved_is_known_by_the_files_that_sessions_named(
    memory: Memory, home: Path
) -> None:
    names = [f"ios/part{number}.swift" for number in range(8)]
    read = [f"> [tool:Read] {home}/old/shop/{name} → 9 lines" for name in names]
    moved = [memory.session(home / "old/shop", *read[:4], note=False) for _ in range(2)]
    moved += [memory.session(home / "old/shop", *read[4:], note=False)]
    other = memory.session(
        home / "other/shop", f"> [tool:Read] {home}/other/shop/package.json → 9 lines", note=False
    )
    shop = repository(home / "src/shop", ACME)
    (shop / "ios").mkdir()
    for name in (*names[:6], "package.json"):
        (shop / name).touch()
    memory.projects.note([*moved, other, memory.session(shop, note=False)])
    assert {project_of(path) for path in moved} == {"shop"}
    assert project_of(other) == "shop-other", "one common file tells nothing"


def test_a_folder_that_is_gone_joins_a_repository_that_is_made_later(memory: Memory, home: Path) -> None:
    gone = memory.session(home / ".cursor/worktrees/shop/x1")
    elsewhere = memory.session(home / "old/shop")
    shop = memory.session(repository(home / "src/shop", ACME))
    assert project_of(gone) == project_of(shop) != project_of(elsewhere)


def test_a_live_repository_gets_the_plain_name_before_a_folder_that_is_gone(
    memory: Memory, home: Path
) -> None:
    gone = memory.session(home / "old/shop", note=False)
    live = memory.session(repository(home / "src/shop", ACME), note=False)
    memory.projects.note([gone, live])
    assert (project_of(gone), project_of(live)) == ("shop-old", "shop")


def test_records_of_work_trees_made_before_count_for_their_repository(memory: Memory, home: Path) -> None:
    trees = [f"conductor/workspaces/shop/{name}" for name in ("lima", "oslo")]
    paths = [memory.session(home / tree, note=False) for tree in trees]
    paths += [memory.session(home / "old/till", PUSHED, note=False)]
    shop = repository(home / "src/shop", ACME)
    paths += [memory.session(shop, note=False)]
    keys = {
        "lima": f"~/{trees[0]}",
        "oslo": f"~/{trees[1]}",
        "till": "~/old/till",
        "shop": "github.com/acme/shop",
    }
    tops = {"shop": "~/src/shop"}
    log = memory.root / "logs/projects/2031-01.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {"at": "2031-01-01T00:00:00Z", "name": n, "key": k, "top": tops.get(n, "")} for n, k in keys.items()
    ]
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    memory.projects.note([])
    assert {project_of(path) for path in paths} == {"shop"}
    assert set(memory.projects.names(str(shop))) == set(keys), (
        "what was kept under the old names still counts"
    )
    before = log.read_bytes()
    memory.projects.note(paths)
    assert log.read_bytes() == before, "the sessions are read once"


def test_what_only_looks_like_a_work_tree_is_offered_together(memory: Memory, home: Path) -> None:
    memory.session(repository(home / "src/shop", ACME))
    for tree in ("trees/shop/a", "trees/shop/b", "src/shop-feature", "src/shopping", "elsewhere/notes"):
        memory.session(home / tree)
    offers = {each.pattern: each for each in memory.projects.offers()}
    assert set(offers) == {"~/trees/shop/*", "~/src/shop-feature"}
    assert offers["~/trees/shop/*"].hint.startswith(
        "if so: autopoiesis projects assign shop '~/trees/shop/*'; "
    )
    assert memory.projects.doubtful(["shop"]) == ["a", "b", "shop-feature"]
    assert memory.projects.doubtful(["notes"]) == []
    assert memory.projects.assign("shop", "~/trees/shop/*").name == "shop"
    assert memory.projects.names(str(home / "trees/shop/b"))[0] == "shop"
    memory.projects.assign("feature", "~/src/shop-feature")
    assert memory.projects.offers() == [], "a person has decided both"


def test_a_folder_that_was_taken_for_a_repositorys_leaves_it_if_the_person_says_so(
    memory: Memory, home: Path
) -> None:
    shop = memory.session(repository(home / "src/shop", ACME))
    api = memory.session(repository(home / "src/api", "https://github.com/acme/api"))
    gone = [memory.session(home / f"conductor/workspaces/shop/{name}") for name in ("lima", "oslo")]
    assert {project_of(path) for path in gone} == {"shop"}
    memory.projects.assign("second", "~/conductor/workspaces/shop/*")
    assert {project_of(path) for path in gone} == {"second"} and project_of(shop) == "shop"
    memory.projects.assign("api", "~/conductor/workspaces/shop/*")
    assert {project_of(path) for path in (*gone, api)} == {"api"} and project_of(shop) == "shop"
    memory.session(repository(home / "b/shop", WIDGETS))
    assert {project_of(path) for path in gone} == {"api"}, "it is not looked for again"
