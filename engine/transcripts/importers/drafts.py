"""Drafts the transcript of an import without writing it.

The header contains what is only known at the end of the log: counts, the title, fingerprints of the log and
of the body. So finished turns go to a spool, and once the log is read, header and turns are streamed to the
transcript. Reading the log twice instead would need no disk space, but parsing it is nearly all of the work;
and a fixed-size header, filled in at the end, would have to anticipate the length of the title and the
fields. The part of an existing transcript that stays is not spooled but read in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from engine.errors import DocumentError
from engine.redaction.detect import redacted, without_secrets
from engine.store.authorship import other_author
from engine.store.documents import edit_header
from engine.store.spool import Spool
from engine.transcripts.brief import one_line
from engine.transcripts.days import iso, moment
from engine.transcripts.format import parse, render
from engine.transcripts.importers.existing import BodyDigest, BodyWriter, ExistingTranscript
from engine.transcripts.importers.log import SessionLog
from engine.transcripts.importers.merge import Addition, Said, Unseen, find_missing, insert_turns, with_days
from engine.transcripts.importers.scripted import SCRIPT, is_scripted
from engine.transcripts.importers.session import START, Checkpoint, SessionReader, program_in
from engine.transcripts.importers.sibling_logs import MergedLogs, read_merged
from engine.transcripts.importers.state import (
    ALSO_FIELD,
    PROMPTS_FIELD,
    READER,
    SOURCE_FIELD,
    STATE_FIELD,
    FileProgress,
    ImportState,
    fingerprint,
    format_siblings,
    parse_siblings,
    read_state,
    shown_source,
)
from engine.transcripts.injected import below_elements
from engine.transcripts.places import AUTHOR_FIELD, REPOSITORY_FIELD, repository_of, session_path
from engine.transcripts.secrets import REDACTED_FIELD
from engine.transcripts.turn import PLAN, Transcript, Turn

Status = Literal["new", "grown", "unchanged", "skipped", "replaced"]

IDLE_S = 6 * 3600
"""Seconds without a new line after which a session counts as ended."""

TITLE_LIMIT = 72
PATH_LIMIT = 500


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Result of importing one session."""

    source: Path
    target: str = ""  # workspace-relative; empty if there is none
    session_id: str = ""  # empty if the log does not say
    turns_new: int = 0  # turns that were not in the transcript before
    turns_total: int = 0  # turns in the transcript now
    odd_lines: int = 0  # lines of the log that could not be read completely
    status: Status = "unchanged"
    """``replaced`` if the log was truncated or rewritten since the last import: the transcript then keeps all
    its turns and gets the missing ones."""
    why: str = ""  # one clause, if the status needs an explanation
    author: str = ""  # whose session it is, if another person committed the file, or a script held it
    left_out: Mapping[str, int] = field(default_factory=dict, compare=False)
    """What was left out, counted by reason."""
    format: str = field(default="", compare=False)  # the program or layout that wrote the source


@dataclass(frozen=True, slots=True)
class Draft:
    """A transcript to be written by an import, and the result once it is written."""

    result: ImportResult
    content: Callable[[], Iterable[bytes]] | None = None
    """Streams the whole file, from the start on every call; ``None`` if there is nothing to write. Iteration
    raises ``TranscriptChanged`` if the existing transcript has changed since it was read."""


def first_import(log: SessionLog, session_id: str, clock: Callable[[], float], spool: Spool | None) -> Draft:
    """Draft the transcript of a session that has none yet.

    ``clock`` returns seconds since the epoch; ``spool`` is ``None`` for a draft that will not be written.
    """
    turns = BodyWriter(BodyDigest(), spool, redact=log.redact)
    reader = log.read(START, turns.add)
    result = ImportResult(log.path, "", session_id, odd_lines=reader.odd, format=log.kind)
    if not session_id or reader.first is None or not reader.total:
        why = "it has no session id" if reader.total and not session_id else "it has no dialogue yet"
        why = "it is a sub-agent's log" if not reader.total and "sub-agents" in reader.left_out else why
        why = f"nobody but {program} speaks in it" if (program := program_in(reader.cwd)) else why
        return Draft(replace(result, status="skipped", why=why))
    started = reader.first
    named = reader.topic or title_of(reader.question)
    topic = one_line(redacted(named) if log.redact else named, TITLE_LIMIT)
    title = f"\n{render(Transcript('', '', '', '', topic or 'Session', {}, ()))}".encode()
    kept = len(title) + turns.digest.size
    for turn in reader.unfinished:
        turns.add(turn)
    learned = _header_changes(log, reader, {}, clock)

    def content() -> Iterable[bytes]:
        # The title may come at the end of the log, and the fingerprint starts with it.
        text = BodyDigest(itertools.chain([title], turns.added()))
        state = _state(log, reader, kept, text)
        fields: dict[str, object] = {"session_id": session_id, "started": iso(started)}
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
        author=str(learned[AUTHOR_FIELD] or ""),
        left_out=turns.digest.with_redacted(reader.left_out, also=BodyDigest([title]).redacted),
    )
    return Draft(result, content)


