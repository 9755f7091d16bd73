"""Merges the two versions of a file by its kind.

Of two versions of a conversation, the longer one is kept if it continues the other, otherwise both: diverged
conversations are never interleaved.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.context.fixed import DIGEST
from engine.errors import AutopoiesisError, ConfigError, DocumentError
from engine.knowledge import ledger
from engine.knowledge.bindings import FOLDER as NOTES
from engine.knowledge.category_files import CATEGORY_FILES
from engine.knowledge.digest import STATE
from engine.knowledge.pages import place_of
from engine.rules import rulebook
from engine.settings.file import CONFIG_FILE, MAX_BYTES, load
from engine.store.documents import edit_header, edit_yaml, parse
from engine.store.header import locate
from engine.store.monthly import record_of
from engine.store.yamledit import value_of
from engine.store.yamlwrite import as_read
from engine.sync import entries, rules
from engine.sync.model import Hunk, Side

if TYPE_CHECKING:
    from engine.store.git import Git

Kind = Literal["log", "state", "ledger", "rules", "entries", "page", "conversation", "digest", "text"]

_COLD = ("archive/", "knowledge/archive/")
_CATEGORIES = frozenset(file.path for file in CATEGORY_FILES)
_LINE = re.compile(rb"(?<=\n)")
_MAX_BYTES = 16 * 1024 * 1024
_MAX_PAGE_BYTES = 1024 * 1024
"""Larger Markdown files are merged as plain text."""
_SHOWN_BYTES = 64 * 1024


def kind_of(path: str) -> Kind:
    """The kind of a file by its path; archived files keep their kind."""
    if path in (DIGEST, STATE):
        return "digest"
    if path == ledger.PATH:
        return "ledger"
    if path == rulebook.PATH:
        return "rules"
    plain = next((path.removeprefix(cold) for cold in _COLD if path.startswith(cold)), path)
    if plain.startswith("logs/") and plain.endswith(".jsonl"):
        return "log"
    if plain.startswith("logs/") and plain.endswith(".json"):
        return "state"
    if plain.startswith(("raw/", "conversations/")):
        return "conversation"
    if not plain.endswith(".md"):
        return "text"
    if plain in _CATEGORIES or place_of(plain) or plain.startswith(f"{NOTES}/"):
        return "entries"
    return "page"


@dataclass(frozen=True, slots=True)
class MergedFile:
    """Result of merging two versions of a file."""

    data: bytes
    is_conflict: bool = False
    hunks: tuple[Hunk, ...] = ()
    second: tuple[str, bytes] | None = None
    """Path and bytes of a second file, if both versions are kept."""
    reason: str = ""  # why it is a conflict, or how it was resolved


@dataclass
class ContentMerger:
    """Merges two versions of a file; plain text with git's own merge.

    Args:
        git: In the repository of ``transport.isolated``, where no attributes or merge drivers apply.
    """

    git: Git

    @cached_property
    def _marker(self) -> int:
        return 60 + secrets.randbelow(40)  # longer than any marker a file contains by chance

    def merge(
        self,
        path: str,
        base: bytes,
        ours: bytes,
        theirs: bytes,
        name: str,
        take: Side | None,
        history: Callable[[], rules.Histories] = lambda: ((), ()),
    ) -> MergedFile:
        """Merges both versions of a file.

        Args:
            name: The blob name of theirs.
            take: The user's decision about it.
            history: Returns each side's versions since the base.
        """
        match kind_of(path):
            case "log":
                return MergedFile(merged_logs(base, ours, theirs))
            case "state" if (found := merged_state(base, ours, theirs)) is not None:
                return MergedFile(found)
            case "ledger":
                found = merged_ledgers(base, ours, theirs)
                if found is not None:
                    return MergedFile(found)
                reason = "one side's ledger cannot be read; rebuild it there: autopoiesis ledger rebuild"
                return self._whole(base, ours, theirs, take, reason)
            case "rules":
                return self._rules(path, base, ours, theirs, take, history)
            case "entries" | "page" if _is_mergeable(ours) and _is_mergeable(theirs):
                return self._page(path, base, ours, theirs, take)
            case "conversation":
                kept = longer(ours, theirs)
                if kept is not None:
                    return MergedFile(kept)
                second = as_own_session(path, theirs, name)
                return MergedFile(
                    ours, second=second, reason=f"continued on both machines; theirs is {second[0]}"
                )
            case _:
                return self._text(path, base, ours, theirs, take)

    def _rules(
        self,
        path: str,
        base: bytes,
        ours: bytes,
        theirs: bytes,
        take: Side | None,
        history: Callable[[], rules.Histories],
    ) -> MergedFile:
        try:
            made = rules.merged(base, ours, theirs, take, history)
        except DocumentError:  # not UTF-8
            return self._page(path, base, ours, theirs, take)
        reason = "both sides changed the same rule or text"
        return MergedFile(made.data, bool(made.hunks) and take is None, made.hunks, reason=reason)

    def _page(self, path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> MergedFile:
        code, data = self._by_git(base, ours, theirs, "--diff3")
        if code:
            made = entries.merged(path, base, ours, theirs, take)
            if made.hunks and take is None:
                return MergedFile(made.data, True, made.hunks, reason="both sides changed the same text")
            data = made.data
        return self._unless_invalid(path, data, base, ours, theirs, take)

    def _by_git(self, base: bytes, ours: bytes, theirs: bytes, option: str) -> tuple[int, bytes]:
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            Path(self.git.root / name).write_bytes(data)
        options = [f"--marker-size={self._marker}", option]
        merge = ("merge-file", "--quiet", "--stdout", *options, "ours", "base", "theirs")
        done = self.git.run(*merge, accept=range(128), environment={"GIT_DIR": str(self.git.root)})
        return done.code, done.output

    def _text(self, path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> MergedFile:
        if b"\0" in base + ours + theirs or max(map(len, (ours, theirs))) > _MAX_BYTES:
            return self._whole(base, ours, theirs, take, "changed on both sides and cannot be merged as text")
        code, merged = self._by_git(base, ours, theirs, f"--{take}" if take else "--diff3")
        if path == CONFIG_FILE and code and all(map(_only_comments, self._hunks(merged))):
            both = self._by_git(base, ours, theirs, "--union")[1]
            return self._unless_invalid(path, both, base, ours, theirs, take)
        if path == CONFIG_FILE and (code or take):
            found = merged_settings(base, ours, theirs, take)
            if found is not None:
                return self._unless_invalid(path, found, base, ours, theirs, take)
        if code and not take:
            return MergedFile(ours, True, self._hunks(merged), reason="both sides changed the same lines")
        return self._unless_invalid(path, merged, base, ours, theirs, take)

    def _unless_invalid(
        self, path: str, merged: bytes, base: bytes, ours: bytes, theirs: bytes, take: Side | None
    ) -> MergedFile:
        problem = _problem(path, merged)
        if problem and not _problem(path, ours) and not _problem(path, theirs):
            return self._whole(base, ours, theirs, take, f"would be invalid with both changes ({problem})")
        return MergedFile(merged)

    def _whole(self, base: bytes, ours: bytes, theirs: bytes, take: Side | None, reason: str) -> MergedFile:
        """The side the user decided for; otherwise a conflict about the whole file."""
        if take:
            return MergedFile(theirs if take == "theirs" else ours)
        is_shown = b"\0" not in base + ours + theirs
        texts = [data[:_SHOWN_BYTES].decode("utf-8", "replace") for data in (base, ours, theirs)]
        return MergedFile(ours, True, (Hunk(*texts),) if is_shown else (), reason=reason)

    def _hunks(self, marked: bytes) -> tuple[Hunk, ...]:
        """The conflicts in the output of ``git merge-file --diff3``."""
        found: list[Hunk] = []
        parts: dict[bytes, list[bytes]] = {}
        inside = b""
        for line in _LINE.split(marked):
            mark = next(
                (each for each in (b"<", b"|", b"=", b">") if line.startswith(each * self._marker)), b""
            )
            if mark == b">":
                texts = [b"".join(parts[each]).decode("utf-8", "replace") for each in (b"|", b"<", b"=")]
                found.append(Hunk(*texts))
                inside = b""
            elif mark:
                inside = mark
                parts[mark] = []
            elif inside:
                parts[inside].append(line)
        return tuple(found)


def _only_comments(hunk: Hunk) -> bool:
    """Whether what both sides changed in the settings are comments, which decide nothing."""
    lines = f"{hunk.before}\n{hunk.ours}\n{hunk.theirs}".split("\n")
    return all(not line.strip() or line.lstrip().startswith("#") for line in lines)


def _is_mergeable(page: bytes) -> bool:
    return len(page) <= _MAX_PAGE_BYTES and b"\0" not in page


def _problem(path: str, data: bytes) -> str:
    """What is invalid in settings or a Markdown header: two valid versions may merge into an invalid one."""
    if path == CONFIG_FILE:
        try:
            load(data)
        except ConfigError as error:
            return error.what
    elif path.endswith(".md"):
        return next((problem.what for problem in parse(data, path).problems), "")
    return ""


_Tree = dict[str, Any]


def merged_ledgers(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The entries of both sides; ``None`` if a side is not a readable ledger."""
    try:
        left, right = ledger.trees_of(ours), ledger.trees_of(theirs)
        before = ledger.trees_of(base) if base else {}
    except AutopoiesisError:
        return None
    new = sorted(right.keys() - left.keys(), key=lambda name: (str(right[name].get("at", "")), name))
    trees = dict(left)
    for name in right.keys() & left.keys():
        trees[name] = _entry(before.get(name, {}), left[name], right[name])
    return ledger.bytes_of(trees | {name: right[name] for name in new})


