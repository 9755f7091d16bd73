"""Findings of ``doctor`` about git: what prevents a commit, and what is left out of it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.store import git_lock
from engine.store.repository import Repository
from engine.workspace.finding import Finding

_ON = ("true", "yes", "on", "1")
_EFFECT = "files are still written, but there is no history and no undo"


def git_findings(repository: Repository) -> Iterator[Finding]:
    """Whether commits can be made, and which locks a dead git left behind."""
    state = repository.state()
    if state.kind == "ok":
        files = "1 uncommitted file" if state.dirty == 1 else f"{state.dirty} uncommitted files"
        yield Finding("ok", f"git: on {state.branch}, {files}")
    else:
        yield Finding("warning", f"git: {state.why}", "; ".join(filter(None, (_EFFECT, state.hint))))
    if state.kind in ("none", "no-git"):
        return
    if state.kind != "broken" and repository.configured("commit.gpgSign").lower() in _ON:
        text = "git: commit.gpgSign is on, but commits made here are not signed: no other program is run"
        yield Finding("note", text, "commits that you make by hand are signed as ever")
    for lock in git_lock.leftovers(repository.folder):
        why, hint = git_lock.explained(lock, repository.workspace.root)
        if why != state.why:
            yield Finding("warning", f"git: {why}", hint)
