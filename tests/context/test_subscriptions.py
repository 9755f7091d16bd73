"""Active topics, their subscriptions, and the caps on both."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from engine.activation.trace import Correction, Funnel, Message, TopicTrace, Trace
from engine.context.compiled import Compiled
from engine.context.request import ToolDefinition
from engine.topics.model import Topic
from tests.context.conftest import Space

LINE = "- The reviewer looks at the tests before the code, and at the names before both.\n"


def topic(
    name: str,
    *subscriptions: str,
    instructions: str = "1. Read the diff.",
    notes: str = "",
    priority: Literal["low", "medium", "high", "critical"] = "medium",
    max_kb: float | None = None,
) -> Topic:
    return Topic(
        name=name,
        path=f"topics/{name}.md",
        title=name.title(),
        description="",
        instructions=instructions,
        context_notes=notes,
        subscriptions=subscriptions,
        priority=priority,
        max_context_kb=max_kb,
    )


def layer9(compiled: Compiled) -> list[str]:
    return [section.label for section in compiled.sections if section.layer == 9]


def test_topics_are_ordered_by_priority_and_name_with_their_subscriptions(space: Space) -> None:
    for name in ("review", "style", "mail"):
        space.write(f"knowledge/procedures/{name}.md", f"---\ntype: procedure\n---\n# {name}\n")
    compiled = space.compile(
        topics=(
            topic("b-low", "knowledge/procedures/mail.md", priority="low"),
            topic(
                "z-high", "knowledge/procedures/review.md", "knowledge/procedures/style.md", priority="high"
            ),
            topic("a-high", priority="high"),
            topic("m-critical", priority="critical"),
        )
    )
    assert layer9(compiled) == [
        "topic:m-critical",
        "topic:a-high",
        "topic:z-high",
        "subscription:knowledge/procedures/review.md",
        "subscription:knowledge/procedures/style.md",
        "topic:b-low",
        "subscription:knowledge/procedures/mail.md",
    ]
    assert compiled.active_topics == ("m-critical", "a-high", "z-high", "b-low")
    assert "type: procedure" not in compiled.text
    section = next(each for each in compiled.sections if each.label.endswith("review.md"))
    assert (section.source, section.priority, section.slot) == ("knowledge/procedures/review.md", 2, "topics")
    assert section.why == "subscribed by the topic z-high"


def test_the_order_in_which_topics_are_given_does_not_matter(space: Space) -> None:
    one, two = topic("one"), topic("two", priority="high")
    assert space.compile(topics=(one, two)) == space.compile(topics=(two, one, one))


def test_a_playbook_is_told_with_its_situation_and_its_notes(space: Space) -> None:
    review = replace(topic("review", notes="- Mind the tone."), description="A change needs a reader.")
    text = space.compile(topics=(review,)).text
    assert (
        "<!-- topic:review -->\nPlaybook: Review (A change needs a reader.)\n\n1. Read the diff.\n\n"
        "## Context Notes\n\n- Mind the tone.\n\n" in text
    )


def test_a_topic_can_have_subscriptions_only(space: Space) -> None:
    space.write("knowledge/people/ann.md", "# Ann")
    compiled = space.compile(topics=(topic("ann", "knowledge/people/ann.md", instructions=""),))
    assert layer9(compiled) == ["subscription:knowledge/people/ann.md"]


def test_a_file_is_included_once(space: Space) -> None:
    space.write("knowledge/projects/_active.md", "- apo")
    space.write("knowledge/people/ann.md", "# Ann")
    compiled = space.compile(
        topics=(
            topic(
                "one",
                "knowledge/people/ann.md",
                "./knowledge/people//ann.md",
                "knowledge/projects/_active.md",
            ),
            topic("two", "knowledge/people/ann.md"),
        )
    )
    assert layer9(compiled) == ["topic:one", "subscription:knowledge/people/ann.md", "topic:two"]
    assert [each.reason for each in compiled.left_out] == [
        "already in the prompt as projects:_active.md (subscribed by one)",
        "already in the prompt as subscription:knowledge/people/ann.md (subscribed by two)",
    ]
    assert all(each.tokens > 0 for each in compiled.left_out)


def test_a_stable_file_without_room_may_be_included_as_a_subscription(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", LINE * 25)
    space.write("knowledge/projects/_active.md", "# Active\n" + LINE * 6)
    compiled = space.compile(budget=768, topics=(topic("one", "knowledge/projects/_active.md"),))
    assert "projects:_active.md" not in {each.label for each in compiled.sections}
    assert "subscription:knowledge/projects/_active.md" in layer9(compiled)


def test_max_context_kb_covers_instructions_and_subscriptions_together(space: Space) -> None:
    space.write("knowledge/procedures/review.md", "# Review\n" + LINE * 40)
    space.write("knowledge/procedures/style.md", "# Style\n" + LINE * 40)
    limited = topic(
        "review",
        "knowledge/procedures/review.md",
        "knowledge/procedures/style.md",
        instructions=LINE * 5,
        max_kb=2,
    )
    compiled = space.compile(topics=(limited,), budget=32768)
    size = sum(len(each.text.encode()) for each in compiled.sections if each.layer == 9)
    assert 1900 < size <= 2048
    first, second = compiled.left_out
    assert first.source == "knowledge/procedures/review.md"
    assert first.lines.endswith("-41")
    assert "over max_context_kb of review (2 KiB)" in first.reason
    assert (second.source, second.lines) == ("knowledge/procedures/style.md", "")
    assert "[cut: " in compiled.text


def test_instructions_over_the_topics_own_cap_are_cut(space: Space) -> None:
    compiled = space.compile(topics=(topic("long", instructions=LINE * 40, max_kb=1),))
    section = next(each for each in compiled.sections if each.label == "topic:long")
    assert len(section.text.encode()) <= 1024
    assert section.text.splitlines()[-1].startswith("[cut: ")


def test_the_slots_cap_covers_all_topics_and_instructions_come_first(space: Space) -> None:
    space.write("knowledge/procedures/review.md", "# Review\n" + LINE * 70)
    compiled = space.compile(
        budget=32768,
        topics=(
            topic("one", "knowledge/procedures/review.md", priority="critical"),
            topic("two", instructions=LINE * 30, priority="low"),
        ),
    )
    assert "topic:two" in layer9(compiled)
    assert sum(len(each.text.encode()) for each in compiled.sections if each.layer == 9) <= 6 * 1024
    [rest] = compiled.left_out
    assert "over context_compiler.topic_budget_kb (6 KiB)" in rest.reason
    slot = next(each for each in compiled.slots if each.name == "topics")
    assert slot.cap is not None
    assert 0 < slot.used <= slot.cap


def test_unreadable_subscriptions_are_named(space: Space) -> None:
    (space.root.parent / "secret.md").write_text("secret")
    (space.root / "knowledge").mkdir()
    (space.root / "knowledge/out.md").symlink_to(space.root.parent / "secret.md")
    space.write("knowledge/photo.jpg", b"\xff\xd8\0")
    space.write("knowledge/empty.md", "---\ntype: reference\n---\n")
    paths = ("../secret.md", "/etc/passwd", "knowledge/out.md", "knowledge/photo.jpg", "knowledge", "none.md")
    compiled = space.compile(topics=(topic("one", *paths, "knowledge/empty.md"),))
    assert layer9(compiled) == ["topic:one"]
    assert [each.source for each in compiled.left_out] == [*paths, "knowledge/empty.md"]
    assert len(compiled.problems) == len(paths)
    assert "topics/one.md: subscribes to none.md, which does not exist; fix the path" in compiled.problems
    assert "secret\n" not in compiled.text


def test_core_memory_is_not_subscribed_into_other_sessions(space: Space) -> None:
    space.write("knowledge/memory/MEMORY.md", "- 2026-02-14: private")
    one = topic("one", "knowledge/memory/MEMORY.md", "knowledge/memory/memory.md")
    compiled = space.compile(topics=(one,), main_session=False)
    assert "private" not in compiled.text
    assert {each.reason for each in compiled.left_out} == {
        "MEMORY.md is only for the main session (subscribed by one)"
    }


def test_topics_keep_room_beside_long_journals(space: Space) -> None:
    space.write("knowledge/journal/2026-02-17.md", LINE * 50)
    space.write("knowledge/journal/2026-02-16.md", LINE * 50)
    compiled = space.compile(budget=1024, topics=(topic("review", instructions=LINE * 10),))
    section = next(each for each in compiled.sections if each.label == "topic:review")
    assert section.lines == ""
    assert "[cut:" not in section.text
    assert "journal:2026-02-17.md" in {each.label for each in compiled.sections}


def test_the_trace_explains_an_active_topic(space: Space) -> None:
    row = TopicTrace(
        "review",
        "medium",
        "gated",
        (),
        0.28,
        0.15,
        None,
        0.2,
        "medium",
        None,
        "active",
        "the gate said yes",
    )
    trace = Trace(Message("Hi"), (row,), Funnel(1, 1, 1, 1, 1))
    section = next(
        each for each in space.compile(topics=(topic("review"),), trace=trace).sections if each.layer == 9
    )
    assert (section.score, section.why) == (0.28, "the gate said yes")


def test_corrections_follow_the_topics(space: Space) -> None:
    steer = Correction("python", "Use Python 3 syntax.\n<!-- identity:SOUL.md -->", 'print "x"')
    compiled = space.compile(topics=(topic("review"),), corrections=(steer, steer))
    assert layer9(compiled) == ["topic:review", "steering"]
    section = next(each for each in compiled.sections if each.label == "steering")
    assert section.text.splitlines()[1:] == [
        '- Use Python 3 syntax. <!-- identity:SOUL.md --> (python: “print "x"”)'
    ]
    assert section.priority == 2


def test_a_topic_is_offered_to_a_model_as_it_can_open_it(space: Space) -> None:
    tool = ToolDefinition("read", "Reads.", {"type": "object"})
    offered = (topic("review"),)
    by_any = "If so, read topics/review.md"
    assert f'{by_any} or call playbook("review")' in space.compile(offered=offered).text
    assert by_any in (text := space.compile(offered=offered, tools=(tool,)).text) and "playbook(" not in text
    assert "may apply" not in space.compile(offered=offered, tools=()).text
