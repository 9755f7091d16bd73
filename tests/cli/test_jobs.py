"""``jobs``: the schedule on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from engine.engine import Engine
from tests.cli.conftest import Command


def test_the_schedule_is_shown_run_logged_and_changed(apo: Command, sample: Path) -> None:
    listed = apo("-C", sample, "jobs")
    assert (listed.code, listed.err) == (0, "")
    index, *_, topic, footer = listed.out.splitlines()[1:]
    assert index.startswith("index ") and "At 03:30 every day" in index and index.endswith(" 03:30  never")
    assert topic.startswith("topic:journal-daily ") and "At 15:30 every day, UTC" in topic
    assert footer.startswith("the schedule is not running")
    assert apo("-C", sample, "jobs", "log").out == "nothing has run yet\n"

    ran = apo("-C", sample, "jobs", "run", "index")
    assert (ran.code, ran.out) == (0, "index done: intact and up to date\n")
    fired = apo("-C", sample, "jobs", "run", "topic:journal-daily", "--json").json
    assert (fired["job"], fired["result"], fired["by"]) == ("topic:journal-daily", "done", "command")
    log = apo("-C", sample, "jobs", "log", "index", "--limit", "1").out.splitlines()
    assert len(log) == 2 and log[1].endswith("index  command  by hand  done: intact and up to date")
    assert [run["job"] for run in apo("-C", sample, "jobs", "log", "--json").json] == [
        "topic:journal-daily", "index",
    ]  # fmt: skip

    assert apo("-C", sample, "jobs", "set", "index", "off").out.startswith("index: off, next off (committed")
    assert "index: off" in (sample / "memory-config.yaml").read_text().replace('"', "")
    assert "At 05:00 on Monday" in apo("-C", sample, "jobs", "set", "index", "0 5 * * 1").out
    apo("-C", sample, "jobs", "set", "index", "default")
    assert "lifecycle" not in (sample / "memory-config.yaml").read_text()

    with (sample / "memory-config.yaml").open("a") as config:
        config.write("\nlifecycle:\n  schedule: {idnex: off}\n")
    number = (sample / "memory-config.yaml").read_text().count("\n")
    message = f"memory-config.yaml:{number}: lifecycle.schedule: no job idnex; did you mean index?\n"
    assert apo("-C", sample, "jobs").err == message
    with Engine.open(sample) as engine:
        engine.schedule.start("serve")
        tree = apo("-C", sample, "jobs", "--json").json
    assert tree["held_by"] == "serve" and tree["jobs"][0]["last"]["result"] == "done"
    assert json.dumps(tree["jobs"][-1]["topic"]) == '"journal-daily"'


def test_errors_are_one_line(apo: Command, sample: Path) -> None:
    for arguments, message in (
        (("run", "indx"), "no job indx; did you mean index?"),
        (("log", "nothing"), "no job nothing"),
        (("set", "index", "0 5 * *"), "'0 5 * *' has 4 fields instead of five; write five fields"),
        (("set", "topic:journal-daily", "off"), "edit topics/journal-daily.md"),
    ):
        ran = apo("-C", sample, "jobs", *arguments)
        assert ran.code == 1 and message in ran.err and ran.err.count("\n") == 1, arguments
    (sample / "memory-config.yaml").write_text("lifecycle:\n  schedule:\n    index: soon\n")
    ran = apo("-C", sample, "jobs")
    assert ran.code == 1 and "memory-config.yaml:3: lifecycle.schedule.index: has 1 fields" in ran.err
