"""The prompt never exceeds its budget, and everything left out is named."""

from __future__ import annotations

import pytest

from engine.context import tokens
from engine.context.budget import Candidate, Cap, Placement
from engine.context.compiled import Compiled, LeftOut
from engine.context.compiler import CompileRequest
from engine.errors import BudgetError
from engine.transcripts.turn import Text, Turn
from tests.context.conftest import TODAY, Space

LINE = "The build server keeps a warm cache per branch, so a clean checkout takes four minutes.\n"


def fill(space: Space) -> None:
    for name in ("SOUL", "USER", "AGENTS", "TOOLS"):
        space.write(f"knowledge/identity/{name}.md", f"# {name}\n" + LINE * 6)
    space.write("knowledge/memory/MEMORY.md", "# Core Memory\n\n## Key Decisions\n" + LINE * 60)
    space.write("knowledge/projects/_active.md", "# Active Projects\n" + LINE * 4)
    space.write("knowledge/digest.md", "# Knowledge digest\n" + LINE * 40)
    space.write("knowledge/journal/2026-02-17.md", "## 2026-02-17\n" + LINE * 30)
    space.write("knowledge/journal/2026-02-16.md", "## 2026-02-16\n" + LINE * 30)


HISTORY = tuple(
    Turn("user" if number % 2 == 0 else "agent", f"10:{number:02}", (Text(f"Turn {number}. {LINE}"),))
    for number in range(200)
)


def left_out_of(compiled: Compiled, label: str) -> list[LeftOut]:
    return [each for each in compiled.left_out if each.label == label]


