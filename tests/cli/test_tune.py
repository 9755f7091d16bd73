"""``tune``: labels of a noisy topic lead to thresholds that silence it, which can be undone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine.workspace.initialise import initialise
from tests.cli.conftest import Command

NOISY = """---
type: topic
description: Where to have lunch together.
triggers:
  - type: keywords
    words: [table, menu]   # meals
activation: gated
priority: high
---

# Lunch

## Instructions

Find a table for lunch, read the menu and book for the team.
"""
PLACES = (
    "readings", "users", "stations", "alarms", "errors", "orders", "invoices", "tides", "gauges", "versions",
    "sessions", "tokens", "figures", "hosts", "queues", "buckets", "events", "labels", "prices", "routes",
)  # fmt: skip


def message(what: str) -> str:
    return f"Please sort the table of {what} by date and put it into the menu of the dashboard"


@pytest.fixture(params=["spec", "default"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A workspace in git with a topic that matches tables of every kind."""
    root = tmp_path / "memory"
    initialise(root)
    (root / "topics/lunch.md").write_text(NOISY)
    settings = root / "memory-config.yaml"
    settings.write_text(re.sub(r"^watchers:\n(  .*\n)*", "", settings.read_text(), flags=re.MULTILINE))
    if request.param != "default":
        with settings.open("a") as file:
            file.write(f"watchers:\n  preset: {request.param}\n")
    git(root, "add", "-A")
    # Without the hook that updates the index in the background, while the tests write too.
    git(root, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "a noisy topic")
    return root


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def label_noise(apo: Command, root: Path, count: int = len(PLACES)) -> None:
    """Trace messages that the topic matches, and label the decisions as noise."""
    for what in PLACES[:count]:
        apo("-C", root, "trace", message(what), "--log")
    listed = apo("-C", root, "decisions", "list", "--topic", "lunch", "--unlabelled", "--json").json
    assert len(listed) == count
    ran = apo("-C", root, "decisions", "label", *(decision["id"][:12] for decision in listed), "--noise")
    assert ran.code == 0 and ran.out.count("lunch: noise") == count
    assert apo("-C", root, "decisions", "list", "--topic", "lunch", "--unlabelled", "--json").json == []


@pytest.mark.parametrize("workspace", ["spec"], indirect=True)
def test_labels_of_a_noisy_topic_lead_to_thresholds_that_silence_it(apo: Command, workspace: Path) -> None:
    before = (workspace / "topics/lunch.md").read_bytes()
    row = _row(apo, workspace)
    assert row["verdict"] == "active" or row["gate"] is not None, "the topic is not noisy yet"
    label_noise(apo, workspace)

    shown = apo("-C", workspace, "tune", "lunch")
    assert "labels 20 in 20 messages · by hand 20" in shown.out
    proposal = apo("-C", workspace, "tune", "lunch", "--fit", "--json").json
    assert proposal["thresholds"]["gate"] >= proposal["today"]["gate"]
    assert proposal["thresholds"]["activate"] > proposal["today"]["activate"]
    assert proposal["held_out"]["folds"] == 5
    held_out = proposal["held_out"]
    assert held_out["fitted"]["noise_active"] < held_out["today"]["noise_active"]
    assert proposal["after"]["noise_active"] == 0 and proposal["applied"] is None
    assert (workspace / "topics/lunch.md").read_bytes() == before, "the topic was written without --apply"

    done = apo("-C", workspace, "tune", "lunch", "--fit", "--apply")
    assert done.code == 0 and "held out, 5 folds: " in done.out
    assert re.search(r"topics/lunch\.md: gate .*committed as [0-9a-f]{8}", done.out)
    assert re.match(
        r"maintenance: tune lunch: gate \.\d+, active (\.\d+|1\.00)\n",
        git(workspace, "log", "-1", "--format=%s"),
    )
    assert git(workspace, "show", "--name-only", "--format=", "HEAD").split() == ["topics/lunch.md"]
    assert b"words: [table, menu]   # meals" in (workspace / "topics/lunch.md").read_bytes()
    row = _row(apo, workspace)
    assert row["verdict"] in ("dropped", "offered")
    assert row["gate_at"] == proposal["thresholds"]["gate"]

    undone = apo("-C", workspace, "tune", "--undo")
    assert undone.code == 0 and (workspace / "topics/lunch.md").read_bytes() == before
    assert git(workspace, "log", "-1", "--format=%s").startswith("maintenance: undo tune lunch: gate ")
    again = apo("-C", workspace, "tune", "--undo")
    assert again.code == 1 and again.err == "autopoiesis: no threshold change to undo\n"