def next_import(
    log: SessionLog,
    session_id: str,
    existing: ExistingTranscript,
    clock: Callable[[], float],
    spool: Spool | None,
) -> Draft:
    """Draft the update of a session's existing transcript.

    Existing text is never removed. If a person has edited it, new turns are only added at the end; if the
    start of the log has changed, or the log is not the only source, missing turns are inserted.

    ``clock`` returns seconds since the epoch; ``spool`` is ``None`` for a draft that will not be written.

    Raises:
        TranscriptChanged: Another process has just written the transcript.
    """
    header = existing.header
    if header.get(PROMPTS_FIELD):
        return _take_over(log, session_id, existing, clock)
    state = read_state(header.get(STATE_FIELD))
    unchanged = ImportResult(log.path, existing.path, session_id, format=log.kind)
    if state is None:
        total = len(parse(existing.read(), "").turns)
        return Draft(replace(unchanged, turns_total=total, status="skipped", why=existing.why_left_alone))
    unchanged = replace(unchanged, turns_total=state.turns, odd_lines=state.odd)
    is_first = header.get(SOURCE_FIELD) == shown_source(log.path)
    is_only = not parse_siblings(header) and (is_first or not _exists(header.get(SOURCE_FIELD)))
    if not is_only or not log.continues(state):
        return _merge(log, existing, state, unchanged, clock)
    if state.kept and state.reader < READER and existing.digests(0)[1].fingerprint == state.text:
        return _merge(log, existing, state, unchanged, clock, only_left_out=True)
    if log.size == state.read and (header.get("ended") or not _is_idle(log, clock)):
        return Draft(unchanged)
    final, old = existing.digests(state.kept)
    is_edited = old.fingerprint != state.text
    # Usually the last turn is rewritten; in an edited transcript it must not be touched.
    text = BodyWriter(old if is_edited else final, spool, redact=log.redact)
    unseen = Unseen(() if is_edited else parse(existing.read_from(state.kept), "").turns, redact=log.redact)

    def add(turn: Turn) -> None:
        unseen.see(turn)
        text.add(turn)

    reader = log.read(_end_checkpoint(state, header) if is_edited else state.checkpoint, add)
    kept = text.digest.size
    for turn in reader.unfinished:
        add(turn)
    is_same = text.digest.is_same(old)
    if is_edited and is_same:
        return Draft(unchanged)
    if unseen:
        # The log has lost something, or words it differently: keep what was written.
        return _merge(log, existing, state, unchanged, clock)
    fresh = _state(log, reader, kept, text.digest)
    changes = _header_changes(log, reader, header, clock) | {STATE_FIELD: fresh.written()}
    changes[REDACTED_FIELD] = text.digest.redacted or None
    if not is_first:
        changes[SOURCE_FIELD] = shown_source(log.path)
    try:
        head = edit_header(existing.head, _changed(header, changes), "its transcript")
    except DocumentError as error:
        return Draft(replace(unchanged, status="skipped", why=str(error)))

    def content() -> Iterable[bytes]:
        return itertools.chain([head], existing.read_start(text.kept, old), text.added())

    result = replace(
        unchanged,
        turns_new=fresh.turns - state.turns,
        turns_total=fresh.turns,
        odd_lines=fresh.odd,
        status="unchanged" if is_same else "grown",
        why="the transcript was edited; new turns were added at the end" if is_edited else "",
        left_out=text.digest.with_redacted(reader.left_out),
    )
    return Draft(result, None if is_same and head == existing.head else content)


