"""Imports files that hold conversations whole into transcripts, any number of times with the same outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import DocumentError, ImportFailed
from engine.redaction.detect import redacted
from engine.store.documents import edit_header
from engine.store.files import Files
from engine.store.paths import valid_session_id
from engine.transcripts.brief import one_line
from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.read import identity_of, read_chats
from engine.transcripts.days import moment
from engine.transcripts.format import parse, render
from engine.transcripts.importers.drafts import IDLE_S, Status
from engine.transcripts.importers.earlier import Earlier
from engine.transcripts.importers.known import Known
from engine.transcripts.importers.lines import opened
from engine.transcripts.importers.merge import inserted, missing, with_days
from engine.transcripts.importers.run import ImportResult
from engine.transcripts.importers.second import ALSO_FIELD, Taken, also_taken, also_written
from engine.transcripts.importers.session import START
from engine.transcripts.importers.state import (
    SOURCE_FIELD,
    STATE_FIELD,
    ImportState,
    read_state,
    shown_source,
)
from engine.transcripts.importers.text import Measured, counted
from engine.transcripts.places import session_path
from engine.transcripts.secrets import REDACTED_FIELD, clean_turn
from engine.transcripts.turn import Transcript

UNTOLD = "could not tell who speaks; the file stays as it is"
"""Why a file is left out in which speakers cannot be told apart."""

MOST_BYTES = 512 * 1024 * 1024
"""Bytes of the largest file read."""

_ATTEMPTS = 5
_TITLE_LIMIT = 72


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was read."""

    path: Path
    shown: str  # the path as a header has it
    taken: Taken  # bytes and fingerprint
    written: datetime  # when it was last written
    is_idle: bool  # not written to for a while


def import_chats(
    source: Path,
    files: Files,
    known: Known,
    *,
    dry_run: bool = False,
    clock: Callable[[], float],
    redact: bool = True,
) -> Iterator[ImportResult]:
    """Import the conversations of one file, one result each; what is there already stays, byte for byte.

    Args:
        known: What was imported; sessions that are new are to be added to it.
        clock: Seconds since the epoch.
        redact: Write ``[secret]`` in the place of what looks like a key or password.

    Raises:
        ImportFailed: The file cannot be read.
        WriteFailed, ReadOnly: A transcript could not be written.
    """
    with opened(source) as stream:
        data = stream.read(MOST_BYTES + 1) or b""
        written = source.stat().st_mtime
    if len(data) > MOST_BYTES:
        raise ImportFailed(f"is larger than {MOST_BYTES >> 20} MB", where=str(source), cure="split it")
    taken = Taken(len(data), hashlib.sha256(data).hexdigest()[:16])
    at = datetime.fromtimestamp(written, UTC)
    file = _File(source, shown_source(source), taken, at, clock() - written > IDLE_S)
    entries = known.sources.get(file.shown, [])
    if entries and all(entry.taken == taken for entry in entries):
        for entry in entries:
            yield ImportResult(source, entry.path, entry.session_id, 0, entry.turns, 0, "unchanged")
        return
    chats = read_chats(data, str(source))
    if not chats:
        why = UNTOLD if data.strip() else "it has no dialogue yet"
        yield ImportResult(source, "", "", 0, 0, 0, "skipped", why)
    for chat in chats:
        if len(chats) > 1:
            # So that a longer file does not change the transcripts of those in it that are the same.
            digest = hashlib.sha256(repr(chat.turns).encode("utf-8", "surrogatepass")).hexdigest()
            file = replace(file, taken=Taken(taken.read, digest[:16]))
        yield _import(file, chat, files, known.transcripts.get, dry_run, redact=redact)


def session_id_of(chat: Chat) -> str:
    """The id of a conversation's session: the one in the file, or else one made from its beginning."""
    if not chat.session_id:
        return identity_of(chat)
    if valid_session_id(chat.session_id):
        return chat.session_id.lower()
    return f"{chat.format}-{hashlib.sha256(chat.session_id.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _import(
    file: _File,
    chat: Chat,
    files: Files,
    find: Callable[[str], str | None],
    dry_run: bool,
    *,
    redact: bool,
) -> ImportResult:
    session_id = session_id_of(chat)
    if redact:
        turns = tuple(map(clean_turn, chat.turns))
        chat = replace(chat, turns=turns, title=redacted(chat.title))
    for _ in range(_ATTEMPTS):
        target = find(session_id)
        try:
            earlier = Earlier(files, target) if target is not None else None
        except FileNotFoundError:
            earlier = None
        if earlier is None:
            path, data, taken_out = _first(file, chat, session_id)
            if dry_run or files.create(path, data):
                count = len(chat.turns)
                return _result(file, chat, path, session_id, count, count, "new", taken_out=taken_out)
            continue
        old = earlier.whole()
        result, data = _next(file, chat, session_id, earlier, old, redact=redact)
        if dry_run or data == old:
            return result
        if _put(files, earlier.path, old, data):
            return result
    raise ImportFailed(
        "its transcript is being changed again and again", where=str(file.path), cure="import it later"
    )