@pytest.mark.parametrize("workspace", ["default"], indirect=True)
def test_a_label_moves_the_score_of_messages_like_it_and_says_how(apo: Command, workspace: Path) -> None:
    apo("-C", workspace, "trace", message("readings"), "--log")
    (decision,) = apo("-C", workspace, "decisions", "list", "--topic", "lunch", "--json").json
    near = _row(apo, workspace)["score"]
    ran = apo("-C", workspace, "decisions", "label", decision["id"], "--noise")
    moved = re.search(r"lunch: noise · (\.\d+) → (\.\d+)", ran.out)
    assert moved is not None and float(moved[2]) < float(moved[1]) - 0.1
    assert _row(apo, workspace)["score"] < near - 0.1
    back = apo("-C", workspace, "decisions", "label", decision["id"], "--useful", "--json").json[0]
    assert back["after"] > back["before"] + 0.1


def _row(apo: Command, root: Path) -> dict[str, Any]:
    rows = apo("-C", root, "trace", message("witnesses"), "--all", "--json").json["rows"]
    found: dict[str, Any] = next(row for row in rows if row["topic"] == "lunch")
    return found


@pytest.mark.parametrize("workspace", ["spec"], indirect=True)
def test_the_worst_topic_comes_first(apo: Command, workspace: Path) -> None:
    empty = apo("-C", workspace, "tune")
    assert empty.code == 0 and "no decisions yet" in empty.out
    (workspace / "topics/a-calm-one.md").write_text(NOISY.replace("[table, menu]", "[volcano]"))
    label_noise(apo, workspace, 4)
    table = apo("-C", workspace, "tune").out.splitlines()
    assert table[0].split()[:5] == ["topic", "labels", "precision", "recall", "F1"]
    assert table[1].split()[:5] == ["lunch", "4", ".00", "–", ".00"]
    assert any(line.startswith("all ") for line in table)
    tree = apo("-C", workspace, "tune", "--json").json
    assert tree["topics"][0]["topic"] == "lunch" and tree["topics"][0]["noise"] == 4
    assert {"today", "f1", "offers_per_day", "cost_usd_per_day"} <= tree["topics"][0].keys()
    assert tree["total"]["labelled"] == 4 and tree["messages"] == 4


@pytest.mark.parametrize("workspace", ["spec"], indirect=True)
def test_other_thresholds_are_tried_before_they_are_written(apo: Command, workspace: Path) -> None:
    label_noise(apo, workspace, 5)
    before = (workspace / "topics/lunch.md").read_bytes()
    tried = apo("-C", workspace, "tune", "lunch", "--gate", ".5", "--activate", ".9", "--limit", "3")
    assert "with gate .50, active .90: 5 fixed, 0 lost, 0 changed" in tried.out
    assert tried.out.count("\nfixed ") == 3 and "3 of 5 shown" in tried.out
    assert "nothing was written; pass --apply to do it" in tried.out
    tree = apo("-C", workspace, "tune", "lunch", "--gate", ".99", "--activate", "never", "--json").json
    assert tree["thresholds"] == {"gate": 0.99, "activate": None} and tree["flips"]["fixed"] == 5
    flip = tree["flips"]["rows"][0]
    assert (flip["kind"], flip["after"], flip["useful"]) == ("fixed", "quiet", False)
    assert flip["message"].startswith("Please sort the table of ")
    assert sum(tree["histogram"]["noise"]) == 5
    assert (workspace / "topics/lunch.md").read_bytes() == before

    pushed = apo("-C", workspace, "tune", "lunch", "--gate", ".5", "--apply", "--json").json
    assert pushed["applied"]["after"] == {"gate": 0.5, "activate": 0.5}
    back = apo("-C", workspace, "tune", "--undo", "--json").json
    assert back["before"] == {"gate": 0.5, "activate": 0.5} and back["commit"]


