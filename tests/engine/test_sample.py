"""The workspace that ``init --sample`` copies: well formed, consistent, and movable in time."""

from __future__ import annotations

import json
import re
from datetime import date
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

from engine.activation.patterns import PatternMatcher
from engine.activation.trace import Message
from engine.context import tokens
from engine.knowledge.category_files import CATEGORY_FILES, entries
from engine.knowledge.digest import digest_of
from engine.knowledge.ledger import Status
from engine.search.results import CATEGORIES
from engine.settings import file as config_file
from engine.store import documents, paths
from engine.store.files import Files
from engine.store.schema import validate
from engine.topics.library import TopicLibrary
from engine.topics.model import Activation, Priority, Topic, TriggerType
from engine.transcripts.format import parse, render
from engine.transcripts.turn import Attachment, KnowledgeChange, ToolCall, Transcript
from tests.cases import each_case

SAMPLE = Path(str(resources.files("engine"))) / "sample"
WORKSPACE = SAMPLE / "workspace"
TODAY = date(2026, 6, 12)
FIRST, LAST = date(2026, 5, 1), date(2026, 7, 15)

PROVENANCE = re.compile(r"\[from: ([^,\]]+), (\d{4}-\d{2}-\d{2})\]$")
WEEKDAY = re.compile(
    r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tags?|Mittwochs?)\b",
    re.IGNORECASE,
)
MONTH = re.compile(
    r"\b(?:January|February|April|June|July|August|September|October|November|December"
    r"|Januar|Februar|März|Juni|Juli|Oktober|Dezember)\b"
)
PARTIAL_DATE = re.compile(
    r"(?<![\d-])(?:0[1-9]|1[0-2])-[0-3]\d(?![\d-])|\b\d{1,2}(?:st|nd|rd|th)\b|\b20\d{6}\b"
)


def files() -> list[Path]:
    return sorted(path for path in SAMPLE.rglob("*") if path.is_file())


def relative(path: Path) -> str:
    return path.relative_to(WORKSPACE).as_posix()


def read(name: str) -> str:
    return (WORKSPACE / name).read_text(encoding="utf-8")


def transcripts() -> dict[str, Transcript]:
    return {
        relative(path): parse(path.read_bytes(), relative(path))
        for path in sorted((WORKSPACE / "raw/conversations").rglob("*.md"))
    }


def bullets(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]


def past() -> list[dict[str, str]]:
    """The shipped outcomes of conversations."""
    outcomes: list[dict[str, str]] = json.loads((SAMPLE / "past.json").read_text("utf-8"))["conversations"]
    return outcomes


def library() -> TopicLibrary:
    workspace = paths.Workspace.open(WORKSPACE)
    topics = TopicLibrary(workspace, Files(workspace, read_only=True))
    topics.load()
    return topics


def topics() -> tuple[Topic, ...]:
    return library().topics


def conversation_names() -> set[str]:
    """Valid provenance names: day and slug of a transcript, or the name of a harvested file."""
    names = set()
    for path in transcripts():
        *_, year, month, day, name = path.split("/")
        slug = name.removesuffix(".md").split("-", 2)[2]
        names.add(f"{year}-{month}-{day}-{slug}")
    names |= {Path(entry["path"]).stem for entry in past()}
    return names | {path.stem for path in (WORKSPACE / "conversations").iterdir()}


def provenances() -> list[tuple[str, str]]:
    found = []
    sources = [file.path for file in CATEGORY_FILES]
    sources += [relative(path) for path in (WORKSPACE / "knowledge/files").glob("*.md")]
    for source in sources:
        for line in bullets(read(source)):
            match = PROVENANCE.search(line)
            assert match, f"{source}: no provenance at the end of: {line}"
            found.append((match[1], match[2]))
    return found


def test_every_file_is_plain_utf8_text_with_a_final_line_end() -> None:
    for path in files():
        data = path.read_bytes()
        text = data.decode("utf-8")
        assert text.endswith("\n"), path
        assert "\r" not in text, path
        odd = {char for char in text if ord(char) < 32 and char not in "\n\t"} | {
            c for c in text if 0x7F <= ord(c) < 0xA0
        }
        assert not odd, f"{path}: {odd!r}"
        assert "lorem" not in text.lower(), path


