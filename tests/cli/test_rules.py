"""``rules``: what is in force, what waits, and every decision about them, on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.engine import Engine
from engine.rules import rulebook
from tests.cli.conftest import Command


def test_imported_instructions_become_rules_in_prompts(apo: Command, sample: Path, tmp_path: Path) -> None:
    shutil.rmtree(sample / "raw/conversations")  # the sample's sessions contain rules too
    for number, text in enumerate(("push and draft PR please", "create a draft PR please"), 1):
        (tmp_path / f"{number}.md").write_text(
            f"# User\n\n{text}\n\n# Assistant\n\nDone.\n\n# User\n\nplease never amend commits\n"
        )
    imported = apo("-C", sample, "import", tmp_path)
    assert imported.code == 0, imported.err
    assert "1 rule in force, 1 waits for you: autopoiesis rules" in imported.out
    listed = apo("-C", sample, "rules").out.splitlines()
    told, waits = (
        listed.index("In force: told to agents (1)"),
        listed.index("Waiting for you: not told to anyone (1)"),
    )
    amend, draft = listed[told + 2], listed[waits + 2]
    assert "please never amend commits" in amend and " 2×  " in draft and "draft PR please" in draft
    assert listed[-2:] == [
        "to put one in force: autopoiesis rules accept ID",
        'to turn one down: autopoiesis rules drop ID, or tell your agent "forget that rule: …"',
    ]
    name = draft.split()[0]
    why = apo("-C", sample, "rules", "why", name).out.splitlines()
    assert why[1] == "waiting; said in 2 sessions" and len(why) == 5
    assert all("raw/conversations/" in line for line in why[3:])
    amend = amend.split()[0]
    assert apo("-C", sample, "rules", "why", amend).out.count("  Done.  ") == 2
    assert apo("-C", sample, "rules", "why", amend, "--json").json["before"] == ["Done.", "Done."]

    none = apo("-C", sample, "rules", "accept", "--told", "9")
    assert none.code == 0 and none.out.startswith("no rule waits that you said in at least 9 sessions")
    done = apo("-C", sample, "rules", "accept", "--told", "2")
    assert "1 rule in force" in done.out and "committed as" in done.out
    prompt = apo("-C", sample, "compile", "open a pull request").out
    assert "draft PR" in prompt
    assert apo("-C", sample, "rules", "drop", name[:4]).code == 0
    assert name not in apo("-C", sample, "rules").out
    assert "Turned down: not told (1)" in apo("-C", sample, "rules", "--all").out
    assert apo("-C", sample, "rules", "undo").out.startswith(name)
    added = apo("-C", sample, "rules", "add", "Answer briefly.", "--json").json
    assert added["rules"][0]["state"] == "in force"
    assert "Answer briefly." in [rule["text"] for rule in apo("-C", sample, "rules", "--json").json]
    assert "undone: memory: rule added: 'Answer briefly.'" in apo("-C", sample, "rules", "undo").out
    wrong = apo("-C", sample, "rules", "accept", "fffffff")
    assert wrong.code == 1 and "list them: autopoiesis rules" in wrong.err
    assert apo("-C", sample, "rules", "learn").out.startswith("0 sessions read, 0 rules learned")


def test_what_was_probably_meant_for_one_task_is_listed_last_and_only_on_request(
    apo: Command, sample: Path
) -> None:
    once, lasting = "can you use the test helper to clean this up?", "we should NEVER use mocks in tests"
    lines = f"- {once} {{#aaaaaaa told=1}}\n- {lasting} {{#bbbbbbb told=1}}\n"
    data = f"# Rules\n\n## Waiting for your decision\n\n{lines}"
    with Engine.open(sample) as engine:
        path = engine.workspace.root / rulebook.PATH
        path.write_text(data)
        assert [rule.text for rule in rulebook.most_told(engine.rules.book().waiting)] == [lasting, once]
    listed = apo("-C", sample, "rules").out
    assert lasting in listed and once not in listed and "told to anyone (1)" in listed
    assert "1 more, said once, probably for the task at hand: autopoiesis rules --all" in listed
    everything = apo("-C", sample, "rules", "--all").out
    assert everything.index(lasting) < everything.index(once)


def test_an_import_counts_the_rules_that_wait_as_the_list_does(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    (sample / "knowledge/rules.md").unlink(missing_ok=True)
    shutil.rmtree(sample / "raw/conversations")
    (tmp_path / "chat.md").write_text("# User\n\nuse subagents to fix all\n\n# Assistant\n\nDone.\n")
    task = "said once, probably for the task at hand"
    assert f"0 rules in force, 1 more {task}: autopoiesis rules" in apo("-C", sample, "import", tmp_path).out
    listed = apo("-C", sample, "rules").out
    assert f"1 sentence of yours, {task}: autopoiesis rules --all" in listed
    assert "Waiting for you" not in listed and "use subagents" in apo("-C", sample, "rules", "--all").out


def test_without_rules_the_list_says_what_can_be_done(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    assert "to import some: autopoiesis import" in apo("-C", root, "rules").out
    day = root / "raw/conversations/2031/01/01"
    day.mkdir(parents=True)
    day.joinpath("1000-ses_00000001-work.md").write_text(
        "---\nsession_id: ses_00000001\n---\n\n# Work\n\n## 10:00 — user\n\nHi\n"
    )
    assert "learn them from 1 session: autopoiesis rules learn" in apo("-C", root, "rules").out
    apo("-C", root, "rules", "learn")
    assert "nothing that you said holds on" in apo("-C", root, "rules").out
    assert "none of 1 session names the folder" in apo("-C", root, "projects").out
    name = apo("-C", root, "rules", "add", "Answer briefly.", "--json").json["rules"][0]["id"]
    apo("-C", root, "rules", "drop", name)
    assert "no rule is in force or waits; 1 other: autopoiesis rules --all" in apo("-C", root, "rules").out


def test_a_copy_of_a_message_is_shown_and_not_counted(apo: Command, sample: Path, tmp_path: Path) -> None:
    shutil.rmtree(sample / "raw/conversations")
    said = "from now on always keep the changelog up to date in every pull request that you open for me"
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(
            f"# User\n\n{said}\n\n# Assistant\n\nDone.\n\n# User\n\nThen look at {name}.\n"
        )
    assert apo("-C", sample, "import", tmp_path).code == 0
    [rule] = [each for each in apo("-C", sample, "rules", "--json").json if "changelog" in each["text"]]
    why = apo("-C", sample, "rules", "why", rule["id"]).out
    assert "said in 1 session, and as a copy in 1 more" in why and why.count("raw/conversations") == 2


def test_why_shows_what_replaced_or_ended_a_rule(apo: Command, sample: Path, tmp_path: Path) -> None:
    shutil.rmtree(sample / "raw/conversations")
    said = (
        "always use tabs for indentation",
        "always keep the changelog up to date",
        "from now on use spaces for indentation",
        "you no longer need to keep the changelog up to date",
    )
    turns = "".join(f"# User\n\n{text}\n\n# Assistant\n\nDone.\n\n" for text in said)
    (tmp_path / "chat.md").write_text(turns)
    assert apo("-C", sample, "import", tmp_path).code == 0
    names = {rule["text"]: rule["id"] for rule in apo("-C", sample, "rules", "--all", "--json").json}
    tabs = apo("-C", sample, "rules", "why", names[said[0]])
    spaces = names[said[2]]
    assert f"replaced by {spaces}: {said[2]}; said in 1 session" in tabs.out
    assert [line.split()[1] for line in tabs.out.splitlines()[3:]] == ["said", "replaced"]
    ended = apo("-C", sample, "rules", "why", names[said[1]])
    assert ended.out.splitlines()[1].startswith("ended on ")
    assert ended.out.splitlines()[-1].endswith(said[3]) and " ended " in ended.out.splitlines()[-1]
    json = apo("-C", sample, "rules", "why", names[said[1]], "--json").json
    assert json["effect"] == ["said", "ended"]


def test_an_accepted_rule_is_found_in_files_exported_and_made_a_topic(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    (sample / "knowledge/rules.md").unlink(missing_ok=True)
    name = apo("-C", sample, "rules", "add", "Never amend commits.", "--json").json["rules"][0]["id"]
    file = tmp_path / "AGENTS.md"
    file.write_text("Be kind.\nDo not amend commits.\n")
    known = apo("-C", sample, "rules", "known", file)
    assert f"{file}:2" in known.out and "1 file read, 1 rule found in them" in known.out
    assert "  accepted, also in AGENTS.md  " in apo("-C", sample, "rules").out
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

    topic = apo("-C", sample, "rules", "trigger", name).out
    assert f"topics/rule-{name}.md, which matches: git commit --amend" in topic and "--amend\\b" in topic
    written = apo("-C", sample, "rules", "trigger", name, "--pattern", r"--amend\b", "--apply").out
    assert "written, committed as" in written
    assert name in apo("-C", sample, "topics", "show", f"rule-{name}").out
    assert apo("-C", sample, "topics", "check").code == 0
