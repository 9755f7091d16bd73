"""``commit``: dry run, text and JSON."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.conftest import Command

SECRET = "AWS " + "AKIA" + "Z7QX4M2N9P6R3T5V"


def test_commit_reports_what_it_does_and_leaves_secrets_out(apo: Command, sample: Path) -> None:
    def head() -> str:
        done = subprocess.run(["git", "log", "-1", "--format=%B"], cwd=sample, capture_output=True, text=True)
        return done.stdout.strip()

    assert apo("-C", sample, "commit").out == "nothing to commit\n"
    with (sample / "knowledge/facts.md").open("a") as facts:
        facts.write("- The mast is 12 m high.\n")
    (sample / "knowledge/people/eve.md").write_text(f"---\ntype: person\nname: Eve\n---\n\n{SECRET}\n")
    before = head()
    planned = apo("-C", sample, "commit", "--dry-run")
    assert planned.out == (
        "would commit: 1 file\n    memory: 1 fact\n\n    knowledge/facts.md: 1 line added\n"
    )
    assert planned.code == 1 and SECRET not in planned.err and head() == before
    assert planned.err.startswith(
        "left out: knowledge/people/eve.md: line 6 contains what looks like a secret (AWS"
    )
    done = apo("-C", sample, "commit", "--json", "-m", "the mast").json
    assert done["commits"][0]["message"] == head() == "memory: the mast"
    assert done["commits"][0]["paths"] == ["knowledge/facts.md"] and len(done["left_out"]) == 1
    (sample / "topics/new.md").write_text("---\ntype: topic\n---\n\n# New\n")
    ran = apo("-C", sample, "commit", sample / "topics")
    assert (
        ran.code == 0
        and ran.out.startswith("committed as ")
        and head().startswith("maintenance: topic new\n")
    )
    missing = apo("-C", sample, "commit", "knowledge/none.md")
    assert missing.code == 1 and "no such file or folder" in missing.err
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=sample, check=True)
    refused = apo("-C", sample, "commit")
    assert refused.code == 1 and "HEAD is detached; run: git switch main" in refused.err
