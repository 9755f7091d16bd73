"""The byte contract of the stable prefix: no volatile input reaches it, and edits are located to the file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from engine.activation.trace import Correction
from engine.context.compiled import LAYERS, Compiled
from engine.context.compiler import CompileRequest, ContextCompiler
from engine.context.stability import Break, Prefix, compare, first_difference
from engine.engine import Engine
from engine.search.results import SearchResult
from engine.topics.model import Topic
from engine.transcripts.turn import Text, ToolCall, Turn
from tests.cases import each_case
from tests.context.conftest import TODAY, Memory, Space, settings

IDENTITY = [f"knowledge/identity/{name}.md" for name in ("SOUL", "USER", "AGENTS", "TOOLS", "voice")]
MEMORY = "knowledge/memory/MEMORY.md"
BODIES = [
    "knowledge/prompts/system.md",
    *IDENTITY,
    MEMORY,
    "knowledge/projects/_active.md",
    "knowledge/digest.md",
]
"""Files whose text is in the prefix."""
ENTRIES = [
    "knowledge/cache-stampede/KNOWLEDGE.md",
    "knowledge/gauges/KNOWLEDGE.md",
    ".library/custom/release/SKILL.md",
]
"""Files that the prefix lists in a catalog."""
OTHERS = ["knowledge/people/ann.md", "knowledge/facts.md", "topics/alpha.md"]

WORD = st.sampled_from(
    ["cache", "né", "日本", "<!-- message -->", "{/knowledge}", "2026-02-17", "§", "```", "a" * 40, "turn 3"]
)
WORDS = st.lists(WORD, max_size=6).map(" ".join)
HEADER = st.sampled_from(["", "---\ntype: note\n---\n", "---\ntitle: a\ntags: [x]\n---\n\n\n", "\n\n"])


@dataclass(frozen=True)
class Page:
    """A file of the workspace: its header, and its distinct lines."""

    header: str
    lines: tuple[str, ...]
    newline: str = "\n"

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return (self.header + "\n".join(self.lines) + "\n").replace("\n", self.newline).encode()

    def line(self, index: int) -> int:
        """Returns the line number in the file, from 1, of a line of the text."""
        return self.header.count("\n") + index + 1


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Draws a file."""
    words = draw(st.lists(WORDS, min_size=2, max_size=8))
    lines = tuple(f"- {number}. {text}".rstrip() for number, text in enumerate(words))
    return Page(draw(HEADER), lines, draw(st.sampled_from(["\n", "\n", "\r\n"])))


def entry(path: str, name: str, description: str) -> Page:
    """Returns a knowledge entry or a skill."""
    return Page(f"---\ntype: entry\nname: {name}\ndescription: {description}\n---\n", (f"About {path}",))


@dataclass
class Stable:
    """The files the prefix depends on."""

    pages: dict[str, Page] = field(default_factory=dict)

    def files(self) -> dict[str, bytes]:
        """Returns the bytes of each file by path."""
        return {path: page.data for path, page in self.pages.items()}


@st.composite
def stables(draw: st.DrawFn) -> Stable:
    """Draws a workspace with any of the files of the prefix."""
    found = draw(st.dictionaries(st.sampled_from(BODIES), pages(), min_size=1))
    for path in draw(st.sets(st.sampled_from(ENTRIES))):
        found[path] = entry(path, draw(st.sampled_from(["one", "two (b)"])), "when it: applies (knowledge/x)")
    return Stable(found)


TOPIC = st.builds(
    Topic,
    name=st.sampled_from(["alpha", "beta", "gamma"]),
    path=st.just("topics/alpha.md"),
    title=st.just("T"),
    description=st.just(""),
    instructions=WORDS,
    context_notes=WORDS,
    subscriptions=st.lists(st.sampled_from([*BODIES, *ENTRIES, *OTHERS, "none.md"]), max_size=3).map(tuple),
    priority=st.sampled_from(["low", "medium", "high", "critical"]),
)
TURN = st.builds(
    Turn,
    role=st.sampled_from(["user", "agent", "system"]),
    time=st.sampled_from(["00:00", "10:07", "23:59"]),
    blocks=st.tuples(WORDS.map(Text), st.just(ToolCall("exec", "date", "Tue Feb 17"))),
)
RESULT = st.builds(
    SearchResult,
    path=st.sampled_from([*OTHERS, MEMORY]),
    start_line=st.integers(1, 40),
    end_line=st.integers(40, 60),
    category=st.just("knowledge"),
    heading=WORDS,
    date=st.sampled_from(["", "2026-02-01"]),
    snippet=WORDS,
    text=WORDS,
    score=st.floats(0, 1),
    lexical_rank=st.none(),
    vector_rank=st.none(),
    source=st.just("index"),
    why=st.just(""),
)
DAY = st.dates(date(1999, 12, 31), date(2101, 1, 1))


