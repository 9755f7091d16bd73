"""Expectations as they are typed: ``PATH``, ``PATH:12-40``, or a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.errors import PathRefused
from engine.probes.file import expectation

if TYPE_CHECKING:
    from engine.probes.model import Expectation
    from engine.store.paths import Workspace

_LINES = re.compile(r"(.+):(\d+(?:-\d+)?)", re.DOTALL)
_NAME = re.compile(r"\S*(?:/\S|\.(?:md|txt|jsonl|ya?ml)\Z)\S*", re.IGNORECASE)


def typed(workspace: Workspace, text: str) -> Expectation:
    """What a person means: a file where one has this name or it looks like one, else a text.

    ``path:`` or ``text:`` before it settles the matter.

    Raises:
        DocumentError: It is empty, or its lines are not a range.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "text":
        return expectation(text=rest)
    is_path = bool(colon) and kind == "path"
    place = rest if is_path else text
    match = _LINES.fullmatch(place)
    path, lines = (match.group(1), match.group(2)) if match is not None else (place, "")
    if lines and _is_file(workspace, place):
        path, lines = place, ""
    if is_path or _is_file(workspace, path) or _NAME.fullmatch(path):
        return expectation(path=path, lines=lines)
    return expectation(text=text)


def _is_file(workspace: Workspace, path: str) -> bool:
    try:
        return workspace.resolve(path).is_file()
    except (PathRefused, OSError, ValueError):
        return False
