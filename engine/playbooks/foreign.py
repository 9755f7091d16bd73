"""Reads playbooks from the files that people keep for other agents.

Claude Code: ``.claude/skills/NAME/SKILL.md`` and ``.claude/commands/**.md``. Cursor:
``.cursor/rules/**.mdc``. Any agent: the sections of ``AGENTS.md``. The files may be a stranger's: they are
only read, no link is followed, and nothing in them runs.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError
from engine.playbooks.draft import Draft, digest_of, drafted, examples_in
from engine.provenance.instructions import is_hostile_act
from engine.redaction.detect import redact
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store import documents
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.topics.library import TopicLibrary
    from engine.topics.model import Topic

Kind = Literal["skill", "command", "rule", "section"]
State = Literal["new", "changed", "same", "edited", "taken"]

STATES: dict[State, str] = {
    "new": "would be added",
    "changed": "would be updated: its file changed",
    "same": "imported already",
    "edited": "imported already, and you edited it since: left alone",
    "taken": "left alone: another topic has this name",
}

_LARGEST = 256 * 1024
_MOST_FILES = 500
_WHEN_CHARACTERS = 600
_PLACES: tuple[tuple[Kind, str, str], ...] = (
    ("skill", ".claude/skills", "SKILL.md"),
    ("command", ".claude/commands", ".md"),
    ("rule", ".cursor/rules", ".mdc"),
)
_FIELD = expression(r"^([A-Za-z][\w-]*):[ \t]*(.*)$")
_SAID = re.compile(r"[\"“]([^\"“”\n]{6,160})[\"”]")
"""A quoted way to ask, as descriptions of skills have them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file, or a section of one, and the playbook that it would become."""

    kind: Kind
    draft: Draft
    state: State = "new"
    notes: tuple[str, ...] = ()  # what to know before it is written, one clause each

    @property
    def why(self) -> str:
        """What an import does with it, one clause."""
        return STATES[self.state]


def found_in(folder: Path, library: TopicLibrary, files: Files) -> list[Found]:
    """What a folder holds, in order of its files; of equal names the first counts."""
    found: dict[str, Found] = {}
    for each in _read(folder):
        name = each.draft.name
        known = library.get(name)
        if name in found:
            each = replace(each, state="taken")
            found[f"{name} {each.draft.origin}"] = each
            continue
        found[name] = replace(each, state=_state(each.draft, known, files))
    return list(found.values())


def _state(draft: Draft, known: Topic | None, files: Files) -> State:
    if known is None:
        return "new"
    try:
        data = files.read(known.path, limit=_LARGEST)
        header = documents.parse(data, known.path).header
        if header.get("imported_from") != draft.origin:
            return "taken"
        plain = documents.edit_header(data, {"imported_from": None, "imported": None}, known.path)
    except (AutopoiesisError, OSError):
        return "taken"
    if hashlib.sha256(plain).hexdigest()[:16] != header.get("imported"):
        return "edited"
    return "same" if header.get("imported") == digest_of(draft) else "changed"


def _read(folder: Path) -> Iterator[Found]:
    for kind, place, ending in _PLACES:
        for path in _files(folder, place, ending):
            text = _text(path)
            if text is None:
                continue
            relative = path.relative_to(folder).as_posix()
            fields, body = _parts(text)
            drafted_one = _drafted(kind, path, fields, body, relative)
            if drafted_one is not None:
                yield drafted_one
    agents = folder / "AGENTS.md"
    text = None if agents.is_symlink() else _text(agents)
    if text is not None:
        yield from _sections(text)


def _files(folder: Path, place: str, ending: str) -> list[Path]:
    """The regular files below a place whose name ends so, without following a link."""
    root = folder
    for part in place.split("/"):
        root /= part
        if root.is_symlink():
            return []
    found: list[Path] = []
    for where, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not Path(where, name).is_symlink())
        found += [Path(where, name) for name in sorted(names) if name.endswith(ending)]
        if len(found) >= _MOST_FILES:
            break
    return [path for path in found if not path.is_symlink() and path.is_file()][:_MOST_FILES]


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError:
        return None
    if len(data) > _LARGEST or b"\0" in data:
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")


def _parts(text: str) -> tuple[Mapping[str, object], str]:
    """Header and body. Cursor's headers are not always YAML (``globs: **/*.ts``): then line by line."""
    document = documents.parse(text.encode("utf-8", "replace"), "header")
    if document.has_header:
        return document.header, document.body
    first, _, rest = text.partition("\n")
    head, mark, body = rest.partition("\n---")
    if first.strip() != "---" or not mark:
        return {}, text
    fields: dict[str, object] = {}
    for line in head.split("\n"):
        if match := _FIELD.match(line):
            fields[match[1]] = match[2]
    return fields, body.lstrip("-")


