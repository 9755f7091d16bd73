"""Drafts the transcript of an import without writing it.

A header says what is only known at the end of the log: counts, the title, fingerprints of the log and of the
text below it. So turns go to a spool as they are finished, and once the log is read, header and turns go to
the transcript in one stream. Reading the log a second time instead would need no room on the disk, but
parsing it is nearly all of the work; and a header of a fixed size, filled in at the end, would have to know
how long the title and the fields become. What stays of an earlier transcript is not spooled but read where
it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from engine.errors import DocumentError
from engine.redaction.detect import redacted
from engine.store.documents import edit_header
from engine.store.spool import Spool
from engine.transcripts.brief import one_line
from engine.transcripts.days import iso, moment
from engine.transcripts.format import parse, render
from engine.transcripts.importers.earlier import Earlier
from engine.transcripts.importers.log import SessionLog
from engine.transcripts.importers.merge import Unseen, inserted, missing
from engine.transcripts.importers.second import ALSO_FIELD, Taken, also_taken, also_written, read_together
from engine.transcripts.importers.session import START, Checkpoint, SessionReader
from engine.transcripts.importers.state import (
    READER,
    SOURCE_FIELD,
    STATE_FIELD,
    ImportState,
    fingerprint,
    read_state,
    shown_source,
)
from engine.transcripts.importers.text import Measured, NewText
from engine.transcripts.places import session_path
from engine.transcripts.secrets import REDACTED_FIELD
from engine.transcripts.turn import PLAN, Transcript, Turn

Status = Literal["new", "grown", "unchanged", "skipped", "replaced"]

IDLE_S = 6 * 3600
"""Seconds without a new line after which a session counts as ended."""

LIVE = "the session has a transcript that was captured live"
TITLE_LIMIT = 72
PATH_LIMIT = 500


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Result of importing one session."""

    source: Path
    target: str = ""  # workspace-relative; empty when there is none
    session_id: str = ""  # empty when the log does not say
    turns_new: int = 0  # turns that were not in the transcript before
    turns_total: int = 0  # turns in the transcript now
    odd_lines: int = 0  # lines of the log that could not be read, or only in part
    status: Status = "unchanged"
    """``replaced`` when the log was cut or rewritten since the last import: the transcript then keeps what it
    has and gets what it lacks."""
    why: str = ""  # one clause, where the status does not say it all
    left_out: Mapping[str, int] = field(default_factory=dict, compare=False)
    """What was left out, counted by reason."""
    format: str = field(default="", compare=False)  # the program or layout that wrote the source


@dataclass(frozen=True, slots=True)
class Draft:
    """A transcript to be written by an import, and the result once it is written."""

    result: ImportResult
    content: Callable[[], Iterable[bytes]] | None = None
    """Gives the whole file piece by piece, each time anew; ``None`` when there is nothing to write. A piece
    can raise ``Changed`` when the transcript it goes on from is not what it was."""


def first_import(log: SessionLog, session_id: str, clock: Callable[[], float], spool: Spool | None) -> Draft:
    """The transcript of a log that has none yet.

    ``clock`` gives seconds since the epoch; ``spool`` is ``None`` for a draft that will not be written.
    """
    turns = NewText(Measured(), spool, redact=log.redact)
    reader = log.read(START, turns.add)
    result = ImportResult(log.path, "", session_id, odd_lines=reader.odd, format=log.kind)
    if not session_id or reader.first is None or not reader.total:
        why = "it has no session id" if reader.total and not session_id else "it has no dialogue yet"
        why = "it is a sub-agent's" if not reader.total and "sub-agents" in reader.left_out else why
        return Draft(replace(result, status="skipped", why=why))
    started = reader.first
    named = reader.topic or title_of(reader.question)
    topic = one_line(redacted(named) if log.redact else named, TITLE_LIMIT)
    title = f"\n{render(Transcript('', '', '', '', topic or 'Session', {}, ()))}".encode()
    kept = len(title) + turns.measured.size
    for turn in reader.unfinished:
        turns.add(turn)

    def content() -> Iterable[bytes]:
        # The title can be the last thing a log says, and the fingerprint begins with it.
        text = Measured(itertools.chain([title], turns.added()))
        state = _state(log, reader, kept, text)
        fields: dict[str, object] = {"session_id": session_id, "started": iso(started)}
        learned = _learned(log, reader, {}, clock)
        fields |= {key: value for key, value in learned.items() if value is not None}
        fields |= {REDACTED_FIELD: text.redacted} if text.redacted else {}
        fields |= {"tags": [], SOURCE_FIELD: shown_source(log.path), STATE_FIELD: state.written()}
        head = render(Transcript("", "", "", "", "", fields, ())).encode("utf-8")
        return itertools.chain([head, title], turns.added())

    result = replace(
        result,
        target=session_path(session_id, started, topic),
        turns_new=reader.total,
        turns_total=reader.total,
        status="new",
        left_out=turns.measured.counted(reader.left_out, also=Measured([title]).redacted),
    )
    return Draft(result, content)


