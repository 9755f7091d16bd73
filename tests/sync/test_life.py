"""An hour of random changes on two machines, synced again and again: every line ever written ends up on both
or was shown in a conflict."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from engine.knowledge.harvest.report import Consent, HarvestRequest
from engine.knowledge.item import Item, Origin
from engine.knowledge.review import PendingItem
from engine.sync.model import Conflict
from tests.sync.machines import Machine, git

LIVES = [
    pytest.param(2, 0, id="some"),
    pytest.param(60, 1, marks=pytest.mark.thorough, id="an hour"),
    pytest.param(60, 2, marks=pytest.mark.thorough, id="another hour"),
]
ALL = Consent(number=None, empty=True, partial=True)


class Life:
    """Random events on the machines, determined by a seed.

    Attributes:
        written: Every word that was ever written.
        explained: The texts shown in conflicts.
    """

    def __init__(self, machines: tuple[Machine, Machine], seed: int) -> None:
        self.machines = machines
        self.dice = random.Random(seed)
        self.written: list[str] = []
        self.explained: list[str] = []
        self.conflicts: list[Conflict] = []
        self.syncs = self.merges = 0

    def word(self) -> str:
        """Returns a word that has not been used yet."""
        self.written.append(f"word{len(self.written):04}x")
        return self.written[-1]

    def minute(self) -> None:
        """Makes some changes on each machine and then syncs both."""
        for machine in self.machines:
            for act in self.dice.sample(ACTS, 3):
                act(self, machine)
        for machine in self.dice.sample(self.machines, 2):
            self.sync(machine)
        self.machines[0].clock.tick()

    def sync(self, machine: Machine) -> None:
        """Syncs a machine and resolves conflicts at random after recording what they showed."""
        report = machine.sync()
        if report.conflicts:
            before = machine.files()
            assert all(each.ours.revision and each.theirs.revision for each in report.conflicts)
            self.conflicts += report.conflicts
            for each in report.conflicts:
                self.explained += [text for piece in each.pieces for text in (piece.ours, piece.theirs)]
                if not each.pieces:
                    self.explained.append(self.content_left(machine, each))
            assert machine.files() == before
            sides = [self.dice.choice(("ours", "theirs")) for _ in report.conflicts]
            take = [(side, each.path) for side, each in zip(sides, report.conflicts, strict=True)]
            report = machine.sync(take=take)  # type: ignore[arg-type]
        assert not report.conflicts and not report.left and machine.status() == "", report
        self.syncs += 1
        self.merges += bool(report.merge)

    def content_left(self, machine: Machine, conflict: Conflict) -> str:
        """Returns the content of a file that one side deleted."""
        return "".join(git(machine.root, "cat-file", "blob", name) for name in conflict.names if name)

    def session(self, machine: Machine) -> None:
        capture, name = machine.engine.capture, f"s{len(self.written)}"
        capture.start(name, title=self.word(), started=machine.clock())
        capture.message(name, "user", f"Look at {self.word()}.", at=machine.clock())
        if self.dice.random() < 0.7:
            capture.end(name, at=machine.clock())

    def fact(self, machine: Machine) -> None:
        path = self.dice.choice(("facts", "questions", "playbooks"))
        origin = f"{machine.root.name}, {machine.clock():%Y-%m-%d}"
        if not machine.text(f"knowledge/{path}.md"):
            machine.write(f"knowledge/{path}.md", f"# {path.title()}\n\n")
        machine.add(f"knowledge/{path}.md", f"- {self.word()} is so. [from: {origin}]\n")

    def harvest(self, machine: Machine) -> None:
        path = f"conversations/talk-{len(self.written)}.md"
        machine.write(path, f"# Talk\n\n## 08:00 — user\nDecision: take {self.word()} at the lock.\n")
        for talk in (machine.root / "conversations").glob("*.md"):
            os.utime(talk, (0, 0))
        report = machine.engine.knowledge.harvest.run(HarvestRequest(consent=ALL))
        assert all(not each.error for each in report.results)

    def note(self, machine: Machine) -> None:
        machine.engine.knowledge.notes.add("topics/travel.md", f"{self.word()} to be seen")

    def journal(self, machine: Machine) -> None:
        path = f"knowledge/journal/{machine.clock():%Y-%m-%d}.md"
        if not machine.text(path):
            machine.write(path, f"## {machine.clock():%Y-%m-%d}\n\n### work\n")
        machine.add(path, f"- {self.word()} happened.\n")

    def review(self, machine: Machine) -> None:
        item = Item("facts", f"{self.word()} was said by a tool", voice="tool")
        at = machine.clock().isoformat(timespec="seconds")
        text = PendingItem(self.written[-1], at, item, "a tool said it", Origin("talk", at[:10]), "", "")
        machine.engine.knowledge.review.queue.put([text])

    def task(self, machine: Machine) -> None:
        machine.edit("knowledge/tasks.md", "## Open\n", f"## Open\n\n- Do {self.word()}.\n")

    def tick(self, machine: Machine) -> None:
        open_tasks = [
            line for line in machine.text("knowledge/tasks.md").splitlines() if line.startswith("- Do")
        ]
        if open_tasks:
            line = self.dice.choice(open_tasks)
            machine.edit("knowledge/tasks.md", line, line.replace("- Do", "- [x] Do"))

    def topic(self, machine: Machine) -> None:
        topics = sorted((machine.root / "topics").glob("*.md"))
        path = machine.engine.workspace.relative(self.dice.choice(topics))
        lines = machine.text(path).splitlines()
        at = (
            self.dice.randrange(len(lines) - 1, len(lines))
            if len(lines) < 9
            else self.dice.randrange(6, len(lines))
        )
        lines[at] += f" {self.word()}"
        machine.write(path, "\n".join([*lines, ""]))

    def entry(self, machine: Machine) -> None:
        machine.edit("knowledge/facts.md", "Nordersiel", f"Nordersiel {self.word()}")

    def archive(self, machine: Machine) -> None:
        path = f"topics/t{len(self.written)}.md"
        machine.write(path, f"# T\n\nOne.\nTwo.\nThree.\n{self.word()}\n" + "A line of it.\n" * 20)
        old = sorted((machine.root / "topics").glob("t[0-9]*.md"))
        if len(old) > 2:
            (machine.root / "archive/topics").mkdir(parents=True, exist_ok=True)
            chosen = self.dice.choice(old)
            chosen.rename(machine.root / "archive/topics" / chosen.name)

    def setting(self, machine: Machine) -> None:
        machine.add("memory-config.yaml", f"# {self.word()}\n")


ACTS = (
    Life.session, Life.fact, Life.fact, Life.harvest, Life.note, Life.journal, Life.review, Life.task,
    Life.tick, Life.topic, Life.entry, Life.archive, Life.setting,
)  # fmt: skip


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("minutes", "seed"), LIVES)
def test_two_lives_synced_repeatedly_lose_nothing(
    machines: tuple[Machine, Machine, Path], minutes: int, seed: int
) -> None:
    desk, laptop, _ = machines
    life = Life((desk, laptop), seed)
    for _ in range(minutes):
        life.minute()
    for machine in (desk, laptop, desk):
        life.sync(machine)
    assert desk.files() == laptop.files()
    text = b"\n".join([path.encode() + b"\n" + data for path, data in desk.files().items()]).decode()
    explained = "\n".join(life.explained)
    lost = [word for word in life.written if word not in text and word not in explained]
    only = [word for word in life.written if word not in text]
    print(
        f"\n{len(life.written)} words, {life.syncs} syncs, {life.merges} merges, "
        f"{len(life.conflicts)} conflicts; {len(only)} words appear only in a conflict"
    )
    assert lost == []
    assert life.merges >= minutes / 2 and life.conflicts
    # The trash is machine-local: files reclaimed before their first commit exist only there.
    unsound = [
        {each.sha256 for each in machine.engine.knowledge.verify() if not each.sound}
        for machine in (desk, laptop)
    ]
    assert not unsound[0] & unsound[1]
    assert desk.engine.knowledge.ledger.entries() or minutes < 60
    doubled = [line for line in desk.text("knowledge/facts.md").splitlines() if line.startswith("- ")]
    assert len(doubled) == len(set(doubled))