def _weight(entry: _Tree) -> tuple[bool, str]:
    """Sort key: a successful harvest beats a later failed one; otherwise the later entry wins."""
    return entry["status"] == "harvested", str(entry["at"])


def _entry(base: _Tree, ours: _Tree, theirs: _Tree) -> _Tree:
    """Takes each field from the side that changed it, or from the later entry if both did.

    Recorded lines and review items of both sides are kept: they say where a conversation's knowledge is. A
    conversation that the user restored is not reclaimed because of the other side's older entry.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    earlier, later = sorted((ours, theirs), key=_weight)
    found: _Tree = {}
    for name in [*later, *(each for each in earlier if each not in later)]:
        was, now, other = base.get(name), later.get(name), earlier.get(name)
        value = other if now == was and other != was else now
        if value is not None:
            found[name] = value
    for name in ("lines", "held"):
        both = [*earlier.get(name, ()), *later.get(name, ())]
        if both:
            found[name] = [each for at, each in enumerate(both) if each not in both[:at]]
    if found.get("restored"):
        found["deleted"] = False
    return found


_TIMES = ("at", "ts", "time", "timestamp")
_FIRST = datetime.min.replace(tzinfo=UTC)

_Timed = list[tuple[datetime, bytes]]


def merged_logs(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """The lines of both sides.

    Each side's own order is kept; the sides are interleaved by the timestamps in the lines. A line that a
    side has several times stays that often; a line that a side removed, e.g. a secret, stays removed.
    """
    left, right = _timed(ours), _timed(theirs)
    wanted = _counts(Counter(base.splitlines()), Counter(ours.splitlines()), Counter(theirs.splitlines()))
    found: list[bytes] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right) and left[i][1] == right[j][1]:
            line, i, j = left[i][1], i + 1, j + 1
        elif j == len(right) or (i < len(left) and left[i] <= right[j]):
            line, i = left[i][1], i + 1
        else:
            line, j = right[j][1], j + 1
        if wanted[line] > 0:
            wanted[line] -= 1
            found.append(line)
    return b"".join(line + b"\n" for line in found)


def _counts(base: Counter[bytes], ours: Counter[bytes], theirs: Counter[bytes]) -> Counter[bytes]:
    """How often each line occurs in the result."""
    found: Counter[bytes] = Counter()
    for line in ours.keys() | theirs.keys():
        both = ours[line], theirs[line]
        found[line] = min(both) if min(both) < base[line] else max(both)
    return found


def _timed(data: bytes) -> _Timed:
    """The lines with their times, made non-decreasing; a line without one gets that of the line before."""
    found: _Timed = []
    last = _FIRST
    for line in data.splitlines():
        last = max(last, _time(line) or last)
        found.append((last, line))
    return found


def _time(line: bytes) -> datetime | None:
    record = record_of(line) or {}
    for name in _TIMES:
        try:
            at = datetime.fromisoformat(record[name])
        except (KeyError, TypeError, ValueError):
            continue
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None


def merged_settings(base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> bytes | None:
    """Our file with their settings; ``None`` if both sides set the same one and ``take`` does not decide, or
    a file cannot be read.
    """
    try:
        was, mine, other = (dict(_settings(data)) for data in (base, ours, theirs))
        changes: dict[str, object | None] = {}
        for name in {**was, **other}:
            value = other.get(name)
            if value == was.get(name) or value == mine.get(name):
                continue
            if mine.get(name) != was.get(name) and take is None:
                return None
            if mine.get(name) == was.get(name) or take == "theirs":
                changes[name] = _unquoted(value)
        return edit_yaml(ours, changes, CONFIG_FILE, max_bytes=MAX_BYTES)
    except (AutopoiesisError, UnicodeDecodeError):
        return None


def _unquoted(value: object) -> object:
    """A value that is read back the same but written without quotes where it is a number or a truth value."""
    if isinstance(value, list):
        return [_unquoted(each) for each in value]
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
    is_plain = isinstance(found, bool | int | float) and as_read(found) == value
    return found if is_plain else value


def _settings(data: bytes) -> Iterator[tuple[str, object]]:
    """Every setting by its dotted name; a list is one setting."""
    yield from _flat(value_of(data.decode("utf-8-sig"), MAX_BYTES), "")


def _flat(value: object, above: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _flat(each, f"{above}.{key}" if above else str(key))
    elif above:
        yield above, value


def merged_state(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Takes each key from the side that changed it, ours if both did; ``None`` if a file is not an object."""
    try:
        trees = [json.loads(data or b"{}") for data in (base, ours, theirs)]
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(tree, dict) for tree in trees):
        return None
    indent = 1 if b"\n" in ours.strip() else None  # keep the file's layout
    return (
        json.dumps(_both(*trees), ensure_ascii=False, indent=indent).encode("utf-8", "surrogatepass") + b"\n"
    )


