"""Pages: knowledge files with a header, sections, and one item per line (spec 2.2).

========================================  ======================  ==============================
File                                      ``type`` in the header  lines start with the day
========================================  ======================  ==============================
``knowledge/memory/MEMORY.md``            ``memory``              yes
``knowledge/journal/YYYY-MM-DD.md``       ``journal``             no: one file per day, later moved to
                                                                  ``archive/journal``
``knowledge/projects/NAME/context.md``    ``project_context``     yes
``knowledge/projects/NAME/commands.md``   ``procedure``           no
``knowledge/people/NAME.md``              ``person``              no
``knowledge/procedures/NAME.md``          ``procedure``           no
``knowledge/reference/NAME.md``           ``reference``           no
========================================  ======================  ==============================

Every line ends with its provenance, as in the category files. Apart from added lines, only the date of the
last change in the header is updated.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

from engine.context.fixed import COMMANDS, JOURNAL
from engine.context.sources import MEMORY
from engine.errors import DocumentError
from engine.knowledge.category_files import line_for, plain
from engine.knowledge.item import Edit, Item, Origin, item_id
from engine.knowledge.session_notes import OLD_JOURNALS
from engine.store.documents import edit_header
from engine.store.header import locate

PEOPLE = "knowledge/people"
PROCEDURES = "knowledge/procedures"
REFERENCE = "knowledge/reference"
PROJECTS = "knowledge/projects"

_TYPES = {PEOPLE: "person", PROCEDURES: "procedure", REFERENCE: "reference"}
_NAMED = re.compile(rf"({PEOPLE}|{PROCEDURES}|{REFERENCE})/[^/._-][^/]*\.md")
_CONTEXT = re.compile(rf"{PROJECTS}/([^/._-][^/]*)/context\.md")
_COMMANDS = re.compile(rf"{PROJECTS}/[^/._-][^/]*/commands\.md")
_DAY = re.compile(rf"(?:{JOURNAL}|{OLD_JOURNALS})/(\d{{4}}-\d\d-\d\d)\.md")
_DATED = re.compile(r"\A\d{4}-\d\d-\d\d: ")
_PLAIN = re.compile(r"[\w ./@'’()+-]{1,120}")


def is_page(path: str) -> bool:
    """True if a path is that of a page."""
    return path == MEMORY or any(kind.fullmatch(path) for kind in (_NAMED, _CONTEXT, _COMMANDS, _DAY))


def context_of(project: str) -> str:
    """The page of a project, by its slug."""
    return f"{PROJECTS}/{project}/context.md"


def commands_page(project: str) -> str:
    """The page of the commands that work in a project, by its slug."""
    return f"{PROJECTS}/{project}/{COMMANDS}"


def edit_for(item: Item, origin: Origin) -> Edit:
    """The edit for an item of a page."""
    text = f"{origin.day}: {item.text}" if _is_dated(item.path) else item.text
    # ``line_for`` needs a category without a path.
    line = line_for(replace(item, category="facts", path="", text=text), origin)
    return Edit(
        item_id(item, origin.name),
        "pages",
        "append",
        item.path,
        plain(item.section),
        line,
        _head(item, origin.day),
        origin.day,
        origin.session,
    )


def item_of(edit: Edit) -> Item:
    """The item in an edit of a page."""
    text = edit.line.removeprefix("- ").rpartition(" [from:")[0] or edit.line
    subject = edit.title.rpartition("\n# ")[2] if edit.title else ""
    return Item("pages", without_day(text), edit.path, section=edit.section, subject=subject)


def without_day(text: str) -> str:
    """A line without its leading day."""
    return _DATED.sub("", text)


def with_header(data: bytes, edit: Edit) -> bytes:
    """A page with ``updated`` and ``sessions`` in its header, where present, updated for an applied edit. An
    uneditable header is left as it is.
    """
    found = locate(data).mapping
    if found is None:
        return data
    changes: dict[str, object | None] = {}
    updated, sessions = found.get("updated"), found.get("sessions")
    if isinstance(updated, str) and updated[:10] < edit.day:
        changes["updated"] = edit.day
    if isinstance(sessions, list) and edit.session and edit.session not in sessions:
        changes[f"sessions.{len(sessions)}"] = edit.session
    try:
        return edit_header(data, changes, edit.path) if changes else data
    except DocumentError:
        return data


def _is_dated(path: str) -> bool:
    return path == MEMORY or _CONTEXT.fullmatch(path) is not None


def _head(item: Item, day: str) -> str:
    """The start of a new page."""
    path = item.path
    subject = " ".join(plain(item.subject).split()) or PurePosixPath(path).stem.replace("-", " ").capitalize()
    if path == MEMORY:
        return f"---\ntype: memory\nupdated: {day}\n---\n\n# Core Memory"
    if journal := _DAY.fullmatch(path):
        return f"---\ntype: journal\ndate: {journal[1]}\nsessions: []\n---\n\n## {journal[1]}"
    if project := _CONTEXT.fullmatch(path):
        title = item.subject or project[1]
        head = f"type: project_context\nproject: {project[1]}\nupdated: {day}"
        return f"---\n{head}\n---\n\n# {plain(title)}"
    kind = _TYPES.get(path.rpartition("/")[0], "procedure")
    name = f'name: "{subject}"\n' if kind == "person" and _PLAIN.fullmatch(subject) else ""
    return f"---\ntype: {kind}\n{name}updated: {day}\n---\n\n# {subject}"
