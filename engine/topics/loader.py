"""Loads a ``Topic`` from its file, with all problems found (spec 2.2, 2.3 and 4.4).

An invalid value or trigger is skipped on its own; only an unreadable header makes the whole topic unusable.
"""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast, get_args

from engine.errors import PathRefused, Problem
from engine.startup.lazy import expression
from engine.store import documents
from engine.store.paths import split_relative
from engine.store.sparse import hidden
from engine.store.spelling import composed
from engine.store.yamltext import Mapping
from engine.topics.fields import Fields, aliases, shown
from engine.topics.model import Activation, Priority, Topic
from engine.topics.triggers import SETTINGS, read_triggers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.store.documents import Document, MarkdownSection
    from engine.store.paths import Workspace

_MAX_DESCRIPTION = 200

_KEYS = (
    *("type", "updated", "tags", "description", "triggers", "subscriptions", "activation", "priority"),
    *("max_context_kb", "similarity_threshold", "activation_threshold", "examples"),
)
_KEY_SYNONYMS = aliases(
    {
        "triggers": "trigger",
        "subscriptions": "subscription subscribe files",
        "similarity_threshold": "threshold gate_at",
        "activation_threshold": "activate_at",
        "max_context_kb": "max_context",
        "examples": "example",
        "priority": "prio",
        "description": "summary",
    }
)
_ACTIVATION_SYNONYMS = aliases({"auto": "automatic always", "gated": "gate llm", "manual": "hand off never"})
_PRIORITY_SYNONYMS = aliases({"medium": "normal mid", "critical": "urgent highest", "low": "lowest"})
_MISPLACED = expression(rb"^[ \t]+((?:" + "|".join(SETTINGS).encode() + rb")[ \t]*:)")
_DASH = expression(rb"^([ \t]*)-[ \t]")
_SENTENCE = expression(r"(?<=[.!?])\s")
_LIST_MARK = expression(r"^(?:[-*+>]|\d+[.)])\s+")

_MAX_FILES = 5_000
_GLOB_SIGNS = frozenset("*?[")


def load_topic(
    document: Document, workspace: Workspace | None = None
) -> tuple[Topic | None, tuple[Problem, ...]]:
    """The topic in a document, and its problems.

    The topic is ``None`` if the header is missing, broken or of another type. Patterns and schedules are
    checked in ``engine.topics.patterncheck``. Without a workspace only the form of subscriptions is checked.
    """
    readable, misplaced = _readable(document)
    if readable is None:
        return None, _unreadable(document)
    header = readable.header
    problems = [
        Problem(
            document.path,
            line,
            f"{key} is indented like a trigger, which is not valid YAML; it is read as a topic setting",
            f"remove the indentation of {key}",
            "warning",
        )
        for key, line in misplaced
    ]
    problems += [problem for problem in readable.problems if problem.severity == "warning"]
    fields = Fields(header, document.path, problems)
    if not _is_topic(fields):
        return None, tuple(problems)
    fields.unknown(_KEYS, _KEY_SYNONYMS, only_near=True)
    found = read_triggers(header.get("triggers", ""), fields.line("triggers"), document.path, problems)
    fields = _with_settings(fields, found.settings, problems)
    outline = _Outline(readable)
    topic = Topic(
        name=composed(PurePosixPath(document.path).stem),
        path=document.path,
        title=outline.title or PurePosixPath(document.path).stem,
        description=" ".join(fields.text("description").split()) or _first_sentence(outline.instructions),
        instructions=outline.instructions,
        context_notes=outline.context_notes,
        triggers=found.triggers,
        subscriptions=_subscriptions(fields, workspace),
        activation=cast(
            Activation, fields.choice("activation", get_args(Activation), "gated", _ACTIVATION_SYNONYMS)
        ),
        priority=cast(Priority, fields.choice("priority", get_args(Priority), "medium", _PRIORITY_SYNONYMS)),
        max_context_kb=fields.number("max_context_kb", 0.001, math.inf, "4"),
        similarity_threshold=fields.number("similarity_threshold", 0, 1, "0.2"),
        activation_threshold=fields.number("activation_threshold", 0, 1, "0.6"),
        examples=tuple(dict.fromkeys(text for text, _ in fields.texts("examples"))),
        digest=hashlib.sha256(document.raw).hexdigest(),
    )
    _warn_about_gaps(fields, topic, outline)
    return topic, tuple(sorted(problems, key=lambda problem: problem.line))


def is_broken(document: Document) -> bool:
    """Whether a file is temporarily unreadable, so that the last valid version should stay in use.

    This includes an empty file, since some editors empty a file before writing it.
    """
    readable, _ = _readable(document)
    if readable is not None:
        return False
    return not document.raw.strip() or any(problem.severity == "error" for problem in document.problems)


