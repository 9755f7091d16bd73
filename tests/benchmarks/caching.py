"""The share of the input that a provider's cache could serve: the product's order and the priority order.

Two hundred turns of six discussions on the sample workspace are simulated, with edits in between: journals
and notes are written often, MEMORY.md and the list of projects occasionally, the digest once a day, an
identity file rarely; topics change with the messages. A cache serves the longest prefix that a prompt shares
with any prompt within its lifetime, cut back to a line end. Both orders contain the same sections; the other
one sorts them as the specification's compiler does (spec 6.3): P0 to P4, and the message last.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from engine.activation.trace import Message
from engine.context import tokens
from engine.context.assemble import PRIORITIES
from engine.context.compiled import Compiled, Section
from engine.context.delimiters import GAP, marker
from engine.context.stability import Prefix, compare, encoded, first_difference
from engine.conversations.turns import Before
from engine.engine import Engine
from engine.workspace.initialise import initialise
from tests.benchmarks.peers import token_counter
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Timings

TURNS = 200
DISCUSSIONS = 6
DAY = date(2026, 6, 12)
TTLS_S = (300, 3600)
"""The two lifetimes of a cached prefix after its last use, in seconds."""

_SEED = 20
_STAYS = 0.85
"""Probability that the next message belongs to the same discussion."""
_NEXT_S, _SWITCH_S, _BREAK_S = 100, 420, 9 * 3600
"""Mean seconds to the next message, to one of another discussion, and overnight."""
_TURNS_A_DAY = 40

JOURNAL, NOTE = "journal", "note"
MEMORY = "knowledge/memory/MEMORY.md"
PROJECTS = "knowledge/projects/_active.md"
DIGEST = "knowledge/digest.md"
USER = "knowledge/identity/USER.md"
RATES = {JOURNAL: 0.2, NOTE: 0.1, MEMORY: 0.04, PROJECTS: 0.015, DIGEST: 0.005, USER: 0.003}
"""Probability of an edit before a turn, by kind of file."""


@dataclass
class Turns:
    """One discussion: its messages, and the position reached."""

    session: str
    questions: list[tuple[str, Before]]
    next: int = 0

    def take(self) -> tuple[str, Before]:
        """The next message and the turns before it."""
        self.next += 1
        return self.questions[(self.next - 1) % len(self.questions)]


@dataclass(frozen=True)
class Sent:
    """A prompt in both orders, and the time it was sent."""

    at: datetime
    compiled: Compiled
    ours: str
    other: str


@dataclass
class Tally:
    """The tokens that a cache with one lifetime could have served.

    Attributes:
        sent: Tokens of all prompts.
        ours, other: Of these, the tokens that it could serve, in the product's order and in priority order.
        bounded: The same for the product's order, with a cache that ends only at its breakpoints.
        warm: Turns after a prompt that was still cached.
        kept: Of these, turns whose whole stable prefix it could serve.
    """

    ttl: timedelta
    sent: int = 0
    ours: int = 0
    other: int = 0
    bounded: int = 0
    warm: int = 0
    kept: int = 0
    known: list[Sent] = field(default_factory=list)

    def add(self, turn: Sent) -> None:
        """Count a turn, and remember its prompt."""
        self.known = [each for each in self.known if turn.at - each.at <= self.ttl]
        same = shared(turn.ours, (each.ours for each in self.known))
        self.sent += turn.compiled.tokens
        self.ours += served(turn.ours, same)
        self.other += served(turn.other, shared(turn.other, (each.other for each in self.known)))
        ends = [end for end in turn.compiled.boundaries if end <= same]
        self.bounded += tokens.count(turn.ours[: max(ends, default=0)])
        self.warm += bool(self.known)
        self.kept += bool(self.known) and same >= turn.compiled.stable_prefix_length
        self.known.append(turn)


def run(setting: Setting) -> Iterator[Row]:
    """Run the simulation once and count it for both cache lifetimes."""
    root = setting.folder / "caching"
    initialise(root, sample=True, today=DAY)
    turns = setting.size(TURNS, 8)
    tallies = [Tally(timedelta(seconds=ttl)) for ttl in TTLS_S]
    count = token_counter()
    seconds: list[float] = []
    counting: list[float] = []
    for turn, elapsed in simulate(root, turns):
        seconds.append(elapsed)
        started = time.perf_counter()
        count(turn.ours)
        counting.append(time.perf_counter() - started)
        for tally in tallies:
            tally.add(turn)
    for tally in tallies:
        minutes = int(tally.ttl.total_seconds() // 60)
        ours, other, bounded = (part / tally.sent for part in (tally.ours, tally.other, tally.bounded))
        yield Row(
            f"{turns} turns, a cache of {minutes} min",
            Timings(tuple(seconds)),
            "one count of its text",
            Timings(tuple(counting)),
            note=(
                f"{ours:.1%} of the input served ({bounded:.1%} by boundaries), {other:.1%} in the order of"
                f" priorities: {ours / other if other else 0:.2f}×; {tally.kept} of {tally.warm} warm turns"
                " kept the whole prefix"
            ),
            figures={
                "share": ours,
                "share_by_boundaries": bounded,
                "share_by_priority": other,
                "warm_turns": tally.warm,
                "turns_that_kept_the_prefix": tally.kept,
            },
        )


def simulate(root: Path, turns: int) -> Iterator[tuple[Sent, float]]:
    """The prompts of simulated turns, and the seconds that each took to compile.

    Whenever the prefix changed, ``compare`` must name a file that was edited since.

    Raises:
        Disagreement: It does not, or the prefix changed without an edit.
    """
    rng = random.Random(_SEED)
    now = [datetime(DAY.year, DAY.month, DAY.day, 8, tzinfo=UTC)]
    with Engine.open(root, clock=lambda: now[0]) as engine:
        discussions = discussions_of(engine, rng)
        current = discussions[0]
        before: Prefix | None = None
        for number in range(turns):
            edited = set()
            if number and number % _TURNS_A_DAY == 0:
                now[0] += timedelta(seconds=_BREAK_S)
                edited.add(write(root, DIGEST, now[0], number))
            stays = rng.random() < _STAYS
            if not stays:
                current = rng.choice(discussions)
            now[0] += timedelta(seconds=rng.expovariate(1 / (_NEXT_S if stays else _SWITCH_S)))
            for what, rate in RATES.items():
                if rng.random() < rate:
                    edited.add(write(root, what, now[0], number))
            text, past = current.take()
            started = time.perf_counter()
            message = Message(text, session_id=past.session_id, at=now[0])
            trace = engine.pipeline.process(message, record=False, ask=False)
            engine.refresh_index()
            compiled = engine.prompts.compile(text, trace, past)
            elapsed = time.perf_counter() - started
            after = Prefix.of(compiled)
            found = compare(before, after) if before is not None else None
            agree(found is None or found.source in edited, f"{found} is said to have broken the prefix")
            before = after
            yield Sent(now[0], compiled, compiled.text, by_priority(compiled.sections)), elapsed


def discussions_of(engine: Engine, rng: random.Random) -> list[Turns]:
    """Long discussions, each made of several of the sample's conversations."""
    paths = sorted(path for path in engine.workspace.transcripts.rglob("*.md"))
    rng.shuffle(paths)
    found = []
    for number in range(DISCUSSIONS):
        session = f"ses_{number:06}"
        own = [engine.workspace.relative(path) for path in paths[number::DISCUSSIONS]]
        read = (engine.conversations.read(path) for path in own)
        messages = list(itertools.chain.from_iterable(each.turns for each in read if each is not None))
        questions = [
            (turn.text, Before(tuple(messages[:at]), own[0], session))
            for at, turn in enumerate(messages)
            if turn.role == "user" and turn.text
        ]
        found.append(Turns(session, questions))
    return found