@pytest.mark.parametrize("budget", [1024, 2048, 3000, 4096, 8192, 32768])
def test_the_recounted_text_fits_the_budget(space: Space, budget: int) -> None:
    fill(space)
    compiled = space.compile("Where were we?", history=HISTORY, budget=budget)
    assert compiled.budget == budget
    assert compiled.reply_reserve == min(256, budget // 32)
    assert compiled.tokens == tokens.count(compiled.text) == tokens._count(compiled.text)
    assert compiled.tokens <= budget - compiled.reply_reserve
    assert sum(slot.used for slot in compiled.slots) == compiled.tokens


@pytest.mark.parametrize("budget", [2048, 4096, 8192])
def test_a_tight_budget_is_used_fully(space: Space, budget: int) -> None:
    fill(space)
    compiled = space.compile("Where were we?", history=HISTORY, budget=budget)
    assert compiled.dropped_turns > 0
    assert compiled.tokens > budget - compiled.reply_reserve - 60


def test_the_budget_defaults_to_the_settings(space: Space) -> None:
    compiled = space.compiler(token_budget=700, reply_reserve_tokens=5).compile(CompileRequest("Hi", TODAY))
    assert (compiled.budget, compiled.reply_reserve) == (700, 5)


def test_fixed_text_over_the_budget_is_an_error_naming_files_and_setting(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", LINE * 100)
    space.write("knowledge/identity/USER.md", LINE * 5)
    with pytest.raises(BudgetError) as raised:
        space.compile(budget=1024)
    message = str(raised.value)
    assert "context_compiler.token_budget" in message
    assert "knowledge/identity/SOUL.md 1,8" in message
    assert message.index("SOUL.md") < message.index("USER.md")
    assert "raise the budget" in message


def test_a_message_over_the_budget_is_an_error_giving_a_sufficient_budget(space: Space) -> None:
    fill(space)
    message = LINE * 100
    with pytest.raises(BudgetError, match="the message takes") as raised:
        space.compile(message, budget=2048)
    enough = int(str(raised.value).rpartition(" ")[2].replace(",", ""))
    assert space.compile(message, budget=enough).tokens <= enough
    with pytest.raises(BudgetError):
        space.compile(message, budget=enough - 300)


def test_identity_over_its_size_is_reported_and_kept(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", LINE * 230)
    space.write("knowledge/prompts/system.md", LINE * 20)
    compiled = space.compile()
    assert compiled.left_out == ()
    system, identity = compiled.problems
    assert "knowledge/prompts/system.md: 1.7 KiB, over context_compiler.system_budget_kb (1 KiB)" in system
    assert (
        "knowledge/identity/SOUL.md: 19.8 KiB, over context_compiler.identity_budget_kb (17 KiB)" in identity
    )


def test_memory_over_its_cap_keeps_its_beginning(space: Space) -> None:
    entries = "".join(f"- 2026-02-{day:02}: decided number {day}\n" * 4 for day in range(1, 29))
    space.write("knowledge/memory/MEMORY.md", "---\ntype: memory\n---\n# Core Memory\n\n" + entries)
    compiled = space.compile(budget=32768)
    section = next(each for each in compiled.sections if each.slot == "memory")
    [rest] = left_out_of(compiled, "memory:MEMORY.md")
    assert 2900 < len(section.text.encode()) <= 3 * 1024
    assert section.text.startswith("# Core Memory\n\n- 2026-02-01")
    assert "over context_compiler.memory_budget_kb (3 KiB)" in rest.reason
    first, last = (int(part) for part in section.lines.split("-"))
    assert first == 4
    assert rest.lines == f"{last + 1}-{5 + 28 * 4}"
    body = section.text.rpartition("\n[cut: ")[0]
    assert tokens.count(body) + rest.tokens == tokens.count("# Core Memory\n\n" + entries.rstrip())
    assert section.text.endswith(f"\n[cut: {tokens.count(body):,} tokens; the text goes on]")


def test_the_newer_journal_gets_room_first(space: Space) -> None:
    space.write("knowledge/journal/2026-02-17.md", "today\n" + LINE * 40)
    space.write("knowledge/journal/2026-02-16.md", "yesterday\n" + LINE * 40)
    compiled = space.compile()
    journals = {each.label: each for each in compiled.sections if each.slot == "journal"}
    assert journals["journal:2026-02-17.md"].lines == ""
    assert sum(len(each.text.encode()) for each in journals.values()) <= 4 * 1024
    assert left_out_of(compiled, "journal:2026-02-16.md")


def test_a_small_fragment_of_a_file_gets_no_section(space: Space) -> None:
    space.write("knowledge/journal/2026-02-17.md", LINE * 46)
    space.write("knowledge/journal/2026-02-16.md", LINE * 46)
    compiled = space.compile()
    assert "journal:2026-02-16.md" not in {each.label for each in compiled.sections}
    [rest] = left_out_of(compiled, "journal:2026-02-16.md")
    assert rest.lines == ""
    assert rest.tokens == tokens.count((LINE * 46).rstrip())


def cut_to(text: str, room: int) -> str:
    placement = Placement(tokens.count)
    assert placement.place(Candidate("a:b", 9, 2, "topics", text, "why", "b", first_line=1), room) > 0
    kept, _, note = placement.pieces[0].section.text.rpartition("\n[cut: ")
    assert note
    return kept


def test_a_cut_leaves_no_code_block_open() -> None:
    kept = cut_to("intro\n\n```python\n" + "x = 1\n" * 40 + "```", 90)
    assert kept.endswith("x = 1\n```")
    assert kept.count("```") == 2


def test_a_cut_leaves_no_heading_without_text() -> None:
    above = "intro line\n" * 20
    text = above + "\n## Parted\n\n" + "a longer line of text below the heading, which no longer fits\n" * 8
    kept = {cut_to(text.rstrip(), room) for room in range(80, 110)}
    assert above.rstrip() in kept
    assert not any(each.rstrip().endswith("## Parted") for each in kept)


def test_a_piece_is_cut_only_if_at_least_a_quarter_fits() -> None:
    candidate = Candidate("a:b", 9, 2, "topics", (LINE * 40).rstrip(), "why", "b", first_line=1)
    whole = tokens.count(candidate.text)
    placement = Placement(tokens.count)
    assert placement.place(candidate, whole // 4 + 60) > 0
    assert placement.pieces[0].tokens <= whole // 4 + 60
    placement = Placement(tokens.count)
    assert placement.place(candidate, whole // 8) == 0
    assert placement.left_out[0].reason.endswith(f"{whole // 8:,} left")
    assert placement.place(candidate, -3) == 0


def test_the_tightest_of_several_caps_binds_and_all_are_charged() -> None:
    wide, tight = Cap.of("wide", 4), Cap.of("tight", 1)
    candidate = Candidate("a:b", 9, 2, "topics", (LINE * 20).rstrip(), "why", "b", first_line=1)
    placement = Placement(tokens.count)
    placement.place(candidate, 10_000, (wide, tight))
    size = len(placement.pieces[0].section.text.encode())
    assert 900 < size <= 1024
    assert (wide.left, tight.left) == (4096 - size, 1024 - size)
    assert "over tight (1 KiB)" in placement.left_out[0].reason


def test_a_slot_shows_its_cap_in_tokens_of_its_own_text(space: Space) -> None:
    space.write("knowledge/memory/MEMORY.md", "ж" * 1400)
    compiled = space.compile()
    memory = next(slot for slot in compiled.slots if slot.name == "memory")
    assert memory.cap is not None
    assert memory.used < memory.cap
    assert memory.cap == pytest.approx(memory.used * 3072 / 2800, abs=1)
    assert next(slot for slot in compiled.slots if slot.name == "history").cap is None


def test_left_out_is_sorted_by_priority(space: Space) -> None:
    fill(space)
    priorities = [each.priority for each in space.compile(history=HISTORY, budget=2048).left_out]
    assert priorities == sorted(priorities)
    assert set(priorities) >= {1, 4}
