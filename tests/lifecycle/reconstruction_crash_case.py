"""A reconstruction that ``tests.crash_sweep`` kills and fails at its fault points.

In the end the branch has the same content as after an undisturbed run, and the workspace is untouched.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from engine.engine import Engine
from engine.errors import RepositoryError
from engine.lifecycle.reconstruction import reconstruction
from engine.lifecycle.reconstruction.reconstruction import Request
from tests.lifecycle.extraction_crash_case import LOADED, TALKS, Extraction

HERE = (*LOADED, reconstruction)
"""Imported once here instead of in each of hundreds of child processes."""


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def live(root: Path) -> dict[str, str]:
    """Returns hashes of all files of the workspace and of git's index, HEAD and branch."""
    kept = (".git/index", ".git/HEAD", ".git/refs/heads/main")
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and (not (name := path.relative_to(root).as_posix()).startswith(".git/") or name in kept)
    }


class Reconstruction(Extraction):
    """A workspace whose sessions were extracted, and one of which has changed since."""

    request = Request("anew")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.cache = folder / "cache"
        os.environ["XDG_CACHE_HOME"] = str(self.cache)

    def prepare(self) -> None:
        super().prepare()
        self.root = self.pristine
        assert Extraction.work(self)
        for path, text in TALKS.items():
            (self.root / path).write_text(text.replace("Fridays at noon", "Mondays at six"))
        (self.root / "knowledge/facts.md").write_text("# Facts\n\n- Mine alone.\n")
        git(self.root, "add", "-A", "--", ".", ":!scratch")
        git(self.root, "commit", "-q", "-m", "as it stands")

    def reset(self) -> None:
        shutil.rmtree(self.cache, ignore_errors=True)
        super().reset()

    def work(self) -> bool:
        try:
            with Engine.open(self.root) as engine:  # closing writes a bill that could not be written before
                return bool(engine.reconstruction.run(self.request).commit)
        except RepositoryError as error:
            if "extract/anew already exists" in str(error):
                return True
            raise

    def alive(self, root: Path) -> dict[str, str]:
        """Returns what must never change."""
        return live(root)

    @functools.cached_property
    def before(self) -> dict[str, str]:
        return self.alive(self.pristine)

    def content(self) -> dict[str, object]:
        """Returns the content of the branch, which equals its tag, and the benches left."""
        names = git(self.root, "rev-parse", "extract/anew", "memory/extract/anew").split()
        assert len(set(names)) == 1, names
        self.check_after_kill({})
        return {
            "tree": git(self.root, "rev-parse", "extract/anew^{tree}"),
            "said": git(self.root, "log", "-1", "--format=%P %B", "extract/anew"),
            "benches": [path.name for path in self.cache.rglob("reconstruction.json")],
        }

    def check_whole(self, wanted: dict[str, object]) -> None:
        assert wanted["benches"] == []
        page = git(self.root, "show", "extract/anew:knowledge/projects/tidemark/context.md")
        assert "on Mondays at six" in page and "on Fridays at noon" not in page, page
        assert "- Mine alone." in git(self.root, "show", "extract/anew:knowledge/facts.md")

    def check_after_kill(self, wanted: dict[str, object]) -> None:
        assert self.alive(self.root) == self.before


CASES = {"reconstruction": Reconstruction}
