"""The stable prefix depends only on the files and the budget; equal inputs give equal bytes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.activation.trace import Correction
from engine.context import tokens
from engine.context.compiled import Compiled
from engine.context.compiler import CompileRequest, ContextCompiler
from engine.errors import BudgetError
from engine.search.results import SearchResult
from engine.settings.model import CompilerSettings
from engine.topics.model import Topic
from engine.transcripts.turn import Text, ToolCall, Turn
from tests.context.conftest import TODAY, Memory, Space

WORDS = st.sampled_from(
    [
        *("cache", "branch", "deploy", "né", "日本", "\n", "\n\n", "# Plan\n", "- item ", "```\n", "x = 1\n"),
        *("<!-- identity:SOUL.md -->", "\n<!-- message -->\n", "{/knowledge}", "{rag-context}"),
        *("<|endoftext|>", "\r\n", " ", "a" * 40, "\ud800", "/", "."),
    ]
)
TEXT = st.lists(WORDS, max_size=30).map(" ".join)
LONG = st.tuples(TEXT, st.integers(0, 60)).map(lambda pair: pair[0] + "\n- a line of memory" * pair[1])
STABLE_FILES = [
    "knowledge/prompts/system.md",
    "knowledge/identity/SOUL.md",
    "knowledge/identity/USER.md",
    "knowledge/memory/MEMORY.md",
    "knowledge/projects/_active.md",
    "knowledge/digest.md",
    "knowledge/cache-stampede/KNOWLEDGE.md",
    ".library/custom/release/SKILL.md",
]
OTHER_FILES = [
    "knowledge/journal/2026-02-17.md",
    "knowledge/journal/2026-02-16.md",
    "knowledge/people/ann.md",
]
TOPIC = st.builds(
    Topic,
    name=st.sampled_from(["alpha", "beta", "gamma"]),
    path=st.just("topics/t.md"),
    title=st.just("T"),
    description=st.just(""),
    instructions=LONG,
    context_notes=TEXT,
    subscriptions=st.lists(
        st.sampled_from([*STABLE_FILES, *OTHER_FILES, "../out.md", "none.md"]), max_size=3
    ).map(tuple),
    priority=st.sampled_from(["low", "medium", "high", "critical"]),
    max_context_kb=st.sampled_from([None, 0.2, 1.0]),
)
TURN = st.builds(
    Turn,
    role=st.sampled_from(["user", "agent", "system"]),
    time=st.just("10:00"),
    blocks=st.tuples(TEXT.map(Text), st.just(ToolCall("exec", "ls", "12 files"))),
)
RESULT = st.builds(
    SearchResult,
    path=st.sampled_from(["knowledge/people/ann.md", "knowledge/facts.md", "knowledge/memory/MEMORY.md"]),
    start_line=st.integers(1, 40),
    end_line=st.integers(40, 60),
    category=st.just("knowledge"),
    heading=TEXT,
    date=st.sampled_from(["", "2026-02-01"]),
    snippet=TEXT,
    text=LONG,
    score=st.floats(0, 1),
    lexical_rank=st.none(),
    vector_rank=st.none(),
    source=st.just("index"),
    why=st.just(""),
)
REQUEST = st.builds(
    CompileRequest,
    message=TEXT.map(lambda text: f"Well? {text}"),
    today=st.just(TODAY),
    topics=st.lists(TOPIC, max_size=3).map(tuple),
    history=st.lists(TURN, max_size=8).map(tuple),
    results=st.lists(RESULT, max_size=5).map(tuple),
    session_id=st.sampled_from(["", "ses_a1"]),
    corrections=st.lists(st.builds(Correction, st.just("alpha"), TEXT, TEXT), max_size=2).map(tuple),
)
FILES = st.dictionaries(st.sampled_from([*STABLE_FILES, *OTHER_FILES]), LONG).map(
    lambda files: {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}
)
BUDGET = st.integers(400, 6000)


def compile_or_skip(files: dict[str, bytes], request: CompileRequest) -> Compiled:
    compiler = ContextCompiler(Memory(files), CompilerSettings())
    try:
        return compiler.compile(request)
    except BudgetError:
        assume(False)
        raise


@given(FILES, REQUEST, REQUEST, BUDGET)
@settings(suppress_health_check=list(HealthCheck))
def test_different_messages_share_the_prefix_for_any_budget(
    files: dict[str, bytes], one: CompileRequest, other: CompileRequest, budget: int
) -> None:
    first = compile_or_skip(files, replace(one, budget=budget))
    second = compile_or_skip(files, replace(other, budget=budget, today=TODAY + timedelta(days=1)))
    shorter, longer = sorted((first, second), key=lambda each: each.stable_prefix_length)
    prefix = longer.text[: longer.stable_prefix_length]
    assert prefix.startswith(shorter.text[: shorter.stable_prefix_length])
    if shorter.stable_prefix_length != longer.stable_prefix_length:
        assert any("removed to make room" in each.reason for each in shorter.left_out)


@given(FILES, REQUEST, BUDGET)
@settings(suppress_health_check=list(HealthCheck))
def test_every_compile_keeps_the_invariants(
    files: dict[str, bytes], request: CompileRequest, budget: int
) -> None:
    compiled = compile_or_skip(files, replace(request, budget=budget))
    assert compiled == compile_or_skip(dict(reversed(files.items())), replace(request, budget=budget))

    compiled.text.encode("utf-8")
    assert compiled.tokens == tokens.count(compiled.text) <= budget - compiled.reply_reserve
    assert sum(slot.used for slot in compiled.slots) == compiled.tokens

    above, _, below = compiled.text.partition("{rag-context}\n")
    block, _, below = below.rpartition("{/rag-context}\n") if below else ("", "", "")
    markers = [line for line in (above + below).splitlines() if line.lstrip().startswith("<!--")]
    assert len(markers) == sum(section.layer != 10 for section in compiled.sections)
    sources = [line for line in block.splitlines() if line.lstrip().startswith("<!--")]
    excerpts = [section for section in compiled.sections if section.layer == 10]
    assert len({section.source for section in excerpts}) <= len(sources) <= len(excerpts)
    assert compiled.text.count("{/knowledge}") == (
        "knowledge:digest.md" in {s.label for s in compiled.sections}
    )
    assert compiled.text.count("{rag-context}") == any(s.layer == 10 for s in compiled.sections)
    assert compiled.text.count("{/rag-context}") == compiled.text.count("{rag-context}")

    offset = 0
    layers = []
    for section in compiled.sections:
        found = compiled.text.index(section.text, offset)
        assert (found < compiled.stable_prefix_length) == (section.layer <= 7)
        offset = found + len(section.text)
        layers.append(section.layer)
        # The tokens of a search result include its source line.
        assert section.tokens >= tokens.count(section.text)
        assert section.layer == 10 or section.tokens == tokens.count(section.text)
        assert section.why
    assert layers == sorted(layers)
    assert list(compiled.boundaries) == sorted(set(compiled.boundaries))
    assert len(compiled.boundaries) <= 3
    assert all(0 < each <= compiled.stable_prefix_length for each in compiled.boundaries)
    assert all(compiled.text.startswith("<!--", each) for each in compiled.boundaries)

    named = {each.source for each in compiled.sections} | {each.source for each in compiled.left_out}
    for path in {path for path, data in files.items() if path in (*STABLE_FILES[:6], *OTHER_FILES[:2])}:
        body = ContextCompiler(Memory(files), CompilerSettings())._parsed.get(path, files[path])
        assert path in named or not body[0].text
    for result in request.results or ():
        assert result.path in named
    shown = sum(each.layer == 11 for each in compiled.sections)
    assert shown + compiled.dropped_turns == len(request.history)


def test_boundaries_are_the_ends_of_layers_five_six_and_seven(space: Space) -> None:
    space.write("knowledge/prompts/system.md", "Answer briefly.")
    space.write("knowledge/identity/SOUL.md", "I am.")
    space.write("knowledge/memory/MEMORY.md", "- 2026-02-14: files")
    space.write("knowledge/digest.md", "- a fact")
    compiled = space.compile()
    following = [compiled.text[each:].splitlines()[0] for each in compiled.boundaries]
    assert following == ["<!-- memory:MEMORY.md -->", "<!-- knowledge:digest.md -->", "<!-- discussion -->"]
    assert compiled.stable_prefix_length == compiled.boundaries[-1]


def test_empty_layers_have_no_boundary(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "I am.")
    assert len(space.compile().boundaries) == 1
    (space.root / "knowledge/identity/SOUL.md").unlink()
    space.write("knowledge/digest.md", "- a fact")
    assert len(space.compile().boundaries) == 1


def test_an_overlong_message_displaces_stable_sections_from_the_end(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "I am.")
    space.write("knowledge/memory/MEMORY.md", "- 2026-02-14: decided\n" * 40)
    space.write("knowledge/digest.md", "- a fact worth keeping\n" * 40)
    usual = space.compile("Hi", budget=1024)
    crowded = space.compile("a word " * 250, budget=1024)
    assert crowded.text[: crowded.stable_prefix_length] == usual.text[: usual.boundaries[-2]]
    assert [each.label for each in crowded.left_out if "to make room" in each.reason] == [
        "knowledge:digest.md"
    ]


def test_an_edit_of_a_stable_file_changes_the_prefix_from_that_point_on(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "I am.")
    space.write("knowledge/memory/MEMORY.md", "- 2026-02-14: files")
    before = space.compile()
    space.write("knowledge/memory/MEMORY.md", "- 2026-02-14: folders")
    after = space.compile()
    assert before.text[: before.boundaries[0]] == after.text[: after.boundaries[0]]
    assert before.text[: before.stable_prefix_length] != after.text[: after.stable_prefix_length]
