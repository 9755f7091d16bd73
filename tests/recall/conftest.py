"""A past of sessions on different subjects, each with its own names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.recall.model import shipped, to_json
from engine.recall.own import FLOORS, PATH

SUBJECTS = (
    ("ferry", "timetable", "pontoon", "berth", "captain"),
    ("ledger", "invoice", "creditor", "balance", "audit"),
    ("beacon", "lantern", "flicker", "lighthouse", "shutter"),
    ("orchard", "pruning", "blossom", "grafting", "cider"),
    ("loom", "weaving", "shuttle", "warp", "selvage"),
    ("kiln", "glazing", "firing", "porcelain", "saggar"),
    ("apiary", "swarming", "brood", "nectar", "smoker"),
    ("forge", "tempering", "anvil", "quenching", "bellows"),
    ("quarry", "blasting", "gravel", "derrick", "sluice"),
    ("vineyard", "trellis", "vintage", "pressing", "barrel"),
)
DAY = "2031-02-{:02}"
BEFORE = "2031-01-{:02}"
OTHERS = tuple(tuple(f"{word}{kind}" for word in words) for kind in ("yard", "man") for words in SUBJECTS)

Say = Callable[..., str]


def asked(words: tuple[str, ...]) -> str:
    one, two, three, *_ = words
    return f"Please look at {one}_{two}.py: the {three} of the {one} is wrong whenever the {two} changes."


def found(words: tuple[str, ...]) -> str:
    one, two, three, four, five = words
    return (
        f"The cause was {one}/{five}_{four}.py: `{four}_cache` kept the {three} of each {one} before the"
        f" {two} was known, so {five}_first and {four}_last disagreed. We decided to compute {five}_order in"
        f" {one}_plan first, to keep {four}_state out of the cache, and to leave {two}_{five} as it is."
    )


def did(words: tuple[str, ...]) -> str:
    """What an agent looked at."""
    names = ", ".join(f"{one}-{other}" for one in words for other in ("view", "model", "store"))
    return f"I will look at it.\n\n> [tool:Read] {words[0]}_{words[1]}.py → {names}\n\n"


@pytest.fixture
def say(workspace: Path) -> Say:
    """Returns a function that writes a session of the given turns, the person's first."""
    count = 0

    def write(day: str, *turns: str, kind: str = "") -> str:
        nonlocal count
        count += 1
        path = f"raw/conversations/{day.replace('-', '/')}/09{count:02}-ses_{count:08x}-work.md"
        body = "".join(
            f"\n## 09:{number:02} — {'agent' if number % 2 else f'user{kind}'}\n\n{text}\n"
            for number, text in enumerate(turns)
        )
        header = f"session_id: ses_{count:08x}\nstarted: {day}T09:00:00Z\n"
        put_text(workspace, path, f"---\n{header}---\n\n# Work\n{body}")
        return path

    return write


def put_text(root: Path, path: str, text: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    return root


@pytest.fixture
def engine(workspace: Path) -> Iterator[Engine]:
    with Engine.open(workspace) as opened:
        yield opened


@pytest.fixture
def past(say: Say) -> list[str]:
    """The transcripts of one session for each subject, the oldest first."""
    return [
        say(BEFORE.format(number + 1), asked(words), did(words) + found(words))
        for number, words in enumerate((*SUBJECTS, *OTHERS))
    ]


@pytest.fixture
def eager(workspace: Path) -> None:
    """The past has shown that what is little worth helps, too."""
    put_text(workspace, PATH, to_json(replace(shipped(), floor=FLOORS[0])))
