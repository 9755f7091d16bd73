"""Prompts built as the compiler does, from a fixed set of sections."""

from __future__ import annotations

from dataclasses import replace

from engine.context.assemble import assemble
from engine.context.budget import Candidate, Placement
from engine.context.compiled import Compiled, LeftOut, Slot, SlotName
from engine.context.density import density_of
from engine.context.tokens import count
from tests.tui.fake_engine import REVIEW, SESSION

SOUL = """# Soul

I am Wren. I work with the people who keep Tidemark running, and I remember what they told me.

## How I speak
- Short sentences, plain words, no ornament. I say what I know, what I assume and what I do not know, and \
I keep the three apart.
- German when I am written to in German.

## What I do not do
- I never delete a conversation.
- I never push to `main`."""

MEMORY = "\n".join(
    ["# Core memory", "", "## Active context"]
    + [
        f"- 2026-06-{day:02d}: what was decided on that day about gauge {day}, in one line."
        for day in range(1, 12)
    ]
)

CODE_REVIEW = """1. Issue, description, tests, diff, in this order.
2. What is the smallest change that would have done?
3. Say what is good, once.

```sh
gh pr checkout "$1" && make test
```"""

BUDGET, RESERVE = 1024, 128

SLOTS = (
    Slot("system", 0, 20, 64),
    Slot("identity", 0, 132, 256),
    Slot("memory", 1, 280, 320),
    Slot("journal", 1, 31, 128),
    Slot("projects", 1, 28, 64),
    Slot("topics", 2, 90, 96),
    Slot("knowledge", 3, 96, None),
    Slot("history", 4, 48, None),
    Slot("message", 0, 16, None),
)


def candidate(
    label: str,
    layer: int,
    priority: int,
    slot: SlotName,
    source: str,
    text: str,
    why: str,
    *,
    lines: str = "",
    score: float | None = None,
    order: int = 0,
) -> Candidate:
    """A section of the prompt."""
    return Candidate(
        label, layer, priority, slot, text, why, source=source, score=score, lines=lines, order=(order,)
    )


def candidates(message: str = REVIEW) -> list[Candidate]:
    """All sections of the sample message's prompt."""
    knowledge = "knowledge/reference/gate-costs.md"
    return [
        candidate(
            "system:system.md",
            4,
            0,
            "system",
            "knowledge/prompts/system.md",
            "You are the engineering agent of the Tidemark maintainers.",
            "always in the prompt",
        ),
        candidate(
            "identity:SOUL.md", 5, 0, "identity", "knowledge/identity/SOUL.md", SOUL, "always in the prompt"
        ),
        candidate(
            "identity:USER.md",
            5,
            0,
            "identity",
            "knowledge/identity/USER.md",
            "# User\n\nMarit Oksanen, lead maintainer. Works from six to three.",
            "always in the prompt",
            order=1,
        ),
        candidate(
            "memory:MEMORY.md",
            6,
            1,
            "memory",
            "knowledge/memory/MEMORY.md",
            MEMORY,
            "always in a main session; cut: over context_compiler.memory_budget_kb (3 KiB)",
            lines="7-20",
        ),
        candidate(
            "projects:_active.md",
            6,
            1,
            "projects",
            "knowledge/projects/_active.md",
            "# Active projects\n\n- **tidemark**: 0.14.2 in production.",
            "always in the prompt",
            order=1,
        ),
        candidate(
            "knowledge:digest.md",
            7,
            1,
            "knowledge",
            "knowledge/digest.md",
            "{knowledge}\n# Knowledge digest\n\n## Facts\n- CI runs on two cores\n{/knowledge}",
            "on, because its file exists",
        ),
        candidate(
            "discussion",
            8,
            1,
            "history",
            "",
            "Today is 2026-06-12. Session ses_a1b2c3d4, turn 6.",
            "date and session",
        ),
        candidate(
            "journal:2026-06-12.md",
            8,
            1,
            "journal",
            "knowledge/journal/2026-06-12.md",
            "## 2026-06-12\n\n- The mast at gauge 7 is worked on until noon.",
            "today's journal",
            order=1,
        ),
        candidate(
            "topic:github-pr-review",
            9,
            2,
            "topics",
            "topics/github-pr-review.md",
            "Read the issue before the diff. Name the smallest change that would have done.",
            "active without the gate: matched “review”, “PR”; .81 ≥ .62",
            score=0.81,
        ),
        candidate(
            "subscription:code-review",
            9,
            2,
            "topics",
            "knowledge/procedures/code-review.md",
            CODE_REVIEW,
            "subscribed by the topic github-pr-review",
            lines="9-15",
            order=1,
        ),
        candidate(
            "topic:code-style",
            9,
            2,
            "topics",
            "topics/code-style.md",
            "House rules: names, comments, logging, tests.",
            "the gate said yes: a review touches style",
            score=0.55,
            order=2,
        ),
        candidate(
            f"knowledge:{knowledge}",
            10,
            3,
            "knowledge",
            knowledge,
            "The gate costs $0.0002 a question with the small model, and 208 ms.",
            "Contains 2 of 3 words: review, PR, rank 2 by words; rank 3 by meaning (similarity 0.43).",
            lines="12-12",
            score=0.62,
        ),
        candidate(
            f"knowledge:{SESSION}",
            10,
            3,
            "knowledge",
            SESSION,
            "Lee has pushed a branch, no pull request yet.",
            "Contains 1 of 3 words: PR, rank 9 by words.",
            lines="64-64",
            score=0.31,
            order=1,
        ),
        candidate(
            "history:4", 11, 4, "history", SESSION, "Both are about the object store.", "the last turns"
        ),
        candidate("message", 12, 0, "message", "", message, "the message to answer"),
    ]