@st.composite
def volatile_inputs(draw: st.DrawFn) -> tuple[CompileRequest, dict[str, bytes]]:
    """Draws all volatile input: the request, and files that are never in the prefix."""
    day = draw(DAY)
    request = CompileRequest(
        message=draw(WORDS) + "?",
        today=day,
        topics=tuple(draw(st.lists(TOPIC, max_size=3, unique_by=lambda topic: topic.name))),
        history=tuple(draw(st.lists(TURN, max_size=6))),
        results=tuple(draw(st.lists(RESULT, max_size=4))),
        budget=draw(st.sampled_from([16_384, 20_000, 100_000])),
        session_id=draw(st.sampled_from(["", "ses_a1", "ses_b2"])),
        corrections=tuple(draw(st.lists(st.builds(Correction, st.just("alpha"), WORDS, WORDS), max_size=2))),
        flushed=draw(st.frozensets(st.integers(1, 6))),
    )
    files = {path: draw(pages()).data for path in draw(st.sets(st.sampled_from(OTHERS)))}
    for back in draw(st.sets(st.integers(0, 2))):
        files[f"knowledge/journal/{day - timedelta(days=back)}.md"] = draw(pages()).data
    if draw(st.booleans()):
        files["presets/active"] = b"trip\n"
        files["presets/trip.md"] = (
            "---\ntype: preset\nfiles:\n  - knowledge/people/ann.md\n---\n" + draw(WORDS)
        ).encode()
    return request, files


def compiled(stable: Stable, volatile: tuple[CompileRequest, dict[str, bytes]]) -> Compiled:
    request, files = volatile
    found = ContextCompiler(Memory({**files, **stable.files()}), settings()).compile(request)
    assert not [left for left in found.left_out if left.priority < 2], "the budget should be enough"
    return found


def prefix_of(stable: Stable, volatile: tuple[CompileRequest, dict[str, bytes]]) -> Prefix:
    return Prefix.of(compiled(stable, volatile))


def break_between(before: Prefix, after: Prefix) -> Break:
    found = compare(before, after)
    assert found is not None
    return found


@given(stables(), volatile_inputs(), volatile_inputs())
@examples(max_examples=15)
def test_no_volatile_input_reaches_the_prefix(
    stable: Stable,
    one: tuple[CompileRequest, dict[str, bytes]],
    other: tuple[CompileRequest, dict[str, bytes]],
) -> None:
    first, second = compiled(stable, one), compiled(stable, other)
    assert first.text[: first.stable_prefix_length] == second.text[: second.stable_prefix_length]
    assert first.boundaries == second.boundaries
    layers = [section.layer for section in first.sections]
    assert layers == sorted(layers)
    before, after = (Prefix.of(each) for each in (first, second))
    assert before == after and compare(before, after) is None
    assert len(before.sections) == sum(layer <= 7 for layer in layers)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Stable, Stable, str, int]:
    """Draws a workspace before and after a change to one line, with the file and line."""
    before = draw(stables())
    path = draw(st.sampled_from([path for path in before.pages if path in BODIES]))
    page = before.pages[path]
    at = draw(st.integers(0, len(page.lines) - 1))
    kind = draw(st.sampled_from(["change", "add", "append", "delete"]))
    lines = list(page.lines)
    if kind == "change":
        lines[at] = f"{lines[at]} é" if draw(st.booleans()) else "* another"
    elif kind == "delete":
        del lines[at]
    else:
        at = len(lines) if kind == "append" else at
        lines.insert(at, "* one more")
    after = Stable({**before.pages, path: replace(page, lines=tuple(lines))})
    return before, after, path, page.line(at)


@given(edits(), volatile_inputs(), volatile_inputs())
@examples(max_examples=15)
def test_an_edit_is_located_to_file_and_byte(
    edit: tuple[Stable, Stable, str, int],
    one: tuple[CompileRequest, dict[str, bytes]],
    other: tuple[CompileRequest, dict[str, bytes]],
) -> None:
    stable, edited, path, _ = edit
    before, after = prefix_of(stable, one), prefix_of(edited, other)
    found = break_between(before, after)
    assert (found.what, found.source, found.exact) == ("changed", path, True)
    assert before.text is not None and after.text is not None
    old, new = before.text.encode(), after.text.encode()
    assert old[: found.byte] == new[: found.byte] and old[found.byte] != new[found.byte]
    assert found.name == LAYERS[found.layer]
    assert 0 <= found.usable <= min(before.tokens, after.tokens)
    assert found.lost == min(before.tokens, after.tokens) - found.usable
    # The hashes alone locate the same file.
    known = compare(replace(before, text=None), replace(after, text=None))
    assert known is not None and not known.exact
    assert (known.what, known.source, known.layer) == ("changed", path, found.layer)
    assert (known.usable, known.lost) == (found.usable, found.lost)
    assert known.byte <= found.byte


