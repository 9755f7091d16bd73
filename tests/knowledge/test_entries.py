"""Scanning entries and skills and reporting their problems."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.context import catalog
from engine.context.sources import ParsedFiles, Reader, WorkspaceSource
from engine.errors import EntryError
from engine.knowledge.entries import safe_name
from tests.cases import each_case
from tests.knowledge.entry_support import EntrySpace


@pytest.fixture
def space(tmp_path: Path) -> EntrySpace:
    return EntrySpace(tmp_path / "memory")


def catalog_locations(space: EntrySpace) -> list[str]:
    """Returns the locations in the prompt's catalogs."""
    reader = Reader(WorkspaceSource(space.files), ParsedFiles())
    found = [each for listed in catalog.catalogs(reader) for each in listed]
    return [
        line.rpartition("(")[2].rstrip(")")
        for candidate in found
        for line in candidate.text.splitlines()
        if line.startswith("- ")
    ]


def test_an_entry_is_defined_by_its_header_and_folder(space: EntrySpace) -> None:
    space.write(
        "knowledge/gauges/KNOWLEDGE.md",
        "---\nname: gauges\ndescription: A\n  fleet.\nversion: 1.2\n---\n# G\n",
    )
    space.write("knowledge/gauges/references/visits.md", "12345")
    [entry] = space.scan().entries
    assert (entry.kind, entry.name, entry.description, entry.version) == (
        "knowledge",
        "gauges",
        "A fleet.",
        "1.2",
    )
    assert (entry.location, entry.parent, entry.children) == ("knowledge/gauges/KNOWLEDGE.md", "", ())
    marker = (space.root / entry.location).stat().st_size
    assert (entry.lines, entry.files, entry.size) == (7, 2, marker + 5)
    assert entry.problems == ()


def test_nested_entries_know_their_index_and_their_own_size(space: EntrySpace) -> None:
    parent = space.entry("knowledge/incidents", "- a/KNOWLEDGE.md\n- deep/b/KNOWLEDGE.md\n")
    children = [space.entry("knowledge/incidents/a"), space.entry("knowledge/incidents/deep/b")]
    space.write("knowledge/incidents/deep/note.md", "x" * 100)
    space.write("knowledge/incidents/deep/b/data.csv", "y" * 10)
    scan = space.scan()
    index, child = scan.find("incidents"), scan.find("b")
    assert index.children == tuple(children) and child.parent == parent
    assert index.files == 2 and index.size == (space.root / parent).stat().st_size + 100
    assert child.files == 2 and child.size == (space.root / children[1]).stat().st_size + 10
    assert sorted(entry.name for entry in scan.within(index)) == ["a", "b", "incidents"]
    assert scan.outermost("knowledge") == [index]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("name: a\n", "knowledge/a/KNOWLEDGE.md:1: the header has no 'description'; add a line"),
        ("description: d\n", "knowledge/a/KNOWLEDGE.md:1: the header has no 'name'; add a line"),
        ("name: a\ndescription:\n", "knowledge/a/KNOWLEDGE.md:3: 'description' is empty"),
        ("description: d\nname: [a]\n", "knowledge/a/KNOWLEDGE.md:3: 'name' must be text"),
        ("name: b\ndescription: d\n", "knowledge/a/KNOWLEDGE.md:2: the name b differs from its folder, a"),
        ("name: a/../b\ndescription: d\n", "knowledge/a/KNOWLEDGE.md:2: the name 'a/../b' is not usable"),
        (
            'name: "a\\e[2Jb"\ndescription: d\n',
            "knowledge/a/KNOWLEDGE.md:2: the name 'a\\\\x1b[2Jb' is not usable",
        ),
        ("name: a\nname: a\n", "knowledge/a/KNOWLEDGE.md:3: "),
        ("name: a\ndescription: &x d\n", "knowledge/a/KNOWLEDGE.md:3: "),
    ],
)
def test_an_invalid_header_is_reported_with_its_line(space: EntrySpace, header: str, message: str) -> None:
    space.write("knowledge/a/KNOWLEDGE.md", f"---\n{header}---\nBody.\n")
    [problem] = space.scan().problems
    assert str(problem).startswith(message) and problem.hint