def _merge(
    log: SessionLog,
    existing: ExistingTranscript,
    state: ImportState,
    unchanged: ImportResult,
    clock: Callable[[], float],
    *,
    only_left_out: bool = False,
) -> Draft:
    """Insert the turns missing from a transcript that has another source, or whose log was rewritten.

    ``unchanged`` is the result if nothing changes; ``clock`` returns seconds since the epoch. With
    ``only_left_out``, only user messages and plans are inserted, which an older version left out of this log.
    """
    header, shown = existing.header, shown_source(log.path)
    also = parse_siblings(header)
    first = str(header.get(SOURCE_FIELD) or "")
    is_first = shown == first or (shown not in also and not _exists(first) and log.continues(state))
    known = FileProgress(state.read, state.source) if is_first else also.get(shown)
    if not only_left_out and known == FileProgress(log.size, fingerprint(log.stream, log.size)):
        return Draft(replace(unchanged, why="" if is_first else f"already fully imported with {first}"))
    from_other_format = not state.checkpoint.offset and not state.kept
    others = [path for path in (first, *also) if path and path != shown]
    union = read_merged(log, () if from_other_format else others)
    wanted = [turn for turn in union.turns if not only_left_out or turn.role == "user" or turn.kind == PLAN]
    merged = insert_missing(existing, wanted, loose=from_other_format or only_left_out, redact=log.redact)
    changes = _header_changes(log, union.reader, header, clock)
    if str(changes.get("ended") or "") < str(header.get("ended") or ""):
        del changes["ended"]
    for name in ("tokens_in", "tokens_out"):
        changes[name] = max(_number(str(changes.get(name) or "")), _number(header.get(name))) or None
    main = shown if is_first else first
    fresh = replace(
        state,
        turns=merged.total,
        odd=max(union.odd, state.odd),
        text=merged.digest.fingerprint,
        kept=0 if from_other_format else merged.digest.size,
    )
    progress = union.progress.get(main)
    if progress is not None:
        since = _checkpoint_after(progress, union, merged.total)
        fresh = replace(fresh, read=progress.read, source=progress.source, checkpoint=since, reader=READER)
    changes |= {REDACTED_FIELD: merged.digest.redacted or None, STATE_FIELD: fresh.written()}
    if is_first:
        changes[SOURCE_FIELD] = shown
    listed = also | {path: each for path, each in union.progress.items() if path != main}
    if listed:
        changes[ALSO_FIELD] = format_siblings(listed)
    status: Status = "grown" if merged.added else "unchanged"
    if only_left_out:
        why = "added user messages that an earlier version had left out" if merged.added else ""
    elif not is_first:
        why = sibling_note(first, merged.added)
    elif log.continues(state):
        why = ""
    else:
        why = "the log was truncated or rewritten; the transcript was kept and missing turns were inserted"
        status = "replaced"
    result = replace(
        unchanged,
        turns_new=merged.added,
        turns_total=merged.total,
        odd_lines=fresh.odd,
        status=status,
        why=why,
        left_out=merged.digest.with_redacted(union.reader.left_out),
    )
    return merged.draft(existing, _changed(header, changes), result, unchanged)


def _take_over(
    log: SessionLog, session_id: str, existing: ExistingTranscript, clock: Callable[[], float]
) -> Draft:
    """Draft the transcript of a log of whose session only the prompts were known, which it keeps if the log
    lacks them.
    """
    old = existing.read()
    known = parse(old, "")
    union = read_merged(log, ())
    unchanged = ImportResult(
        log.path, existing.path, session_id, turns_total=len(known.turns), format=log.kind
    )
    if not union.turns:
        return Draft(replace(unchanged, status="skipped", why="it has no dialogue yet"))
    said = Said([turn.text for turn in map(log.clean, union.turns) if turn.role == "user"])
    started = moment(known.started)
    left = [turn for turn in with_days(known.turns, started) if not said.take(turn.text)]
    title = f"\n{render(Transcript('', '', '', '', known.title, {}, ()))}".encode()
    body = insert_turns(title, [Addition(0, log.clean(turn)) for turn in union.turns], started)
    body = insert_turns(body, find_missing(parse(body, "").turns, left, started), started)
    digest, total = BodyDigest([body]), len(union.turns) + len(left)
    (progress,) = union.progress.values()
    state = ImportState(
        progress.read,
        total,
        union.odd,
        progress.source,
        digest.fingerprint,
        digest.size,
        _checkpoint_after(progress, union, total),
        READER,
    )
    changes = _header_changes(log, union.reader, existing.header, clock) | {
        PROMPTS_FIELD: None,
        SOURCE_FIELD: shown_source(log.path),
        STATE_FIELD: state.written(),
        REDACTED_FIELD: digest.redacted or None,
    }
    added = total - len(known.turns)
    result = replace(
        unchanged,
        turns_new=added,
        turns_total=total,
        odd_lines=union.odd,
        status="grown",
        left_out=digest.with_redacted(union.reader.left_out),
    )
    return Merged(old, body, digest, added, total).draft(
        existing, _changed(existing.header, changes), result, unchanged
    )


