"""Two machines that each learn, decide and edit rules and pages by hand, synced at random moments.

Both end up equal, nothing a person gave is lost, and nothing they turned down or deleted comes back.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from engine.errors import ChangeRefused
from engine.rules.rulebook import PATH, Rule, rules_in
from engine.sync.model import Side
from tests.sync.machines import Machine

LIVES = [
    pytest.param(25, 1, id="life01"),
    *(pytest.param(60, seed, marks=pytest.mark.thorough, id=f"life{seed:02}") for seed in range(2, 40)),
]
PAGE = "knowledge/people/ada.md"
DAY_MINUTES = 24 * 60
OUT = ("turned down", "replaced", "resting")


def rules_on(machine: Machine) -> dict[str, Rule]:
    """The rules of a machine by id."""
    return {rule.id: rule for rule in rules_in(machine.text(PATH).encode()).rules}


class Life:
    """Random decisions on both machines, determined by a seed.

    Attributes:
        given: Every word the person wrote into rules or pages, except those they took out again.
        decided: By rule, when and where the person decided what about it.
        decided_against: The texts of the side that was not taken in conflicts.
    """

    def __init__(self, machines: Iterable[Machine], seed: int) -> None:
        self.machines = tuple(machines)
        self.dice = random.Random(seed)
        self.given: list[str] = []
        self.decided_against = ""
        self.decided: defaultdict[str, list[tuple[int, str, Machine]]] = defaultdict(list)
        self.now = self.words = self.merges = self.conflicts = 0

    def word(self) -> str:
        self.words += 1
        self.given.append(f"word{self.words:03}x")
        return self.given[-1]

    def take_out(self, text: str) -> None:
        """Forgets the words of a text that the person replaced or deleted."""
        self.given = [word for word in self.given if word not in text]

    def step(self) -> None:
        self.now += 1
        for machine in self.machines:
            self.dice.choice(ACTS)(self, machine)
        if self.dice.random() < 0.3:
            self.sync(self.dice.choice(self.machines))
        for each in self.machines:
            each.clock.tick(self.dice.choice((1, 1, DAY_MINUTES)) if each is self.machines[0] else 0)
        self.machines[1].clock.now = self.machines[0].clock.now

    def sync(self, machine: Machine) -> None:
        report = machine.sync()
        if report.conflicts:
            self.conflicts += 1
            take: list[tuple[Side, str]] = []
            for each in report.conflicts:
                side: Side = self.dice.choice(("ours", "theirs"))
                take.append((side, each.path))
                for piece in each.pieces:
                    assert piece.before and piece.where, "what both only added is no conflict"
                    self.decided_against += piece.ours if side == "theirs" else piece.theirs
            report = machine.sync(take=take)
        assert not report.conflicts and not report.left and machine.status() == "", report
        self.merges += bool(report.merge)

    def some_rule(self, machine: Machine) -> Rule | None:
        """One of the few rules that both decide about again and again."""
        rules = list(rules_on(machine).values())
        return self.dice.choice(sorted(rules, key=lambda rule: rule.id)[:3]) if rules else None

    def decide(self, machine: Machine, rule: Rule, what: str) -> None:
        self.decided[rule.id].append((self.now, what, machine))

    def say(self, machine: Machine, text: str) -> None:
        capture, name = machine.engine.capture, f"{machine.root.name}-{self.now}"
        capture.start(name, title="Work", started=machine.clock())
        capture.message(name, "user", text, at=machine.clock())
        capture.end(name, at=machine.clock())
        machine.engine.rules.learn()

    def learn(self, machine: Machine) -> None:
        self.say(machine, f"From now on, always run make check{self.now} before you commit.")

    def repeat(self, machine: Machine) -> None:
        if rule := self.some_rule(machine):
            self.say(machine, f"{rule.text}, always.")
            self.decide(machine, rule, "say again")

    def accept(self, machine: Machine) -> None:
        if rule := self.some_rule(machine):
            machine.engine.rules.accept([rule.id])
            self.decide(machine, rule, "accept")

    def turn_down(self, machine: Machine) -> None:
        if rule := self.some_rule(machine):
            machine.engine.rules.turn_down([rule.id])
            self.decide(machine, rule, "turn down")

    def rest(self, machine: Machine) -> None:
        if rule := self.some_rule(machine):
            machine.engine.rules.rest([rule.id])
            self.decide(machine, rule, "rest")

    def reword(self, machine: Machine) -> None:
        if rule := self.some_rule(machine):
            self.take_out(rule.text)
            machine.engine.rules.reword(rule.id, f"never forget {self.word()} in a review")
            self.decide(machine, rule, "reword")

    def narrow(self, machine: Machine) -> None:
        if rule := self.some_rule(machine):
            machine.engine.rules.narrow(rule.id, tool=self.dice.choice(("Bash", "Edit")))
            self.decide(machine, rule, "narrow")

    def merge(self, machine: Machine) -> None:
        rule, into = self.some_rule(machine), self.some_rule(machine)
        if rule and into:
            try:
                machine.engine.rules.merge(rule.id, into.id)
            except ChangeRefused:
                return
            self.decide(machine, rule, "merge")
            self.decide(machine, into, "merge into")

    def add(self, machine: Machine) -> None:
        (rule,) = machine.engine.rules.add(f"use {self.word()} for dates").rules
        self.decide(machine, rule, "add")

    def write_rule(self, machine: Machine) -> None:
        if "## In force\n" not in machine.text(PATH):
            return self.add(machine)
        machine.edit(PATH, "## In force\n", f"## In force\n\n- say {self.word()} first\n")
        return None

    def edit_rule(self, machine: Machine) -> None:
        rule = self.some_rule(machine)
        line = rule and next(
            (line for line in machine.text(PATH).splitlines() if f"{{#{rule.id}" in line), ""
        )
        if rule and line:
            self.take_out(rule.text)
            machine.edit(PATH, line, line.replace(rule.text, f"keep {self.word()} short"))
            self.decide(machine, rule, "edit")

    def delete_rule(self, machine: Machine) -> None:
        if rule := self.some_rule(machine):
            lines = machine.text(PATH).splitlines(keepends=True)
            marked = [line for line in lines if f"{{#{rule.id}" in line or line.strip() == f"- {rule.text}"]
            self.take_out(rule.text)
            machine.write(PATH, "".join(line for line in lines if line not in marked))
            self.decide(machine, rule, "delete")

    def note(self, machine: Machine) -> None:
        if text := machine.text(PATH):
            place = self.dice.choice(
                [line for line in text.splitlines() if line.startswith("## ")] or ["# Rules"]
            )
            machine.edit(PATH, f"{place}\n", f"{place}\n\nMind {self.word()} here.\n")

    def section(self, machine: Machine) -> None:
        head = "---\ntype: person\nupdated: 2026-06-12\n---\n\n# Ada\n"
        machine.write(
            PAGE, (machine.text(PAGE) or head) + f"\n## About {self.now}\n\nAda likes {self.word()}.\n"
        )

    def page(self, machine: Machine) -> None:
        lines = machine.text(PAGE).splitlines()
        places = [at for at, line in enumerate(lines) if line.startswith("Ada")]
        if places:
            lines[self.dice.choice(places)] += f" And {self.word()}."
            machine.write(PAGE, "\n".join([*lines, ""]))


ACTS = (
    Life.learn, Life.learn, Life.repeat, Life.accept, Life.accept, Life.turn_down, Life.rest, Life.reword,
    Life.narrow, Life.merge, Life.add, Life.add, Life.write_rule, Life.edit_rule, Life.delete_rule, Life.note,
    Life.section, Life.page,
)  # fmt: skip


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("steps", "seed"), LIVES)
def test_two_rulebooks_become_one_and_no_decision_of_the_person_is_lost(
    machines: tuple[Machine, Machine, Path], steps: int, seed: int
) -> None:
    desk, laptop, _ = machines
    life = Life((desk, laptop), seed)
    life.add(desk)
    life.sync(desk)
    life.sync(laptop)
    for _ in range(steps):
        life.step()
    for machine in (desk, laptop, desk):
        life.sync(machine)
    for machine in (desk, laptop):
        machine.engine.rules.learn()
    for machine in (desk, laptop, desk):
        life.sync(machine)
    assert desk.files() == laptop.files()
    print(f"\n{len(rules_on(desk))} rules, {life.merges} merges, {life.conflicts} conflicts")
    text = desk.text(PATH) + desk.text(PAGE) + life.decided_against
    assert [word for word in life.given if word not in text] == []
    assert life.merges >= 2
    rules = rules_on(desk)
    for name, decisions in life.decided.items():
        rule, (when, what, where) = rules.get(name), decisions[-1]
        alone = all(machine is where for _, _, machine in decisions)
        revived = {"accept", "reword", "delete"} & {each for at, each, _ in decisions if at > when}
        if what == "turn down" and not revived:
            assert rule is None or rule.state in OUT, (rule, decisions)
        if what == "accept" and alone:  # only a later word of theirs may replace it
            assert rule is not None and rule.accepted and rule.state in ("in force", "replaced"), decisions
        if what == "delete" and alone:
            assert rule is None, (rule, decisions)
    for rule in rules.values():
        passed = set[str]()
        while rule.state == "replaced" and rule.by in rules:
            assert rule.id not in passed, "rules replaced each other"
            passed.add(rule.id)
            rule = rules[rule.by]
