"""``rules``: repeated instructions and every decision about them, on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import Command


def test_imported_instructions_become_rules_in_prompts(apo: Command, sample: Path, tmp_path: Path) -> None:
    shutil.rmtree(sample / "raw/conversations")  # the sample's sessions contain rules too
    for number, text in enumerate(("push and draft PR please", "create a draft PR please"), 1):
        (tmp_path / f"{number}.md").write_text(
            f"# User\n\n{text}\n\n# Assistant\n\nDone.\n\n# User\n\nplease don't amend commits\n"
        )
    imported = apo("-C", sample, "import", tmp_path)
    assert imported.code == 0, imported.err
    assert "2 things more than once; see: autopoiesis rules" in imported.out
    listed = apo("-C", sample, "rules").out.splitlines()
    assert listed[0] == "You have told your agents 2 things more than once (3 rules in all):"
    draft = next(line for line in listed if "draft" in line)
    assert " 2×  " in draft and " pending " in draft
    name = draft.split()[0]
    why = apo("-C", sample, "rules", "why", name).out.splitlines()
    assert why[1] == "pending, stated in 2 sessions" and len(why) == 5
    assert all("raw/conversations/" in line for line in why[3:])

    amend = next(line for line in listed if "amend" in line).split()[0]
    assert apo("-C", sample, "rules", "why", amend).out.count("  Done.  ") == 2
    assert apo("-C", sample, "rules", "why", amend, "--json").json["before"] == ["Done.", "Done."]

    none = apo("-C", sample, "rules", "accept", "--told", "9")
    assert none.code == 0 and none.out.startswith(
        "no rule left to accept that you stated in at least 9 sessions"
    )
    done = apo("-C", sample, "rules", "accept", "--told", "2")
    assert "2 rules in force" in done.out and "committed as" in done.out
    prompt = apo("-C", sample, "compile", "open a pull request").out
    assert "draft PR" in prompt
    assert apo("-C", sample, "rules", "drop", name[:4]).code == 0
    assert name not in apo("-C", sample, "rules").out
    assert "turned down" in apo("-C", sample, "rules", "--all").out
    assert apo("-C", sample, "rules", "undo").out.startswith(name)
    added = apo("-C", sample, "rules", "add", "Answer briefly.", "--json").json
    assert added["rules"][0]["state"] == "in force"
    assert [rule["text"] for rule in apo("-C", sample, "rules", "--json").json][-1] == "Answer briefly."
    assert "undone: memory: rule added: 'Answer briefly.'" in apo("-C", sample, "rules", "undo").out
    wrong = apo("-C", sample, "rules", "accept", "fffffff")
    assert wrong.code == 1 and "list them: autopoiesis rules" in wrong.err
    assert apo("-C", sample, "rules", "learn").out.startswith("0 sessions read, 0 rules learned")


def test_an_accepted_rule_is_found_in_files_exported_and_made_a_topic(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    (sample / "knowledge/rules.md").unlink(missing_ok=True)
    name = apo("-C", sample, "rules", "add", "Never amend commits.", "--json").json["rules"][0]["id"]
    file = tmp_path / "AGENTS.md"
    file.write_text("Be kind.\nDo not amend commits.\n")
    known = apo("-C", sample, "rules", "known", file)
    assert f"{file}:2" in known.out and "1 file read, 1 rule found in them" in known.out
    assert "accepted, also in AGENTS.md" in apo("-C", sample, "rules").out
    assert apo("-C", sample, "rules", "known", file, "--json").json["found"][0]["id"] == name

    left = apo("-C", sample, "rules", "export", "--to", file).out
    assert f"{name} is already in line 2" in left and "no changes to" in left
    shown = apo("-C", sample, "rules", "export", name, "--to", file).out
    assert "+- Never amend commits." in shown and "pass --apply" in shown
    done = apo("-C", sample, "rules", "export", name, "--to", file, "--apply", "--json").json
    assert done["is_written"] and "data" not in done and "- Never amend commits." in file.read_text()
    (tmp_path / "link").symlink_to(file)
    refused = apo("-C", sample, "rules", "export", "--to", tmp_path / "link")
    assert refused.code == 1 and f"name the file itself: {file}" in refused.err

    assert "0 rules not needed for 60 days" in apo("-C", sample, "rules", "review").out
    assert apo("-C", sample, "rules", "review", "--rest", "--json").json["rules"] == []
    worth = apo("-C", sample, "rules", "worth").out
    assert "too few weeks (0 in 0 weeks)" in worth and "no accepted rule has enough weeks" in worth
    assert apo("-C", sample, "rules", "worth", "--json").json["rules"][0]["after"] == {"told": 0, "weeks": 0}
    topic = apo("-C", sample, "rules", "trigger", name).out
    assert f"topics/rule-{name}.md, which matches: git commit --amend" in topic and "--amend\\b" in topic
    written = apo("-C", sample, "rules", "trigger", name, "--pattern", r"--amend\b", "--apply").out
    assert "written, committed as" in written
    assert name in apo("-C", sample, "topics", "show", f"rule-{name}").out
    assert apo("-C", sample, "topics", "check").code == 0