def _checkpoint_after(progress: FileProgress, union: MergedLogs, turns: int) -> Checkpoint:
    """The checkpoint at the end of what was read of a file."""
    return Checkpoint(
        progress.read,
        turns=turns,
        odd=union.odd,
        tokens_in=union.reader.tokens_in,
        tokens_out=union.reader.tokens_out,
    )


@dataclass(frozen=True, slots=True)
class Merged:
    """A transcript with its missing turns inserted."""

    old: bytes  # the whole file as it was
    body: bytes  # the new text below the header
    digest: BodyDigest  # of ``body``
    added: int  # number of inserted turns
    total: int  # number of turns now

    def draft(
        self,
        existing: ExistingTranscript,
        changes: Mapping[str, object | None],
        result: ImportResult,
        unchanged: ImportResult,
    ) -> Draft:
        """Draft the file with a changed header; ``unchanged`` is the result if it cannot be edited."""
        try:
            head = edit_header(existing.head, changes, "its transcript")
        except DocumentError as error:
            return Draft(replace(unchanged, status="skipped", why=str(error)))

        def content() -> Iterator[bytes]:
            existing.check_unchanged(self.old)
            yield head
            yield self.body

        return Draft(result, None if head + self.body == self.old else content)


def insert_missing(
    existing: ExistingTranscript, wanted: Sequence[Turn], *, loose: bool, redact: bool
) -> Merged:
    """Insert the turns that a transcript lacks; ``loose`` and ``redact`` as in ``merge.find_missing``."""
    old = existing.read()
    started = moment(existing.header.get("started"))
    present = parse(old, "").turns
    added = find_missing(present, wanted, started, loose=loose, redact=redact)
    body = insert_turns(old, added, started)[len(existing.head) :]
    return Merged(old, body, BodyDigest([body]), len(added), len(present) + len(added))


def sibling_note(first: object, added: int) -> str:
    """Explain the result of importing another file of an imported session."""
    return f"added turns that are not in {first}" if added else f"already imported from {first}"


def title_of(opening: str) -> str:
    """The title of a session that starts with ``opening``: its first line without Markdown markers, in which
    a fence or a block of a program is none.
    """
    lines = below_elements(opening).strip().split("\n")
    first = next((line for line in lines if not line.startswith("```")), "")
    return first.lstrip("#>*•- ")


def _changed(header: Mapping[str, object], changes: Mapping[str, object | None]) -> dict[str, object | None]:
    return {key: value for key, value in changes.items() if header.get(key) != _as_read(value)}


def _end_checkpoint(state: ImportState, header: Mapping[str, object]) -> Checkpoint:
    """Checkpoint at the end of what was read, for a transcript whose last turn must not be touched."""
    return Checkpoint(
        state.read,
        turns=state.turns,
        odd=state.odd,
        tokens_in=_number(header.get("tokens_in")),
        tokens_out=_number(header.get("tokens_out")),
    )


def _state(log: SessionLog, reader: SessionReader, kept: int, text: BodyDigest) -> ImportState:
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


def _header_changes(
    log: SessionLog, reader: SessionReader, header: Mapping[str, object], clock: Callable[[], float]
) -> dict[str, object | None]:
    """Header fields learned from the log, without those the header already has."""
    # The modification time of a copied log is that of the copy, so its last entry counts too.
    is_over = reader.last is not None and (_is_idle(log, clock) or clock() - reader.last.timestamp() > IDLE_S)
    fields: dict[str, object | None] = {"ended": iso(reader.last) if is_over and reader.last else None}
    known = {"model": reader.model, "channel": log.kind, "cwd": one_line(reader.cwd, PATH_LIMIT)}
    known[REPOSITORY_FIELD] = repository_of(reader.cwd or str(header.get("cwd") or ""), reader.remote)
    fields |= {key: value for key, value in known.items() if value and not header.get(key)}
    if header.get(AUTHOR_FIELD, SCRIPT) == SCRIPT:
        # A log may lie in a repository, too, committed by anybody.
        author = one_line(other_author(log.path))
        fields[AUTHOR_FIELD] = author or (SCRIPT if is_scripted(log) else None)
    if reader.topic and (reader.renamed or not header.get("topic")):
        fields["topic"] = one_line(reader.topic, TITLE_LIMIT)
    if reader.tokens_in or reader.tokens_out:
        fields |= {"tokens_in": reader.tokens_in, "tokens_out": reader.tokens_out}
    return without_secrets(fields) if log.redact else fields


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
