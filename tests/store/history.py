"""Helpers to create repositories with git itself, with commits at chosen times."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git(root: Path, *arguments: str, at: str = "", stdin: bytes | None = None) -> str:
    """Run git as a user would; ``at`` is the commit time."""
    environment = dict(os.environ)
    if at:
        environment |= {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def commit(root: Path, subject: str, at: str) -> str:
    """Commit all files at a given time; returns the revision."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--no-verify", "--allow-empty", "-m", subject, at=at)
    return git(root, "rev-parse", "HEAD")
