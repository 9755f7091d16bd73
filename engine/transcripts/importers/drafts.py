"""What an import makes of a transcript: computed, and not yet written.

A header says what is only known at the end of the log: counts, the title, fingerprints of the log and of the
text below it. So turns go to a spool as they are finished, and once the log is read, header and turns go to
the transcript in one stream. Reading the log a second time instead would need no room on the disk, but
parsing it is nearly all of the work; and a header of a fixed size, filled in at the end, would have to know
how long the title and the fields become. What stays of an earlier transcript is not spooled but read where
it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from engine.errors import DocumentError
from engine.redaction.detect import redacted
from engine.store.documents import edit_header
from engine.store.spool import Spool
from engine.transcripts.brief import one_line
from engine.transcripts.days import moment
from engine.transcripts.format import parse, render
from engine.transcripts.importers.earlier import Earlier
from engine.transcripts.importers.log import Reading, SessionLog
from engine.transcripts.importers.merge import Unseen, inserted, missing
from engine.transcripts.importers.second import (
    ALSO_FIELD,
    Taken,
    also_taken,
    also_written,
    changed_state,
    read_together,
)
from engine.transcripts.importers.session import Checkpoint, SessionReader
from engine.transcripts.importers.state import (
    READER,
    SOURCE_FIELD,
    STATE_FIELD,
    ImportState,
    fingerprint,
    read_state,
    shown_source,
)
from engine.transcripts.importers.text import Measured, NewText, counted
from engine.transcripts.places import session_path
from engine.transcripts.secrets import REDACTED_FIELD
from engine.transcripts.turn import Transcript, Turn

Status = Literal["new", "grown", "unchanged", "skipped", "replaced"]

IDLE_S = 6 * 3600
"""Seconds without a new line after which a session counts as ended."""

_TITLE_LIMIT = 72
_PATH_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Draft:
    """A transcript as an import wants it."""

    status: Status
    why: str  # one clause, where the status does not say it all
    content: Callable[[], Iterable[bytes]] | None
    """Gives the whole file piece by piece, each time anew; ``None`` when there is nothing to write. A piece
    can raise ``Changed`` when the transcript it goes on from is not what it was."""
    target: str = ""  # the path of a new file
    turns: int = 0
    turns_before: int = 0
    odd: int = 0  # lines of the log that could not be read whole
    left_out: Mapping[str, int] = field(default_factory=dict)  # what was not taken, counted by reason


def first_import(log: SessionLog, session_id: str, clock: Callable[[], float], spool: Spool | None) -> Draft:
    """The transcript of a log that has none yet.

    ``clock`` gives seconds since the epoch; ``spool`` is ``None`` for a draft that will not be written.
    """
    turns = NewText(Measured(), spool, redact=log.redact)
    reading = log.read(Checkpoint(), turns.add)
    reader = reading.reader
    if not session_id or reader.first is None or not reader.total:
        why = "it has no session id" if reader.total and not session_id else "it has no dialogue yet"
        return Draft("skipped", why, None, odd=reader.odd)
    started = reader.first
    asked = reader.question.strip().partition("\n")[0].lstrip("#>*•- ")
    named = reader.topic or asked
    topic = one_line(redacted(named) if log.redact else named, _TITLE_LIMIT)
    title = f"\n{render(Transcript('', '', '', '', topic or 'Session', {}, ()))}".encode()
    kept = len(title) + turns.measured.size
    turns.add_all(reader.unfinished)

    def content() -> Iterable[bytes]:
        # The title can be the last thing a log says, and the fingerprint begins with it.
        text = Measured(itertools.chain([title], turns.added()))
        state = _state(log, reading, kept, text)
        fields: dict[str, object] = {"session_id": session_id, "started": _iso(started)}
        learned = _learned(log, reader, {}, clock)
        fields |= {key: value for key, value in learned.items() if value is not None}
        fields |= {REDACTED_FIELD: text.redacted} if text.redacted else {}
        fields |= {"tags": [], SOURCE_FIELD: shown_source(log.path), STATE_FIELD: state.written()}
        head = render(Transcript("", session_id, "", "", "", fields, ())).encode("utf-8")
        return itertools.chain([head, title], turns.added())

    target = session_path(session_id, started, topic)
    left_out = counted(reader.left_out, Measured([title]).redacted + turns.measured.redacted)
    return Draft("new", "", content, target, reader.total, 0, reader.odd, left_out)


def next_import(log: SessionLog, earlier: Earlier, clock: Callable[[], float], spool: Spool | None) -> Draft:
    """The transcript of a log that has one.

    What stands in it is never taken away. Where a person has edited it, or the log no longer begins as it
    did, only what is missing is added, below.

    ``clock`` gives seconds since the epoch; ``spool`` is ``None`` for a draft that will not be written.

    Raises:
        Changed: Another process has just written the transcript.
    """
    header = earlier.header
    state = read_state(header.get(STATE_FIELD))
    if state is None:
        turns = len(parse(earlier.whole(), "").turns)
        return Draft("skipped", "the session has a transcript that was captured live", None, "", turns, turns)
    same = Draft("unchanged", "", None, "", state.turns, state.turns, state.odd)
    is_only = not also_taken(header) and (_is_first(header, log) or not _exists(header.get(SOURCE_FIELD)))
    if not is_only or not log.holds(state):
        return _merged(log, earlier, state, clock)
    if state.kept and state.reader < READER and earlier.measured(0)[1].fingerprint == state.text:
        return _merged(log, earlier, state, clock, only_said=True)
    if log.size == state.read and (header.get("ended") or not _is_idle(log, clock)):
        return same
    final, old = earlier.measured(state.kept)
    status: Status = "grown"
    if old.fingerprint != state.text:
        text = NewText(old, spool, redact=log.redact)
        fresh, reader = _add_read(log, text, _after(state, header))
        why = "the transcript was edited; what is new was added at the end"
        if text.measured.is_same(old):
            return same
    else:
        # The usual case: the last turn is written anew, and what came after it is added.
        text = NewText(final, spool, redact=log.redact)
        unseen = Unseen(parse(earlier.after(state.kept), "").turns, redact=log.redact)
        fresh, reader = _add_read(log, text, state.checkpoint, unseen.see)
        if unseen:
            # The log has lost something, or says it in another way: what was written stays.
            return _merged(log, earlier, state, clock)
        status, why = ("unchanged" if text.measured.is_same(old) else "grown"), ""
    changes = _learned(log, reader, header, clock) | {STATE_FIELD: fresh.written()}
    changes[REDACTED_FIELD] = text.measured.redacted or None
    if not _is_first(header, log):
        changes[SOURCE_FIELD] = shown_source(log.path)
    try:
        head = edit_header(earlier.head, _news(header, changes), "its transcript")
    except DocumentError as error:
        return replace(same, status="skipped", why=str(error))

    def content() -> Iterable[bytes]:
        return itertools.chain([head], earlier.beginning(text.kept, old), text.added())

    is_same = head == earlier.head and text.measured.is_same(old)
    return Draft(
        status,
        why,
        None if is_same else content,
        turns=fresh.turns,
        turns_before=state.turns,
        odd=fresh.odd,
        left_out=counted(reader.left_out, text.measured.redacted),
    )


def _merged(
    log: SessionLog,
    earlier: Earlier,
    state: ImportState,
    clock: Callable[[], float],
    *,
    only_said: bool = False,
) -> Draft:
    """A transcript with what it lacks of a log that it was not made from, or that was rewritten.

    ``clock`` gives seconds since the epoch. ``only_said`` puts in the person's words and plans only: an
    earlier reader left them out of this very log.
    """
    header, shown = earlier.header, shown_source(log.path)
    also = also_taken(header)
    first = str(header.get(SOURCE_FIELD) or "")
    is_first = shown == first or (shown not in also and not _exists(first) and log.holds(state))
    same = Draft("unchanged", "", None, "", state.turns, state.turns, state.odd)
    known = Taken(state.read, state.source) if is_first else also.get(shown)
    if not only_said and known == Taken(log.size, fingerprint(log.stream, log.size)):
        return replace(same, why="" if is_first else f"all of it was imported, beside {first}")
    is_retold = not state.checkpoint.offset and not state.kept
    others = [path for path in (first, *also) if path and path != shown]
    union = read_together(log, () if is_retold else others)
    old = earlier.whole()
    started = moment(header.get("started"))
    present = parse(old, "").turns
    wanted = [turn for turn in union.turns if not only_said or turn.role == "user" or turn.kind == "plan"]
    added = missing(present, wanted, started, retold=is_retold or only_said, redact=log.redact)
    data = inserted(old, added, started)
    body = data[len(earlier.head) :]
    changes = _learned(log, union.reader, header, clock)
    if str(changes.get("ended") or "") < str(header.get("ended") or ""):
        del changes["ended"]
    for name in ("tokens_in", "tokens_out"):
        changes[name] = max(_number(str(changes.get(name) or "")), _number(header.get(name))) or None
    measured = Measured([body])
    changes[REDACTED_FIELD] = measured.redacted or None
    made_from = shown if is_first else first
    fresh = changed_state(
        state,
        union,
        made_from,
        turns=len(present) + len(added),
        text=measured.fingerprint,
        size=0 if is_retold else len(body),
    )
    changes[STATE_FIELD] = fresh.written()
    if is_first:
        changes[SOURCE_FIELD] = shown
    listed = also | {
        path: each for path, each in union.taken.items() if path != (shown if is_first else first)
    }
    if listed:
        changes[ALSO_FIELD] = also_written(listed)
    try:
        head = edit_header(earlier.head, _news(header, changes), "its transcript")
    except DocumentError as error:
        return replace(same, status="skipped", why=str(error))

    def content() -> Iterable[bytes]:
        earlier.refuse_changed(old)
        return [head, body]

    status: Status = "replaced" if is_first else "grown" if added else "unchanged"
    if only_said:
        status = "grown" if added else "unchanged"
        why = "words of the person that an earlier version had left out were put in" if added else ""
    elif is_first:
        why = "the log was cut or rewritten; its transcript was kept, and what it lacks was put in its place"
        why = "" if log.holds(state) else why
        status = status if why or added else "unchanged"
        status = "grown" if added and not why else status
    else:
        why = f"what was imported from {first} lacked it" if added else f"all of it was imported from {first}"
    return Draft(
        status,
        why,
        None if head + body == old else content,
        turns=fresh.turns,
        turns_before=len(present),
        odd=fresh.odd,
        left_out=counted(union.reader.left_out, measured.redacted),
    )


def _is_first(header: Mapping[str, object], log: SessionLog) -> bool:
    """Whether a transcript was made from a log."""
    return header.get(SOURCE_FIELD) == shown_source(log.path)


def _news(header: Mapping[str, object], changes: Mapping[str, object | None]) -> dict[str, object | None]:
    return {key: value for key, value in changes.items() if header.get(key) != _as_read(value)}


def _add_read(
    log: SessionLog, text: NewText, since: Checkpoint, see: Callable[[Turn], None] = lambda turn: None
) -> tuple[ImportState, SessionReader]:
    def add(turn: Turn) -> None:
        see(turn)
        text.add(turn)

    reading = log.read(since, add)
    kept = text.measured.size
    for turn in reading.reader.unfinished:
        add(turn)
    return _state(log, reading, kept, text.measured), reading.reader


def _after(state: ImportState, header: dict[str, object]) -> Checkpoint:
    """Where reading goes on when the last turn is not to be touched."""
    return Checkpoint(
        state.read,
        turns=state.turns,
        odd=state.odd,
        tokens_in=_number(header.get("tokens_in")),
        tokens_out=_number(header.get("tokens_out")),
    )


def _state(log: SessionLog, reading: Reading, kept: int, text: Measured) -> ImportState:
    reader = reading.reader
    return ImportState(
        read=reading.end,
        turns=reader.total,
        odd=reader.odd,
        source=fingerprint(log.stream, reading.end),
        text=text.fingerprint,
        kept=kept,
        checkpoint=reader.checkpoint,
        reader=READER,
    )


def _learned(
    log: SessionLog, reader: SessionReader, header: dict[str, object], clock: Callable[[], float]
) -> dict[str, object | None]:
    """Header fields as far as the log says something about them; what the header says already stays."""
    # A copy of a log is as young as the copy: what was last said in it tells more.
    is_over = reader.last is not None and (_is_idle(log, clock) or clock() - reader.last.timestamp() > IDLE_S)
    fields: dict[str, object | None] = {"ended": _iso(reader.last) if is_over and reader.last else None}
    known = {"model": reader.model, "channel": log.kind, "cwd": one_line(reader.cwd, _PATH_LIMIT)}
    fields |= {key: value for key, value in known.items() if value and not header.get(key)}
    if reader.topic and (reader.renamed or not header.get("topic")):
        named = redacted(reader.topic) if log.redact else reader.topic
        fields["topic"] = one_line(named, _TITLE_LIMIT)
    if reader.tokens_in or reader.tokens_out:
        fields |= {"tokens_in": reader.tokens_in, "tokens_out": reader.tokens_out}
    return fields


def _is_idle(log: SessionLog, clock: Callable[[], float]) -> bool:
    return clock() - log.written > IDLE_S


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _as_read(value: object | None) -> object | None:
    return str(value) if isinstance(value, int) else value


def _number(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else 0


def _exists(shown: object) -> bool:
    try:
        return isinstance(shown, str) and Path(shown).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):
        return False