def _drafted(kind: Kind, path: Path, fields: Mapping[str, object], body: str, relative: str) -> Found | None:
    """The playbook in a file; ``None`` for an empty one."""
    if not body.strip():
        return None
    stem = path.parent.name if kind == "skill" else path.stem
    heads = [each for each in documents.sections(body, 1, nested=True) if each.level == 1]
    title = heads[0].title if heads and len(heads[0].title) <= 80 else ""
    if heads and body.lstrip().startswith("#") and title:
        body = body.lstrip().partition("\n")[2]
    described = " ".join(filter(None, (_line(fields, "description"), _line(fields, "when_to_use"))))
    globs = _listed(fields.get("globs")) or _listed(fields.get("paths"))
    notes = []
    examples = _SAID.findall(described)
    activation = "gated"
    if kind == "command":
        examples = [f"/{stem}", *examples]
    if _line(fields, "alwaysApply").lower() == "true":
        notes.append("it applies always in Cursor, here to messages that fit it")
    if _line(fields, "disable-model-invocation").lower() == "true":
        activation = "manual"
        notes.append("only you switch it on, as in Claude Code")
    others = len(list(path.parent.iterdir())) - 1 if kind == "skill" else 0
    if others:
        notes.append(f"{others} other file{'s' if others > 1 else ''} of the skill stay where they are")
    name = title or stem.replace("-", " ").replace("_", " ").capitalize()
    when = described or (f"Work on {', '.join(globs)}." if globs else f"{name}.")
    return _found(kind, name, when, body, examples, relative, notes, globs, activation == "manual")


def _sections(text: str) -> Iterator[Found]:
    """The sections of the second level of an ``AGENTS.md``, or of the first if it has no second."""
    parts = documents.sections(text, 1, nested=True)
    level = 2 if any(part.level == 2 for part in parts) else 1
    for part in parts:
        if part.level == level and part.text.strip():
            when = f"Work in a repository that says about {part.title}: {_first(part.text)}"
            yield _found(
                "section", part.title[:80], when, part.text, (), f"AGENTS.md#{part.title}", [], (), False
            )


def _found(
    kind: Kind,
    title: str,
    when: str,
    body: str,
    examples: Sequence[str],
    origin: str,
    notes: list[str],
    globs: tuple[str, ...],
    manual: bool,
) -> Found:
    clean, secrets = redact(body)
    if secrets:
        notes.append("a possible secret was removed")
    if is_hostile_act(f"{when}\n{clean}"):
        notes.append(
            "! it asks to disable a safeguard, give away a secret or run unknown code: read it first"
        )
    draft = drafted(
        title, redact(when[:_WHEN_CHARACTERS])[0], clean, examples_in(examples), origin=shown(origin)
    )
    return Found(
        kind, replace(draft, globs=globs, activation="manual" if manual else "gated"), notes=tuple(notes)
    )


def _line(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key, "")
    return " ".join(value.split()).strip("\"'") if isinstance(value, str) else ""


def _listed(value: object) -> tuple[str, ...]:
    """Globs in a list, or separated by commas."""
    items = (
        value.strip("[]").split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    )
    texts = (str(item).strip().strip("\"'") for item in items)
    return tuple(text for text in texts if text)


def _first(text: str) -> str:
    line = next((line.strip() for line in text.split("\n") if any(map(str.isalnum, line))), "")
    return line.lstrip("-*+# ")[:200]