def test_the_sample_is_small_enough_to_ship() -> None:
    size = sum(path.stat().st_size for path in files())
    assert 150_000 <= size <= 320_000


def test_every_header_is_valid() -> None:
    problems = []
    for path in sorted(WORKSPACE.rglob("*.md")):
        document = documents.parse(path.read_bytes(), relative(path))
        problems += [str(problem) for problem in validate(document)]
    assert problems == []


def test_the_settings_file_is_valid_and_keeps_the_documented_budget() -> None:
    settings, problems = config_file.load((WORKSPACE / "memory-config.yaml").read_bytes())
    assert problems == ()
    assert settings.context_compiler.token_budget == 8192
    assert settings.gate.provider == "agent"


def test_all_categories_are_present() -> None:
    found = {paths.category_of(relative(path)) for path in WORKSPACE.rglob("*") if path.is_file()}
    assert set(CATEGORIES) - {"archive", "shared"} <= found


def test_identity_and_system_prompt_leave_room_in_a_budget_of_2048_tokens() -> None:
    identity = sum(
        tokens.count(path.read_text("utf-8")) for path in (WORKSPACE / "knowledge/identity").glob("*.md")
    )
    system = tokens.count(read("knowledge/prompts/system.md"))
    assert 600 <= identity <= 1100
    assert system <= 150


def test_memory_states_its_own_length_and_dates_every_entry() -> None:
    text = read("knowledge/memory/MEMORY.md")
    document = documents.parse(text.encode(), "knowledge/memory/MEMORY.md")
    assert document.header["line_count"] == str(len(text.splitlines()))
    remembered = bullets(text)
    assert len(remembered) > 60
    assert all(re.match(r"- \d{4}-\d{2}-\d{2}: ", entry) for entry in remembered)


def test_journals_cover_the_month_and_name_existing_sessions() -> None:
    sessions = {transcript.session_id for transcript in transcripts().values()}
    days = set()
    for path in (WORKSPACE / "knowledge/journal").glob("*.md"):
        document = documents.parse(path.read_bytes(), relative(path))
        assert document.header["date"] == path.stem
        named = document.header["sessions"]
        assert isinstance(named, list)
        assert set(named) <= sessions, path
        days.add(path.stem)
    assert len(days) >= 18
    assert {"2026-06-11", "2026-06-12"} <= days


def test_the_path_of_a_transcript_matches_its_header() -> None:
    for path, transcript in transcripts().items():
        day, clock = transcript.started[:10], transcript.started[11:16]
        prefix = (
            f"raw/conversations/{day.replace('-', '/')}/{clock.replace(':', '')}-{transcript.session_id}-"
        )
        assert path.startswith(prefix), path
        assert transcript.turns[0].time == clock, path
        assert transcript.turns[-1].time == transcript.ended[11:16], path
        times = [turn.time for turn in transcript.turns]
        assert times == sorted(times), path


def test_transcripts_have_turns_of_every_kind_and_survive_a_round_trip() -> None:
    found = transcripts()
    assert len(found) >= 20
    assert len({transcript.session_id for transcript in found.values()}) == len(found)
    blocks: list[object] = []
    for path, transcript in found.items():
        assert len(transcript.turns) >= 8, path
        assert transcript.title, path
        assert {"user", "agent"} <= {turn.role for turn in transcript.turns}, path
        assert parse(render(transcript).encode(), path).turns == transcript.turns, path
        blocks += [block for turn in transcript.turns for block in turn.blocks]
        for change in (block for turn in transcript.turns for block in turn.blocks):
            if isinstance(change, KnowledgeChange | Attachment):
                assert (WORKSPACE / change.path).is_file(), f"{path}: {change.path}"
    assert {ToolCall, Attachment, KnowledgeChange} <= {type(block) for block in blocks}
    assert any(turn.kind == "memory" for transcript in found.values() for turn in transcript.turns)
    assert any(turn.role == "system" for transcript in found.values() for turn in transcript.turns)


def test_changes_named_in_transcript_headers_are_existing_files() -> None:
    for path, transcript in transcripts().items():
        changes = transcript.header["knowledge_changes"]
        assert isinstance(changes, list)
        for change in changes:
            assert (WORKSPACE / change["path"]).is_file(), f"{path}: {change['path']}"


