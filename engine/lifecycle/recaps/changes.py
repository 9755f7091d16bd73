"""What the tools of a session changed: files, commits and pull requests, without what was taken back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath

from engine.knowledge.harvest.reply import single
from engine.provenance.instructions import is_hostile_act, is_takeover
from engine.provenance.tools import runs_command
from engine.search.query import literal_terms
from engine.search.talk import telling
from engine.startup.lazy import expression
from engine.store.prose import shortened
from engine.transcripts.turn import COMMAND, ToolCall, Turn

TELLING_WORDS = 3
"""Words that say what a text is about, from which it can be understood later."""
_MAX_FILES = 4
_MAX_COMMITS = 2


def changed_in(dialogue: Sequence[Turn], last: int) -> tuple[str, str]:
    """What was changed before the request at ``last`` and since: the files written, most often first, the
    commits and pull requests, without what was taken back; each may be empty."""
    written: list[tuple[str, bool]] = []  # each with whether since the request
    commits: list[tuple[str, bool, int]] = []  # likewise, and how many files were written before its own
    pulls: dict[str, bool] = {}
    kept = begun = 0  # how many files were written before the last commit, and before the last message
    for at, turn in enumerate(dialogue):
        is_late = at >= last
        if turn.kind == COMMAND and turn.text.strip() == "/undo":
            if commits and _is_of_aider(dialogue[:at]):
                begun = commits.pop()[2]
            del written[begun:]
            kept = min(kept, len(written))
        elif turn.role == "user":
            begun = len(written)
        for tool in turn.tools:
            if _FAILED.match(tool.result):
                continue
            if writes(tool):
                found = _FILE.match(tool.summary)
                path = found["path"] if found is not None else tool.summary.split(" — ")[0].strip()
                paths = _patched(tool.summary) or [path if found is not None or " " not in path else ""]
                written += [(name, is_late) for name in map(short_path, paths) if _NAME.search(name)]
                continue
            if gone := commits[-_taken_back(tool.summary) :] if _taken_back(tool.summary) else []:
                del commits[-len(gone) :]
                kept = gone[0][2]
            if _RESET_TO.search(tool.summary):  # which of them the other commit has is not known
                written, commits, kept, begun = [], [], 0, 0
            written[kept:] = [each for each in written[kept:] if not _is_undone(each[0], tool.summary)]
            if subject := subject_of(tool):
                reverted = _REVERTED.match(subject)
                # An amended commit, a reverted one, or one whose subject was cut before.
                same = [each for each in commits if _is_same(each[0], reverted[1] if reverted else subject)]
                if commits and not same and _AMENDED.search(tool.summary):
                    kept = commits.pop()[2]
                commits = [each for each in commits if each not in same]
                if not (same and reverted):
                    whole = max((*(each for each, _, _ in same), subject), key=_wholeness)
                    commits.append((whole, is_late, kept))
                kept = len(written)
            elif match := _PULL.search(f"{tool.summary} {tool.result}"):
                pulls[f"pull request {match['number'] or ''}".strip()] = is_late
    files = [Counter(name for name, is_late in written if is_late == late) for late in (False, True)]
    for name in files[True]:
        del files[False][name]
    before, since = (
        _listed(
            files[late],
            [each for each, is_late, _ in commits if is_late == late],
            [each for each, is_late in pulls.items() if is_late == late],
        )
        for late in (False, True)
    )
    return before, since


def _is_of_aider(dialogue: Sequence[Turn]) -> bool:
    """Whether the last commit is one of Aider's own, which "/undo" takes back."""
    made = (tool for turn in reversed(dialogue) for tool in reversed(turn.tools) if subject_of(tool))
    return next((tool.name == "commit" for tool in made), False)


def writes(tool: ToolCall) -> bool:
    """Whether a call changes files, under any agent's name for that."""
    name = tool.name.casefold()
    return not name.startswith("mcp") and not _WRITERS.isdisjoint(_PART.findall(name))


