"""The tool ``knowledge`` that agents call: the catalog, looked up anew (``knowledge-entries.md``).

It takes one action on purpose: an entry's body is read as any other file, once its catalog line says that it
matters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.context.catalog import catalog_line
from engine.knowledge.entries import Entry, EntryScan
from engine.store.entry_files import NO_DESCRIPTION, EntryKind
from engine.store.paths import shown

ACTIONS = ("info",)

_TITLES: tuple[tuple[EntryKind, str], ...] = (
    ("knowledge", "Knowledge entries"),
    ("skill", "Skills, reusable procedures"),
)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it.

    Attributes:
        name: What it is called by.
        description: What it does and when it is of use.
        input_schema: JSON schema of its arguments.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)

    def as_text(self) -> str:
        """The definition as a prompt shows it; the same bytes every time."""
        schema = json.dumps(self.input_schema, ensure_ascii=False, sort_keys=True)
        return f"{self.name}: {self.description}\nArguments: {schema}"


KNOWLEDGE_TOOL = ToolDefinition(
    name="knowledge",
    description=(
        "Looks up the catalog of your private knowledge entries and of the skills, as the files are now: "
        "name, description and location of each. Call it after an entry was written, renamed or archived, "
        "or when the catalog in the prompt was cut; then read the file at the location that applies."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS), "description": "info: the catalog."}
        },
        "required": ["action"],
        "additionalProperties": False,
    },
)


def call(arguments: object, scan: Callable[[], EntryScan]) -> str:
    """Answers a call of the tool. Never raises for what a model may write: it is told what there is.

    Args:
        arguments: What the model gave, meant to be ``{"action": "info"}``.
        scan: Looks at the entries.
    """
    action = arguments.get("action") if isinstance(arguments, Mapping) else None
    if action == "info":
        return catalog_text(scan())
    given = f"there is no action {shown(str(action))[:80]!r}" if action is not None else "no action was given"
    return f'{given}; call knowledge({{"action": "info"}}) for the catalog\n'


def catalog_text(scan: EntryScan) -> str:
    """The catalog of entries and skills; the same bytes for the same files."""
    parts = []
    for kind, title in _TITLES:
        outermost = scan.outermost(kind)
        lines = [_line(scan, entry) for entry in outermost]
        parts.append("\n".join((f"{title}: {len(outermost)}", *lines)))
    parts.append(
        "The prompt holds no more than these lines. Read the file at a location when it applies; an index "
        "names the entries nested in it by paths relative to its folder."
        if scan.entries
        else "An entry is knowledge/<name>/KNOWLEDGE.md, a skill .library/custom/<name>/SKILL.md; each "
        "begins with a header of name and description."
    )
    errors = sum(problem.severity == "error" for problem in scan.problems)
    if errors:
        count = "1 problem" if errors == 1 else f"{errors} problems"
        parts.append(f"{count} in their files: autopoiesis knowledge check")
    return "\n\n".join(parts) + "\n"


def _line(scan: EntryScan, entry: Entry) -> str:
    nested = len(scan.within(entry)) - 1
    more = "" if not nested else f"; index of {nested} {'entry' if nested == 1 else 'entries'}"
    return catalog_line(entry.name, entry.description or NO_DESCRIPTION, f"{shown(entry.location)}{more}")
