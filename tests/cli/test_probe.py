"""``probe``: probes of the sample workspace are added, run, listed and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.store.history import commit, git

ODILE = "knowledge/people/odile-ferrand.md"
QUESTION = "What is Odile Ferrand waiting for?"


@pytest.fixture
def probed(apo: Command, sample: Path) -> str:
    """The id of a probe in the sample workspace; its evidence is in its prompt."""
    ran = apo("-C", sample, "probe", "add", QUESTION, "--expect", f"{ODILE}:21-23", "--note", "for June")
    assert (ran.code, ran.err) == (0, "")
    name = ran.out.split()[0]
    commit = git(sample, "rev-parse", "HEAD")[:8]
    assert ran.out == f"{name}  {QUESTION}\n    {ODILE}:21-23\ncommitted as {commit}\n"
    return name


def test_found_evidence_is_shown_with_section_tokens_and_rank(
    apo: Command, sample: Path, probed: str
) -> None:
    ran = apo("-C", sample, "probe", "run")
    assert ran.code == 0, ran.out
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"● {probed}  {QUESTION}  (") and lines[0].endswith("/8,192 tokens)")
    assert lines[1].startswith(f"  ✓ {ODILE}:21-23  knowledge:{ODILE}:")
    assert " · rank " in lines[1]
    assert lines[2] == "recall 100%: 1 of 1 found"


def test_lost_evidence_fails_the_run_and_says_why(apo: Command, sample: Path, probed: str) -> None:
    assert apo("-C", sample, "probe", "run").code == 0
    (sample / ODILE).unlink()
    ran = apo("-C", sample, "probe", "run")
    assert ran.code == 1
    assert f"  ✗ {ODILE}:21-23  no readable file {ODILE} · rank –\n" in ran.out


def test_a_run_prints_json(apo: Command, sample: Path, probed: str) -> None:
    tree = apo("-C", sample, "probe", "run", probed[:3], "--json").json
    assert tree.keys() == {
        *("at", "commit", "results", "problems", "notes", "expectations", "found", "recall"),
    }
    assert len(tree["commit"]) == 40 and tree["recall"] == 1
    (result,) = tree["results"]
    assert result.keys() == {"id", "question", "tokens", "budget", "evidence"}
    assert result["evidence"][0].keys() == {"expect", "found", "section", "share", "rank", "why"}


def test_a_run_takes_a_budget(apo: Command, sample: Path, probed: str) -> None:
    tree = apo("-C", sample, "probe", "run", "--budget", "1024", "--json").json
    assert tree["results"][0]["budget"] == 1024 and tree["results"][0]["tokens"] <= 1024


def test_probes_are_listed(apo: Command, sample: Path, probed: str) -> None:
    listed = apo("-C", sample, "probe", "list").out.splitlines()
    assert listed[1].split()[:2] == [probed, f"{ODILE}:21-23"] and listed[1].endswith(QUESTION)
    (tree,) = apo("-C", sample, "probe", "list", "--json").json
    assert tree.keys() == {"id", "question", "expect", "budget", "note", "line"}


def test_a_probe_is_removed(apo: Command, sample: Path, probed: str) -> None:
    removed = apo("-C", sample, "probe", "remove", probed).out
    commit = git(sample, "rev-parse", "HEAD")[:8]
    assert removed == f"removed {probed}  {QUESTION}\ncommitted as {commit}\n"
    assert apo("-C", sample, "probe", "list").out.startswith("no probes yet: autopoiesis probe add ")
    assert apo("-C", sample, "probe", "run").code == 0
    again = apo("-C", sample, "probe", "remove", probed)
    assert again.code == 1
    assert again.err == f"autopoiesis: probes.yaml: no probe {probed}; see: autopoiesis probe list\n"


def test_evidence_that_does_not_exist_is_refused(apo: Command, sample: Path) -> None:
    refused = apo("-C", sample, "probe", "add", "Q?", "--expect", "knowledge/none.md")
    assert refused.code == 1 and refused.out == ""
    assert refused.err.startswith("autopoiesis: no readable file knowledge/none.md; ")


def test_a_removed_probe_as_json_is_the_probe_and_its_commit(apo: Command, sample: Path, probed: str) -> None:
    tree = apo("-C", sample, "probe", "remove", probed, "--json").json
    assert (
        tree["probe"]["id"] == probed
        and tree["commit"] == git(sample, "rev-parse", "HEAD")
        and tree["why"] == ""
    )


def test_probes_run_as_of_a_revision(apo: Command, sample: Path, probed: str) -> None:
    (sample / ODILE).unlink()
    commit(sample, "Odile is gone", "2026-06-14T08:00:00Z")
    assert apo("-C", sample, "probe", "run").code == 1
    ran = apo("-C", sample, "probe", "run", "--as-of", "HEAD~1")
    assert ran.code == 0 and "recall 100%: 1 of 1 found" in ran.out
    assert f"as of {git(sample, 'rev-parse', 'HEAD~1')[:8]} of " in ran.err
    tree = apo("-C", sample, "probe", "run", probed[:4], "--as-of", "HEAD", "--json").json
    assert tree["found"] == 0 and tree["commit"] == git(sample, "rev-parse", "HEAD") and tree["notes"] == []
    now = apo("-C", sample, "probe", "run", "--as-of", "now", "--json").json
    assert now["found"] == 0
    missing = apo("-C", sample, "probe", "run", "zzz", "--as-of", "HEAD")
    assert missing.code == 1 and "no probe zzz" in missing.err and "as of" not in missing.err
    nowhere = apo("-C", sample, "probe", "run", "--as-of", "nowhere")
    assert nowhere.code == 1 and "no such revision or date: “nowhere”" in nowhere.err


def test_files_missing_from_a_past_checkout_are_reported(apo: Command, sample: Path, probed: str) -> None:
    (sample / "knowledge/link.md").symlink_to("people/odile-ferrand.md")
    commit(sample, "a link", "2026-06-14T08:00:00Z")
    ran = apo("-C", sample, "probe", "run", "--as-of", "HEAD", "--json")
    (note,) = ran.json["notes"]
    assert "knowledge/link.md" in note and "symlink" in note and note in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("add", "Q?"),
        ("add", "--expect", "x"),
        ("add", "Q?", "--expect", "x", "--budget", "12"),
        ("run", "--budget", "x"),
        ("nonsense",),
    ],
)
def test_wrong_usage(apo: Command, sample: Path, words: tuple[str, ...]) -> None:
    assert apo("-C", sample, "probe", *words).code == 2


def test_an_invalid_entry_fails_a_run_of_all_probes(apo: Command, sample: Path, probed: str) -> None:
    with (sample / "probes.yaml").open("a") as file:
        file.write("- question: and this\n")
    ran = apo("-C", sample, "probe", "run")
    assert ran.code == 1 and "recall 100%" in ran.out
    assert ran.err.startswith("probes.yaml:7: expects nothing; ")
    assert apo("-C", sample, "probe", "run", probed).code == 0
    assert apo("-C", sample, "probe", "list").err == ran.err


def test_terminal_sequences_in_the_file_are_escaped(apo: Command, sample: Path) -> None:
    (sample / "probes.yaml").write_text(
        '- {question: "[red]q[/] \\e]52;c;x\\a", expect: {text: "\\e[2Jx"}}\n'
    )
    for words in (("list",), ("run",)):
        ran = apo("-C", sample, "probe", *words)
        assert "[red]q[/]" in ran.out and "\x1b" not in ran.out + ran.err and "\x07" not in ran.out