def _patched(summary: str) -> list[str]:
    """The files of a patch, whose names may have blanks; none if the call made none."""
    if _PATCH.match(summary):
        return [each.split(" ", 1)[1] for each in _NEXT_PATCH.split(summary)]
    return _PATCHED.findall(summary)


def _is_undone(name: str, command: str) -> bool:
    """Whether a command takes back what was written to a file since the last commit."""
    if _DISCARDED.search(command):
        return True
    paths = (path for found in _RESTORED.finditer(command) for path in found[1].split())
    return any(path == "." or name == short_path(path) or name.endswith(f"/{path}") for path in paths)


def _listed(files: Counter[str], commits: Sequence[str], pulls: Sequence[str]) -> str:
    """What was changed, at most one line."""
    names = [name for name, _ in files.most_common(_MAX_FILES)]
    more = len(files) - len(names)
    listed = ", ".join(names) + (f" and {more} more" if more > 0 else "")
    named = [f"commit “{shortened(each, 80)}”" for each in commits[len(pulls[-1:]) - _MAX_COMMITS :]]
    return "; ".join((*filter(None, (listed,)), *named, *pulls[-1:]))


def _wholeness(subject: str) -> tuple[bool, int]:
    """Orders subjects of one commit by how little of it was cut."""
    return not subject.endswith("…"), len(subject)


def subject_of(tool: ToolCall) -> str:
    """The subject of the commit that a command made; empty if it made none that says anything.

    The log of a command and of its output is cut, each at another place. Only the output of a command that
    commits tells of a commit, and the message that the command gives goes before what other programs print.
    """
    made = _AIDERS.fullmatch(f"{tool.name} {tool.summary}")
    if runs_command(tool) and _COMMITS.search(tool.summary):
        made = made or _COMMITTED.search(tool.result)
    found = made["subject"].strip() if made else ""
    given = _given(tool.summary)
    one, other = found.rstrip("…"), given.rstrip("…")
    if one.startswith(other) or other.startswith(one):
        if not found or found.endswith("…"):
            found = max(filter(None, (found, given)), key=_wholeness, default="")
    elif not _EXPANDED.search(given):
        found = given
    is_others = found.startswith("$(") or is_takeover(found) or is_hostile_act(found)
    return "" if is_others or not telling(literal_terms(found)) else found


def _given(command: str) -> str:
    """The subject that a command gives a commit; empty if it gives none."""
    found = _COMMIT.search(command)
    if found is None:
        return ""
    text = command[found.end() :]
    if not found["here"]:
        text = text[: _END_OF_QUOTE[found["q"]].match(text).end()]  # type: ignore[union-attr]
    subject, *_ = _BODY.split(single(text.split("  ")[0].replace('\\"', '"')), maxsplit=1)
    return subject


def _taken_back(command: str) -> int:
    """How many commits a command takes back from the branch."""
    found = _RESET.search(command)
    return 0 if found is None else int(found["count"] or len(found["carets"] or "1"))


def _is_same(one: str, other: str) -> bool:
    """Whether two subjects are the same as far as both were logged."""
    first, second = one.rstrip("…"), other.rstrip("…")
    is_cut = (first, second) != (one, other)
    return one == other or (is_cut and (first.startswith(second) or second.startswith(first)))


def short_path(path: str) -> str:
    """The last two parts of a path; empty if it is none."""
    bare = path.strip("`,")
    whole = PureWindowsPath(bare) if _WINDOWS.match(bare) else PurePosixPath(bare)
    parts = whole.parts[1:] if whole.anchor else whole.parts
    return "/".join(parts[-2:]) if parts and len(path) <= 200 else ""


