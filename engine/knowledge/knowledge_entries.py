"""Knowledge entries of an open workspace: catalog, checks and footprint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.catalog import catalog_line
from engine.context.delimiters import OF_OTHERS, outside
from engine.context.request import ToolDefinition
from engine.errors import AutopoiesisError, PathRefused, Problem
from engine.knowledge.entries import Entry, EntryScan, hidden, scan_entries, take_inventory
from engine.store.entry_files import KNOWLEDGE, NO_DESCRIPTION, EntryKind, folder_of
from engine.store.files import Files
from engine.store.paths import is_shared, shown

if TYPE_CHECKING:
    from engine.knowledge.footprint import Footprint
    from engine.knowledge.links import Links
    from engine.store.repository import Repository


@dataclass(eq=False)
class KnowledgeEntries:
    """The entries of an open workspace. Thread-safe: every call re-reads the files."""

    files: Files
    repository: Callable[[], Repository]
    clock: Callable[[], datetime]

    def scan(self) -> EntryScan:
        """The current entries."""
        return scan_entries(self.files)

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools offered to models."""
        return TOOLS

    def answer(self, name: str, arguments: object) -> str:
        """Answers a call of one of the ``tools``. Never raises for malformed calls."""
        return answer(name, arguments, self.files)

    def info(self) -> str:
        """The answer to ``knowledge({"action": "info"})``."""
        return catalog_text(self.scan())

    def links(self, scan: EntryScan) -> Links:
        """The references in the files, for a fresh scan."""
        from engine.knowledge.links import Links  # noqa: PLC0415 — not needed for the catalog

        return Links(self.files, scan)

    def problems(self) -> tuple[Problem, ...]:
        """Problems with entries, skills and references."""
        from engine.knowledge.links import all_problems  # noqa: PLC0415 — not needed for the catalog

        scan = self.scan()
        return all_problems(scan, self.links(scan))

    def footprint(self) -> Footprint:
        """Audits the size of the entries; recorded if the workspace is writable."""
        from engine.knowledge.footprint import CleanupLog, audit  # noqa: PLC0415 — only on demand

        scan = self.scan()
        return audit(scan, self.links(scan), self.repository, CleanupLog(self.files, self.clock))

    def archived(self) -> list[str]:
        """The folders of the outermost archived entries, sorted."""
        files = take_inventory(self.files.workspace, ["archive", KNOWLEDGE.cold]).files
        folders = {folder_of(path) for path in files if path.endswith(f"/{KNOWLEDGE.marker}")}
        return sorted(each for each in folders if not any(each.startswith(f"{other}/") for other in folders))


ACTIONS = ("info",)
READ_CHARACTERS = 32_000
"""Maximum characters of a file in an answer of ``read``."""

READ_BYTES = 1024 * 1024
"""Maximum size of a file that ``read`` opens."""

_TITLES: tuple[tuple[EntryKind, str], ...] = (
    ("knowledge", "Knowledge entries"),
    ("skill", "Skills, reusable procedures"),
)


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
READ_TOOL = ToolDefinition(
    name="read",
    description=(
        "Reads a file of a knowledge entry or of a skill: the one at a location that the catalog names, or "
        "another one in its folder. It also reads playbooks that may apply, and no other files."
    ),
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The location, as the prompt has it."}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
TOOLS = (KNOWLEDGE_TOOL, READ_TOOL)
"""The tools offered to models asked from here."""


def answer(name: str, arguments: object, files: Files) -> str:
    """Answers a call of one of the ``TOOLS``; malformed calls get an explanation.

    ``arguments`` are as the model gave them, supposedly ``{"action": "info"}`` or ``{"path": ...}``.
    """
    given = arguments if isinstance(arguments, Mapping) else {}
    if name == READ_TOOL.name:
        return _read(given.get("path"), files)
    if name != KNOWLEDGE_TOOL.name:
        return f"no such tool: {shown(name)[:80]!r}\n"
    action = given.get("action")
    if action == "info":
        return catalog_text(scan_entries(files))
    problem = f"no such action: {shown(str(action))[:80]!r}" if action is not None else "no action given"
    return f'{problem}; call knowledge({{"action": "info"}}) for the catalog\n'


def _read(path: object, files: Files) -> str:
    if not isinstance(path, str):
        return 'no path given; call read({"path": ...}) with a location from the catalog\n'
    found = scan_entries(files)
    place = path.strip().removeprefix("./")
    if not (is_readable(place, found) or _is_playbook(place, files)):
        return f"{shown(path)[:200]} is not a file of an entry or skill, nor a playbook; see the catalog\n"
    try:
        text = outside(files.read(place, limit=READ_BYTES).decode("utf-8", "replace"))
    except (OSError, AutopoiesisError) as error:
        return f"{shown(place)} cannot be read: {error}\n"
    text = f"[{OF_OTHERS}]\n{text}" if is_shared(place) else text
    if len(text) <= READ_CHARACTERS:
        return text
    return f"{text[:READ_CHARACTERS]}\n[cut: {len(text) - READ_CHARACTERS:,} more characters]\n"


def is_readable(place: str, scan: EntryScan) -> bool:
    """True if a workspace-relative path is a file of an entry or skill that is not hidden."""
    folders = (f"{entry.folder}/" for entry in scan.entries)
    within = any(place.startswith(each) and not hidden(place[len(each) :]) for each in folders)
    return within and place in scan.inventory.files


def _is_playbook(place: str, files: Files) -> bool:
    """Whether it is the path of a playbook, and no link to another file."""
    if not place.startswith("topics/") or not place.endswith(".md") or hidden(place):
        return False
    try:
        return files.workspace.resolve(place) == files.workspace.root.resolve() / place
    except PathRefused:
        return False


def catalog_text(scan: EntryScan) -> str:
    """The catalog of entries and skills; deterministic."""
    parts = []
    for kind, title in _TITLES:
        outermost = scan.outermost(kind)
        lines = [_line(scan, entry) for entry in outermost]
        parts.append("\n".join((f"{title}: {len(outermost)}", *lines)))
    parts.append(
        "The prompt contains only these lines. Read the file at a location when it applies; an index names "
        "its nested entries by paths relative to its folder."
        if scan.entries
        else "An entry is knowledge/<name>/KNOWLEDGE.md, a skill .library/custom/<name>/SKILL.md; each "
        "starts with a header with name and description."
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