LEFT_OUT = (
    LeftOut(
        "memory:MEMORY.md",
        1,
        "memory",
        "knowledge/memory/MEMORY.md",
        "21-109",
        1317,
        None,
        "the rest: over context_compiler.memory_budget_kb (3 KiB)",
        "cap",
    ),
    LeftOut(
        "topic:release-notes",
        2,
        "topics",
        "topics/release-notes.md",
        "",
        420,
        None,
        "needs 438 tokens, 212 left",
        "room",
    ),
    LeftOut(
        "knowledge:gate",
        3,
        "knowledge",
        "knowledge/reference/gate-costs.md",
        "20-31",
        820,
        0.31,
        "needs 839 tokens, 9 left",
        "room",
    ),
    LeftOut(
        "knowledge:journal",
        3,
        "knowledge",
        "knowledge/journal/2026-05-28.md",
        "10-12",
        95,
        0.28,
        "needs 118 tokens, 9 left",
        "room",
    ),
    LeftOut(
        "knowledge:memory",
        3,
        "knowledge",
        "knowledge/memory/MEMORY.md",
        "9-10",
        40,
        0.15,
        "already in the prompt as memory:MEMORY.md",
    ),
)


def compiled_of(pieces: list[Candidate], **changes: object) -> Compiled:
    """A prompt of these sections."""
    placement = Placement(count)
    for each in pieces:
        placement.add(placement.piece(each))
    made = assemble(placement.pieces)
    base = Compiled(
        text=made.text,
        tokens=made.tokens,
        budget=BUDGET,
        reply_reserve=RESERVE,
        sections=made.sections,
        left_out=LEFT_OUT,
        slots=SLOTS,
        stable_prefix_length=made.stable_prefix_length,
        boundaries=made.boundaries,
        active_topics=("github-pr-review", "code-style"),
        dropped_turns=4,
        unflushed_turns=1,
        next_pieces=(LEFT_OUT[1], LEFT_OUT[3]),
        density=density_of(placement.pieces),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def prompt(message: str = REVIEW, **changes: object) -> Compiled:
    """The prompt of the sample message."""
    return compiled_of(candidates(message), **changes)


def prompt_before(*, broken: bool = False) -> Compiled:
    """The previous message's prompt: other topic and results; ``broken`` changes the digest too."""
    dropped = {"topic:code-style", "knowledge:knowledge/reference/gate-costs.md"}
    pieces = [each for each in candidates("Two e-mails came in, please look") if each.label not in dropped]
    pieces.append(
        candidate(
            "topic:email-triage",
            9,
            2,
            "topics",
            "topics/email-triage.md",
            "Answer within a day.",
            "active",
            order=3,
        )
    )
    changed = {"journal:2026-06-12.md": ("until noon", "until eleven")}
    if broken:
        changed["knowledge:digest.md"] = ("two cores", "four cores")
    return compiled_of(
        [
            replace(each, text=each.text.replace(*changed[each.label])) if each.label in changed else each
            for each in pieces
        ],
        active_topics=("github-pr-review", "email-triage"),
    )


def with_many_results(number: int = 40) -> Compiled:
    """The prompt with many search results and a history turn left out."""
    results = tuple(
        replace(
            LEFT_OUT[2],
            source=f"knowledge/reference/note-{at:02d}.md",
            tokens=820 - at,
            score=0.31 - at / 200,
        )
        for at in range(number)
    )
    turns = LeftOut("history:1-3", 4, "history", "", "", 212, None, "older than the window", "room")
    return prompt(left_out=(*LEFT_OUT[:2], *results, turns), next_pieces=LEFT_OUT[1:2])


def huge_prompt(sections: int = 4000, words: int = 25) -> Compiled:
    """A prompt of about 100,000 tokens in thousands of sections."""
    pieces = candidates()
    for number in range(sections):
        source = f"knowledge/reference/note-{number:04d}.md"
        text = " ".join(f"word{number % 97}" for _word in range(words // 2))
        pieces.append(
            candidate(
                f"knowledge:{source}", 10, 3, "knowledge", source, text, "found", score=0.2, order=number
            )
        )
    left = tuple(replace(LEFT_OUT[2], source=f"knowledge/left-{number}.md") for number in range(sections))
    return compiled_of(pieces, budget=200_000, left_out=left, next_pieces=())