def _readable(document: Document) -> tuple[Document | None, list[tuple[str, int]]]:
    """The document with a readable header, and the settings that had to be dedented for that.

    The specification's own example indents ``similarity_threshold`` and ``activation`` like the triggers
    above them. That is not valid YAML, but the meaning is clear.
    """
    if document.has_header:
        return document, []
    if not any(problem.severity == "error" for problem in document.problems):
        return None, []
    lines = document.raw.splitlines(keepends=True)
    moved: list[tuple[str, int]] = []
    indent: bytes | None = None
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == b"---":
            break
        dash = _DASH.match(line)
        if dash:
            indent = dash[1]
        found = _MISPLACED.match(line)
        if found and indent is not None and line.startswith(indent + found[1]):
            lines[number] = line[len(indent) :]
            moved.append((found[1].rstrip(b" \t:").decode(), number + 1))
    if not moved:
        return None, []
    repaired = documents.parse(b"".join(lines), document.path)
    return (repaired, moved) if repaired.has_header else (None, [])


def _unreadable(document: Document) -> tuple[Problem, ...]:
    errors = [problem for problem in document.problems if problem.severity == "error"]
    if not errors:
        what = "is empty" if not document.raw.strip() else "has no header, so it is not a topic"
        hint = "start it with the lines ---, type: topic, ---, or move it out of topics/"
        return (Problem(document.path, 1, what, hint),)
    first = errors[0]
    hint = first.hint
    if "escape" in first.what:
        hint = r"put regular expressions in single quotes, as in match: '\bmail\b'"
    return (replace(first, what=f"the header cannot be read: {first.what}", hint=hint), *errors[1:])


def _is_topic(fields: Fields) -> bool:
    kind = fields.mapping.get("type", "")
    if isinstance(kind, str) and kind.strip().lower() == "topic":
        return True
    if kind == "" and "triggers" in fields.mapping:
        fields.report(fields.mapping.line, "the header has no type", "add the line type: topic", "warning")
        return True
    what = f"type is {shown(kind)}, not topic" if kind else "the header has no type, so this is not a topic"
    fields.report(fields.line("type"), what, "write type: topic, or move the file out of topics/")
    return False


def _with_settings(fields: Fields, settings: Mapping | None, problems: list[Problem]) -> Fields:
    """The header, with settings found among the triggers added if it does not have them itself."""
    if settings is None:
        return fields
    merged = Mapping(line=fields.mapping.line)
    for key, value in fields.mapping.items():
        merged.add(key, value, fields.mapping.line_of(key))
    for key, value in settings.items():
        if key in merged:
            hint = "remove one of the two; the one at the left margin takes effect"
            fields.report(settings.line_of(key), f"{key} is also set among the triggers", hint, "warning")
        else:
            merged.add(key, value, settings.line_of(key))
    return Fields(merged, fields.path, problems)


def _subscriptions(fields: Fields, workspace: Workspace | None) -> tuple[str, ...]:
    """The allowed subscriptions as normalized relative paths."""
    kept: dict[str, None] = {}
    for text, line in fields.texts("subscriptions"):
        try:
            path = "/".join(split_relative(text))
        except PathRefused as error:
            what = f"subscription {shown(text)} is refused: it {error.what}"
            fields.report(line, what, error.hint or "use a path relative to the workspace")
            continue
        if path in kept:
            fields.report(line, f"subscription {path} is listed twice", "remove one", "warning")
        elif _check_subscription(path, line, fields, workspace):
            kept[path] = None
    return tuple(kept)


def _warn_about_gaps(fields: Fields, topic: Topic, outline: _Outline) -> None:
    if not topic.triggers and not topic.examples and topic.activation != "manual":
        fields.report(
            fields.line("triggers"),
            "has no working triggers and no examples, so only its instructions can activate it",
            "add a trigger, or examples of messages that should activate it",
            "warning",
        )
    if not topic.instructions:
        fields.report(outline.line, "has no instructions", "write them below the header", "warning")
    for section in outline.unused:
        fields.report(
            section.start_line,
            f"section '{section.title}' is not injected: only Instructions and Context Notes are",
            "move it below one of them, with a ### heading",
            "warning",
        )


