"""The findings of ``doctor`` about files' names: conflict copies, and names that clash on other systems."""

from __future__ import annotations

import os
from collections.abc import Iterator

from engine.errors import Problem
from engine.store.conflict_copies import copy_problem
from engine.store.leftovers import is_leftover
from engine.store.paths import Workspace
from engine.store.spelling import clash_words, clashes
from engine.workspace.finding import Finding

_SHOWN = 20
_LIVE = ("knowledge", "presets")
"""Folders whose conflict copies are not used; those of topics are among the problems of topics."""
_NAMED = (*_LIVE, "topics", "archive", "attachments", "raw", ".library")


def name_findings(workspace: Workspace) -> Iterator[Finding]:
    """Conflict copies, and names that differ only in case or in how their letters are written."""
    paths = list(_paths(workspace))
    found = [
        Finding.of(problem)
        for path in paths
        if path.startswith(tuple(f"{folder}/" for folder in _LIVE))
        if (problem := _copy(workspace, path)) is not None
    ]
    found += [Finding("warning", *clash_words(group)) for group in clashes(paths)]
    yield from found[:_SHOWN]
    if len(found) > _SHOWN:
        yield Finding("warning", f"{len(found) - _SHOWN:,} more files of such names")


def _copy(workspace: Workspace, path: str) -> Problem | None:
    folder, _, name = path.rpartition("/")
    return copy_problem(str(workspace.root / folder), name, path)


def _paths(workspace: Workspace) -> Iterator[str]:
    for top in _NAMED:
        if not workspace.holds(top):
            continue
        for folder, folders, names in os.walk(workspace.root / top):
            folders[:] = sorted(name for name in folders if name != ".git")
            relative = os.path.relpath(folder, workspace.root)
            yield from (f"{relative}/{name}" for name in sorted(names) if not is_leftover(name))