def next_import(
    log: SessionLog, session_id: str, earlier: Earlier, clock: Callable[[], float], spool: Spool | None
) -> Draft:
    """The transcript of a log that has one.

    Existing text is never removed. If a person has edited it, or the start of the log has changed, only what
    is missing is added at the end.

    ``clock`` gives seconds since the epoch; ``spool`` is ``None`` for a draft that will not be written.

    Raises:
        Changed: Another process has just written the transcript.
    """
    header = earlier.header
    state = read_state(header.get(STATE_FIELD))
    same = ImportResult(log.path, earlier.path, session_id, format=log.kind)
    if state is None:
        total = len(parse(earlier.whole(), "").turns)
        return Draft(replace(same, turns_total=total, status="skipped", why=LIVE))
    same = replace(same, turns_total=state.turns, odd_lines=state.odd)
    is_first = header.get(SOURCE_FIELD) == shown_source(log.path)
    is_only = not also_taken(header) and (is_first or not _exists(header.get(SOURCE_FIELD)))
    if not is_only or not log.holds(state):
        return _merged(log, earlier, state, same, clock)
    if state.kept and state.reader < READER and earlier.measured(0)[1].fingerprint == state.text:
        return _merged(log, earlier, state, same, clock, only_said=True)
    if log.size == state.read and (header.get("ended") or not _is_idle(log, clock)):
        return Draft(same)
    final, old = earlier.measured(state.kept)
    is_edited = old.fingerprint != state.text
    # In the usual case the last turn is written anew; of an edited transcript it is not to be touched.
    text = NewText(old if is_edited else final, spool, redact=log.redact)
    unseen = Unseen(() if is_edited else parse(earlier.after(state.kept), "").turns, redact=log.redact)

    def add(turn: Turn) -> None:
        unseen.see(turn)
        text.add(turn)

    reader = log.read(_after(state, header) if is_edited else state.checkpoint, add)
    kept = text.measured.size
    for turn in reader.unfinished:
        add(turn)
    is_same = text.measured.is_same(old)
    if is_edited and is_same:
        return Draft(same)
    if unseen:
        # The log has lost something, or says it in another way: what was written stays.
        return _merged(log, earlier, state, same, clock)
    fresh = _state(log, reader, kept, text.measured)
    changes = _learned(log, reader, header, clock) | {STATE_FIELD: fresh.written()}
    changes[REDACTED_FIELD] = text.measured.redacted or None
    if not is_first:
        changes[SOURCE_FIELD] = shown_source(log.path)
    try:
        head = edit_header(earlier.head, _news(header, changes), "its transcript")
    except DocumentError as error:
        return Draft(replace(same, status="skipped", why=str(error)))

    def content() -> Iterable[bytes]:
        return itertools.chain([head], earlier.beginning(text.kept, old), text.added())

    result = replace(
        same,
        turns_new=fresh.turns - state.turns,
        turns_total=fresh.turns,
        odd_lines=fresh.odd,
        status="unchanged" if is_same else "grown",
        why="the transcript was edited; new turns were added at the end" if is_edited else "",
        left_out=text.measured.counted(reader.left_out),
    )
    return Draft(result, None if is_same and head == earlier.head else content)


def _merged(
    log: SessionLog,
    earlier: Earlier,
    state: ImportState,
    same: ImportResult,
    clock: Callable[[], float],
    *,
    only_said: bool = False,
) -> Draft:
    """A transcript with what it lacks of a log that it was not made from, or that was rewritten.

    ``same`` is the result where nothing changes; ``clock`` gives seconds since the epoch. ``only_said`` puts
    in the person's words and plans only: an earlier reader left them out of this very log.
    """
    header, shown = earlier.header, shown_source(log.path)
    also = also_taken(header)
    first = str(header.get(SOURCE_FIELD) or "")
    is_first = shown == first or (shown not in also and not _exists(first) and log.holds(state))
    known = Taken(state.read, state.source) if is_first else also.get(shown)
    if not only_said and known == Taken(log.size, fingerprint(log.stream, log.size)):
        return Draft(replace(same, why="" if is_first else f"already imported in full, along with {first}"))
    is_retold = not state.checkpoint.offset and not state.kept
    others = [path for path in (first, *also) if path and path != shown]
    union = read_together(log, () if is_retold else others)
    wanted = [turn for turn in union.turns if not only_said or turn.role == "user" or turn.kind == PLAN]
    merged = put_in(earlier, wanted, retold=is_retold or only_said, redact=log.redact)
    changes = _learned(log, union.reader, header, clock)
    if str(changes.get("ended") or "") < str(header.get("ended") or ""):
        del changes["ended"]
    for name in ("tokens_in", "tokens_out"):
        changes[name] = max(_number(str(changes.get(name) or "")), _number(header.get(name))) or None
    made_from = shown if is_first else first
    fresh = replace(
        state,
        turns=merged.total,
        odd=max(union.odd, state.odd),
        text=merged.measured.fingerprint,
        kept=0 if is_retold else merged.measured.size,
    )
    taken = union.taken.get(made_from)
    if taken is not None:
        since = Checkpoint(
            taken.read,
            turns=merged.total,
            odd=union.odd,
            tokens_in=union.reader.tokens_in,
            tokens_out=union.reader.tokens_out,
        )
        fresh = replace(fresh, read=taken.read, source=taken.source, checkpoint=since, reader=READER)
    changes |= {REDACTED_FIELD: merged.measured.redacted or None, STATE_FIELD: fresh.written()}
    if is_first:
        changes[SOURCE_FIELD] = shown
    listed = also | {path: each for path, each in union.taken.items() if path != made_from}
    if listed:
        changes[ALSO_FIELD] = also_written(listed)
    status: Status = "grown" if merged.added else "unchanged"
    if only_said:
        why = "added user messages that an earlier version had left out" if merged.added else ""
    elif not is_first:
        why = beside(first, merged.added)
    elif log.holds(state):
        why = ""
    else:
        why = "the log was cut or rewritten; the transcript was kept and missing turns were inserted"
        status = "replaced"
    result = replace(
        same,
        turns_new=merged.added,
        turns_total=merged.total,
        odd_lines=fresh.odd,
        status=status,
        why=why,
        left_out=merged.measured.counted(union.reader.left_out),
    )
    return merged.draft(earlier, _news(header, changes), result, same)