@pytest.mark.parametrize("workspace", ["spec"], indirect=True)
def test_all_topics_are_fitted_together(apo: Command, workspace: Path) -> None:
    label_noise(apo, workspace)
    listed = apo("-C", workspace, "tune", "--fit")
    assert re.search(r"^lunch +gate \.15, active \.30 +gate \.\d+, active \.\d+ +held out", listed.out, re.M)
    assert "nothing was written; pass --apply to do it" in listed.out
    done = apo("-C", workspace, "tune", "--fit", "--apply", "--json").json
    assert [applied["topic"] for applied in done["applied"]] == ["lunch"]
    assert {proposal["topic"] for proposal in done["proposals"]} >= {"lunch"}


@pytest.mark.parametrize("workspace", ["spec"], indirect=True)
def test_too_few_labels_are_refused_with_their_number(apo: Command, workspace: Path) -> None:
    label_noise(apo, workspace, 3)
    ran = apo("-C", workspace, "tune", "lunch", "--fit")
    assert ran.code == 0
    assert "no proposal: 3 labelled messages, at least 10 needed" in ran.out
    ran = apo("-C", workspace, "tune", "lunch", "--fit", "--apply")
    assert ran.code == 1 and ran.err.startswith("autopoiesis: lunch: nothing to apply: 3 labelled messages")


@pytest.mark.parametrize("workspace", ["spec"], indirect=True)
def test_a_label_can_be_cleared(apo: Command, workspace: Path) -> None:
    label_noise(apo, workspace, 1)
    (decision,) = apo("-C", workspace, "decisions", "list", "--topic", "lunch", "--json").json
    ran = apo("-C", workspace, "decisions", "label", decision["id"], "--clear", "--json")
    assert ran.json[0]["useful"] is None
    listed = apo("-C", workspace, "decisions", "list", "--topic", "lunch", "--unlabelled", "--json")
    (decision,) = listed.json
    assert decision["useful"] is None
    wrong = apo("-C", workspace, "decisions", "label", decision["id"])
    assert wrong.code == 2 and "--clear" in wrong.err
    assert "no matching decisions" in apo("-C", workspace, "decisions", "list", "--topic", "x").out


def test_one_wrong_id_labels_nothing(apo: Command, sample: Path) -> None:
    apo("-C", sample, "trace", "Can you review the PR that just came in?", "--log")
    known = apo("-C", sample, "decisions", "list", "--json").json[0]["id"]
    ran = apo("-C", sample, "decisions", "label", known, "ffffffffff", "--noise")
    assert ran.code == 1 and "no decision matches ffffffffff" in ran.err
    assert all(found["useful"] is None for found in apo("-C", sample, "decisions", "list", "--json").json)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--undo", "release"], "--undo takes no other arguments"),
        (["--undo", "--apply"], "--undo takes no other arguments"),
        (["release", "--fit", "--gate", ".3"], "--fit cannot be used with"),
        (["--gate", ".3"], "need a TOPIC"),
        (["release", "--apply"], "--apply needs --fit"),
        (["release", "--gate", "3"], "neither a number from 0 to 1 nor `never`"),
        (["release", "--gate", "x"], "neither a number"),
        (["release", "--gate", ".8", "--activate", ".3"], "is above"),
    ],
)
def test_conflicting_options(apo: Command, sample: Path, words: list[str], what: str) -> None:
    ran = apo("-C", sample, "tune", *words)
    assert ran.code == 2 and what in ran.err


def test_an_unknown_topic_is_an_error(apo: Command, sample: Path) -> None:
    for words in (["nope"], ["nope", "--fit"], ["nope", "--gate", ".2"]):
        ran = apo("-C", sample, "tune", *words)
        assert (
            ran.code == 1 and ran.err == "autopoiesis: there is no topic nope; see: autopoiesis topics list\n"
        )
