"""Which repository a folder belongs to, read from real checkouts and from hostile ones."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.store.checkouts import Place, place_of
from tests.cases import each_case

Git = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder; repositories below it are shown with ``~``."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def shop(home: Path) -> Path:
    """A repository with a commit and a package, without a remote."""
    root = home / "src/shop"
    (root / "packages/web").mkdir(parents=True)
    git(root, "init", "-q")
    git(root, "-c", "user.name=R", "-c", "user.email=r@x.org", "commit", "-q", "--allow-empty", "-m", "one")
    return root


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def key(folder: Path | str, url: str = "") -> str:
    place = place_of(str(folder), url)
    return place.key if place is not None else ""


def test_subfolders_and_linked_work_trees_are_the_repository(shop: Path, home: Path) -> None:
    git(shop, "worktree", "add", "-q", str(home / "elsewhere/1"))
    (home / "elsewhere/1/packages").mkdir()
    (home / "link").symlink_to(shop)
    folders = (
        shop,
        shop / "packages/web",
        home / "elsewhere/1/packages",
        home / "link/packages",
        shop / "gone",
    )
    assert {key(each) for each in folders} == {"~/src/shop"}
    tree = place_of(str(home / "elsewhere/1"))
    assert tree == Place("~/src/shop", "~/src/shop", "~/elsewhere/1", is_repository=True)
    # With a remote the work tree, which has no settings of its own, has that of its main checkout.
    git(shop, "remote", "add", "origin", "git@github.com:acme/shop.git")
    assert key(home / "elsewhere/1") == key(shop / "packages/web") == "github.com/acme/shop"


def test_a_bare_repository_with_work_trees_beside_it_is_one_project(shop: Path, home: Path) -> None:
    git(home, "clone", "-q", "--bare", str(shop), "trees/.bare")
    git(home / "trees/.bare", "remote", "remove", "origin")
    git(home / "trees/.bare", "worktree", "add", "-q", "../main")
    (home / "trees/.git").write_text("gitdir: ./.bare\n")
    assert key(home / "trees") == key(home / "trees/main") == "~/trees"
    git(home, "clone", "-q", "--bare", str(shop), "api.git")
    git(home / "api.git", "remote", "remove", "origin")
    git(home / "api.git", "worktree", "add", "-q", "../one")
    assert key(home / "one") == "~/api"


def test_clones_of_one_remote_are_one_project_wherever_they_lie(shop: Path, home: Path) -> None:
    git(home, "clone", "-q", str(shop), "a/shop")
    git(home, "clone", "-q", f"file://{shop}", "b/other-name")
    assert key(home / "a/shop") == key(home / "b/other-name") == key(shop)
    git(home / "a/shop", "remote", "set-url", "origin", "https://robin:hunter2@GitHub.com/Acme/Shop.git/")
    git(home / "b/other-name", "remote", "set-url", "origin", "ssh://git@github.com:22/acme/shop")
    assert key(home / "a/shop") == key(home / "b/other-name") == "github.com/acme/shop"


@each_case(
    "url, expected",
    {
        "short": ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        "a second key in the SSH settings": ("git@github.com-work:acme/shop.git", "github.com/acme/shop"),
        "a group": ("https://gitlab.com/acme/web/shop", "gitlab.com/acme/web/shop"),
        "a user's folder": ("ssh://host/~robin/shop.git", "host/robin/shop"),
        "a token as user": ("https://ghp_0123456789abcdef@github.com/acme/shop", "github.com/acme/shop"),
        "a token in the query": ("https://github.com/acme/shop?token=abc", "github.com/acme/shop"),
        "a path": ("/srv/git/shop.git", "/srv/git/shop"),
        "a file": ("file:///srv/git/shop.git", "/srv/git/shop"),
        "nothing": ("", ""),
        "control characters": ("https://github.com/a\x1b[2J/shop", ""),
        "a relative path of an unknown folder": ("../shop", ""),
        "no end": ("https://github.com/" + "a" * 100_000, ""),
        "upwards": ("https://github.com/../shop", ""),
        "neither owner nor name": ("https://github.com/..git", ""),
    }.values(),
)
def test_an_address_is_one_however_it_is_written(url: str, expected: str) -> None:
    assert key("", url) == expected


def test_settings_are_read_as_git_reads_them_but_nothing_they_include(shop: Path, home: Path) -> None:
    (home / "more").write_text('[remote "origin"]\n\turl = https://example.org/included/shop\n')
    settings = (
        '[include]\n\tpath = ~/more\n[remote "fork"]\n\turl = https://example.org/fork/shop\n'
        '[remote "origin"] pushurl = nothing\n\tURL = "https://example.org/acme/shop"  # ours\n'
        '[branch "url"]\n\turl = https://example.org/branch/shop\n'
    )
    (shop / ".git/config").write_text(settings)
    assert key(shop) == "example.org/acme/shop"
    (shop / ".git/config").write_text(settings.replace('"origin"', '"upstream"'))
    assert key(shop) == "example.org/fork/shop", "without an origin the first remote"


def test_a_folder_without_git_is_its_own_project(home: Path) -> None:
    (home / "notes/2026").mkdir(parents=True)
    assert place_of(str(home / "notes/2026")) == Place("~/notes/2026")
    (home / "notes/.git").mkdir()
    assert key(home / "notes/2026") == "~/notes/2026", "an empty .git is no repository"
    assert place_of("") is None and place_of("notes") is None and place_of("/a\0b") is None


def test_the_repository_of_the_home_folder_does_not_contain_all_work(home: Path) -> None:
    git(home, "init", "-q")
    (home / "notes").mkdir()
    assert key(home) == "~" and place_of(str(home / "notes")) == Place("~/notes")


def test_a_work_tree_whose_main_checkout_is_gone_still_names_it(shop: Path, home: Path) -> None:
    git(shop, "worktree", "add", "-q", str(home / "elsewhere/1"))
    shop.rename(home / "moved")
    assert key(home / "elsewhere/1") == "~/src/shop"


@each_case(
    "folder",
    [
        "{shop}/.claude/worktrees/brave-fox", "{shop}/.worktrees/one/packages", "{shop}-worktrees/feature",
        "{shop}.worktrees/feature/packages/web", "{shop}/packages/gone/deep",
    ],
)  # fmt: skip
def test_a_work_tree_that_is_gone_is_told_by_its_place(folder: str, shop: Path) -> None:
    assert key(folder.format(shop=shop)) == "~/src/shop"


@each_case(
    "folder, expected",
    {
        "Linux": ("/home/robin/src/shop", "~/src/shop"),
        "macOS": ("/Users/robin/src/shop", "~/src/shop"),
        "Windows": (r"C:\Users\robin\src\shop", "~/src/shop"),
        "root": ("/root/shop", "~/shop"),
        "no home": ("/srv/shop", "/srv/shop"),
        "gone work tree": ("/Users/robin/src/shop/.claude/worktrees/x", "~/src/shop"),
        "work trees of all": ("/Users/robin/.worktrees/x", "~/.worktrees/x"),
        "work trees of an agent": ("/Users/robin/.claude-worktrees/shop/x", "~/.claude-worktrees/shop/x"),
        "beside": ("/Users/robin/src/shop_worktrees/x/web", "~/src/shop"),
        "Conductor": ("/Users/robin/conductor/workspaces/shop/lima/web", "~/conductor/workspaces/shop/*"),
        "all of Conductor": ("/Users/robin/conductor/workspaces/shop", "~/conductor/workspaces/shop"),
        "Conductor before": ("/Users/robin/src/shop/.conductor/lima", "~/src/shop"),
        "Codex": ("/Users/robin/.codex/worktrees/a1b2/shop/web", "~/.codex/worktrees/*/shop"),
        "Vibe Kanban": ("/var/tmp/vibe-kanban/worktrees/1f-x/shop", "/var/tmp/vibe-kanban/worktrees/*/shop"),
        "Superset": ("/Users/robin/.superset/worktrees/shop/feat/x", "~/.superset/worktrees/shop/*"),
    }.values(),
)
def test_folders_of_other_machines_are_told_alike(folder: str, expected: str) -> None:
    assert key(folder) == expected


def test_the_address_in_a_log_counts_more_than_the_folder_now(shop: Path) -> None:
    assert key(shop, "git@github.com:acme/api.git") == "github.com/acme/api"
    git(shop, "remote", "add", "origin", "https://github.com/acme/api")
    place = place_of(str(shop / "packages"), "git@github.com:acme/api.git")
    assert place is not None and (place.key, place.root) == ("github.com/acme/api", "~/src/shop")


@pytest.mark.timeout(20)
def test_a_hostile_git_file_is_read_in_part_or_not_at_all(home: Path) -> None:
    for number, make in enumerate(HOSTILE):
        folder = home / f"hostile-{number}"
        folder.mkdir()
        make(folder)
        assert key(folder) == f"~/hostile-{number}", make.__name__


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / ".git")


def _loop(folder: Path) -> None:
    (folder / ".git").symlink_to(".git")


def _points_to_itself(folder: Path) -> None:
    (folder / ".git").write_text("gitdir: .git\n")


def _huge(folder: Path) -> None:
    (folder / ".git").write_bytes(b"gitdir: " + b"a" * (64 << 20))


def _zero_bytes(folder: Path) -> None:
    (folder / ".git").write_bytes(b"gitdir: a\0b\n")


def _binary(folder: Path) -> None:
    (folder / ".git").write_bytes(bytes(range(256)) * 100)


def _pipes_inside(folder: Path) -> None:
    (folder / ".git").mkdir()
    for name in ("config", "commondir"):
        os.mkfifo(folder / ".git" / name)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")


def _loops_inside(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/config").symlink_to("config")


def _endless_settings(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/config").write_bytes(
        b"[" * (8 << 20) + b'\n[remote "origin"]\n\turl = https://x.org/a/b\n'
    )


def _odd_address(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/config").write_bytes(b'[remote "origin"]\n\turl = https://x.org/\x1b]0;a\x07/b\n')


HOSTILE = (
    _pipe, _loop, _points_to_itself, _huge, _zero_bytes, _binary, _pipes_inside, _loops_inside,
    _endless_settings, _odd_address,
)  # fmt: skip