class _Outline:
    """The body of a topic by its headings."""

    def __init__(self, document: Document) -> None:
        sections = documents.sections(document.body, document.body_line, nested=True)
        self.line = document.body_line
        titles = [section for section in sections if section.level == 1]
        self.title = titles[0].title if titles else ""
        parts = [section for section in sections if section.level == 2]
        instructions = _named(parts, "instructions")
        notes = _named(parts, "context notes")
        self.context_notes = notes.text.strip() if notes else ""
        self.unused: list[MarkdownSection] = []
        if instructions:
            self.instructions = instructions.text.strip()
            self.unused = [part for part in parts if part not in (instructions, notes) and part.text.strip()]
        else:
            without = [section for section in (titles[:1] and titles[0], notes) if section]
            self.instructions = _rest(document, without, notes).strip()


def _named(sections: list[MarkdownSection], title: str) -> MarkdownSection | None:
    return next((section for section in sections if section.title.casefold() == title), None)


def _rest(document: Document, without: list[MarkdownSection], notes: MarkdownSection | None) -> str:
    """The body without the line of its title and without its notes."""
    lines = document.body.split("\n")
    dropped: set[int] = set()
    for section in without:
        start = section.start_line - document.body_line
        end = section.end_line - document.body_line + 1 if section is notes else start + 1
        dropped.update(range(start, end))
    return "\n".join(line for index, line in enumerate(lines) if index not in dropped)


def _first_sentence(text: str) -> str:
    for line in text.splitlines():
        plain = _LIST_MARK.sub("", line.strip())
        if plain and not plain.startswith(("#", "```", "~~~")):
            sentence = _SENTENCE.split(plain, maxsplit=1)[0].rstrip(":").strip()
            return sentence if len(sentence) <= _MAX_DESCRIPTION else f"{sentence[: _MAX_DESCRIPTION - 1]}…"
    return ""


def _check_subscription(path: str, line: int, fields: Fields, workspace: Workspace | None) -> bool:
    """Checks one subscription, reports its problems, and returns whether to keep it.

    A missing file is kept, since it may be created later.

    Args:
        path: A relative path of an allowed form.
        workspace: ``None`` to check the form only.
    """
    is_glob = bool(_GLOB_SIGNS & set(path))
    if workspace is None:
        if is_glob:
            _report_glob(path, line, fields, ())
        return not is_glob
    try:
        real = workspace.resolve(path)
    except PathRefused as error:
        what = f"subscription {shown(path)} is refused: {error.what}"
        fields.report(line, what, error.hint or "use a path relative to the workspace")
        return False
    if real.is_file():
        return True
    if is_glob:
        _report_glob(
            path,
            line,
            fields,
            tuple(islice((known for known in _files(workspace) if PurePosixPath(known).match(path)), 20)),
        )
        return False
    if real.is_dir():
        inside = sorted(f"{path}/{entry.name}" for entry in real.iterdir() if entry.suffix == ".md")
        hint = f"list its files one by one: {_listed(inside)}" if inside else "list files one by one"
        fields.report(line, f"subscription {shown(path)} is a folder", hint, "warning")
        return False
    if real.exists():
        fields.report(line, f"subscription {shown(path)} is not a regular file", "use a text file")
        return False
    if hidden(workspace.root, [path]):
        return True
    likely = _nearest(path, workspace)
    hint = f"did you mean {likely}?" if likely else "create the file or remove the line"
    fields.report(line, f"subscription {shown(path)} does not exist", hint, "warning")
    return True


def _report_glob(path: str, line: int, fields: Fields, matching: tuple[str, ...]) -> None:
    hint = "list the files one by one" + (f": {_listed(list(matching))}" if matching else "")
    fields.report(line, f"subscription {shown(path)} is a glob, which is not supported", hint, "warning")


def _listed(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _nearest(path: str, workspace: Workspace) -> str:
    import difflib  # noqa: PLC0415 — 3 ms, for missing files only

    wanted = PurePosixPath(path)
    by_name: dict[str, list[str]] = {}
    for known in sorted(_files(workspace)):
        by_name.setdefault(PurePosixPath(known).stem.casefold(), []).append(known)
    for stem in difflib.get_close_matches(wanted.stem.casefold(), by_name, n=1, cutoff=0.7):
        in_folder = [known for known in by_name[stem] if PurePosixPath(known).parent == wanted.parent]
        return (in_folder or by_name[stem])[0]
    return ""


def _files(workspace: Workspace) -> Iterator[str]:
    """The Markdown files that a topic can subscribe to, at most ``_MAX_FILES``."""
    return islice(_walk(workspace), _MAX_FILES)


def _walk(workspace: Workspace) -> Iterator[str]:
    for top in (workspace.knowledge, workspace.presets, workspace.topics):
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            relative = PurePosixPath(os.path.relpath(folder, workspace.root))
            yield from (str(relative / name) for name in sorted(names) if name.endswith(".md"))