def _both(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys([*ours, *theirs]):
        was, mine, other = base.get(name), ours.get(name), theirs.get(name)
        if isinstance(mine, dict) and isinstance(other, dict):
            found[name] = _both(was if isinstance(was, dict) else {}, mine, other)
            continue
        value = other if mine == was else mine
        if value is not None:
            found[name] = value
    return found


_NAME = re.compile(r"(.*/)?([0-9]{4}-)(.+)\.md", re.DOTALL)
_SHORT = 8


def longer(ours: bytes, theirs: bytes) -> bytes | None:
    """The version that continues the other; ``None`` if they diverged.

    Headers are compared by their keys: fields are added when a session ends.
    """
    (left, mine), (right, other) = _parts(ours), _parts(theirs)
    if mine == other:
        return ours if len(left) >= len(right) else theirs
    if mine.startswith(other):
        return ours if right.keys() <= left.keys() else None
    if other.startswith(mine):
        return theirs if left.keys() <= right.keys() else None
    return None


def _parts(data: bytes) -> tuple[dict[str, object], bytes]:
    found = locate(data)
    # A new session has only a title line; the blank line below it makes no difference.
    return dict(found.mapping or {}), data[found.body :].rstrip(b"\n") if found.mapping else data


def as_own_session(path: str, data: bytes, name: str) -> tuple[str, bytes]:
    """Path and bytes of a second version, as a separate session.

    Args:
        name: The blob name of the version, so that it always gets the same path.
    """
    short = name[:_SHORT]
    header = locate(data).mapping
    session = str(header.get("session_id", "")) if header else ""
    found = _NAME.fullmatch(path)
    if session and found and found[3].startswith(f"{session}-"):
        other = f"{session}.{short}"
        try:
            edited = edit_header(data, {"session_id": other}, path)
        except DocumentError:
            pass
        else:
            return f"{found[1] or ''}{found[2]}{other}{found[3][len(session) :]}.md", edited
    stem, dot, suffix = path.rpartition(".")
    return (f"{stem}-{short}.{suffix}" if dot and "/" not in suffix else f"{path}-{short}"), data