@given(stables(), volatile_inputs(), volatile_inputs(), st.data())
@examples(max_examples=15)
def test_an_added_or_removed_file_is_named(
    stable: Stable,
    one: tuple[CompileRequest, dict[str, bytes]],
    other: tuple[CompileRequest, dict[str, bytes]],
    data: st.DataObject,
) -> None:
    path = data.draw(st.sampled_from(sorted(stable.pages)))
    without = Stable({each: page for each, page in stable.pages.items() if each != path})
    whole, less = prefix_of(stable, one), prefix_of(without, other)
    went, came = break_between(whole, less), break_between(less, whole)
    if path in ENTRIES:  # one line of a catalog, which is itself there unless it was the only one
        assert went.label == came.label and went.label.startswith("catalog:")
    else:
        assert (went.what, went.source, came.what, came.source) == ("went", path, "came", path)


def test_the_clock_does_not_reach_the_prefix_of_the_sample(sample: Path) -> None:
    found = []
    for moment in (
        datetime(2026, 6, 12, 23, 59, 59, tzinfo=UTC),
        datetime(2031, 1, 1, tzinfo=UTC),
    ):
        with Engine.open(sample, clock=lambda moment=moment: moment) as engine:  # type: ignore[misc]
            text = engine.compile("What did Odile ask for?", ask=False)
        found.append(Prefix.of(text))
    assert found[0] == found[1]
    assert {section.layer for section in found[0].sections} == {4, 5, 6, 7}


NO_VOLATILE: tuple[CompileRequest, dict[str, bytes]] = (CompileRequest(message="Hello", today=TODAY), {})


def test_a_replaced_file_is_reported_once() -> None:
    before = Stable({"knowledge/identity/USER.md": Page("", ("You.",))})
    after = Stable({"knowledge/identity/voice.md": Page("", ("Calm.",))})
    found = break_between(prefix_of(before, NO_VOLATILE), prefix_of(after, NO_VOLATILE))
    assert (found.what, found.source) == ("went", "knowledge/identity/USER.md")


def test_text_before_the_break_is_usable_up_to_a_boundary() -> None:
    stable = Stable(
        {path: Page("", (f"- about {path}",)) for path in (*IDENTITY[:2], MEMORY, "knowledge/digest.md")}
    )
    before = prefix_of(stable, NO_VOLATILE)
    identity, project, whole = before.boundaries
    assert whole.tokens == before.tokens and whole.character == before.characters

    def after(path: str) -> Break:
        edited = Stable({**stable.pages, path: Page("", ("- another",))})
        return break_between(before, prefix_of(edited, NO_VOLATILE))

    assert after("knowledge/identity/USER.md").usable == 0
    assert after(MEMORY).usable == identity.tokens
    assert after("knowledge/digest.md").usable == project.tokens
    without = Stable({path: page for path, page in stable.pages.items() if path != "knowledge/digest.md"})
    gone = break_between(before, prefix_of(without, NO_VOLATILE))
    assert (gone.usable, gone.lost) == (project.tokens, 0)


def test_changes_in_a_cut_off_part_do_not_change_the_prefix(space: Space) -> None:
    lines = [f"- fact {number} that is worth keeping" for number in range(200)]
    space.write(MEMORY, "\n".join(lines))
    space.write("knowledge/digest.md", "- a fact")
    first = space.compile(budget=32_768)
    space.write(MEMORY, "\n".join([*lines, "- one more"]))
    second = space.compile(budget=32_768)
    (section,) = (each for each in first.sections if each.slot == "memory")
    assert section.text.endswith(" tokens; the text goes on]")
    assert compare(Prefix.of(first), Prefix.of(second)) is None
    assert [left.tokens for left in first.left_out] < [left.tokens for left in second.left_out]


def test_empty_prefixes_have_no_difference() -> None:
    empty = prefix_of(Stable(), NO_VOLATILE)
    assert (empty.characters, empty.tokens, empty.sections, empty.boundaries) == (0, 0, (), ())
    assert compare(empty, empty) is None


@each_case(
    ("one", "other", "at"),
    [(b"", b"", 0), (b"a", b"", 0), (b"abc", b"abd", 2), (b"abc", b"abcd", 3), (b"x" * 999, b"y", 0)],
)
def test_the_first_differing_byte_is_found(one: bytes, other: bytes, at: int) -> None:
    assert first_difference(one, other) == first_difference(other, one) == at