def test_a_file_without_header_is_still_an_entry_by_its_folder(space: EntrySpace) -> None:
    space.write("knowledge/a/KNOWLEDGE.md", "# A\n")
    [entry] = space.scan().entries
    assert (entry.name, entry.description) == ("a", "")
    assert ["has no header" in problem.what for problem in entry.problems] == [True]


def test_entries_with_the_same_name_in_any_case_are_reported(space: EntrySpace) -> None:
    space.entry("knowledge/tides")
    space.entry("knowledge/people/Tides")
    space.entry(".library/custom/tides")
    scan = space.scan()
    [problem] = scan.problems
    assert str(problem).startswith(
        "knowledge/tides/KNOWLEDGE.md:2: has the same name as knowledge/people/Tides/"
    )
    with pytest.raises(EntryError, match="several entries are called"):
        scan.find("tides")
    assert scan.find("knowledge/tides").location == "knowledge/tides/KNOWLEDGE.md"
    assert scan.find("tides", "skill").kind == "skill"


def test_a_similar_name_is_suggested(space: EntrySpace) -> None:
    space.entry("knowledge/gauge-fleet")
    with pytest.raises(EntryError, match="no such entry: gauge-flet; did you mean gauge-fleet"):
        space.scan().find("gauge-flet")


def test_entries_missing_from_all_catalogs_are_reported(space: EntrySpace) -> None:
    space.write("knowledge/a/Knowledge.md", "x")
    space.write("knowledge/b/SKILL.md", "x")
    space.write("knowledge/.drafts/c/KNOWLEDGE.md", "x")
    space.write(".library/custom/d/KNOWLEDGE.md", "x")
    space.entry("knowledge/archive/old")
    scan = space.scan()
    assert scan.entries == ()
    assert [str(problem).split(";")[0] for problem in scan.problems] == [
        ".library/custom/d/KNOWLEDGE.md: is in no catalog: KNOWLEDGE.md counts only below knowledge/",
        "knowledge/.drafts/c/KNOWLEDGE.md: is in no catalog: it is in a hidden folder",
        "knowledge/a/Knowledge.md: is in no catalog: the file name must be KNOWLEDGE.md",
        "knowledge/b/SKILL.md: is in no catalog: SKILL.md counts only below .library/custom/",
    ]


def test_an_entry_at_the_top_that_hides_all_others_is_reported(space: EntrySpace) -> None:
    space.write("knowledge/KNOWLEDGE.md", "---\nname: knowledge\ndescription: d\n---\n")
    space.entry("knowledge/a")
    scan = space.scan()
    assert [entry.name for entry in scan.outermost("knowledge")] == ["knowledge"]
    assert "hides all other entries" in str(scan.problems[0])


def test_nesting_too_deep_is_a_warning(space: EntrySpace) -> None:
    for folder in ("a", "a/b", "a/b/c", "a/b/c/d"):
        space.entry(f"knowledge/{folder}")
    [problem] = space.scan().problems
    assert problem.severity == "warning" and "a/b/c/d/KNOWLEDGE.md: is nested 4 entries deep" in str(problem)


