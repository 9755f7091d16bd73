"""A month of conversations: harvested, reclaimed, restored, and harvested again at no cost."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.context.fixed import DIGEST_MAX_BYTES
from engine.costs.costs import Costs
from engine.engine import Engine
from engine.knowledge.harvest.extract import Extractor
from engine.knowledge.harvest.report import Consent, HarvestRequest
from engine.knowledge.item import CATEGORIES
from engine.knowledge.knowledge import Knowledge
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.providers.keys import HARVEST
from engine.settings.model import Config, HarvestSettings
from tests.knowledge.harvest_support import sha

_TURN = re.compile(r"^## \d\d:\d\d — (?:user|agent).*$", re.MULTILINE)
_SENTENCE = re.compile(r"[A-Z][^.\n#>`*\[\]{}<|]{40,160}\.(?= |$)")
_CATEGORIES = ("facts", "decisions", "questions", "tasks_open", "playbooks")


class Model:
    """Replies with sentences from the prompt, at most one per category."""

    name = "anthropic"
    model = "a-model"
    address = ""
    purpose = HARVEST
    takes_tools = False

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """Returns a reply in the expected schema."""
        prompt = request.rest
        self.prompts.append(prompt)
        turns = prompt[prompt.rindex("<conversation") :] if "<conversation" in prompt else prompt
        sentences = list(dict.fromkeys(_SENTENCE.findall(turns)))
        tree: dict[str, list[dict[str, str]]] = {name: [] for name in CATEGORIES}
        for name, sentence in zip(_CATEGORIES, sentences, strict=False):
            if name == "playbooks":
                tree[name].append({"name": "What to do", "steps": sentence})
            else:
                tree[name].append({"statement": sentence, "detail": ""})
        return ChatReply(json.dumps(tree), Usage(1_000, output_tokens=200), self.model, cost_usd=0.002)

    async def aclose(self) -> None:
        """Does nothing; no connection is open."""


def conversations(sample: Path, count: int) -> list[bytes]:
    """Returns parts of the sample's transcripts, a few turns each."""
    found: list[bytes] = []
    for path in sorted((sample / "raw/conversations").rglob("*.md")):
        text = path.read_text()
        starts = [match.start() for match in _TURN.finditer(text)]
        for first in range(0, len(starts) - 3, 4):
            end = starts[first + 4] if first + 4 < len(starts) else len(text)
            found.append(f"# Part {first} of {path.stem}\n\n{text[starts[first] : end]}".encode())
    return found[:count]


@pytest.fixture(params=[6, pytest.param(50, marks=pytest.mark.thorough)])
def working(sample: Path, request: pytest.FixtureRequest) -> dict[str, bytes]:
    """The working conversations of the sample, by path."""
    for path in (sample / "conversations").iterdir():
        path.unlink()
    made = {}
    for number, data in enumerate(conversations(sample, request.param)):
        path = sample / f"conversations/2026-06-12-talk-{number:02}.md"
        path.write_bytes(data)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        made[f"conversations/{path.name}"] = data
    return made


def test_an_item_of_many_conversations_is_written_once(sample: Path, working: dict[str, bytes]) -> None:
    count = len(working)
    model = Model()
    problems: list[str] = []
    with Engine.open(sample) as engine:
        config = Config(harvest=HarvestSettings(provider="anthropic"))
        knowledge = Knowledge(
            engine.files, engine.repository, lambda: config,
            lambda: Costs(engine.files, lambda: config.costs, engine.clock, problems.append),
            engine.clock, problems.append, lambda settings: Extractor(settings, model),
        )  # fmt: skip
        before = knowledge.ledger.entries()
        consent = Consent(count, empty=True)
        report = knowledge.harvest.run(HarvestRequest(consent=consent))
        outcomes = Counter((each.outcome, each.reclaimed) for each in report.results)
        assert outcomes == {("harvested", True): count}, [each for each in report.results if each.kept][:3]
        entries = {name: entry for name, entry in knowledge.ledger.entries().items() if name not in before}
        assert set(entries) == {sha(data) for data in working.values()}
        items = Counter[str]()
        for entry in entries.values():
            items.update(entry.items)
            assert entry.deleted and entry.coverage == 1 and entry.input_tokens == 1_000
        held = sum(len(entry.held) for entry in entries.values())
        known = sum(entry.known for entry in entries.values())
        print(f"\n{items.total()} items written {dict(items)}, {held} for review, {known} known")
        assert items.total() > count
        for entry in entries.values():
            for line in entry.lines:
                assert line.text.encode() in engine.files.read(line.path)
        digest = engine.files.read("knowledge/digest.md")
        assert len(digest) <= DIGEST_MAX_BYTES and b"truncated" in digest
        checked = [each for each in knowledge.verify() if each.sha256 in entries]
        assert {each.source for each in checked} == {"in trash"}
        assert {line.state for each in checked for line in each.lines} == {"there"}

        asked = len(model.prompts)
        assert knowledge.harvest.run(HarvestRequest(consent=consent)).results == ()
        for path, data in working.items():
            engine.files.create(path, data)
            os.utime(sample / path, (1_000_000_000, 1_000_000_000))
        lines = {path.name: path.read_bytes() for path in (sample / "knowledge").glob("*.md")}
        again = knowledge.harvest.run(HarvestRequest(consent=Consent(count + 10, empty=True)))
        assert all(each.reclaimed for each in again.results) and len(again.results) == count
        assert len(model.prompts) == asked == count, "a repeated harvest makes no request"
        assert lines == {path.name: path.read_bytes() for path in (sample / "knowledge").glob("*.md")}

        for name in entries:
            path = knowledge.reclaimer.restore(name)
            assert sha((sample / path).read_bytes()) == name
    assert problems == []