def test_provenance_names_existing_conversations() -> None:
    known = conversation_names()
    assert {name for name, _ in provenances()} <= known
    for name, day in provenances():
        assert day >= name[:10], f"{name} was harvested before it took place"


@each_case(
    ("name", "at_least"),
    [("facts", 25), ("decisions", 15), ("questions", 8), ("playbooks", 6), ("tasks", 15)],
)
def test_entries_of_category_files_are_in_order(name: str, at_least: int) -> None:
    parts = read(f"knowledge/{name}.md").split("\n## Done")
    assert sum(len(bullets(part)) for part in parts) >= at_least
    if name in ("facts", "decisions"):
        dates = [line[-11:-1] for line in bullets(parts[0])]
        assert dates == sorted(dates)
    if name == "tasks":
        assert "\n## Open\n" in parts[0]
        assert len(parts) == 2
    if name == "playbooks":
        assert all(line.startswith("- **") for line in bullets(parts[0]))


def test_a_reversal_names_the_reversed_decision() -> None:
    decisions = bullets(read("knowledge/decisions.md"))
    reversals = [line for line in decisions if "this reverses" in line]
    reversed_ones = [line for line in decisions if "(Reversed on " in line]
    assert len(reversals) == len(reversed_ones) == 2


def test_digest_is_a_projection_of_the_category_files() -> None:
    sources = {file.path: entries(read(file.path).encode(), file.path) for file in CATEGORY_FILES}
    assert (WORKSPACE / "knowledge/digest.md").read_bytes() == digest_of(sources)


def test_outcomes_cover_every_status_and_have_a_text_for_each_reclaimed_conversation() -> None:
    outcomes = past()
    assert len(outcomes) >= 18
    assert {each["status"] for each in outcomes} == set(get_args(Status))
    assert [each["at"] for each in outcomes] == sorted(each["at"] for each in outcomes)
    texts = {path.name for path in (SAMPLE / "reclaimed").iterdir()}
    said = {path.name for path in (WORKSPACE / "conversations").iterdir()}
    for each in outcomes:
        name = Path(each["path"]).name
        folder = WORKSPACE / "raw/conversations" / name[:10].replace("-", "/")
        spoken = len(list(folder.glob(f"????-ses_????????-{name[11:]}")))
        assert (name in texts) + (name in said) + spoken == 1, name
        texts.discard(name)
    assert not texts, "these have no outcome"


def test_conversations_of_every_readable_kind_wait_for_the_harvest() -> None:
    waiting = sorted((WORKSPACE / "conversations").iterdir())
    assert {path.suffix for path in waiting} == {".md", ".txt", ".jsonl"}


@pytest.mark.parametrize("path", sorted(SAMPLE.rglob("*.jsonl")), ids=lambda path: path.name)
def test_the_records_of_a_session_are_a_chain(path: Path) -> None:
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert {"user", "assistant"} <= {record["type"] for record in records}
    chain = [record["uuid"] for record in records if "uuid" in record]
    parents = [record["parentUuid"] for record in records if "uuid" in record]
    assert parents == [None, *chain[:-1]]
    assert records[0]["leafUuid"] == chain[-1]
    assert len(set(chain)) == len(chain)


def test_topics_load_without_problems() -> None:
    loaded = library()
    assert [str(problem) for problem in loaded.problems] == []
    assert 12 <= len(loaded.topics) <= 16


def test_topics_use_every_trigger_priority_and_activation() -> None:
    loaded = topics()
    assert {trigger.type for topic in loaded for trigger in topic.triggers} == set(get_args(TriggerType))
    assert {topic.priority for topic in loaded} == set(get_args(Priority))
    assert {topic.activation for topic in loaded} == set(get_args(Activation))
    steering = [t for topic in loaded for t in topic.triggers if t.scope == "output" and t.correction_hint]
    assert steering
    assert all(topic.examples and len(topic.instructions) > 300 for topic in loaded)


def test_subscriptions_exist() -> None:
    for topic in topics():
        assert topic.subscriptions, topic.name
        for path in topic.subscriptions:
            assert (WORKSPACE / path).is_file(), f"{topic.name}: {path}"


