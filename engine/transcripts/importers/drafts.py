"""What an import makes of a transcript: its new bytes, computed and not yet written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from engine.errors import DocumentError
from engine.store.documents import edit_header
from engine.store.header import locate
from engine.transcripts.brief import one_line
from engine.transcripts.format import parse, render, render_turn
from engine.transcripts.importers.log import Reading, SessionLog
from engine.transcripts.importers.session import Checkpoint, SessionReader
from engine.transcripts.importers.state import (
    SOURCE_FIELD,
    STATE_FIELD,
    ImportState,
    fingerprint,
    read_state,
    shown_source,
    text_fingerprint,
)
from engine.transcripts.places import session_path
from engine.transcripts.turn import Transcript, Turn

Status = Literal["new", "grown", "unchanged", "skipped", "replaced"]

IDLE_S = 6 * 3600
"""Seconds without a new line after which a session counts as ended."""

_TITLE_LIMIT = 72
_PATH_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Draft:
    """A transcript as an import wants it.

    Attributes:
        status: What the import comes to.
        why: One clause, where the status does not say it all.
        data: The whole file; ``None`` for no file.
        target: The path of a new file.
        turns: Turns in it.
        turns_before: Turns in it before the import.
        odd: Lines of the log that could not be read whole.
    """

    status: Status
    why: str
    data: bytes | None
    target: str = ""
    turns: int = 0
    turns_before: int = 0
    odd: int = 0


def first_import(log: SessionLog, session_id: str, clock: Callable[[], float]) -> Draft:
    """The transcript of a log that has none yet."""
    reading = log.read(Checkpoint())
    reader = reading.reader
    if not session_id or reader.first is None or not reader.total:
        why = "it has no session id" if reader.total and not session_id else "it has no dialogue yet"
        return Draft("skipped", why, None, odd=reader.odd)
    asked = reader.question.strip().partition("\n")[0].lstrip("#>*•- ")
    topic = one_line(reader.topic or asked, _TITLE_LIMIT)
    title = render(Transcript("", "", "", "", topic or "Session", {}, ()))
    kept = _joined(b"", [title, *map(render_turn, reading.final)])
    body = _joined(kept, _last(reader))
    state = _state(log, reading, kept, body)
    fields: dict[str, object] = {"session_id": session_id, "started": _iso(reader.first)}
    fields |= {key: value for key, value in _learned(log, reader, {}, clock).items() if value is not None}
    fields |= {"tags": [], SOURCE_FIELD: shown_source(log.path), STATE_FIELD: state.written()}
    head = render(Transcript("", session_id, "", "", "", fields, ())).encode("utf-8")
    target = session_path(session_id, reader.first, topic)
    return Draft("new", "", head + body, target, state.turns, 0, state.odd)


def next_import(log: SessionLog, old: bytes, clock: Callable[[], float]) -> Draft:
    """The transcript of a log that has one.

    What stands in it is never taken away. Where a person has edited it, or the log no longer begins as it
    did, only what is missing is added, below.
    """
    found = locate(old)
    header: dict[str, object] = dict(found.mapping or {})
    state = read_state(header.get(STATE_FIELD))
    if state is None:
        turns = len(parse(old, "").turns)
        return Draft("skipped", "the session has a transcript that was captured live", old, "", turns, turns)
    other = header.get(SOURCE_FIELD)
    if isinstance(other, str) and other != shown_source(log.path) and _exists(other):
        return Draft(
            "skipped", f"the session was imported from {other}", old, "", state.turns, state.turns, state.odd
        )
    same = Draft("unchanged", "", old, "", state.turns, state.turns, state.odd)
    body = old[found.body :]
    holds = log.holds(state)
    if holds and log.size == state.read and (header.get("ended") or not _is_idle(log, clock)):
        return same
    if not holds:
        text, fresh, reader = _with_missing(log, old, body)
        status: Status = "replaced"
        why = "the log was cut or rewritten; its transcript was kept, and what it lacks was added at the end"
    elif text_fingerprint(body) != state.text:
        text, fresh, reader = _below_edited(log, body, state, header)
        status, why = "grown", "the transcript was edited; what is new was added at the end"
        if text == body:
            return same
    else:
        text, fresh, reader = _continued(log, body, state)
        status, why = ("unchanged" if text == body else "grown"), ""
    changes = _learned(log, reader, header, clock) | {STATE_FIELD: fresh.written()}
    changes = {key: value for key, value in changes.items() if header.get(key) != _as_read(value)}
    try:
        data = edit_header(old[: found.body] + text, changes, "its transcript")
    except DocumentError as error:
        return replace(same, status="skipped", why=str(error))
    return Draft(status, why, data, "", fresh.turns, state.turns, fresh.odd)


def _continued(log: SessionLog, body: bytes, state: ImportState) -> tuple[bytes, ImportState, SessionReader]:
    """The usual case: the last turn is written anew, and what came after it is added."""
    reading = log.read(state.checkpoint)
    kept = _joined(body[: state.kept], map(render_turn, reading.final))
    text = _joined(kept, _last(reading.reader))
    return text, _state(log, reading, kept, text), reading.reader


def _below_edited(
    log: SessionLog, body: bytes, state: ImportState, header: dict[str, object]
) -> tuple[bytes, ImportState, SessionReader]:
    since = Checkpoint(
        state.read,
        turns=state.turns,
        odd=state.odd,
        tokens_in=_number(header.get("tokens_in")),
        tokens_out=_number(header.get("tokens_out")),
    )
    reading = log.read(since)
    kept = _joined(body, map(render_turn, reading.final))
    text = _joined(kept, _last(reading.reader))
    return text, _state(log, reading, kept, text), reading.reader


def _with_missing(log: SessionLog, old: bytes, body: bytes) -> tuple[bytes, ImportState, SessionReader]:
    reading = log.read(Checkpoint())
    reader = reading.reader
    present = parse(old, "").turns
    last = reader.turns.current
    missing = _missing([*reading.final, *([last] if last is not None else [])], present)
    text = _joined(body, map(render_turn, missing))
    since = Checkpoint(
        reading.end,
        turns=len(present) + len(missing),
        odd=reader.odd,
        tokens_in=reader.tokens_in,
        tokens_out=reader.tokens_out,
    )
    state = replace(_state(log, reading, text, text), turns=since.turns, checkpoint=since)
    return text, state, reader


def _missing(wanted: Sequence[Turn], present: Sequence[Turn]) -> list[Turn]:
    """Turns that are not there; of one that has grown, what it has grown by."""
    counts = Counter(present)
    opened = {(turn.role, turn.time, turn.kind): turn for turn in present}
    missing = []
    for turn in wanted:
        if counts[turn]:
            counts[turn] -= 1
            continue
        shorter = opened.get((turn.role, turn.time, turn.kind))
        if shorter is not None and shorter.blocks and turn.blocks[: len(shorter.blocks)] == shorter.blocks:
            turn = replace(turn, blocks=turn.blocks[len(shorter.blocks) :])
        if turn.blocks:
            missing.append(turn)
    return missing


def _state(log: SessionLog, reading: Reading, kept: bytes, text: bytes) -> ImportState:
    reader = reading.reader
    return ImportState(
        read=reading.end,
        turns=reader.total,
        odd=reader.odd,
        source=fingerprint(log.stream, reading.end),
        text=text_fingerprint(text),
        kept=len(kept),
        checkpoint=reader.checkpoint,
    )


def _learned(
    log: SessionLog, reader: SessionReader, header: dict[str, object], clock: Callable[[], float]
) -> dict[str, object | None]:
    """Header fields as far as the log says something about them; what the header says already stays."""
    is_over = reader.last is not None and _is_idle(log, clock)
    fields: dict[str, object | None] = {"ended": _iso(reader.last) if is_over and reader.last else None}
    known = {"model": reader.model, "channel": log.kind, "cwd": one_line(reader.cwd, _PATH_LIMIT)}
    fields |= {key: value for key, value in known.items() if value and not header.get(key)}
    if reader.topic and (reader.renamed or not header.get("topic")):
        fields["topic"] = one_line(reader.topic, _TITLE_LIMIT)
    if reader.tokens_in or reader.tokens_out:
        fields |= {"tokens_in": reader.tokens_in, "tokens_out": reader.tokens_out}
    return fields


def _is_idle(log: SessionLog, clock: Callable[[], float]) -> bool:
    return clock() - log.written > IDLE_S


def _last(reader: SessionReader) -> list[str]:
    turn = reader.turns.current
    return [render_turn(turn)] if turn is not None else []


def _joined(body: bytes, parts: Iterable[str]) -> bytes:
    added = "".join(f"\n{part}" for part in parts).encode("utf-8")
    return body + (b"\n" if added and body and not body.endswith(b"\n") else b"") + added


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _as_read(value: object | None) -> object | None:
    return str(value) if isinstance(value, int) else value


def _number(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else 0


def _exists(shown: str) -> bool:
    try:
        return Path(shown).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):
        return False
