"""Unreadable files are reported and never stop the compile; any source compiles like a workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.context.compiler import CompileRequest, ContextCompiler, WorkspaceSource
from engine.context.sources import FILE_LIMIT, ParsedFiles, Reader, plain_path
from engine.errors import PathRefused
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case
from tests.context.conftest import TODAY, Memory, Space, settings


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def outside_link(path: Path) -> None:
    outside = path.parents[2].parent / "outside.md"
    outside.write_text("a secret outside of the workspace")
    path.symlink_to(outside)


def loop(path: Path) -> None:
    path.symlink_to(path)


def binary(path: Path) -> None:
    path.write_bytes(b"\x7fELF\0\0\0")


def huge(path: Path) -> None:
    path.write_bytes(b"x" * (FILE_LIMIT + 1))


@pytest.mark.parametrize("make", [fifo, device, outside_link, loop, binary, huge])
def test_an_unreadable_file_is_reported_and_not_in_the_prompt(space: Space, make: object) -> None:
    space.write("knowledge/identity/SOUL.md", "I am.")
    assert callable(make)
    make(space.root / "knowledge/identity/USER.md")
    compiled = space.compile()
    assert [each.label for each in compiled.sections] == ["identity:SOUL.md", "discussion", "message"]
    [problem] = compiled.problems
    assert problem.startswith("knowledge/identity/USER.md: ")
    assert "secret" not in compiled.text


def test_bytes_that_are_not_utf8_are_shown_and_reported(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "I am Größe.".encode("latin-1"))
    compiled = space.compile()
    assert "I am Gr\ufffd\ufffde." in compiled.text
    [problem] = compiled.problems
    assert "not UTF-8" in problem


def test_a_broken_header_is_kept_as_text_and_reported(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "---\nrole: [\n---\nI am.\n")
    compiled = space.compile()
    assert "I am." in compiled.text
    assert compiled.problems[0].startswith("knowledge/identity/SOUL.md:")


def test_a_folder_listing_is_sorted_recursive_and_without_hidden_files(space: Space) -> None:
    for path in ("b.md", "a/z.md", "a/.git/config", ".tmp-b.md", "a/é.md"):
        space.write(f"knowledge/{path}", "x")
    (space.root / "knowledge/elsewhere").symlink_to(space.root / "knowledge/a")
    source = WorkspaceSource(Files(Workspace.open(space.root)))
    assert source.list("knowledge") == ["knowledge/a/z.md", "knowledge/a/é.md", "knowledge/b.md"]
    assert source.list("nothing") == []
    assert source.list("../x") == ()


def test_any_source_compiles_like_the_workspace(space: Space) -> None:
    files = {
        "knowledge/identity/SOUL.md": b"---\ntype: identity\n---\nI am.\n",
        "knowledge/cache/KNOWLEDGE.md": b"---\nname: cache\ndescription: How it warms.\n---\n# Cache\n",
        "knowledge/digest.md": b"- a fact\n",
    }
    for path, data in files.items():
        space.write(path, data)
    request = CompileRequest("Hi", TODAY)
    assert ContextCompiler(Memory(files), settings()).compile(request) == space.compiler().compile(request)


def test_an_edit_is_seen_by_the_next_compile(space: Space) -> None:
    compiler = space.compiler()
    request = CompileRequest("Hi", TODAY)
    for text in ("first", "second", "first"):
        space.write("knowledge/identity/SOUL.md", text)
        assert f"<!-- identity:SOUL.md -->\n{text}\n" in compiler.compile(request).text


def settle(path: Path) -> None:
    """Makes a file look as if it was last changed long ago."""
    os.utime(path, ns=(10**18, 10**18))


def test_an_unchanged_file_is_read_once_and_every_change_is_seen(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.context.sources._SETTLED_NS", -1)
    files = Files(Workspace.open(space.root))
    reads: list[str] = []
    plain = files.read

    def counted(relative: str, *, limit: int | None = None) -> bytes:
        reads.append(relative)
        return plain(relative, limit=limit)

    monkeypatch.setattr(files, "read", counted)
    source = WorkspaceSource(files)
    path = space.write("knowledge/a.md", "one")
    settle(path)
    assert [source.read("knowledge/a.md") for _ in range(3)] == [b"one"] * 3
    assert len(reads) == 1
    path.write_text("two")
    settle(path)
    assert source.read("knowledge/a.md") == b"two"
    replacement = space.write("knowledge/b.md", "new")
    settle(replacement)
    replacement.replace(path)
    assert source.read("knowledge/a.md") == b"new"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        source.read("knowledge/a.md")
    outside = space.root.parent / "outside.md"
    outside.write_text("out")
    path.symlink_to(outside)
    with pytest.raises(PathRefused):
        source.read("knowledge/a.md")


def test_a_recently_changed_file_is_always_read_again(space: Space) -> None:
    source = WorkspaceSource(Files(Workspace.open(space.root)))
    path = space.write("knowledge/a.md", "one")
    status = path.stat()
    assert source.read("knowledge/a.md") == b"one"
    path.write_text("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert source.read("knowledge/a.md") == b"two"


@each_case("path", ["../secret.md", "/etc/passwd", "a\0b", "x" * 300, "", ".git/config"])
def test_paths_outside_the_source_are_refused_for_any_source(path: str) -> None:
    reader = Reader(Memory({path: b"secret"}), ParsedFiles())
    assert reader.load(path) is None
    assert len(reader.problems) == 1
    assert path in reader.refused


def test_plain_path_normalises_a_path() -> None:
    assert plain_path(" ./knowledge//people/./ann.md ") == "knowledge/people/ann.md"
    assert plain_path("../ann.md") == "../ann.md"


def test_a_large_file_is_refused_for_any_source() -> None:
    reader = Reader(Memory({"knowledge/a.md": b"x" * (FILE_LIMIT + 1)}), ParsedFiles())
    assert reader.load("knowledge/a.md") is None
    assert reader.problems == ["knowledge/a.md: is larger than 1024 KiB; subscribe to an excerpt of it"]
