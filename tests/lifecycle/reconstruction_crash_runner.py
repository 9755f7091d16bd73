"""Sweeps the fault points of a reconstruction, in forked children; prints what was reached as JSON.

A child is killed at one point, the next one where it passes the same kind of point, the one after it at
another, and then one is left alone. Another child meets an error of the disk there and tries again. Whatever
happened, the branch holds what that of a run holds which nothing disturbed, and the workspace is untouched.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import ahocorasick
import filelock
import numpy

from engine.context import tokens
from engine.engine import Engine
from engine.errors import AutopoiesisError, RepositoryError
from engine.knowledge import plan, proposed, similarity
from engine.lifecycle.extraction import extraction, run, settle
from engine.lifecycle.reconstruction import reconstruction
from engine.lifecycle.reconstruction.reconstruction import Request
from engine.meaning import vectors
from engine.search import embeddings
from engine.store import change, commits, faults
from tests.knowledge.harvest_crash_runner import fresh
from tests.lifecycle import extraction_crash_runner as extracting

LOADED = (
    ahocorasick, filelock, numpy, tokens, plan, proposed, similarity, run, settle, vectors, embeddings,
    change, commits, extraction, reconstruction,
)  # fmt: skip
"""Here once, and not in each of hundreds of children."""

MOST_HITS = 400


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def prepare(root: Path) -> None:
    """A workspace that has read one of its two sessions; the other one brings something new."""
    extracting.prepare(root)
    assert extracting.in_child(root, "")
    for path, text in extracting.TALKS.items():
        (root / path).write_text(text.replace("Fridays at noon", "Mondays at six"))
    (root / "knowledge/facts.md").write_text("# Facts\n\n- Mine alone.\n")
    git(root, "add", "-A", "--", ".", ":!scratch")
    git(root, "commit", "-q", "-m", "as it stands")


def in_child(root: Path, fault: str) -> bool:
    """Reconstructs in a process of its own, again where the disk failed; whether it came to the end."""
    child = os.fork()
    if not child:
        if fault:
            faults.arm_from(fault)
        for _ in range(4):
            try:
                with Engine.open(root) as engine:
                    if engine.reconstruction.run(Request("anew")).commit:
                        os._exit(0)
            except RepositoryError as error:
                if "extract/anew exists already" in str(error):
                    os._exit(0)
            except (AutopoiesisError, OSError):
                continue
        os._exit(3)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, f"{fault}: exit status {status}"
    return True


def live(root: Path) -> dict[str, str]:
    """The workspace: all files, and of git's folder index, HEAD and the branch."""
    kept = (".git/index", ".git/HEAD", ".git/refs/heads/main")
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and (not (name := path.relative_to(root).as_posix()).startswith(".git/") or name in kept)
    }


def made(root: Path) -> tuple[str, str, list[str]]:
    """What stands on the branch: tree, what its commit says, and that branch and tag are one."""
    names = git(root, "rev-parse", "extract/anew", "memory/extract/anew").split()
    assert len(set(names)) == 1, names
    said = git(root, "log", "-1", "--format=%P %B", "extract/anew")
    benches = [path.name for path in (root.parent / "cache").rglob("reconstruction.json")]
    return git(root, "rev-parse", "extract/anew^{tree}"), said, benches


def again(folder: Path) -> Path:
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return fresh(folder)


def sweep(folder: Path, step: int, wanted_points: Sequence[str]) -> dict[str, int]:
    """How often each fault point was reached; as ``tests.knowledge.harvest_crash_runner.sweep``."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    prepare(folder / "pristine")
    root = again(folder)
    before = live(root)
    assert in_child(root, "")
    wanted = made(root)
    assert live(root) == before and wanted[2] == []
    page = git(root, "show", "extract/anew:knowledge/projects/tidemark/context.md")
    assert "on Mondays at six" in page and "on Fridays at noon" not in page, page
    assert "- Mine alone." in git(root, "show", "extract/anew:knowledge/facts.md")
    reached: dict[str, int] = {}
    number = 0
    points = sorted(faults.FAULT_POINTS)
    for point in wanted_points or points:
        for hit in range(1, MOST_HITS, step):
            number += 1
            root = again(folder)
            if in_child(root, f"{point}:kill:{hit}"):
                break
            reached[point] = hit
            assert live(root) == before, (point, hit)
            other = points[(7 * number + hit) % len(points)]
            for second in (f"{point}:kill", f"{other}:kill:{1 + number % 4}"):
                in_child(root, second)
            assert in_child(root, "")
            assert (made(root), live(root)) == (wanted, before), (point, hit)
            kind = "EIO" if "fsync" in point else "ENOSPC"
            root = again(folder)
            assert in_child(root, f"{point}:{kind}:{hit}")
            assert (made(root), live(root)) == (wanted, before), (point, hit, kind)
    return reached


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