def _put(files: Files, path: str, old: bytes, data: bytes) -> bool:
    """Replace what a file held; ``False`` where another program has changed it meanwhile."""
    return files.update(path, lambda now: data if now == old else now) == data


def _first(file: _File, chat: Chat, session_id: str) -> tuple[str, bytes, int]:
    """Path and bytes of a new transcript, and in how many places a secret was taken out of it."""
    started = chat.started or _day_of(file.written, chat)
    title = one_line(chat.title or chat.opening.strip().partition("\n")[0].lstrip("#>*•- "), _TITLE_LIMIT)
    fields: dict[str, object] = {"session_id": session_id, "started": _iso(started)}
    if file.is_idle:
        fields["ended"] = _iso(max(chat.ended or file.written, started))
    fields |= {key: value for key, value in {"model": chat.model, "channel": chat.format}.items() if value}
    fields |= {"cwd": one_line(chat.cwd, 500)} if chat.cwd else {}
    fields |= {"topic": title} if chat.title else {}
    body = render(Transcript("", "", "", "", title or "Session", {}, chat.turns))
    measured = Measured([b"\n", body.encode()])
    state = ImportState(
        file.taken.read,
        len(chat.turns),
        0,
        file.taken.source,
        measured.fingerprint,
        0,
        START,
    )
    fields |= {REDACTED_FIELD: measured.redacted} if measured.redacted else {}
    fields |= {"tags": [], SOURCE_FIELD: file.shown, STATE_FIELD: state.written()}
    head = render(Transcript("", session_id, "", "", "", fields, ()))
    return session_path(session_id, started, title), f"{head}\n{body}".encode(), measured.redacted


def _next(
    file: _File, chat: Chat, session_id: str, earlier: Earlier, old: bytes, *, redact: bool
) -> tuple[ImportResult, bytes]:
    """What becomes of a transcript that is there: nothing is taken away, and what it lacks is put in."""
    header, path = earlier.header, earlier.path
    state = read_state(header.get(STATE_FIELD))
    present = parse(old, "").turns
    total = len(present)
    if state is None:
        why = "the session has a transcript that was captured live"
        return _result(file, chat, path, session_id, 0, total, "skipped", why), old
    is_first = header.get(SOURCE_FIELD) == file.shown
    also = also_taken(header)
    known = Taken(state.read, state.source) if is_first else also.get(file.shown)
    if known is not None and known.source == file.taken.source:
        return _result(file, chat, path, session_id, 0, total, "unchanged"), old
    started = moment(header.get("started"))
    wanted = with_days(chat.turns, chat.started)
    is_retold = header.get("channel") != chat.format
    added = missing(present, wanted, started, retold=is_retold, redact=redact)
    data = inserted(old, added, started)
    body = data[len(earlier.head) :]
    measured = Measured([body])
    state = replace(state, turns=total + len(added), text=measured.fingerprint)
    if is_first:
        state = replace(state, read=file.taken.read, source=file.taken.source)
    else:
        also[file.shown] = file.taken
    changes: dict[str, object | None] = {
        STATE_FIELD: state.written(),
        REDACTED_FIELD: measured.redacted or None,
    }
    if also:
        changes[ALSO_FIELD] = also_written(also)
    ended = _iso(chat.ended or file.written)
    if file.is_idle and is_first and ended > str(header.get("ended") or ""):
        changes["ended"] = ended
    try:
        head = edit_header(earlier.head, changes, "its transcript")
    except DocumentError as error:
        return _result(file, chat, path, session_id, 0, total, "skipped", str(error)), old
    why = ""
    if not is_first:
        first = header.get(SOURCE_FIELD)
        why = f"what was imported from {first} lacked it" if added else f"all of it was imported from {first}"
    status: Status = "grown" if added else "unchanged"
    total += len(added)
    result = _result(
        file, chat, path, session_id, len(added), total, status, why, taken_out=measured.redacted
    )
    return result, head + body


def _result(
    file: _File,
    chat: Chat,
    target: str,
    session_id: str,
    new: int,
    total: int,
    status: Status,
    why: str = "",
    *,
    taken_out: int = 0,
) -> ImportResult:
    left_out = counted(chat.left_out, taken_out)
    return ImportResult(file.path, target, session_id, new, total, 0, status, why, left_out, chat.format)


def _day_of(written: datetime, chat: Chat) -> datetime:
    """When a conversation began of which only times are known: on the day on which its file was written."""
    first = next((turn.time for turn in chat.turns if turn.time), "")
    if not first:
        return written
    hour, minute = first.split(":")
    return written.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
