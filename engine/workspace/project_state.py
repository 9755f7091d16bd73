"""The findings of ``doctor`` about the names of projects."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from engine.store.files import Files
from engine.store.paths import shown
from engine.workspace.finding import Finding


def project_findings(files: Files) -> Iterator[Finding]:
    """The names in use that stand for several projects, and folders that may be of another project."""
    from engine.transcripts.projects import Projects  # noqa: PLC0415 — not needed for --staged

    projects = Projects(files)
    for name, keys in projects.disputed().items():
        yield Finding(
            "warning",
            f"the project name {shown(name)} stands for {' and '.join(map(shown, keys))};"
            " rules and notes under it reach neither",
            f"decide which: autopoiesis projects assign {name} {shlex.quote(keys[0])}",
        )
    for offer in projects.offers():
        yield Finding("warning", shown(offer.text), shown(offer.hint))
