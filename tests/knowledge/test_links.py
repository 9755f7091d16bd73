"""Resolving references, backlinks, and broken references."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import EntryError
from engine.knowledge.entries import scan_entries
from engine.knowledge.links import Links, all_problems
from engine.knowledge.references import references
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case
from tests.knowledge.entry_support import EntrySpace

STARTER = Path(__file__).parents[2] / "engine/starter/workspace"

PIECES = st.sampled_from(
    [
        "[[", "]]", "[", "](", ")", "|", "#", "`", "```", "~~~", "\n", " ", "../", "./", "knowledge/", "a",
        "x.md", "KNOWLEDGE.md", "See also: ", ",", "<!--", "-->", "<", ">", "http://", "/home/x", "C:\\x",
        "%2F", "é", "\\", "*", "_", "-", ".", "\u2028", "\x00", "\ud800", "[from: a-b]", "[a]: ", "name-of",
        "1",
    ]
)  # fmt: skip


@pytest.fixture
def space(tmp_path: Path) -> EntrySpace:
    return EntrySpace(tmp_path / "memory")


def targets(text: str) -> list[tuple[str, str]]:
    """Returns kind and target of the certain references in a text."""
    return [(each.kind, each.target) for each in references(text) if each.sure]


@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200))
def test_any_text_is_parsed_and_every_span_matches_its_target(text: str) -> None:
    for found in references(text, first_line=7):
        written = text[found.start : found.end]
        assert written and found.line == 7 + text.count("\n", 0, found.start)
        if found.kind in ("path", "name"):
            assert written == found.target
        elif found.kind == "wikilink":
            assert written.startswith("[[") and written.endswith("]]") and found.target in written
        else:
            assert written.startswith(("[", " ")) and "[" in written


@given(st.lists(PIECES | st.sampled_from(["c/", "b", "archive/"]), max_size=40).map("".join))
def test_any_reference_resolves_or_is_reported_on_its_line(text: str) -> None:
    body = text.encode("utf-8", "replace").decode()
    with tempfile.TemporaryDirectory() as folder:
        space = EntrySpace(Path(folder))
        space.entry("knowledge/a", body)
        space.entry("knowledge/a/c", body)
        space.entry(".library/custom/b", body)
        space.write("knowledge/people/x.md", body)
        links = space.links()
        for link in links.links:
            assert (space.root / link.target).exists() and not Path(link.target).is_absolute()
        for problem in links.problems:
            assert (space.root / problem.path).is_file() and str(problem).isprintable()
            lines = (space.root / problem.path).read_bytes().count(b"\n") + 1
            assert 0 <= problem.line <= lines


@each_case("unit", ["[", "[[a", "`", "``a`", "<!--", "[x](", "[a|b#", "a/", "../", "- ```\n", "[a]: b\n"])
def test_highly_repetitive_text_is_parsed(unit: str) -> None:
    assert isinstance(references(unit * 30_000), tuple)


def test_all_forms_of_references_are_found() -> None:
    text = (
        "See also: ../architecture/KNOWLEDGE.md, tide-tables\n"
        'The [list](references/a%20b.md#top "T") and [[Jonas Brandt#Open|Jonas]].\n'
        "Read `.library/custom/x/SKILL.md`, and knowledge/reference/datums.md.\n"
        "[def]: ../other/KNOWLEDGE.md\n"
    )
    assert targets(text) == [
        ("path", "../architecture/KNOWLEDGE.md"),
        ("name", "tide-tables"),
        ("link", "references/a b.md"),
        ("wikilink", "Jonas Brandt"),
        ("path", ".library/custom/x/SKILL.md"),
        ("path", "knowledge/reference/datums.md"),
        ("link", "../other/KNOWLEDGE.md"),
    ]
    [wikilink] = [each for each in references(text) if each.kind == "wikilink"]
    assert (wikilink.target, wikilink.line) == ("Jonas Brandt", 2)


@each_case(
    "text",
    [
        "```\nknowledge/a/KNOWLEDGE.md [[x]]\n```\n",
        "- ```sh\n  cat ../x/KNOWLEDGE.md\n  ```\n",
        "<!-- [[x]] knowledge/a.md\n -->",
        "`[[x]]` and `see knowledge/a.md here`",
        "knowledge/<name>/KNOWLEDGE.md and knowledge/*/KNOWLEDGE.md and knowledge/{a}/KNOWLEDGE.md",
        "knowledge/…/KNOWLEDGE.md, knowledge/journal/YYYY-MM-DD.md, `knowledge/name/KNOWLEDGE.md`",
        "https://example.org/knowledge/a.md and [a](https://example.org/x.md) [b](mailto:a@b.c) [c](#top)",
        "[[ -f x ]] and [[1, 2]] and \\[[x]]",
        "Radar/MQTT, 0.15/0.16, and/or, ingest/skew.py, knowledge/experience, ./configure",
        "[^1]: knowledge",
    ],
)
def test_examples_and_prose_are_not_certain_references(text: str) -> None:
    assert targets(text) == []


def test_references_resolve_relative_to_file_entry_and_workspace(space: EntrySpace) -> None:
    body = (
        "references/x.md, ../b/KNOWLEDGE.md, people/jo.md, knowledge/people/jo.md, projects/tide, the-skill\n"
    )
    source = space.entry("knowledge/a", body)
    space.write("knowledge/a/references/x.md", "See ../KNOWLEDGE.md and notes/y.md\n")
    space.write("knowledge/a/notes/y.md", "")
    space.entry("knowledge/b")
    space.entry(".library/custom/the-skill")
    space.write("knowledge/people/jo.md", "")
    space.write("knowledge/projects/tide/context.md", "")
    links = space.links()
    assert [link.target for link in links.of(source)] == [
        "knowledge/a/references/x.md",
        "knowledge/b/KNOWLEDGE.md",
        "knowledge/people/jo.md",
        "knowledge/projects/tide/context.md",
        ".library/custom/the-skill/SKILL.md",
    ]
    assert [link.target for link in links.of("knowledge/a/references/x.md")] == [
        source,
        "knowledge/a/notes/y.md",
    ]
    assert links.problems == ()


def test_wikilinks_resolve_to_entry_person_project_topic_file_in_that_order(space: EntrySpace) -> None:
    entry = space.entry("knowledge/tides")
    space.write("knowledge/people/tides.md", "")
    space.write("knowledge/people/jonas-brandt.md", "---\ntype: person\nname: J. Brandt\n---\n")
    space.write("knowledge/projects/web/context.md", "## Open points\n")
    space.write("topics/deploy.md", "---\ntype: topic\n---\n")
    space.write("knowledge/procedures/deploy.md", "")
    space.write(
        "knowledge/journal/2026-06-12.md",
        "[[Tides]] [[Jonas Brandt]] [[J. Brandt]] [[web#open-points|the site]] [[deploy]]\n"
        "[[procedures/deploy]] [[2026-06-11]]\n",
    )
    space.write("knowledge/journal/2026-06-11.md", "[[2026-06-12]]")
    links = space.links()
    assert [(link.line, link.target) for link in links.of("knowledge/journal/2026-06-12.md")] == [
        (1, entry),
        (1, "knowledge/people/jonas-brandt.md"),
        (1, "knowledge/projects/web/context.md"),
        (1, "topics/deploy.md"),
        (2, "knowledge/procedures/deploy.md"),
        (2, "knowledge/journal/2026-06-11.md"),
    ]
    assert links.problems == ()
    assert [link.source for link in links.to(entry)] == ["knowledge/journal/2026-06-12.md"]
    assert [link.source for link in links.to("knowledge/projects")] == ["knowledge/journal/2026-06-12.md"]


def test_broken_references_have_line_and_suggestion(space: EntrySpace) -> None:
    space.entry("knowledge/gauge-fleet")
    space.write("knowledge/reference/datums.md", "")
    space.entry(
        "knowledge/a",
        "../guage-fleet/KNOWLEDGE.md\n[d](../references/datums.md)\n[[gage-fleet]]\n"
        "See also: no-such-thing\n",
    )
    space.write("knowledge/journal/2026-06-12.md", "[[gage-fleet]] and ../gone/x.md and knowledge/gone.md\n")
    assert space.problem_lines() == [
        "error: knowledge/a/KNOWLEDGE.md:5: ../guage-fleet/KNOWLEDGE.md does not exist; correct or remove it",
        "error: knowledge/a/KNOWLEDGE.md:6: ../references/datums.md does not exist; correct or remove it",
        "error: knowledge/a/KNOWLEDGE.md:7: [[gage-fleet]] is a broken link; did you mean [[gauge-fleet]]?",
        "error: knowledge/a/KNOWLEDGE.md:8: no such entry: no-such-thing; correct or remove it",
        "warning: knowledge/journal/2026-06-12.md:1: [[gage-fleet]] is a broken link;"
        " did you mean [[gauge-fleet]]?",
    ]


def test_an_ambiguous_name_lists_its_matches(space: EntrySpace) -> None:
    space.entry("knowledge/x/tides")
    space.entry("knowledge/y/tides")
    space.entry("knowledge/b", "[[tides]]\n")
    [message] = [line for line in space.problem_lines() if "/b/" in line]
    assert (
        "[[tides]] matches 2 files: knowledge/x/tides/KNOWLEDGE.md, knowledge/y/tides/KNOWLEDGE.md" in message
    )
    assert message.endswith("use the path of one of them")


@pytest.mark.parametrize("path", ["../../../etc/passwd", "../../../../x/KNOWLEDGE.md", "[x](../../../a.md)"])
def test_a_reference_out_of_the_workspace_is_refused(space: EntrySpace, tmp_path: Path, path: str) -> None:
    (tmp_path / "a.md").write_text("SECRET")
    space.entry("knowledge/b", f"{path}\n")
    space.write("knowledge/journal/2026-06-12.md", "In ../../../../src/x.py of another place.\n")
    [message] = space.problem_lines()
    assert "leads out of the workspace" in message and "knowledge/b/KNOWLEDGE.md:5: " in message
    assert message.startswith("warning: " if "etc" in path else "error: ")
    assert space.links().links == ()


def test_a_reference_through_a_symlink_out_of_the_workspace_is_refused(
    space: EntrySpace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("SECRET")
    space.entry("knowledge/b", "[a](../link/x.md) [c](../loop/x.md) [d](../inner/KNOWLEDGE.md)\n")
    (space.root / "knowledge/link").symlink_to(outside)
    (space.root / "knowledge/loop").symlink_to("loop")
    (space.root / "knowledge/inner").symlink_to("b")
    lines = [line for line in space.problem_lines() if "/b/" in line]
    assert len(lines) == 2
    assert "../link/x.md is refused: a symlink leads out of the workspace" in lines[0]
    assert "../loop/x.md is refused: is part of a loop of symlinks" in lines[1]


def test_a_skill_that_refers_to_private_data_is_an_error(space: EntrySpace) -> None:
    space.entry("knowledge/gauge-fleet")
    space.write("knowledge/people/jo.md", "")
    space.write("logs/decisions-2026-06.jsonl", "")
    skill = space.entry(
        ".library/custom/s",
        "Ask knowledge/people/jo.md.\n[[gauge-fleet]]\n[x](../../../knowledge/people/jo.md)\n"
        "Look into `logs/decisions-2026-06.jsonl`.\nMessage-ID: <20260612.1234@mail.example.org>\n"
        "Reply to <CAF8aX2+9f3kq0Wz@mail.example.org>.\n```\ncat knowledge/people/jo.md\n```\n",
    )
    lines = space.problem_lines()
    assert [line.split(": ")[1:3] for line in lines] == [
        [f"{skill}:5", "a skill refers to private knowledge"],
        [f"{skill}:6", "a skill refers to private knowledge"],
        [f"{skill}:7", "a skill refers to private knowledge"],
        [f"{skill}:8", "a skill refers to private knowledge"],
        [f"{skill}:9", "a skill contains a mail id"],
        [f"{skill}:10", "a skill contains a mail id"],
        [f"{skill}:12", "a skill refers to private knowledge"],
    ]
    assert {line.split(": ")[0] for line in lines} == {"error"}


def test_a_skill_may_explain_the_layout_and_point_at_skills(space: EntrySpace) -> None:
    space.entry(".library/custom/other")
    space.write("knowledge/facts.md", "")
    space.entry(
        ".library/custom/s",
        "An entry is knowledge/<name>/KNOWLEDGE.md or `knowledge/people/`; facts are in knowledge/facts.md.\n"
        "The audit is in logs/cleanup.jsonl. See also: other, ../other/SKILL.md. Mail <robin@example.org>.\n"
        "```\nknowledge/project-x/KNOWLEDGE.md\n```\n",
    )
    assert space.problem_lines() == []


def test_a_nested_entry_missing_from_its_index_is_reported(space: EntrySpace) -> None:
    index = space.entry("knowledge/incidents", "- a/KNOWLEDGE.md\n- [[b]]\n")
    space.entry("knowledge/incidents/a", "See ../c/KNOWLEDGE.md\n")
    for name in ("b", "c", "d"):
        space.entry(f"knowledge/incidents/{name}", "See ../d/KNOWLEDGE.md\n" if name == "d" else "")
    assert set(space.problem_lines()) == {
        "error: knowledge/incidents/d/KNOWLEDGE.md: is in no index and no catalog;"
        f" add a line with d/KNOWLEDGE.md to {index}",
        f"warning: {index}: its index does not list the nested entry c; add a line with c/KNOWLEDGE.md",
    }


def test_a_reference_to_an_archived_entry_is_reported(space: EntrySpace) -> None:
    space.entry("archive/old")
    space.entry("knowledge/a", "../old/KNOWLEDGE.md\n")
    space.write("topics/t.md", "---\ntype: topic\nsubscriptions:\n  - knowledge/old/KNOWLEDGE.md\n---\n")
    assert space.problem_lines() == [
        "error: knowledge/a/KNOWLEDGE.md:5: ../old/KNOWLEDGE.md is archived;"
        " run: autopoiesis archive restore archive/old --apply; or remove the reference",
        "warning: topics/t.md:4: knowledge/old/KNOWLEDGE.md is archived;"
        " run: autopoiesis archive restore archive/old --apply; or remove the reference",
    ]


def test_a_conversation_name_is_not_a_reference_to_an_entry(space: EntrySpace) -> None:
    entry = space.entry("knowledge/disk-full")
    space.write(
        "knowledge/facts.md", "- The disk was full. [from: disk-full, 2026-05-22]\n- See disk-full.\n"
    )
    assert [link.line for link in space.links().to(entry)] == [2]


def test_the_sample_and_the_starter_have_no_problems(sample: Path) -> None:
    for root in (sample, STARTER):
        workspace = Workspace.open(root)
        files = Files(workspace, read_only=True)
        scan = scan_entries(files)
        assert all_problems(scan, Links(files, scan)) == ()


def test_a_file_with_invalid_text_is_still_read(space: EntrySpace) -> None:
    entry = space.entry("knowledge/a")
    space.write("knowledge/people/jo.md", b"\xff\xfe [[a]] \x00 [[a|\x1b]2;x\x07]]\n")
    assert [link.source for link in space.links().to(entry)] == ["knowledge/people/jo.md"]
    space.write("knowledge/people/jo.md", b"[[nowhere\x1b]52;c;eA==\x07]]\n[[\xe2\x80\xaex]]\n")
    for line in space.problem_lines():
        assert line.isprintable()


def test_wikilinks_may_include_part_of_the_path(space: EntrySpace) -> None:
    space.write("knowledge/people/Maren.md", "# Maren\n\n## Wishes\n\n### Tea\n")
    space.write("knowledge/reference/sub/twin.md", "# T\n")
    space.write("knowledge/procedures/twin.md", "# T\n")
    space.write("knowledge/shared/team/maren.md", "# Theirs\n\n[[twin]] [[deep/twin]] [[gone]]\n")
    space.write("knowledge/shared/team/twin.md", "# T\n")
    space.write("knowledge/shared/team/far/only.md", "# O\n")
    space.write(
        "knowledge/reference/page.md",
        "[[maren]] [[PEOPLE/maren|her]] [[maren#Wishes#Tea]] [[maren#^a1]] [[team/maren]] [[only]]\n"
        "[[sub/Twin]] [[reference/sub/twin.md]]\n[[twin]]\n[[sub/none]]\n",
    )
    links = space.links()
    found = [(each.line, each.target) for each in links.of("knowledge/reference/page.md")]
    assert [target for line, target in found if line == 1] == [
        "knowledge/people/Maren.md", "knowledge/shared/team/maren.md", "knowledge/shared/team/far/only.md"
    ]  # fmt: skip
    assert {target for line, target in found if line == 2} == {"knowledge/reference/sub/twin.md"}
    assert [str(each).partition(": ")[2] for each in links.problems] == [
        "[[twin]] matches 2 files: knowledge/procedures/twin.md, knowledge/reference/sub/twin.md; "
        "use the path of one of them",
        "[[sub/none]] is a broken link; correct it, or create the file",
    ]
    # Within shared knowledge, its own files come first; its problems are for its owners to fix.
    assert [each.target for each in links.of("knowledge/shared/team/maren.md")] == [
        "knowledge/shared/team/twin.md"
    ]
    assert links.find("maren") == links.find("[[People/MAREN]]") == "knowledge/people/Maren.md"
    for name, why in (
        ("twin", "2 files are called"),
        ("marne", "did you mean maren"),
        ("", "no such file or entry"),
    ):
        with pytest.raises(EntryError, match=why):
            links.find(name)
