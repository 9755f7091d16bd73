"""Guards for a model's rewrite of MEMORY.md (design 3.12, robustness L10): it must not be truncated or empty,
lose more than a quarter of the dated entries, exceed the cap or forge markers. Dropped text is archived.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from engine.context.delimiters import outside
from engine.context.replies import BadReply, fenced_blocks, is_control, without_thoughts
from engine.context.sources import MEMORY
from engine.errors import DocumentError
from engine.knowledge.category_files import Entry, entries, plain, refuse_broken
from engine.knowledge.file_changes import FileChange, Step, digest
from engine.knowledge.proposed import WHY
from engine.knowledge.session_notes import MEMORY_BYTES, with_line_count
from engine.knowledge.similarity import overlap
from engine.lifecycle.retention.memory import archive_steps, day_of, header_steps, text_of
from engine.provenance.hold import doubt_of
from engine.provenance.voices import Voices
from engine.store.header import locate

REPLY_CHARACTERS = 64 * 1024
"""Maximum characters of a reply that are read."""
MAX_LOST = 0.25
"""Share of the dated entries that a rewrite may lose."""
SAME_ENTRY = 0.5
"""Word overlap from which two texts are versions of one entry."""

_WORD = re.compile(r"\w+")


def rewrite(
    before: bytes, reply: str, *, cut: bool, cap: int, now: datetime, known: str
) -> tuple[FileChange, str]:
    """The change that replaces the text of MEMORY.md with a model's.

    The header is kept, except for the date and the number of lines. Dropped text is archived first.

    Args:
        before: The current file.
        cut: The reply ended at the token limit.
        cap: Maximum lines of the file.
        known: The text the model was given; addresses in it are not suspicious.

    Returns:
        The change, and why it needs review.

    Raises:
        BadReply: The text is rejected.
    """
    if cut:
        raise BadReply("the reply was cut off at the token limit; raise condensing.max_tokens")
    after = _bytes(before, reply)
    if after == before:
        raise BadReply("the reply changes nothing")
    try:
        refuse_broken(after, MEMORY)
    except DocumentError as error:
        raise BadReply(f"the reply {error.what}") from error
    lines, size = after.count(b"\n"), len(after)
    if lines > cap or size > MEMORY_BYTES:
        raise BadReply(
            f"the reply has {lines} lines and {size / 1024:.1f} KB, more than {cap} lines or 25 KB"
        )
    old, new = entries(before, MEMORY), entries(after, MEMORY)
    if not new:
        raise BadReply("the reply has no entries")
    lost = lost_entries(old, new)
    dated = sum(bool(day_of(entry)) for entry in old)
    if len(lost) > MAX_LOST * dated:
        first = plain(lost[0].text)[:60]
        raise BadReply(
            f"the reply loses {len(lost)} of {dated} dated entries, more than a quarter, such as “{first}”"
        )
    why = _doubt(before, after, known)
    steps = [*_dropped(before, after, now), *_written(before, after, now)]
    about = f"{len(old)} entries become {len(new)}, {lines} lines"
    return FileChange(tuple(steps), (about,)), why


def lost_entries(old: Sequence[Entry], new: Sequence[Entry]) -> list[Entry]:
    """Dated entries without a similar entry of the same day in the new text.

    Each new entry matches at most one old one.
    """
    left: dict[str, list[str]] = defaultdict(list)
    for entry in new:
        left[day_of(entry)].append(text_of(entry))
    changed: list[Entry] = []
    for entry in old:
        day = day_of(entry)
        if day and text_of(entry) in left[day]:
            left[day].remove(text_of(entry))
        elif day:
            changed.append(entry)
    lost: list[Entry] = []
    for entry in changed:
        words = _words(text_of(entry))
        ranked = [(overlap(words, _words(text)), text) for text in left[day_of(entry)]]
        best = max(ranked, default=(0.0, ""))
        if best[0] < SAME_ENTRY:
            lost.append(entry)
        else:
            left[day_of(entry)].remove(best[1])
    return lost


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _bytes(before: bytes, reply: str) -> bytes:
    """The file with its text replaced by a reply's."""
    text = without_thoughts(reply, REPLY_CHARACTERS)
    blocks = fenced_blocks(text)
    if len(blocks) == 1 and text.startswith("```"):
        text = blocks[0]
    if any(is_control(character) for character in text if character not in "\n\r\t"):
        raise BadReply("the reply contains control or invisible characters")
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadReply("the reply is not text") from error
    body = data[locate(data).body :].decode("utf-8").replace("\r\n", "\n").strip("\n")
    if not body.strip():
        raise BadReply("the reply is empty")
    if outside(body) != body:
        raise BadReply("the reply contains a prompt marker")
    found = locate(before)
    body = f"{body}\n".replace("\n", found.newline)
    gap = found.newline if before[: found.body] else ""
    return before[: found.body] + gap.encode() + body.encode("utf-8")


def _doubt(before: bytes, after: bytes, known: str) -> str:
    """Why the new lines need review; ``WHY["upkeep"]`` if none is doubtful.

    Raises:
        BadReply: A new line imitates a provenance, a comment or a checkbox.
    """
    there = frozenset(before.decode("utf-8", "replace").splitlines())
    voices = Voices(f"{known}\n{before.decode('utf-8', 'replace')}", "", "")
    why = WHY["upkeep"]
    for line in after.decode("utf-8").splitlines():
        text = line.strip().removeprefix("- ").strip()
        if line in there or not text or text.startswith("#"):
            continue
        if plain(text) != " ".join(text.split()):
            raise BadReply(f"a line of the reply imitates markup of the program: “{plain(text)[:60]}”")
        doubt = doubt_of(text, voices, needs_ground=False)
        if doubt is not None:
            why = doubt.reason
    return why


def _dropped(before: bytes, after: bytes, now: datetime) -> Iterator[Step]:
    """Steps that archive what the new text drops."""
    kept = Counter("\n".join(entry.lines) for entry in entries(after, MEMORY))
    gone: list[Entry] = []
    covered: set[int] = set()
    for entry in entries(before, MEMORY):
        covered.update(range(entry.number, entry.last + 1))
        text = "\n".join(entry.lines)
        kept[text] -= 1
        if kept[text] < 0:
            gone.append(entry)
    yield from (step for step in archive_steps(gone, before, now.year) if step.kind == "add")
    there = frozenset(line.strip() for line in after.decode("utf-8").splitlines())
    first = before.count(b"\n", 0, locate(before).body) + 1
    for number, raw in enumerate(before.decode("utf-8", "replace").split("\n"), 1):
        line = raw.rstrip("\r")
        is_kept = number in covered or line.lstrip().startswith("#") or line.strip() in there
        if number < first or is_kept or not line.strip():
            continue
        title = f"---\ntype: memory\n---\n\n# MEMORY, {now.year}"
        yield Step("add", f"archive/memory/{now.year}.md", line, section="Text", title=title)


def _written(before: bytes, after: bytes, now: datetime) -> Iterator[Step]:
    # One step, so that a rerun recognizes the text if it was already written.
    for step in header_steps(after, now):
        after = after.replace(step.old.encode(), step.text.encode(), 1)
    yield Step("write", MEMORY, with_line_count(MEMORY, after).decode("utf-8"), old=digest(before))