def test_symlinks_are_reported_and_never_followed_out(space: EntrySpace, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("---\nname: secret\ndescription: SECRET\n---\n")
    space.entry("knowledge/real")
    (space.root / "knowledge/out").mkdir()
    (space.root / "knowledge/out/KNOWLEDGE.md").symlink_to(secret)
    (space.root / "knowledge/in").mkdir()
    (space.root / "knowledge/in/KNOWLEDGE.md").symlink_to("../real/KNOWLEDGE.md")
    (space.root / "knowledge/folder").symlink_to(tmp_path)
    (space.root / "knowledge/loop").symlink_to("loop")
    (space.root / "knowledge/real/up").symlink_to("..")
    (space.root / "knowledge/gone").mkdir()
    (space.root / "knowledge/gone/KNOWLEDGE.md").symlink_to("nothing.md")
    scan = space.scan()
    assert "SECRET" not in repr(scan)
    assert [entry.name for entry in scan.entries] == ["real", "real"]
    messages = [str(problem) for problem in scan.problems]
    assert "knowledge/out/KNOWLEDGE.md: a symlink leads out of the workspace; replace" in " ".join(messages)
    for path, what in {
        "in/KNOWLEDGE.md": "is a symlink;",
        "folder": "is a symlink and is not followed",
        "loop": "is a symlink and is not followed",
        "real/up": "is a symlink and is not followed",
        "gone/KNOWLEDGE.md": "is a broken link",
    }.items():
        assert any(line.startswith(f"knowledge/{path}: {what}") for line in messages), path


def test_pipes_binaries_and_huge_files_are_refused_without_blocking(space: EntrySpace) -> None:
    (space.root / "knowledge/pipe").mkdir(parents=True)
    os.mkfifo(space.root / "knowledge/pipe/KNOWLEDGE.md")
    space.write("knowledge/binary/KNOWLEDGE.md", b"---\nname: binary\n---\n\0")
    space.write("knowledge/giant/KNOWLEDGE.md", b"x" * (1024 * 1024 + 1))
    scan = space.scan()
    assert scan.entries == ()
    assert [problem.path.split("/")[1] for problem in scan.problems] == ["binary", "giant", "pipe"]


def test_hostile_names_are_escaped_and_reported(space: EntrySpace) -> None:
    for name in (b"-rf", b"a\nb", b"\x1b[2J", b"a;$(x)", "…".encode() * 20, b"\xff\xfe"):
        folder = os.fsencode(space.root) + b"/knowledge/" + name
        os.makedirs(folder)
        Path(os.fsdecode(folder), "KNOWLEDGE.md").write_text("---\nname: same\ndescription: d\n---\n")
    scan = space.scan()
    assert len(scan.entries) == 6
    for problem in scan.problems:
        assert str(problem).isprintable()
    assert sum("the folder name" in problem.what for problem in scan.problems) == 6


def test_scanning_stops_at_a_maximum_depth(space: EntrySpace) -> None:
    deep = "knowledge/" + "/".join("d" * 70)
    space.entry(deep)
    scan = space.scan()
    assert scan.entries == () and "is nested deeper than" in scan.problems[0].what


def test_the_outermost_entries_match_the_prompts_catalogs(space: EntrySpace) -> None:
    for folder in ("a", "a/b", "people/x", "z", "archive/old", ".hidden/h"):
        space.entry(f"knowledge/{folder}")
    for shelf in ("custom/one", "custom/one/two", "intrinsic/deep/three"):
        space.entry(f".library/{shelf}")
    space.write("knowledge/bare/KNOWLEDGE.md", "")
    space.write("knowledge/broken/KNOWLEDGE.md", "---\nname: [\n---\n")
    scan = space.scan()
    mine = [entry.location for kind in ("knowledge", "skill") for entry in scan.outermost(kind)]
    assert mine == catalog_locations(space) and len(mine) == 7


def test_every_marker_file_is_read_once(space: EntrySpace) -> None:
    for number in range(400):
        space.entry(f"knowledge/group-{number // 20}/entry-{number}", "See entry-1 and [[entry-2]].\n")
    scan = space.scan()
    assert len(scan.entries) == 400 == space.files.reads
    links = space.links()
    space.files.reads = 0
    assert len(links.links) > 600 and links.problems == ()
    assert space.files.reads == 400


@each_case("name", ["a", "gauge-fleet", "2026-05-22-disk", "Zürich", "v1.2", "日本"])
def test_names_in_any_script_are_safe(name: str) -> None:
    assert safe_name(name)


@each_case("name", ["", ".", "..", "-rf", ".x", "a/b", "a b", "a..b", "a.", "a\n", "x" * 81, "a\u202eb"])
def test_unsafe_names_are_refused(name: str) -> None:
    assert not safe_name(name)