def test_every_topic_matches_at_least_one_of_its_examples() -> None:
    loaded = topics()
    matcher = PatternMatcher(loaded)
    for topic in loaded:
        if {trigger.type for trigger in topic.triggers} != {"cron"}:
            hits = [matcher.match(Message(example)).get(topic.name, ()) for example in topic.examples]
            assert any(hits), topic.name


def test_the_replay_activates_topics_and_lets_them_lapse() -> None:
    loaded = topics()
    matcher = PatternMatcher(loaded)
    transcript = parse((SAMPLE / "replay.md").read_bytes(), "replay.md")
    matched: list[set[str]] = []
    steered: list[str] = []
    for turn in transcript.turns:
        if turn.role == "user":
            matched.append({name for name, hits in matcher.match(Message(turn.text)).items() if hits})
        elif turn.kind == "":
            steered += matcher.match(Message(turn.text, "output"))
    wanted = {"email-triage", "github-pr-review", "german", "deploy", "release", "gauge-quality", "incident"}
    assert wanted <= set[str]().union(*matched)
    assert set() in matched, "small talk matches nothing"
    assert steered == ["code-style"]


def test_knowledge_entries_are_named_after_their_folders_and_the_parent_links_its_children() -> None:
    found = sorted((WORKSPACE / "knowledge").rglob("KNOWLEDGE.md"))
    assert len(found) >= 5
    for path in found:
        document = documents.parse(path.read_bytes(), relative(path))
        assert document.header["name"] == path.parent.name
        assert document.header["description"]
    parent = WORKSPACE / "knowledge/tidemark-incidents"
    children = sorted(path.parent.name for path in parent.glob("*/KNOWLEDGE.md"))
    assert len(children) == 2
    for child in children:
        assert f"({child}/KNOWLEDGE.md)" in (parent / "KNOWLEDGE.md").read_text("utf-8")


def test_a_custom_skill_is_included_and_references_nothing_private() -> None:
    skills = list((WORKSPACE / ".library/custom").glob("*/SKILL.md"))
    assert len(skills) == 1
    assert "knowledge/" not in skills[0].read_text("utf-8")


def test_relative_links_resolve() -> None:
    for path in sorted(WORKSPACE.rglob("*.md")):
        for target in re.findall(r"\]\(([^)#\s]+\.md)\)|(?<=See also: )(\S+\.md)", path.read_text("utf-8")):
            link = "".join(target)
            assert (path.parent / link).is_file(), f"{relative(path)}: {link}"


def test_every_date_can_be_moved_on_installation() -> None:
    for path in files():
        text = f"{path.relative_to(SAMPLE)}\n{path.read_text('utf-8')}"
        for year, month, day in re.findall(r"(?<!\d)(\d{4})[-/](\d{2})[-/](\d{2})(?!\d)", text):
            assert FIRST <= date(int(year), int(month), int(day)) <= LAST, f"{path}: {year}-{month}-{day}"
        for pattern in (WEEKDAY, MONTH, PARTIAL_DATE):
            found = pattern.search(text)
            assert found is None, f"{path}: {found and found[0]!r} does not move with the dates"


def test_nothing_is_dated_after_the_anchor_day() -> None:
    for name, transcript in transcripts().items():
        assert date.fromisoformat(transcript.ended[:10]) <= TODAY, name
    for path in sorted((WORKSPACE / "knowledge").rglob("*.md")):
        updated = documents.parse(path.read_bytes(), relative(path)).header.get("updated")
        if isinstance(updated, str):
            assert date.fromisoformat(updated[:10]) <= TODAY, path


def test_the_replay_is_a_conversation_of_the_anchor_day() -> None:
    transcript = parse((SAMPLE / "replay.md").read_bytes(), "replay.md")
    assert transcript.started[:10] == TODAY.isoformat()
    assert 24 <= len(transcript.turns) <= 30
    said = [turn.text for turn in transcript.turns if turn.role == "user"]
    assert any("Can you review the PR that just came in?" in text for text in said)
    assert any(re.search(r"https?://\S+/pull/\d+", text) for text in said)
    assert any("Guten Morgen" in text for text in said)
    outputs = [turn.text for turn in transcript.turns if turn.role == "agent"]
    assert sum(bool(re.search(r'^\s*print\s+"', text, re.MULTILINE)) for text in outputs) == 1
    sessions = {other.session_id for other in transcripts().values()}
    assert transcript.session_id not in sessions