_WRITERS = frozenset(
    {
        "applied",
        "apply",
        "create",
        "delete",
        "edit",
        "insert",
        "multiedit",
        "notebookedit",
        "replace",
        "write",
    }
)
"""Parts of the names of tools that change files."""
_PART = expression(r"[a-z]+")
_NAME = expression(r"[./A-Z]")
"""In the name of a file, unlike "undefined", which stands in logs where a path was not known."""
_FILE = expression(
    r"(?:(?:Edit|Write|Creat|New|Delet)\w* file: |`|Result: \W*(?:The file|File created successfully at:) )"
    r"(?P<path>[^`]*?\.\w{1,8}|[^\s`]+)(?=[\s`]|$)"
)
"""A path behind the words that SpecStory puts before it."""
_FAILED = expression(
    r"(?:(?:\S+ verification )?failed|error|fatal|rejected|interrupted|refused|exit code [1-9])\b",
    re.IGNORECASE,
)
_PATCHED = expression(r"(?:add|update|delete) (\S+)")
_PATCH = expression(r"(?:add|update|delete) \S")
_NEXT_PATCH = expression(r", (?=(?:add|update|delete) \S)")
_COMMIT = expression(
    r"\bgit (?:-C \S+ )?commit\b[^|;]*? (?:-[a-z]*m|--message)[ =]?\s*(?P<q>[\"'])"
    r"(?P<here>\$\(cat <<-?\s*'?\w+'?\s+)?"
)
"""A command that commits, up to the message."""
_COMMITS = expression(r"\bgit (?:-[Cc] \S+ )*(?:(?:commit|revert)\b|add\b.*…$)|\bgit(?: c\w{0,5})?…$")
"""A command whose commit is the agent's own, unlike one that it merged, picked or applied; it may be cut."""
_EXPANDED = expression(r"[$`\\]")
"""In a message, what the shell reads as something else."""
_END_OF_QUOTE = {'"': expression(r'(?:\\.|[^"\\])*'), "'": expression(r"[^']*")}
_AMENDED = expression(r"\bgit (?:-C \S+ )?commit\b[^|;]* --amend\b")
_COMMITTED = expression(
    r"\[(?:detached HEAD|[\w./#@+-]+)(?: \(root-commit\))? [0-9a-f]{7,40}\] (?P<subject>.{3,200}?)"
    r"(?: … | \(\d+ lines\)|$)"
)
"""What git prints of a commit, with the number of lines or the last line that a log shows after it."""
_AIDERS = expression(r"commit [0-9a-f]{7,40} (?P<subject>.{3,200})")
"""A commit in a history of Aider."""
_RESET = expression(
    r"\bgit (?:-C \S+ )?reset (?:-\S+ )*(?:HEAD|@)(?:~(?P<count>\d{0,3})|(?P<carets>\^{1,9}))"
    r"(?=\s*(?:[;&|…)\"]|$))"
)
_RESET_TO = expression(r"\bgit (?:-C \S+ )?reset (?:-\S+ )*--hard [0-9a-f]{7,40}\b")
_DISCARDED = expression(r"\bgit (?:-C \S+ )?reset (?:-\S+ )*--hard\b")
_RESTORED = expression(
    r"(?:\bgit (?:-C \S+ )?(?:checkout (?:(?:HEAD|@) )?(?:-- )?|restore (?!-S|--staged)(?:-\S+ )*)"
    r"|(?:^|[;&|] ?)rm (?:-\S+ )*)([^;&|…]+)"
)
"""A command that takes back what was written to the files it names, or deletes them."""
_REVERTED = expression(r"Revert [\"“](.+?)[\"”]?$")
_PULL = expression(r"\bgh pr create\b.*?(?:/pull/(?P<number>\d+)|$)")
_BODY = expression(r" (?=Co-Authored-By:|Signed-off-by:|EOF\b|- |\* |🤖|## )")
"""Where the body of a commit message begins on the one line that a log shows."""
_WINDOWS = expression(r"[A-Za-z]:\\|\\\\|[^/]*\\[^/]*$")
