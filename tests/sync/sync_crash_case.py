"""A merging sync that ``tests.crash_sweep`` kills and fails at its fault points."""

from __future__ import annotations

import shutil

from engine.redaction import commits as guards
from engine.store import commits
from engine.sync import sync
from tests.crash_sweep import Case
from tests.sync.machines import CONFIG, IGNORED, copied, git, pair

LOADED = (guards, commits, sync)
"""Imported once here instead of in each of hundreds of child processes."""

LINES = (
    "Water the plants", "Call the Hafenamt", "Of the desk", "Of the laptop", "The gauge", "Three of desk",
    "One of laptop", "said on the desk", "new here", "decided", "rule of the desk", "rule of the laptop",
    "stands on the desk", "stands on the laptop",
)  # fmt: skip
SEED = {
    "memory-config.yaml": CONFIG,
    ".gitignore": IGNORED,
    "knowledge/facts.md": b"# Facts\n\n- The gauge stands at Nordersiel.\n",
    "knowledge/tasks.md": b"# Tasks\n\n## Open\n\n- Water the plants.\n- Call the Hafenamt.\n\n## Done\n",
    "topics/travel.md": b"# Travel\n\nOne.\n\nTwo.\n\nThree.\n",
    "topics/old.md": b"# Old\n\nA playbook that is moved away, and long enough to be known again.\n",
    "topics/decided.md": b"# Decided\n\nAs it was.\n",
    "knowledge/rules.md": b"# Rules\n\n## In force\n\n- use tabs {#1234567 told=2}\n",
    "knowledge/people/ada.md": b"# Ada\n\nA keeper of gauges.\n",
}


class Sync(Case):
    """Two machines with changes; the desk has synced, the laptop is about to."""

    hits = 200

    def prepare(self) -> None:
        desk, laptop, _ = pair(self.pristine, SEED)
        desk.add("knowledge/facts.md", "- Of the desk. [from: a, 2026-06-12]\n")
        desk.edit("topics/travel.md", "Three.", "Three of desk.")
        desk.write(
            "raw/conversations/2026/06/12/0900-s1-talk.md", "# Talk\n\n## 09:00 — user\nsaid on the desk\n"
        )
        desk.add("logs/review-2026-06.jsonl", '{"at":"2026-06-12T09:00:00+00:00","id":"of the desk"}\n')
        desk.add("knowledge/rules.md", "- rule of the desk {#aaaaaa1 told=1}\n")
        desk.add("logs/rules-2026-06.jsonl", '{"id":"aaaaaa1","text":"rule of the desk"}\n')
        desk.add("knowledge/people/ada.md", "\n## Desk\n\nAda stands on the desk.\n")
        desk.edit("topics/decided.md", "As it was", "As the desk has decided")
        git(desk.root, "rm", "-q", "--cached", "topics/old.md")
        (desk.root / "archive").mkdir()
        shutil.move(desk.root / "topics/old.md", desk.root / "archive/old.md")
        desk.sync()
        laptop.add("knowledge/facts.md", "- Of the laptop. [from: b, 2026-06-12]\n")
        laptop.edit("topics/travel.md", "One.", "One of laptop.")
        laptop.add("knowledge/rules.md", "- rule of the laptop {#aaaaaa2 told=1}\n")
        laptop.edit("knowledge/rules.md", "use tabs {#1234567 told=2}", "use tabs {#1234567 told=3}")
        laptop.add("logs/rules-2026-06.jsonl", '{"id":"aaaaaa2","text":"rule of the laptop"}\n')
        laptop.add("knowledge/people/ada.md", "\n## Laptop\n\nAda stands on the laptop.\n")
        laptop.edit("topics/decided.md", "As it was", "As the laptop has decided")
        laptop.write("topics/new.md", "# New\n\nnew here\n")
        laptop.add("logs/review-2026-06.jsonl", '{"at":"2026-06-12T09:01:00+00:00","id":"of the laptop"}\n')
        git(laptop.root, "add", "topics/decided.md")
        git(laptop.root, "commit", "-qm", "a decision", "--", "topics/decided.md")
        assert laptop.sync().outcome == "conflicts"
        laptop.edit("knowledge/tasks.md", "- Call the Hafenamt.\n", "- [x] Call the Hafenamt.\n")

    def reset(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.desk, self.laptop, _ = copied(self.pristine, self.root)

    def work(self) -> bool:
        waiting = self.laptop.engine.sync.status().conflicts
        report = self.laptop.sync(take=[("theirs", each.path) for each in waiting])
        assert not report.conflicts, report
        return True

    def content(self) -> dict[str, object]:
        """Returns the final files, which must be the same on both machines."""
        self.desk.sync()
        assert self.laptop.status() == self.desk.status() == "", (self.laptop.status(), self.desk.status())
        found = self.laptop.files()
        assert found == self.desk.files()
        assert not (self.laptop.root / "scratch/sync-journal.json").exists()
        return dict(found)

    def check_whole(self, wanted: dict[str, object]) -> None:
        text = b"".join(self.laptop.files().values()).decode()
        assert all(line in text for line in LINES), text

    def check_after_kill(self, wanted: dict[str, object]) -> None:
        """Checks that every file is complete and has no conflict markers."""
        for path, data in self.laptop.files().items():
            assert b"<<<<" not in data and (data.endswith(b"\n") or ".tmp-" in path), path

    def recover(self) -> None:
        assert self.in_child()


CASES = {"sync": Sync}
