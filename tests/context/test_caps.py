"""Caps of slots in KiB or tokens, reuse of unused room, model windows, and the gain of 500 more tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.context import tokens
from engine.context.assemble import NEXT_TOKENS, next_pieces
from engine.context.budget import Cap, caps_of, shown_tokens, within
from engine.context.compiled import Compiled, LeftOut, Slot, SlotName
from engine.context.compiler import CompileRequest, ContextCompiler
from engine.errors import BudgetError, ConfigError
from engine.search.results import SearchResult
from engine.settings.file import load
from engine.settings.model import CompilerSettings
from engine.topics.model import Topic
from engine.transcripts.turn import Text, Turn
from tests.cases import each_case
from tests.context.conftest import TODAY, Memory, Space

LINE = "The build server keeps a warm cache per branch, so a clean checkout takes four minutes.\n"
HISTORY = tuple(
    Turn("user" if number % 2 == 0 else "agent", f"10:{number % 60:02}", (Text(f"Turn {number}. {LINE}"),))
    for number in range(120)
)


def results(count: int, lines: int = 3) -> tuple[SearchResult, ...]:
    return tuple(
        SearchResult(
            f"knowledge/reference/note-{number:02}.md", 1, lines, "reference", "", "", "",
            "".join(f"{number}.{line} {LINE}" for line in range(lines)).rstrip(),
            0.9 - number / 100, 1, None, "index", "by its words",
        )
        for number in range(count)
    )  # fmt: skip


def rich_files() -> dict[str, bytes]:
    files = {
        "knowledge/identity/SOUL.md": LINE * 4,
        "knowledge/memory/MEMORY.md": LINE * 60,
        "knowledge/projects/_active.md": LINE * 60,
        "knowledge/digest.md": LINE * 40,
        "knowledge/journal/2026-02-17.md": LINE * 60,
        "presets/active": "p",
        "presets/p.md": "---\ntype: preset\nfiles: [a.md]\n---\n",
        "a.md": LINE * 80,
    }
    return {path: text.encode() for path, text in files.items()}


TOPIC = Topic("t", "topics/t.md", "T", "", LINE * 90)


def compile_rich(budget: int = 32768, /, **values: Any) -> Compiled:
    request = CompileRequest(
        "Where were we?", TODAY, topics=(TOPIC,), history=HISTORY, results=results(40), budget=budget
    )
    return ContextCompiler(Memory(rich_files()), CompilerSettings(**values)).compile(request)


def slot(compiled: Compiled, name: SlotName) -> Slot:
    return next(each for each in compiled.slots if each.name == name)


def size(compiled: Compiled, name: SlotName) -> int:
    return sum(len(each.text.encode()) for each in compiled.sections if each.slot == name)


CAPPED: list[tuple[SlotName, str]] = [
    ("memory", "memory"),
    ("journal", "journal"),
    ("projects", "projects"),
    ("preset", "preset"),
    ("topics", "topic"),
    ("knowledge", "knowledge"),
    ("history", "history"),
]


@each_case(("name", "part"), CAPPED)
@each_case("limit", [0, 150, 400])
def test_a_cap_in_tokens_limits_the_reported_use_of_the_slot(name: SlotName, part: str, limit: int) -> None:
    compiled = compile_rich(**{f"{part}_budget_tokens": limit})
    used = slot(compiled, name)
    discussion = 20 if name == "history" else 0
    assert used.used <= max(limit, discussion)
    assert used.cap == limit
    assert used.used >= limit // 2
    missing = [each for each in compiled.left_out if each.slot == name and each.limit == "cap"]
    assert any(f"context_compiler.{part}_budget_tokens ({limit:,} tokens)" in each.reason for each in missing)


@each_case(("name", "part"), CAPPED)
@each_case("kib", [0, 0.5, 2])
def test_a_cap_in_kib_limits_the_text_of_the_slot(name: SlotName, part: str, kib: float) -> None:
    compiled = compile_rich(**{f"{part}_budget_kb": kib})
    discussion = 30 if name == "history" else 0
    assert size(compiled, name) <= max(kib * 1024, discussion)
    assert size(compiled, name) >= kib * 1024 / 2
    missing = [each for each in compiled.left_out if each.slot == name and each.limit == "cap"]
    assert any(f"context_compiler.{part}_budget_kb ({kib:g} KiB)" in each.reason for each in missing)


@each_case(("name", "part"), CAPPED)
def test_the_tighter_of_two_caps_applies(name: SlotName, part: str) -> None:
    small: dict[str, Any] = {f"{part}_budget_kb": 0.5}
    large: dict[str, Any] = {f"{part}_budget_tokens": 5000}
    assert compile_rich(**small, **large).text == compile_rich(**small).text
    small, large = {f"{part}_budget_tokens": 120}, {f"{part}_budget_kb": 40}
    assert compile_rich(**small, **large).text == compile_rich(**small).text


def test_a_cap_in_tokens_replaces_the_default_in_kib() -> None:
    assert size(compile_rich(memory_budget_tokens=1100), "memory") > 3 * 1024
    assert [str(cap) for cap in caps_of(CompilerSettings(), "memory")] == [
        "context_compiler.memory_budget_kb (3 KiB)"
    ]
    assert caps_of(CompilerSettings(), "history") == caps_of(CompilerSettings(), "message") == ()


def test_caps_are_read_from_the_settings_file() -> None:
    text = "context_compiler:\n  history_budget_tokens: 900\n  knowledge_budget_kb: 2.5\n"
    config, odd = load(text.encode())
    assert not odd
    assert config.context_compiler.cap("history") == (None, 900)
    assert config.context_compiler.cap("knowledge") == (2.5, None)
    with pytest.raises(ConfigError, match=r"memory-config\.yaml:2: .*preset_budget_tokens"):
        load(b"context_compiler:\n  preset_budget_tokens: -1\n")


def test_identity_over_a_cap_in_tokens_is_reported_and_kept(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", LINE * 20)
    compiled = space.compiler(identity_budget_tokens=50).compile(CompileRequest("Hi", TODAY))
    [problem] = compiled.problems
    assert problem.startswith("knowledge/identity/SOUL.md: ")
    assert "tokens, over context_compiler.identity_budget_tokens (50 tokens); shorten" in problem
    assert compiled.sections[0].text.count("warm cache") == 20


def test_a_cap_is_shown_in_tokens_of_the_slots_own_text() -> None:
    caps = (Cap.of("a", 1), Cap("b", "tokens", 900, 900))
    assert shown_tokens(caps, 100, 200, 9999) == 512
    assert shown_tokens(caps, 0, 0, 9999) == 256
    assert shown_tokens(caps, 100, 200, 50) == 50
    assert shown_tokens((), 100, 200, 50) is None
    assert within(caps, 1000, 4096) == 250


# Unused room goes to other slots.


def free(compiled: Compiled) -> int:
    return compiled.budget - compiled.reply_reserve - compiled.tokens


@each_case("part", ["memory", "projects", "journal", "preset", "topic", "knowledge"])
def test_room_unused_by_a_slot_goes_to_the_others(part: str) -> None:
    wide, tight = compile_rich(6000), compile_rich(6000, **{f"{part}_budget_tokens": 0})

    def others(compiled: Compiled) -> int:
        return sum(each.used for each in compiled.slots if each.name not in (part, f"{part}s"))

    assert others(tight) > others(wide)
    assert free(tight) < 40


def test_room_unused_by_the_history_goes_to_the_others() -> None:
    before = compile_rich(6000)
    capped = compile_rich(6000, history_budget_tokens=20)
    assert slot(capped, "knowledge").used > slot(before, "knowledge").used
    assert sum(each.used for each in capped.slots) > 6000 - 187 - 120


def test_reserved_but_unused_room_goes_back_to_what_was_cut(space: Space) -> None:
    """Results that only repeat present text reserve room and then use none of it."""
    space.write("knowledge/journal/2026-02-17.md", LINE * 60)
    space.write("a.md", LINE * 30)
    space.write("b.md", LINE * 60)
    topic = Topic("t", "topics/t.md", "T", "", "Do.", subscriptions=("a.md", "b.md"))
    repeated = tuple(
        SearchResult(
            "a.md", 1, 30, "reference", "", "", "", (LINE * 30).rstrip(), 0.9, 1, None, "index", "words"
        )
        for _ in range(3)
    )
    request = CompileRequest("Hi", TODAY, topics=(topic,), results=repeated, budget=2400)
    compiled = space.compiler(topic_budget_kb=40).compile(request)
    assert not [each for each in compiled.sections if each.layer == 10]
    assert [each for each in compiled.left_out if each.source == "b.md" and each.limit == "room"]
    assert free(compiled) < 60


@given(
    st.dictionaries(
        st.sampled_from(sorted(rich_files())), st.integers(0, 60).map(lambda count: (LINE * count).encode())
    ),
    st.dictionaries(
        st.sampled_from([f"{part}_budget_{unit}" for _, part in CAPPED for unit in ("kb", "tokens")]),
        st.integers(0, 12).map(lambda step: step * step),
        max_size=5,
    ),
    st.integers(0, 30),
    st.integers(0, 12),
    st.integers(400, 8000),
)
@settings(suppress_health_check=list(HealthCheck))
def test_caps_and_budget_hold_for_any_settings(
    changed: dict[str, bytes], values: dict[str, Any], turns: int, hits: int, budget: int
) -> None:
    files = rich_files() | changed | {"presets/active": b"p", "presets/p.md": rich_files()["presets/p.md"]}
    caps = CompilerSettings(**values)
    request = CompileRequest(
        "Well?", TODAY, topics=(TOPIC,), history=HISTORY[:turns], results=results(hits), budget=budget
    )
    try:
        compiled = ContextCompiler(Memory(files), caps).compile(request)
    except BudgetError:
        assume(False)
        raise
    assert compiled == ContextCompiler(Memory(files), caps).compile(request)
    assert compiled.tokens == tokens.count(compiled.text) <= budget - compiled.reply_reserve
    assert sum(each.used for each in compiled.slots) == compiled.tokens
    for name, part in CAPPED:
        kib, limit = caps.cap(part)
        least = next((each.tokens + 8 for each in compiled.sections if each.label == "discussion"), 0)
        if kib is not None:
            assert size(compiled, name) <= max(kib * 1024, 30 * (name == "history"))
        if limit is not None:
            assert slot(compiled, name).used <= max(limit, least * (name == "history"))
    extra = sum(each.tokens for each in compiled.next_pieces)
    assert extra <= free(compiled) + NEXT_TOKENS
    assert all(each.limit == "room" and each.tokens > 0 for each in compiled.next_pieces)


# 500 more tokens.


def left(
    label: str, size: int, *, limit: Any = "room", slot: SlotName = "topics", priority: int = 2
) -> LeftOut:
    return LeftOut(label, priority, slot, label.partition(":")[2], "", size, None, "why", limit)


def test_more_tokens_add_fitting_pieces_in_order_and_part_of_the_last() -> None:
    missing = [
        left("topic:a", 100),
        left("topic:b", 5000),
        left("subscription:c", 60),
        left("knowledge:d", 30, slot="knowledge", priority=3),
        left("history:1-9", 900, slot="history", priority=4),
    ]
    got = next_pieces(missing, 0, 260, frozenset())
    assert [(each.label, each.tokens) for each in got] == [
        ("topic:a", 100),
        ("subscription:c", 60),
        ("knowledge:d", 30),
        ("history:1-9", 260 - 190 - 3 * 12),
    ]
    assert got[-1].reason == "34 of its 900 tokens"


def test_more_tokens_add_only_pieces_left_out_for_lack_of_room() -> None:
    missing = [left("topic:a", 10, limit="cap"), left("topic:b", 10, limit=""), left("topic:c", 0)]
    assert next_pieces(missing, 250, 250, frozenset()) == ()


def test_more_tokens_extend_a_cut_section_by_any_amount() -> None:
    [got] = next_pieces([left("topic:a", 5000)], 0, 50, frozenset({"topic:a"}))
    assert got.tokens == 50
    assert next_pieces([left("topic:a", 5000)], 0, 50, frozenset()) == ()
    again = left("knowledge:a", 5000, slot="knowledge", priority=3)
    assert next_pieces([again], 0, 50, frozenset({"knowledge:a"})) == ()


def test_more_tokens_give_stable_sections_their_share() -> None:
    memory = left("memory:MEMORY.md", 900, slot="memory", priority=1)
    [got] = next_pieces([memory], 160, 250, frozenset({"memory:MEMORY.md"}))
    assert got.tokens == 160


def test_a_compile_reports_what_more_tokens_would_add() -> None:
    small = compile_rich(4096)
    assert small.next_pieces
    labels = {each.label for each in small.left_out}
    assert {each.label for each in small.next_pieces} <= labels
    larger = compile_rich(4096 + NEXT_TOKENS)
    brought = slot(larger, "history").used - slot(small, "history").used
    brought += slot(larger, "knowledge").used - slot(small, "knowledge").used
    brought += slot(larger, "topics").used - slot(small, "topics").used
    assert brought > 0
    assert compile_rich(200_000).next_pieces == ()
