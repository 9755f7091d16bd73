"""Findings of ``doctor`` about git: what prevents a commit, and what is left out of it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.commits.kinds import LOGS, OWN
from engine.store import git_lock
from engine.store.paths import shown
from engine.store.repository import Repository
from engine.transcripts.places import FOLDER as TRANSCRIPTS
from engine.workspace.finding import Finding

_ON = ("true", "yes", "on", "1")
_SHOWN = 10
_EFFECT = "files are still written, but there is no history and no undo"


def git_findings(repository: Repository) -> Iterator[Finding]:
    """Whether commits can be made, what they leave out, and which locks a dead git left behind."""
    state = repository.state()
    if state.kind == "ok":
        files = "1 uncommitted file" if state.dirty == 1 else f"{state.dirty} uncommitted files"
        yield Finding("ok", f"git: on {state.branch}, {files}")
    else:
        yield Finding("warning", f"git: {state.why}", "; ".join(filter(None, (_EFFECT, state.hint))))
    if state.kind in ("none", "no-git"):
        return
    if state.dirty and state.can_commit:
        changed = [path for path in repository.changed(*OWN, LOGS, TRANSCRIPTS) if not path.endswith("/")]
        refused = repository.refusals(changed)
        for path in list(refused)[:_SHOWN]:
            yield Finding("warning", f"git: {shown(path)} is left out of every commit: {refused[path]}")
        if len(refused) > _SHOWN:
            yield Finding("warning", f"git: {len(refused) - _SHOWN} more files are left out of every commit")
    if state.kind != "broken" and repository.configured("commit.gpgSign").lower() in _ON:
        text = "git: commit.gpgSign is on, but commits made here are not signed: no other program is run"
        yield Finding("note", text, "commits that you make by hand are signed as ever")
    for lock in git_lock.leftovers(repository.folder):
        why, hint = git_lock.explained(lock, repository.workspace.root)
        if why != state.why:
            yield Finding("warning", f"git: {why}", hint)