@dataclass(frozen=True, slots=True)
class Merged:
    """A transcript with what it lacked put in."""

    old: bytes  # the whole file as it was
    body: bytes  # the text below the header
    measured: Measured  # of that
    added: int  # turns put in
    total: int  # turns now

    def draft(
        self, earlier: Earlier, changes: Mapping[str, object | None], result: ImportResult, same: ImportResult
    ) -> Draft:
        """The transcript with changes of its header, too; ``same`` is the result where these cannot be."""
        try:
            head = edit_header(earlier.head, changes, "its transcript")
        except DocumentError as error:
            return Draft(replace(same, status="skipped", why=str(error)))

        def content() -> Iterator[bytes]:
            earlier.refuse_changed(self.old)
            yield head
            yield self.body

        return Draft(result, None if head + self.body == self.old else content)


def put_in(earlier: Earlier, wanted: Sequence[Turn], *, retold: bool, redact: bool) -> Merged:
    """A transcript with what it lacks of some turns; the arguments are those of ``merge.missing``."""
    old = earlier.whole()
    started = moment(earlier.header.get("started"))
    present = parse(old, "").turns
    added = missing(present, wanted, started, retold=retold, redact=redact)
    body = inserted(old, added, started)[len(earlier.head) :]
    return Merged(old, body, Measured([body]), len(added), len(present) + len(added))


def beside(first: object, added: int) -> str:
    """Explains the result of importing a further file of a session."""
    return f"missing from the import of {first}" if added else f"already imported from {first}"


def title_of(opening: str) -> str:
    """A session's title, made from its opening words."""
    return opening.strip().partition("\n")[0].lstrip("#>*•- ")


def _news(header: Mapping[str, object], changes: Mapping[str, object | None]) -> dict[str, object | None]:
    return {key: value for key, value in changes.items() if header.get(key) != _as_read(value)}


def _after(state: ImportState, header: Mapping[str, object]) -> Checkpoint:
    """Where reading goes on when the last turn is not to be touched."""
    return Checkpoint(
        state.read,
        turns=state.turns,
        odd=state.odd,
        tokens_in=_number(header.get("tokens_in")),
        tokens_out=_number(header.get("tokens_out")),
    )


def _state(log: SessionLog, reader: SessionReader, kept: int, text: Measured) -> ImportState:
    return ImportState(
        read=reader.end,
        turns=reader.total,
        odd=reader.odd,
        source=fingerprint(log.stream, reader.end),
        text=text.fingerprint,
        kept=kept,
        checkpoint=reader.checkpoint,
        reader=READER,
    )


def _learned(
    log: SessionLog, reader: SessionReader, header: Mapping[str, object], clock: Callable[[], float]
) -> dict[str, object | None]:
    """Header fields as far as the log says something about them; what the header says already stays."""
    # A copy of a log is as young as the copy: what was last said in it tells more.
    is_over = reader.last is not None and (_is_idle(log, clock) or clock() - reader.last.timestamp() > IDLE_S)
    fields: dict[str, object | None] = {"ended": iso(reader.last) if is_over and reader.last else None}
    known = {"model": reader.model, "channel": log.kind, "cwd": one_line(reader.cwd, PATH_LIMIT)}
    fields |= {key: value for key, value in known.items() if value and not header.get(key)}
    if reader.topic and (reader.renamed or not header.get("topic")):
        named = redacted(reader.topic) if log.redact else reader.topic
        fields["topic"] = one_line(named, TITLE_LIMIT)
    if reader.tokens_in or reader.tokens_out:
        fields |= {"tokens_in": reader.tokens_in, "tokens_out": reader.tokens_out}
    return fields


def _is_idle(log: SessionLog, clock: Callable[[], float]) -> bool:
    return clock() - log.written > IDLE_S


def _as_read(value: object | None) -> object | None:
    return str(value) if isinstance(value, int) else value


def _number(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else 0


def _exists(shown: object) -> bool:
    try:
        return isinstance(shown, str) and Path(shown).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):
        return False
