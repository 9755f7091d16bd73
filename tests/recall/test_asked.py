"""What MCP `recall` answers: whole passages worth their tokens, and nothing the session knows already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.agents.log import KnownContext
from engine.engine import Engine
from engine.gateways.memory import Memory
from engine.search.passages import whole_passages
from engine.search.results import SearchResult
from tests.recall.conftest import BEFORE, DAY, SUBJECTS, Say, asked, did, found, put_text

FERRY, LEDGER, *_ = SUBJECTS
AGAIN = "The timetable shows the wrong pontoon again, although nobody touched the ferry module since."
VAGUE = "What did we decide in the end to keep out of the state, and which order comes first?"
LOG = "\n".join(
    f"> → {number} ferry.timetable pontoon=berth{number} captain={number:08x}" for number in range(30)
)


@dataclass
class Sessions:
    """The only session at work, and what it was told."""

    session: str
    told: KnownContext = field(default_factory=KnownContext)

    def running(self, project: Sequence[str] = ()) -> str:
        return self.session

    def known(self, session_id: str) -> KnownContext:
        return self.told if session_id == self.session else KnownContext()


def lines_of(place: str) -> tuple[str, str]:
    path, _, lines = place.rpartition(":")
    return path, lines


def at_the_ferry(say: Say) -> str:
    """Writes a session that looks at the ferry; returns its id."""
    named = did(FERRY).replace("captain", "").replace("berth", "")
    path = say(DAY.format(20), asked(FERRY), f"{named}I see.")
    return path.rpartition("-")[0].rpartition("-")[2]


def test_a_passage_is_whole_and_has_its_speaker_day_and_session(
    engine: Engine, past: list[str], say: Say
) -> None:
    say(BEFORE.format(30), asked(FERRY), f"I look.\n\n> [tool:Bash] ferry --all\n{LOG}\n\n{found(FERRY)}")
    answer = Memory(engine).recall(AGAIN, budget=1_000)
    assert f"agent: {found(FERRY)}" in answer.text and "…" not in answer.text
    assert f"<!-- {BEFORE.format(1)} 0901 work -->" in answer.text
    assert LOG.split("\n")[3] not in answer.text and "> →" not in answer.text


def test_an_answer_ends_where_nothing_more_is_worth_it(engine: Engine, past: list[str]) -> None:
    answer = Memory(engine).recall(AGAIN, budget=4_000)
    assert {lines_of(place)[0] for place in answer.sources} == {past[0]}
    assert 0 < answer.tokens < 700


def test_the_session_that_asks_decides_what_is_brought_first(
    engine: Engine, past: list[str], say: Say
) -> None:
    session = at_the_ferry(say)
    alone = Memory(engine).recall(VAGUE)
    for answer in (
        Memory(engine).recall(VAGUE, session=session),
        Memory(engine, Sessions(session)).recall(VAGUE),
    ):
        assert lines_of(answer.sources[0])[0] == past[0]
        assert not any(session in place for place in answer.sources), "its own turns are in its context"
    assert lines_of(alone.sources[0])[0] != past[0]


def test_an_unknown_session_is_like_none(engine: Engine, past: list[str]) -> None:
    memory = Memory(engine)
    assert memory.recall(AGAIN, session="ses_none").text == memory.recall(AGAIN).text != ""


def test_what_the_session_was_told_is_not_told_again(engine: Engine, past: list[str], say: Say) -> None:
    session = at_the_ferry(say)
    first = Memory(engine).recall(AGAIN, session=session)
    told = frozenset(
        (path, each) for path, lines in map(lines_of, first.sources) for each in lines.split(",")
    )
    second = Memory(engine, Sessions(session, KnownContext("x", sections=told))).recall(AGAIN)
    assert found(FERRY) in first.text and found(FERRY) not in second.text
    assert set(first.sources).isdisjoint(second.sources)


def test_what_a_rule_or_the_agents_own_file_says_is_not_brought(
    engine: Engine, tmp_path: Path, past: list[str], say: Say
) -> None:
    pontoon = "Always print the pontoon of a ferry before its timetable in every report."
    berth = "Keep the berth of each ferry out of the timetable, because captains change it."
    say(DAY.format(1), pontoon, "Understood, I will do that from now on for each of the reports.")
    say(DAY.format(2), berth, "Understood, I will leave it out of all of the tables from now on.")
    question = "What is to be done about the pontoon, the berth and the timetable of a ferry in a report?"
    project = tmp_path / "shop"
    project.mkdir()
    before = Memory(engine, folder=str(project)).recall(question)
    assert pontoon in before.text and berth in before.text
    put_text(engine.workspace.root, "knowledge/rules.md", f"# Rules\n\n## In force\n\n- {pontoon}\n")
    (project / "CLAUDE.md").write_text(f"# Reports\n\n- **{berth}**\n")
    after = Memory(engine, folder=str(project)).recall(question)
    excerpts = after.text.partition("{rag-context}")[2].partition("{/rag-context}")[0]
    assert excerpts and pontoon not in excerpts and berth not in excerpts
    assert berth in Memory(engine).recall(question).text, "elsewhere nothing says it"


def result(text: str, category: str = "conversation", start: int = 10) -> SearchResult:
    return SearchResult(
        "raw/conversations/a.md", start, start + text.count("\n"), category, "", "", "", text,  # type: ignore[arg-type]
        1.0, 1, None, "index", "", speaker="agent",
    )  # fmt: skip


def test_a_long_text_is_cut_to_the_paragraphs_that_answer() -> None:
    parts = [
        f"Paragraph {number} is about the {word} and says in a sentence of some length what became of it, as"
        " far as anybody remembers, which is not very far because it was a long time ago, in another year."
        for number, word in enumerate(("weather", "harbour", "ferry", "orchard", "kiln", "forge"))
    ]
    [cut] = whole_passages([result("\n\n".join(parts))], "What became of the ferry?")
    assert cut.text == f"{parts[2]}\n\n{parts[3]}", "joined to 80 tokens at least"
    assert (cut.start_line, cut.end_line) == (14, 16)


def test_what_a_program_printed_is_no_passage_and_other_files_stay_as_they_are() -> None:
    note = result("ferry: 7\n| a | b |", category="knowledge")
    assert list(whole_passages([result(LOG), note], "ferry")) == [note]
    short = result("Moved to Aubrac in spring.")
    assert list(whole_passages([short, result("Yes, commit this.")], "Where?")) == [short]