def write(root: Path, what: str, now: datetime, number: int) -> str:
    """Make an edit of some kind as an agent does; returns the file's path."""
    path = {
        JOURNAL: f"knowledge/journal/{now:%Y-%m-%d}.md",
        NOTE: "knowledge/facts.md",
    }.get(what, what)
    file = root / path
    lines = file.read_text(encoding="utf-8").rstrip("\n").split("\n") if file.is_file() else []
    line = f"- {now:%Y-%m-%d}: noted in turn {number}"
    # New text goes to the top of MEMORY.md; elsewhere it is appended.
    headings = (at for at, each in enumerate(lines, start=1) if each.startswith("## "))
    lines.insert(next(headings, len(lines)) if what == MEMORY else len(lines), line)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def by_priority(sections: Sequence[Section]) -> str:
    """The sections in the order of the specification's compiler: by priority, then by slot."""
    slots = list(PRIORITIES)

    def place(section: Section) -> tuple[bool, int, int]:
        return section.slot == "message", section.priority, slots.index(section.slot)

    return "".join(f"{marker(each.label)}\n{each.text}{GAP}" for each in sorted(sections, key=place))


def shared(text: str, others: Iterator[str]) -> int:
    """The length of the longest prefix that a text shares with any of the others, in characters."""
    data = encoded(text)
    longest = max((first_difference(data, encoded(other)) for other in others), default=0)
    return len(data[:longest].decode("utf-8", "ignore"))


def served(text: str, characters: int) -> int:
    """The tokens of a prefix, cut back to a line end."""
    end = characters if characters == len(text) else text.rfind("\n", 0, characters) + 1
    return tokens.count(text[:end])
