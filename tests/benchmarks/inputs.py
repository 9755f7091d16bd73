"""Synthetic words, messages, topics, transcripts and session logs, in any number and reproducible."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.topics.model import Topic, Trigger
from engine.transcripts.format import parse, render
from engine.transcripts.turn import Role, Text, ToolCall, Transcript, Turn

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)

_ONSETS = [*"bcdfghklmnprstv", "br", "cl", "dr", "fl", "gr", "pl", "st", "tr"]
_NUCLEI = [*"aeiou", "ai", "ea", "ou"]
_CODAS = ["", "n", "r", "l", "t", "m", "ck"]
_SMALL = [
    "the", "a", "of", "to", "and", "in", "that", "it", "is", "was", "for", "on", "with", "as", "at", "by",
    "from", "this", "be", "or", "not", "are", "we", "you", "i",
]  # fmt: skip


class Words:
    """An artificial language with a few common function words and content words as rare as in real text.

    Args:
        seed: Equal seeds give equal words and texts.
        size: The number of content words.
    """

    def __init__(self, seed: int, size: int = 20_000) -> None:
        self.random = random.Random(seed)
        found: dict[str, None] = {}
        while len(found) < size:
            syllables = self.random.choices((2, 3, 4), (3, 4, 2))[0]
            found["".join(self._syllable() for _ in range(syllables))] = None
        self.all = [word for word in found if word not in _SMALL]
        # The n-th word is used 1/n as often as the first (Zipf), starting where real content words do.
        self._shares = list(itertools.accumulate(1 / (rank + 20) for rank in range(len(self.all))))

    def _syllable(self) -> str:
        return "".join(self.random.choice(parts) for parts in (_ONSETS, _NUCLEI, _CODAS))

    def content(self, count: int) -> list[str]:
        """Content words with the frequencies of real text."""
        return self.random.choices(self.all, cum_weights=self._shares, k=count)

    def text(self, characters: int) -> str:
        """Sentences of at least this length; every second word is a function word."""
        parts: list[str] = []
        size = 0
        while size < characters:
            sentence = []
            for word in self.content(self.random.randint(3, 8)):
                sentence += [self.random.choice(_SMALL), word]
            parts.append(" ".join(sentence).capitalize() + ".")
            size += len(parts[-1]) + 1
        return " ".join(parts)

    def even(self, characters: int) -> str:
        """Equally likely words, of about this length."""
        return " ".join(self.random.choices(self.all, k=max(1, characters // 8)))[:characters]

    def questions(self, count: int) -> list[str]:
        """Questions of three to six content words with function words between them."""
        questions = []
        for _ in range(count):
            words = [[self.random.choice(_SMALL), word] for word in self.content(self.random.randint(3, 6))]
            questions.append(" ".join(itertools.chain.from_iterable(words)).capitalize() + "?")
        return questions


def topics(words: Words, count: int, *, instructions: int = 1200) -> list[Topic]:
    """Topics with four triggers each, whose words are evenly distributed over the language.

    Args:
        words: Their language.
        count: The number of topics.
        instructions: Characters of each topic's instructions.
    """
    return [_topic(f"topic-{number:05}", words, instructions) for number in range(count)]


def _topic(name: str, words: Words, instructions: int) -> Topic:
    one, two, three, four, five, six, seven, person = words.random.sample(words.all, 8)
    return Topic(
        name=name,
        path=f"topics/{name}.md",
        title=name,
        description="",
        instructions=words.text(instructions),
        triggers=(
            Trigger("pattern", match=rf"\b{one}(?:ed|ing)?\b"),
            Trigger("pattern", match=rf"\b{two}\s+(?:{three}|{four})\b"),
            Trigger("keywords", words=(five, six, seven)),
            Trigger("mention", words=(person.capitalize(),)),
        ),
    )


def write_transcripts(words: Words, root: Path, count: int, characters: int = 6000) -> list[str]:
    """Write transcripts of about this size to ``raw/conversations``; returns their relative paths."""
    paths = []
    for number in range(count):
        at = START + timedelta(hours=3 * number)
        session = f"ses_{number:06}"
        path = f"raw/conversations/{at:%Y/%m/%d/%H%M}-{session}-{words.content(1)[0]}.md"
        turns = tuple(_turns(words, at, characters))
        started = f"{at:%Y-%m-%dT%H:%M:%SZ}"
        header: dict[str, object] = {"session_id": session, "started": started, "cwd": "/src/app", "tags": []}
        transcript = Transcript(path, session, "", "", " ".join(words.content(4)).capitalize(), header, turns)
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(render(transcript), encoding="utf-8")
        paths.append(path)
    return paths


def _turns(words: Words, at: datetime, characters: int) -> Iterator[Turn]:
    size = number = 0
    while size < characters:
        role: Role = "agent" if number % 2 else "user"
        text = words.text(800 if number % 2 else 200)
        call = (ToolCall("exec", " ".join(words.content(3)), "done"),) if number % 2 else ()
        yield Turn(role, f"{at + timedelta(minutes=2 * number):%H:%M}", (*call, Text(text)))
        size += len(text)
        number += 1


def log_lines(words: Words) -> Iterator[str]:
    """The lines of an endless session as logged by Claude Code."""
    # Generating every word would take longer than reading the log.
    texts = [words.text(length) for length in (200, 400, 900, 1800) for _ in range(40)]
    exchanges = (_exchange(words, texts, number) for number in itertools.count())
    parent = ""
    for number, (kind, message) in enumerate(itertools.chain.from_iterable(exchanges)):
        uuid = f"{number:08x}-0000-4000-8000-000000000000"
        record = {
            "parentUuid": parent or None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/robin/project",
            "sessionId": "0f1e2d3c-0000-4000-8000-000000000000",
            "version": "2.1.19",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": f"{START + timedelta(seconds=7 * number):%Y-%m-%dT%H:%M:%S.000Z}",
        }
        yield json.dumps(record) + "\n"
        parent = uuid


def append_lines(lines: Iterator[str], path: Path, size: int) -> int:
    """Append lines to a file until at least ``size`` bytes are written; returns their number."""
    written = count = 0
    with path.open("a", encoding="utf-8") as stream:
        while written < size:
            written += stream.write(next(lines))
            count += 1
    return count


def _exchange(words: Words, texts: list[str], number: int) -> Iterator[tuple[str, dict[str, object]]]:
    """A question, two tool calls with long results, and the answer."""
    pick = words.random.choice
    yield "user", {"role": "user", "content": pick(texts[:80])}
    for step in range(2):
        call = f"toolu_{number:06}_{step}"
        command = {"command": " ".join(words.content(6)), "description": " ".join(words.content(4))}
        use: dict[str, object] = {"type": "tool_use", "id": call, "name": "Bash", "input": command}
        yield "assistant", _reply(f"msg_{number:06}_{step}", [{"type": "text", "text": pick(texts)}, use])
        output = "\n".join(pick(texts) for _ in range(4))
        result: dict[str, object] = {"type": "tool_result", "tool_use_id": call, "content": output}
        yield "user", {"role": "user", "content": [result]}
    yield "assistant", _reply(f"msg_{number:06}_end", [{"type": "text", "text": pick(texts[80:])}])


def _reply(name: str, content: list[dict[str, object]]) -> dict[str, object]:
    usage = {"input_tokens": 12, "cache_read_input_tokens": 24_000, "output_tokens": 380}
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "usage": usage,
    }


def messages_of(root: Path) -> list[str]:
    """The distinct user messages in the transcripts of a workspace, in the order of the files."""
    found: dict[str, None] = {}
    for path in sorted(root.glob("raw/conversations/**/*.md")):
        transcript = parse(path.read_bytes(), path.name)
        found.update((turn.text, None) for turn in transcript.turns if turn.role == "user" and turn.text)
    return list(found)
