"""A thousand random file operations: no note is ever attached to another file (I1, I2)."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from engine.knowledge.notes import NoteFiles
from engine.store.files import Files
from engine.store.paths import Workspace

ROUNDS = 240
NOTED = 4


class World:
    """Files of a repository, each with a unique line, and notes on some of them."""

    def __init__(self, root: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.number = 0
        memory = root / "memory"
        memory.mkdir()
        (memory / "memory-config.yaml").touch()
        self.folder = root / "app"
        for name in (".git", "src", "lib/deep"):
            (self.folder / name).mkdir(parents=True)
        clock = lambda: datetime(2026, 6, 12, tzinfo=UTC)  # noqa: E731
        self.notes = NoteFiles(Files(Workspace.open(memory)), clock)
        self.noted: dict[str, Path] = {}
        for _ in range(NOTED):
            path, name = self.make()
            self.noted[name] = path
            self.notes.add(path, f"This is {name}.")
        self.others = [self.make()[0] for _ in range(3)]

    def make(self) -> tuple[Path, str]:
        path = self.free()
        name = f"file number {self.number}"
        path.write_text(self.content(name))
        return path, name

    def free(self) -> Path:
        self.number += 1
        return self.folder / self.random.choice(["src", "lib", "lib/deep"]) / f"m{self.number}.py"

    def content(self, name: str) -> str:
        lines = [f"# {name}", *(f"value_{self.random.randrange(10**9)} = {line}" for line in range(8))]
        return "\n".join(lines) + "\n"

    def check(self, kind: str, name: str, path: Path) -> None:
        """Checks that the notes of a file, and no others, are found."""
        found = self.notes.of(path)
        assert found is not None and found.is_here, f"{kind}: lost"
        assert [entry.text for entry in found.entries] == [f"This is {name}."], (
            f"{kind}: notes of another file"
        )
        self.counts[f"{kind}: found"] += 1

    def check_none(self, kind: str, path: Path) -> None:
        assert self.notes.of(path) is None, f"{kind}: a note of another file"
        self.counts[f"{kind}: none"] += 1

    def check_all(self) -> None:
        for name, path in self.noted.items():
            self.check("afterwards", name, path)
        for path in self.others:
            self.check_none("never noted", path)

    def atomic_save(self, name: str, path: Path) -> None:
        temp = path.with_name(".save")
        temp.write_text(path.read_text() + f"more = {self.random.random()}\n")
        os.replace(temp, path)
        self.check("atomic save", name, path)

    def save_in_place(self, name: str, path: Path) -> None:
        path.write_text(path.read_text().replace("value", "worth", 1))
        self.check("save in place", name, path)

    def rename(self, name: str, path: Path) -> None:
        self.noted[name] = path.rename(self.free())
        self.check("rename", name, self.noted[name])

    def rename_queried_by_old_path(self, name: str, path: Path) -> None:
        self.noted[name] = path.rename(self.free())
        self.check("rename, old path", name, path)

    def restore(self, name: str, path: Path) -> None:
        data = path.read_bytes()
        path.unlink()
        gone = self.notes.of(path)
        assert gone is not None and not gone.is_here
        path.write_bytes(data)
        self.check("restore", name, path)

    def inode_reuse(self, name: str, path: Path) -> None:
        data, inode = path.read_bytes(), path.stat().st_ino
        path.unlink()
        other, _ = self.make()
        self.counts["inode was reused"] += other.stat().st_ino == inode
        self.check_none("inode reuse", other)
        other.unlink()
        path.write_bytes(data)
        self.check("restore", name, path)

    def copy(self, name: str, path: Path) -> None:
        target = self.free()
        shutil.copy2(path, target)
        self.check_none("copy", target)
        target.unlink()

    def copy_and_delete(self, name: str, path: Path) -> None:
        target = self.free()
        shutil.copy2(path, target)
        path.unlink()
        self.check_none("copy of a deleted file", target)
        (question,) = self.notes.questions()
        bound = self.notes.rebind(question.path, target)
        assert bound.renamed_from == question.path
        self.noted[name] = target
        self.check("bound by the person", name, target)

    def hard_link(self, name: str, path: Path) -> None:
        target = self.free()
        os.link(path, target)
        self.check_none("hard link", target)
        self.check("hard link", name, path)
        target.unlink()

    def hard_link_and_unlink(self, name: str, path: Path) -> None:
        target = self.free()
        os.link(path, target)
        path.unlink()
        self.noted[name] = target
        self.check("rename by link", name, target)

    def another_file_at_its_path(self, name: str, path: Path) -> None:
        target = path.rename(self.free())
        path.write_text(self.content("a stranger"))
        self.check_none("stranger at the path", path)
        question = self.notes.question(path)
        assert question is not None and question.why == "another file is at its path"
        path.unlink()
        target.rename(path)
        self.check("moved back", name, path)

    def exchange(self, name: str, path: Path) -> None:
        other_name = self.random.choice([each for each in self.noted if each != name])
        other, aside = self.noted[other_name], self.free()
        for source, target in ((path, aside), (other, path), (aside, other)):
            source.rename(target)
        self.check_none("exchanged", path)
        self.check_none("exchanged", other)
        for source, target in ((path, aside), (other, path), (aside, other)):
            source.rename(target)
        self.check("exchanged back", name, path)

    def save_and_rename_unobserved(self, name: str, path: Path) -> None:
        temp = path.with_name(".save")
        temp.write_text(path.read_text() + f"more = {self.random.random()}\n")
        os.replace(temp, path)
        target = path.rename(self.free())
        self.check_none("saved and renamed unseen", target)
        (question,) = self.notes.questions()
        self.notes.rebind(question.path, target)
        self.noted[name] = target
        self.check("bound by the person", name, target)


STEPS = (
    World.atomic_save, World.save_in_place, World.rename, World.rename_queried_by_old_path, World.restore,
    World.inode_reuse, World.copy, World.copy_and_delete, World.hard_link, World.hard_link_and_unlink,
    World.another_file_at_its_path, World.exchange, World.save_and_rename_unobserved,
)  # fmt: skip


def test_no_note_is_ever_attached_to_another_file(tmp_path: Path) -> None:
    world = World(tmp_path, seed=20260612)
    for number in range(ROUNDS):
        step = world.random.choice(STEPS)
        name = world.random.choice(list(world.noted))
        step(world, name, world.noted[name])
        if number % 10 == 0:
            world.check_all()
    print()
    for what, count in sorted(world.counts.items()):
        print(f"{count:6}  {what}")
    assert world.counts["afterwards: found"] == ROUNDS // 10 * NOTED
    assert all(
        world.counts[f"{what}: found"] > 10 for what in ("atomic save", "rename", "restore", "hard link")
    )
    assert len(world.notes.all()) == NOTED
