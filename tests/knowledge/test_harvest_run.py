"""Harvests from survey to trash: what is written, reclaimed and kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DocumentError, HarvestRefused, LedgerBroken, ReadOnly
from engine.knowledge.apply import Applied, apply
from engine.knowledge.harvest.extract import Extraction, Extractor
from engine.knowledge.harvest.reading import SourceText
from engine.knowledge.harvest.report import Consent, HarvestRequest, Result
from engine.knowledge.harvest.run import message_of
from engine.knowledge.item import Edit
from engine.knowledge.ledger import PATH as LEDGER
from engine.settings.model import DaySettings, HarvestSettings
from engine.store.files import Files
from tests.knowledge.harvest_support import (
    DECISION,
    FACT,
    PLAYBOOK,
    POISON,
    QUESTION,
    TASK,
    Desk,
    Scripted,
    conversation_of,
    extraction,
    sha,
    talk,
)

FROM = "[from: 2026-06-12-call, 2026-06-12]"


def desk_with(root: Path, *items: object, **more: object) -> Desk:
    """Returns a desk with one conversation that contains the items."""
    desk = Desk(root, Scripted({"2026-06-12-call": items}), **more)  # type: ignore[dict-item, arg-type]
    desk.put("2026-06-12-call.md", conversation_of(*items))  # type: ignore[arg-type]
    return desk


def test_a_survey_changes_nothing(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.put("live.md", talk("hello"), minutes=1)
    before = sorted(path for path in tmp_path.rglob("*") if ".git" not in path.parts)
    survey = desk.knowledge.harvest.survey()
    assert [each.path for each in survey.of("harvest")] == ["conversations/2026-06-12-call.md"]
    assert [each.path for each in survey.of("live")] == ["conversations/live.md"]
    assert survey.size("harvest") == len(FACT.text) and 900 < survey.tokens < 1_000
    assert sorted(path for path in tmp_path.rglob("*") if ".git" not in path.parts) == before
    assert desk.extractor.asked == []


def test_knowledge_is_in_its_files_and_the_conversation_in_the_trash(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT, DECISION, TASK, QUESTION, PLAYBOOK)
    data = conversation_of(FACT, DECISION, TASK, QUESTION, PLAYBOOK)
    report = desk.harvest()
    (result,) = report.results
    assert (result.outcome, result.reclaimed, result.kept) == ("harvested", True, "")
    assert desk.text("facts.md") == f"# Facts\n\n- {FACT.text} {FROM}\n"
    assert f"- {DECISION.text} {FROM}" in desk.text("decisions.md")
    assert f"## Open\n\n- {TASK.text} {FROM}" in desk.text("tasks.md")
    assert f"- {QUESTION.text} {FROM}" in desk.text("questions.md")
    assert f"- {PLAYBOOK.text} {FROM}" in desk.text("playbooks.md")
    assert FACT.text in desk.text("digest.md")
    entry = desk.knowledge.ledger.entries()[sha(data)]
    assert (entry.status, entry.deleted, entry.total) == ("harvested", True, 5)
    assert {line.path for line in entry.lines} == {
        f"knowledge/{name}.md" for name in ("facts", "decisions", "tasks", "questions", "playbooks")
    }
    assert (entry.provider, entry.input_tokens, entry.cost_usd) == ("anthropic", 500, 0.01)
    assert not desk.is_there("conversations/2026-06-12-call.md")
    assert desk.knowledge.trash.content(sha(data)) == data
    assert report.items["facts"] == 1 and report.reclaimed == len(data)


def test_the_subject_names_a_transcript_by_its_slug_and_says_what_was_found() -> None:
    name = "0047-0198f2c4-5975-42d3-b22e-1d7be8252c72-we-are-reviewing-a-change-to-the-session-dates"
    path = f"raw/conversations/2026/06/12/{name}.md"
    (subject, *_, trailer) = message_of([Result(path, 1, "harvested", items={"facts": 1})]).split("\n")
    assert subject == "memory: harvest of we-are-reviewing-a-change-to-the-session-dat…: 1 fact"
    assert trailer == f"Session: {path}"
    nothing = [Result(f"conversations/{name}.md", 1, "harvested") for name in "ab"]
    assert message_of(nothing) == "memory: harvest of 2 conversations: nothing new"


def test_a_harvest_of_many_conversations_is_one_commit(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({"call-1": [FACT], "call-2": [QUESTION, POISON]}))
    for number in range(6):
        desk.put(f"call-{number}.md", talk(FACT.text, QUESTION.text, POISON.text, f"number {number}"))
    report = desk.harvest(desk.request(reclaim=False))
    (commit,) = desk.repository.log()
    assert report.commit == commit.revision and len(report.results) == 6
    assert commit.subject == "memory: harvest of 6 conversations: 1 fact, 1 question, 1 for review"
    assert [line for line in commit.body.split("\n") if line.startswith("Session: ")] == [
        "Session: conversations/call-1.md", "Session: conversations/call-2.md",
    ]  # fmt: skip
    for name in ("knowledge/facts.md", "knowledge/digest.md", LEDGER, "conversations/call-5.md"):
        assert desk.committed(name) == desk.files.read(name)


def test_what_was_harvested_before_an_interruption_is_committed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({"a": [FACT]}))
    for name in "ab":
        desk.put(f"{name}.md", talk(FACT.text, name))

    def interrupted(source: SourceText) -> None:
        if source.name == "b":
            raise KeyboardInterrupt

    desk.extractor.on_extract = interrupted
    with pytest.raises(KeyboardInterrupt):
        desk.harvest()
    assert [commit.subject for commit in desk.repository.log()] == ["memory: harvest of a: 1 fact"]
    assert desk.committed("knowledge/facts.md") == desk.files.read("knowledge/facts.md")


def test_items_have_the_local_day_of_their_session(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({"1800-ses_a-call": [FACT, POISON], "log": [QUESTION]}))
    desk.config = replace(desk.config, days=DaySettings(time_zone="Asia/Tokyo"))
    path = "raw/conversations/2026/03/04/1800-ses_a-call.md"
    (tmp_path / path).parent.mkdir(parents=True)
    head = b"---\nsession_id: ses_a\nstarted: 2026-03-04T18:00:00Z\nended: 2026-03-04T18:10:00Z\n---\n\n"
    (tmp_path / path).write_bytes(head + conversation_of(FACT, POISON))
    desk.harvest(HarvestRequest(transcripts=True))
    assert f"- {FACT.text} [from: 1800-ses_a-call, 2026-03-05]" in desk.lines()
    (waiting,) = desk.knowledge.review.queue.waiting()
    assert waiting.origin.day == "2026-03-05"
    line = {"type": "user", "sessionId": "s", "uuid": "1", "timestamp": "2026-02-03T04:05:06Z"}
    log = json.dumps(line | {"message": {"role": "user", "content": QUESTION.text}})
    desk.put("log.jsonl", f"{log}\n".encode())
    desk.harvest()
    assert f"- {QUESTION.text} [from: log, 2026-02-03]" in desk.lines()


def test_the_knowledge_and_the_conversation_are_in_the_history(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.harvest()
    subjects = [commit.subject for commit in desk.repository.log()]
    assert subjects == [
        "memory: conversations/2026-06-12-call.md is in the trash, knowledge kept",
        "memory: harvest of 2026-06-12-call: 1 fact",
    ]
    assert desk.committed("conversations/2026-06-12-call.md") is None
    assert desk.repository.show("HEAD~1", "conversations/2026-06-12-call.md") == conversation_of(FACT)
    for name in ("knowledge/facts.md", "knowledge/digest.md", LEDGER):
        assert desk.committed(name) == desk.files.read(name)


def test_a_second_run_makes_no_request_and_changes_nothing(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.harvest(desk.request(reclaim=False))
    before, commits = desk.lines(), len(desk.repository.log())
    report = desk.harvest(desk.request(reclaim=False))
    assert (report.results, desk.extractor.asked) == ((), ["conversations/2026-06-12-call.md"])
    assert (desk.lines(), len(desk.repository.log())) == (before, commits)


def test_the_same_content_under_another_name_is_extracted_once(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.put("copy.md", conversation_of(FACT))
    report = desk.harvest()
    assert len(desk.extractor.asked) == 1
    assert [each.reclaimed for each in report.results] == [True, True]
    assert len(desk.knowledge.ledger.entries()) == 1
    assert len(desk.lines()) == 1


def test_a_conversation_that_grows_during_the_extraction_is_kept(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    path = tmp_path / "conversations/2026-06-12-call.md"

    def more(_source: SourceText) -> None:
        path.write_bytes(conversation_of(FACT, TASK))

    desk.extractor.on_extract = more
    (result,) = desk.harvest().results
    assert (result.outcome, result.reclaimed) == ("changed", False)
    assert path.read_bytes() == conversation_of(FACT, TASK)
    assert desk.lines() == []
    assert desk.knowledge.ledger.entries() == {}


def test_a_failure_is_recorded_and_the_conversation_kept_and_retried(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    good = desk.extractor
    desk.extractor = Scripted(
        {"2026-06-12-call": extraction("harvest-failed", provider="openai", error="no JSON")}
    )
    (result,) = desk.harvest().results
    assert (result.outcome, result.error) == ("failed", "no JSON")
    entry = desk.knowledge.ledger.entries()[sha(conversation_of(FACT))]
    assert (entry.status, entry.error, entry.deleted) == ("harvest-failed", "no JSON", False)
    assert desk.lines() == [] and desk.is_there("conversations/2026-06-12-call.md")
    desk.extractor = good
    assert desk.harvest().results[0].outcome == "harvested"
    assert desk.knowledge.ledger.entries()[sha(conversation_of(FACT))].error == ""


def test_an_empty_harvest_is_not_reclaimed_without_consent(tmp_path: Path) -> None:
    desk = desk_with(tmp_path)
    desk.put("2026-06-12-call.md", talk("hello"))
    (result,) = desk.harvest(HarvestRequest(consent=Consent(1))).results
    assert (result.outcome, result.reclaimed) == ("harvested", False)
    assert "no items found" in result.kept
    (result,) = desk.harvest(HarvestRequest(consent=Consent(1, empty=True))).results
    assert result.reclaimed


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (extraction("harvested", FACT, provider="markers", shown=1), "it was read without a model"),
        (extraction("harvested", FACT, provider="anthropic", shown=10**9, summarised=True), "by summary"),
        (extraction("harvested", FACT, provider="anthropic", shown=20), r"[0-9]+% of it was read"),
        (
            extraction("harvested", FACT, provider="anthropic", shown=10**9, refused=("facts 2: x",)),
            r"1 of the model's items were unusable \(--reclaim-partial\)",
        ),
    ],
)
def test_an_incomplete_harvest_is_not_reclaimed_without_consent(
    tmp_path: Path, read: Extraction, why: str
) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.extractor = Scripted({"2026-06-12-call": read})
    (result,) = desk.harvest(HarvestRequest(consent=Consent(1, empty=True))).results
    assert not result.reclaimed and re.search(why, result.kept)
    assert result.refused == read.entry.refused
    assert desk.harvest().results[0].reclaimed


def test_a_conversation_read_by_markers_is_harvested_by_a_model_later(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT, QUESTION)
    desk.extractor = Scripted({"2026-06-12-call": extraction("harvested", FACT, provider="markers")})
    desk.harvest(desk.request(reclaim=False))
    (candidate,) = desk.knowledge.harvest.survey().candidates
    assert candidate.kind == "prune"

    desk.config = replace(desk.config, harvest=HarvestSettings(provider="anthropic"))
    (candidate,) = desk.knowledge.harvest.survey().candidates
    assert (candidate.kind, candidate.why) == ("harvest", "was read without a model on 2026-06-12")
    desk.extractor = Scripted(
        {"2026-06-12-call": extraction("harvest-failed", provider="anthropic", error="no answer")}
    )
    assert desk.harvest().results[0].error == "no answer"
    assert desk.knowledge.ledger.entries()[sha(conversation_of(FACT, QUESTION))].status == "harvested"
    desk.extractor = Scripted({"2026-06-12-call": [FACT, QUESTION]})
    (result,) = desk.harvest().results
    assert result.reclaimed and result.entry is not None
    assert (result.entry.items["facts"], result.entry.items["questions"], result.entry.known) == (1, 1, 1)
    assert len(result.entry.lines) == len(desk.lines()) == 2
    assert desk.knowledge.harvest.survey().candidates == ()


def test_a_large_conversation_is_recorded_and_kept(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({}))
    data = talk("x" * (1024 * 1024 + 1))
    desk.put("large.md", data)
    (result,) = desk.harvest().results
    assert (result.outcome, result.reclaimed) == ("too-large", False)
    assert desk.knowledge.ledger.entries()[sha(data)].status == "too-large"
    assert desk.extractor.asked == []
    assert desk.is_there("conversations/large.md")


def test_reclaiming_many_needs_confirmation_of_their_number(tmp_path: Path) -> None:
    names = [f"2026-06-{number:02}-talk-{number}" for number in range(1, 8)]
    settings = HarvestSettings(most_reclaimed=5)
    desk = Desk(tmp_path, Scripted({name: [FACT] for name in names}), settings=settings)
    for number, name in enumerate(names):
        desk.put(f"{name}.md", talk(FACT.text, f"number {number}"))
    report = desk.harvest(HarvestRequest(consent=Consent(empty=True)))
    assert {each.outcome for each in report.results} == {"harvested"}
    assert not any(each.reclaimed for each in report.results)
    assert all(
        "7 would go to the trash, more than 5" in each.kept and each.to_confirm == 7
        for each in report.results
    )
    assert not any(each.reclaimed for each in desk.harvest(HarvestRequest(consent=Consent(6))).results)
    assert all(each.reclaimed for each in desk.harvest(HarvestRequest(consent=Consent(7))).results)
    assert len(desk.extractor.asked) == 7


@pytest.mark.parametrize(
    ("number", "others", "goes"), [(1, 0, True), (2, 0, True), (3, 2, False), (3, 3, True)]
)
def test_reclaiming_over_half_needs_confirmation_of_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, others: int, goes: bool
) -> None:
    monkeypatch.setattr("engine.knowledge.harvest.reclaim.FEW", 2)
    names = [f"2026-06-12-talk-{at}" for at in range(number)]
    desk = Desk(tmp_path, Scripted({name: [FACT] for name in names}))
    for at, name in enumerate(names):
        desk.put(f"{name}.md", talk(FACT.text, f"number {at}"))
    for at in range(others):
        desk.put(f"live-{at}.md", talk("hello"), minutes=1)
    results = desk.harvest(HarvestRequest()).results
    assert [each.reclaimed for each in results] == [goes] * number
    if not goes:
        assert f"3 would go to the trash, over half of {number + others}" in results[0].kept
        assert "--reclaim 3" in results[0].kept


def test_reclaiming_unharvested_conversations_needs_confirmation(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    with pytest.raises(HarvestRefused, match="--reclaim 1"):
        desk.harvest(HarvestRequest(harvest=False))
    assert not desk.is_there(LEDGER)
    (result,) = desk.harvest(desk.request(harvest=False)).results
    assert (result.outcome, result.reclaimed) == ("unharvested", True)
    assert desk.extractor.asked == [] and desk.lines() == []
    entry = desk.knowledge.ledger.entries()[sha(conversation_of(FACT))]
    assert (entry.status, entry.deleted) == ("deleted-unharvested", True)
    assert desk.knowledge.reclaimer.restore(sha(conversation_of(FACT))) == "conversations/2026-06-12-call.md"


@pytest.mark.parametrize("harvest", [True, False])
def test_a_conversation_that_goes_on_before_it_is_reclaimed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harvest: bool
) -> None:
    desk = desk_with(tmp_path, FACT)
    path = "conversations/2026-06-12-call.md"
    reason_to_keep = desk.knowledge.reclaimer.reason_to_keep

    def checked_first(*arguments: Any) -> str:
        reason = reason_to_keep(*arguments)
        desk.files.append(path, b"\n## 18:59 \xe2\x80\x94 user\nOne more thing.\n")
        return reason

    monkeypatch.setattr(desk.knowledge.reclaimer, "reason_to_keep", checked_first)
    (result,) = desk.harvest(desk.request(harvest=harvest)).results
    assert not result.reclaimed and "changed in the meantime" in result.kept
    assert b"One more thing." in desk.files.read(path)


def test_without_git_nothing_is_committed_or_reclaimed(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT, git=False)
    report = desk.harvest()
    (result,) = report.results
    assert (result.outcome, report.commit, result.reclaimed) == ("harvested", "", False)
    assert "not a git repository" in report.uncommitted
    assert "not a git repository; run: git init" in result.kept
    assert desk.is_there("conversations/2026-06-12-call.md") and len(desk.lines()) == 1


@pytest.mark.parametrize("state", ["detached", "merge"])
def test_nothing_is_reclaimed_in_a_busy_repository(tmp_path: Path, state: str) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.repository.commit(["memory-config.yaml"], "first")
    if state == "detached":
        subprocess.run(["git", "switch", "-q", "--detach"], cwd=tmp_path, check=True)
    else:
        (tmp_path / ".git/MERGE_HEAD").write_text(str(desk.repository.revision()))
    before = desk.repository.revision()
    (result,) = desk.harvest().results
    assert not result.reclaimed and result.kept
    assert desk.repository.revision() == before
    assert len(desk.lines()) == 1


def test_a_conversation_with_a_secret_is_neither_committed_nor_reclaimed(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    key = "sk-ant-" + "a1B2" * 8
    desk.put("2026-06-12-call.md", talk(FACT.text, f"the key is {key}"))
    (result,) = desk.harvest().results
    assert not result.reclaimed and "looks like a secret" in result.kept
    everything = subprocess.run(["git", "log", "-p", "--all"], cwd=tmp_path, capture_output=True, check=True)
    assert key.encode() not in everything.stdout
    assert FACT.text.encode() in everything.stdout


def test_a_stale_save_over_harvested_lines_is_reported_and_can_be_undone(tmp_path: Path) -> None:
    """L5: the line is reported missing from the ledger, but the history has it."""
    desk = desk_with(tmp_path, FACT)
    desk.harvest()
    (tmp_path / "knowledge/facts.md").write_text("# Facts\n")
    (checked,) = desk.knowledge.verify()
    assert [each.state for each in checked.lines] == ["gone"]
    assert checked.sound
    assert FACT.text.encode() in (desk.committed("knowledge/facts.md") or b"")


def test_a_restored_conversation_has_the_same_bytes_and_stays(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.harvest()
    assert desk.knowledge.reclaimer.restore(sha(conversation_of(FACT))) == "conversations/2026-06-12-call.md"
    path = tmp_path / "conversations/2026-06-12-call.md"
    assert path.read_bytes() == conversation_of(FACT)
    os.utime(path, (0, 0))
    assert desk.harvest().results == ()
    assert path.exists() and desk.knowledge.trash.all() == ()
    assert desk.committed("conversations/2026-06-12-call.md") == conversation_of(FACT)


def test_a_purged_conversation_is_restored_from_the_history(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT, settings=HarvestSettings(trash_days=30))
    desk.harvest()
    desk.now += timedelta(days=29)
    assert desk.harvest(HarvestRequest()).purged == ()
    desk.now += timedelta(days=2)
    assert desk.harvest(HarvestRequest()).purged == ("conversations/2026-06-12-call.md",)
    assert [each.source for each in desk.knowledge.verify()] == ["in history"]
    desk.knowledge.reclaimer.restore(sha(conversation_of(FACT)))
    assert (tmp_path / "conversations/2026-06-12-call.md").read_bytes() == conversation_of(FACT)


def test_a_conversation_is_not_restored_over_another_one(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.harvest()
    desk.put("2026-06-12-call.md", talk("another call"))
    with pytest.raises(HarvestRefused, match="another conversation has its name"):
        desk.knowledge.reclaimer.restore(sha(conversation_of(FACT)))
    assert desk.knowledge.trash.content(sha(conversation_of(FACT))) is not None


def test_suspect_items_are_held_and_written_once_accepted(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT, POISON)
    (result,) = desk.harvest().results
    assert result.entry is not None and len(result.entry.held) == 1
    assert POISON.text not in "".join(desk.lines()) and POISON.text not in desk.text("digest.md")
    (waiting,) = desk.knowledge.review.queue.waiting()
    assert waiting.why and waiting.said == POISON.text
    done = desk.knowledge.review.accept(waiting.id, "Reports are mailed weekly.")
    assert done.line == f"- Reports are mailed weekly. {FROM}"
    assert done.line in desk.lines() and done.commit
    entry = desk.knowledge.ledger.entries()[sha(conversation_of(FACT, POISON))]
    assert done.line in [line.text for line in entry.lines]
    assert desk.knowledge.review.queue.waiting() == ()


def test_an_edited_text_with_a_secret_is_refused_before_writing(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, POISON)
    desk.harvest(desk.request(reclaim=False))
    (waiting,) = desk.knowledge.review.queue.waiting()
    typed = "The login is password: hunter2hunter2"
    with pytest.raises(HarvestRefused, match="looks like a password") as refused:
        desk.knowledge.review.accept(waiting.id, typed)
    assert "capture.redact" in refused.value.hint and "hunter2" not in str(refused.value)
    written = [path for path in tmp_path.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert desk.knowledge.review.queue.waiting() == (waiting,) and written == []


def test_rejected_items_never_come_back(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, POISON)
    desk.harvest(desk.request(reclaim=False))
    (waiting,) = desk.knowledge.review.queue.waiting()
    desk.knowledge.review.reject(waiting.id[:5])
    desk.put("2026-06-12-call.md", conversation_of(POISON) + b"\nbye\n")
    desk.harvest(desk.request(reclaim=False))
    assert desk.knowledge.review.queue.waiting() == ()
    assert desk.lines() == []


def test_no_request_is_made_if_a_category_file_is_broken(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    broken = b"# Facts\n\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> other\n"
    desk.files.replace("knowledge/facts.md", broken)
    with pytest.raises(DocumentError, match=r"knowledge/facts\.md"):
        desk.harvest()
    assert desk.files.read("knowledge/facts.md") == broken
    assert desk.extractor.asked == []


def test_an_item_for_a_file_broken_during_the_harvest_waits_for_review(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT, QUESTION)
    broken = b"# Facts\n\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> other\n"

    def applied(files: Files, edit: Edit) -> Applied:
        if edit.path == "knowledge/facts.md":
            desk.files.replace(edit.path, broken)
        return apply(files, edit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.knowledge.apply.apply", applied)
        (result,) = desk.harvest().results
    assert result.outcome == "harvested"
    assert desk.files.read("knowledge/facts.md") == broken
    (waiting,) = desk.knowledge.review.queue.waiting()
    assert waiting.item.text == FACT.text and "knowledge/facts.md" in waiting.why
    assert QUESTION.text in desk.text("questions.md")


def test_transcripts_are_harvested_and_never_moved(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({"1800-ses_a-call": [FACT]}))
    path = tmp_path / "raw/conversations/2026/06/12/1800-ses_a-call.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"---\nsession_id: ses_a\nended: 2026-06-12T18:10:00Z\n---\n\n" + conversation_of(FACT))
    (result,) = desk.harvest(HarvestRequest(transcripts=True)).results
    assert (result.outcome, result.reclaimed) == ("harvested", False)
    assert path.exists()
    assert desk.harvest(HarvestRequest(transcripts=True)).results == ()


def test_a_path_that_is_not_a_conversation_is_refused(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.put("live.md", talk("hello"), minutes=1)
    desk.put("mine.md", b"---\nkeep: true\n---\n" + talk("hello"))
    for path, why in (
        ("knowledge/facts.md", "not a working conversation"),
        ("conversations/mine.md", "left alone"),
    ):
        with pytest.raises(HarvestRefused, match=why):
            desk.harvest(HarvestRequest((path,)))
    assert desk.extractor.asked == []


def test_a_live_conversation_named_by_a_person_is_harvested_and_kept(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({"live": [FACT]}))
    path = desk.put("live.md", conversation_of(FACT), minutes=1)
    assert desk.harvest(desk.request()).results == ()
    (result,) = desk.harvest(desk.request(paths=(path,))).results
    assert (result.outcome, result.reclaimed) == ("harvested", False) and FACT.text in desk.text("facts.md")
    assert result.kept == "written to moments ago; kept until it is idle"
    (result,) = desk.harvest(desk.request(paths=(path,))).results
    assert not result.is_new and not result.reclaimed


def test_text_without_speakers_is_kept_and_reported_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({}))
    data = b"The key is under the mat.\n"
    path = desk.put("note.txt", data)
    (result,) = desk.harvest().results
    assert (result.outcome, result.error) == ("unclear", "could not tell who speaks; kept")
    entry = desk.knowledge.ledger.entries()[sha(data)]
    assert (entry.status, entry.error) == ("harvest-failed", "could not tell who speaks; kept")
    assert desk.extractor.asked == [] and desk.is_there(path)
    assert desk.harvest().results == ()
    assert desk.harvest(desk.request(paths=(path,))).results[0].outcome == "unclear"


def test_an_error_common_to_all_conversations_is_reported_once_unrecorded(tmp_path: Path) -> None:
    missing = extraction("harvest-failed", provider="openai", error="there is no key", lasting=True)
    desk = Desk(tmp_path, Scripted({"a": missing, "b": missing, "c": missing}))
    for name in "abc":
        desk.put(f"{name}.md", talk(f"hello {name}"))
    report = desk.harvest()
    assert (report.results, report.stopped) == ((), "there is no key")
    assert desk.extractor.asked == ["conversations/a.md"] and not desk.is_there(LEDGER)


def test_a_report_counts_only_items_written_by_this_run(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT, POISON)
    first = desk.harvest(desk.request(reclaim=False))
    assert (first.items, first.held, first.results[0].is_new) == ({"facts": 1}, 1, True)
    again = desk.harvest()
    assert again.results[0].reclaimed
    assert (again.items, again.held, again.results[0].is_new) == ({}, 0, False)


def test_transcripts_are_harvested_if_there_are_no_conversations(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({"1800-ses_a-call": [FACT]}))
    harvest = desk.knowledge.harvest
    assert not harvest.means_transcripts()
    path = "raw/conversations/2026/06/12/1800-ses_a-call.md"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_bytes(b"---\nended: 2026-06-12T18:10:00Z\n---\n\n" + conversation_of(FACT))
    assert harvest.means_transcripts() and harvest.means_transcripts((path,))
    assert harvest.survey(transcripts=False).left == 1
    desk.put("a.md", talk("hello"))
    assert not harvest.means_transcripts() and harvest.means_transcripts((path,))
    desk.harvest(HarvestRequest(transcripts=True))
    assert harvest.survey(transcripts=False).left == 0


def test_a_run_can_be_stopped(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.put("z.md", talk("hello"))
    desk.extractor.on_extract = lambda _source: desk.knowledge.harvest.stop()
    report = desk.harvest()
    assert report.stopped and len(report.results) == 1
    assert desk.extractor.stopped.is_set()


def test_nothing_is_requested_or_moved_with_a_damaged_ledger(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.files.replace(LEDGER, b'{"entries": {')
    with pytest.raises(LedgerBroken, match="ledger rebuild"):
        desk.harvest()
    assert desk.extractor.asked == [] and desk.lines() == []
    assert desk.is_there("conversations/2026-06-12-call.md")


def test_a_read_only_workspace_is_surveyed_and_not_harvested(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, FACT)
    desk.files.read_only = True
    assert len(desk.knowledge.harvest.survey().of("harvest")) == 1
    with pytest.raises(ReadOnly):
        desk.harvest()
    assert desk.extractor.asked == []


def test_without_a_model_nothing_is_written_without_review(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({}))
    desk.knowledge.extractor = Extractor
    desk.put("a.md", talk("Decision: canvas.", "TODO: measure it.", "Remember: it shrinks."))
    plan = "Implement the following plan:\n\n- [ ] Verify that telemetry is off\n- [x] Fact: it was on"
    desk.put("b.md", talk(plan, "/review\n\n# Checklist\n\n- [ ] Run the tests"))
    report = desk.harvest()
    assert (report.items, report.held, desk.lines()) == ({}, 3, [])
    assert [each.item.text for each in desk.knowledge.review.queue.waiting()] == [
        "canvas.", "measure it.", "it shrinks.",
    ]  # fmt: skip


def test_commands_are_counted_by_project_and_accepted_into_its_page(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({}))
    desk.knowledge.extractor = Extractor
    sessions = ("tide", "make test", 2), ("tide", "make test-all", 3), ("port", "make test", 2)
    for at, (project, command, times) in enumerate((*sessions, ("tide", "make test", 1))):
        path = tmp_path / f"raw/conversations/2026/06/1{at}/1800-ses_{at}-call.md"
        path.parent.mkdir(parents=True)
        head = f"started: 2026-06-1{at}T18:00:00Z\nended: 2026-06-1{at}T18:10:00Z\ncwd: /srv/{project}"
        calls = times * f"> [tool:Bash] {command} → 12 passed\n"
        path.write_text(f"---\n{head}\n---\n\n## 18:00 — user\ngo\n\n## 18:01 — agent\n{calls}")
    desk.harvest(HarvestRequest(transcripts=True))
    waiting = desk.knowledge.review.queue.waiting()
    page = "knowledge/projects/tide/commands.md"
    assert [(each.item.text, each.item.path, each.times) for each in waiting] == [
        ("**Run the tests**: make test", page, 3),
        ("**Run the tests**: make test-all", page, 3),
    ]
    for each in waiting:
        assert desk.knowledge.review.accept(each.id).path == page
    assert desk.text("projects/tide/commands.md") == (
        "---\ntype: procedure\nupdated: 2026-06-11\n---\n\n# Commands of tide\n\n"
        "- **Run the tests**: make test [from: 1800-ses_0-call, 2026-06-10]\n"
        "- **Run the tests**: make test-all [from: 1800-ses_1-call, 2026-06-11]\n"
    )
    assert desk.committed(page) == desk.files.read(page)
