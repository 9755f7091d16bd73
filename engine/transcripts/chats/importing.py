"""Imports files of complete conversations into transcripts; idempotent."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from engine.errors import AutopoiesisError, ImportFailed
from engine.redaction.detect import redacted, without_secrets
from engine.store.authorship import first_committed, other_author, person
from engine.store.files import Files
from engine.store.paths import valid_session_id
from engine.transcripts.brief import one_line
from engine.transcripts.chats import databases
from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.last_resort import digest_of, prompts_left
from engine.transcripts.chats.read import identity_of, read_chats, why_empty
from engine.transcripts.days import iso
from engine.transcripts.format import parse, render
from engine.transcripts.importers.drafts import (
    IDLE_S,
    PATH_LIMIT,
    TITLE_LIMIT,
    Draft,
    ImportResult,
    insert_missing,
    sibling_note,
    title_of,
)
from engine.transcripts.importers.existing import BodyDigest, ExistingTranscript
from engine.transcripts.importers.lines import opened
from engine.transcripts.importers.merge import with_days
from engine.transcripts.importers.run import write_import
from engine.transcripts.importers.scripted import SCRIPT
from engine.transcripts.importers.session import START, text_of
from engine.transcripts.importers.state import (
    ALSO_FIELD,
    PROMPTS_FIELD,
    SOURCE_FIELD,
    STATE_FIELD,
    FileProgress,
    ImportState,
    KnownSessions,
    format_siblings,
    parse_siblings,
    read_state,
    shown_source,
)
from engine.transcripts.places import AUTHOR_FIELD, REPOSITORY_FIELD, repository_of, session_path
from engine.transcripts.secrets import REDACTED_FIELD, clean_turn
from engine.transcripts.turn import Transcript, Turn

UNKNOWN_SPEAKERS = "could not tell who speaks; the file is kept unchanged"
"""Why a file whose speakers cannot be told apart is skipped."""

_UNKNOWN_DATABASE = "it is the database of a program that is not known, or damaged"

_DERIVED = re.compile(r"[a-z-]+-[0-9a-f]{16}(?:-\d+)?")
"""A session id that was derived from the beginning of a conversation."""

_NAMED = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)(?:[T_ -](?P<hour>\d\d)[-.:h_]?(?P<minute>\d\d))?(?!\d)")
"""The start of the name of a file that names the day of its conversation."""
_LONGEST = timedelta(days=1)

ACCOUNT = "account "
"""In a header, what stands before the account of another person that a conversation was held with."""
_MAX_ACCOUNTS = 1024 * 1024

_MAX_BYTES = 512 * 1024 * 1024
"""Larger files are refused."""


@dataclass(frozen=True, slots=True)
class _File:
    """A source file."""

    path: Path
    shown: str  # the path as written in transcript headers
    taken: FileProgress  # size and fingerprint
    written: datetime  # time of the last write
    is_idle: bool  # True if not written to for a while
    is_whole: bool = True  # False for one of several conversations in the file
    accounts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The address and name of each account in the export that the file is of, by its id."""


def import_chats(
    source: Path,
    files: Files,
    known: KnownSessions,
    *,
    dry_run: bool = False,
    clock: Callable[[], float],
    redact: bool = True,
) -> Iterator[ImportResult]:
    """Import the conversations in a file, one result each. Existing transcript text never changes.

    Args:
        known: Earlier imports; the caller adds new sessions to it.
        clock: Seconds since the epoch.
        redact: Replace likely keys and passwords with ``[secret]``.

    Raises:
        ImportFailed: The file cannot be read.
        WriteFailed, ReadOnly: A transcript could not be written.
    """
    with opened(source) as stream:
        data = stream.read(_MAX_BYTES + 1) or b""
        written = source.stat().st_mtime
    if len(data) > _MAX_BYTES:
        raise ImportFailed(f"is larger than {_MAX_BYTES >> 20} MB", where=str(source), hint="split it")
    data = databases.with_log(data, source)
    taken = FileProgress(len(data), hashlib.sha256(data).hexdigest()[:16])
    at = datetime.fromtimestamp(written, UTC)
    is_idle = clock() - written > IDLE_S
    file = _File(source, shown_source(source), taken, at, is_idle, accounts=_accounts(source))
    entries = known.sources.get(file.shown, [])
    # Whose a conversation is may have been told meanwhile.
    is_own = not any(entry.author not in ("", SCRIPT) for entry in entries) or bool(other_author(source))
    if entries and is_own and all(entry.progress == taken for entry in entries):
        for entry in entries:
            yield ImportResult(source, entry.path, entry.session_id, turns_total=entry.turns)
        return
    chats = read_chats(data, str(source))
    if not chats:
        unknown = _UNKNOWN_DATABASE if data.startswith(databases.MAGIC) else UNKNOWN_SPEAKERS
        why = databases.why_log_alone(data, source) or why_empty(data, str(source)) or unknown
        yield ImportResult(source, status="skipped", why=why)
    is_history = any(chat.prompts_only for chat in chats)
    if is_history:
        chats = tuple(each.chat for each in prompts_left(chats, source, known))
    for chat in chats:
        if len(chats) > 1 or is_history:
            # Per conversation, so that a grown file does not change transcripts of unchanged conversations.
            file = replace(file, taken=FileProgress(taken.read, digest_of(chat)), is_whole=False)
        if is_history and chat.ended is not None:
            file = replace(file, is_idle=clock() - chat.ended.timestamp() > IDLE_S)
        yield _import(file, chat, files, known, dry_run=dry_run, redact=redact)


def _session_id_of(chat: Chat, known: KnownSessions) -> str:
    """The session id of a conversation: from the file, else derived from its beginning.

    Without dates only the words tell, as a chat may be exported under another title; earlier transcripts have
    an id of both.
    """
    if not chat.session_id:
        titled = identity_of(chat)
        is_titled = chat.started is not None or titled in known.transcripts
        return titled if is_titled else identity_of(replace(chat, title=""))
    if valid_session_id(chat.session_id):
        return chat.session_id.lower()
    return f"{chat.format}-{hashlib.sha256(chat.session_id.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _import(
    file: _File, chat: Chat, files: Files, known: KnownSessions, *, dry_run: bool, redact: bool
) -> ImportResult:
    session_id = _session_id_of(chat, known)
    if redact:
        chat = replace(chat, turns=tuple(map(clean_turn, chat.turns)), title=redacted(chat.title))
    if not chat.session_id:
        earlier = _earlier_id(file, chat, files, known)
        session_id = earlier or _own_id(session_id, file, chat, files, known)
    elif session_id not in known.transcripts:
        session_id = _earlier_id(file, chat, files, known) or session_id
    result = ImportResult(file.path, "", session_id, left_out=chat.left_out, format=chat.format)

    def draft_of(existing: ExistingTranscript | None, _spool: object) -> Draft:
        if existing is None:
            return _new_draft(file, chat, result, redact=redact)
        return _updated_draft(file, chat, existing, replace(result, target=existing.path), redact=redact)

    return write_import(files, file.path, session_id, known.transcripts.get, draft_of, dry_run=dry_run)


def _own_id(session_id: str, file: _File, chat: Chat, files: Files, known: KnownSessions) -> str:
    """The id of a conversation that names none: that of its beginning, with a number if another conversation
    with the same beginning has it.
    """
    for number in itertools.count(1):
        name = session_id if number == 1 else f"{session_id}-{number}"
        path = known.transcripts.get(name)
        if path is None:
            return name
        transcript = _read(path, files)
        if transcript is None:
            return name
        sources = (transcript.header.get(SOURCE_FIELD), *parse_siblings(transcript.header))
        if (file.is_whole and file.shown in sources) or _is_same(transcript.turns, chat.turns):
            return name
    raise AssertionError("unreachable")


def _earlier_id(file: _File, chat: Chat, files: Files, known: KnownSessions) -> str:
    """The id under which the same conversation was imported from the file when its own was not found in it,
    as by an earlier version; empty if it was not.
    """
    entries = known.sources.get(file.shown, [])
    if not file.is_whole or len(entries) != 1 or not _DERIVED.fullmatch(entries[0].session_id):
        return ""
    transcript = _read(entries[0].path, files)
    turns = transcript.turns if transcript is not None else ()
    is_alike = bool(chat.opening) and any(turn.text == chat.opening for turn in turns)
    return entries[0].session_id if is_alike and _is_same(turns, chat.turns) else ""


def _read(path: str, files: Files) -> Transcript | None:
    try:
        return parse(files.read(path, limit=None), path)
    except (FileNotFoundError, AutopoiesisError):
        return None


def _new_draft(file: _File, chat: Chat, result: ImportResult, *, redact: bool) -> Draft:
    started = chat.started or _assumed_start(file, chat)
    title = one_line(chat.title or title_of(chat.opening), TITLE_LIMIT)
    body = f"\n{render(Transcript('', '', '', '', title or 'Session', {}, chat.turns))}".encode()
    digest = BodyDigest([body])
    total = len(chat.turns)
    state = ImportState(file.taken.read, total, 0, file.taken.source, digest.fingerprint, 0, START)
    ended = iso(max(chat.ended or _assumed_end(file, started), started)) if file.is_idle else ""
    cwd = chat.cwd or _history_folder(file.path)
    author = _author(file, chat)
    about = {
        AUTHOR_FIELD: author,
        "ended": ended,
        "model": chat.model,
        "channel": chat.format,
        "cwd": one_line(cwd, PATH_LIMIT),
        REPOSITORY_FIELD: repository_of(cwd),
        "topic": title if chat.title else "",
        REDACTED_FIELD: digest.redacted,
        PROMPTS_FIELD: chat.prompts_only,
    }
    fields: dict[str, object] = {"session_id": result.session_id, "started": iso(started)}
    fields |= {key: without_secrets(value) if redact else value for key, value in about.items() if value}
    fields |= {"tags": [], SOURCE_FIELD: file.shown, STATE_FIELD: state.written()}
    head = render(Transcript("", "", "", "", "", fields, ())).encode()
    result = replace(
        result,
        target=session_path(result.session_id, started, title),
        turns_new=total,
        turns_total=total,
        status="new",
        author=author,
        left_out=digest.with_redacted(chat.left_out),
    )
    return Draft(result, lambda: [head, body])


def _updated_draft(
    file: _File, chat: Chat, existing: ExistingTranscript, same: ImportResult, *, redact: bool
) -> Draft:
    """The update of an existing transcript: missing turns are added, and nothing is removed.

    ``same`` is the result if nothing changes.
    """
    header = existing.header
    same = replace(same, turns_total=len(parse(existing.read(), "").turns))
    state = read_state(header.get(STATE_FIELD))
    if state is None:
        return Draft(replace(same, status="skipped", why=existing.why_left_alone))
    is_first = header.get(SOURCE_FIELD) == file.shown
    also = parse_siblings(header)
    known = FileProgress(state.read, state.source) if is_first else also.get(file.shown)
    author, before = _author(file, chat), str(header.get(AUTHOR_FIELD) or "")
    is_now_own = bool(before) and before != SCRIPT and not author and is_first and not also
    if known is not None and known.source == file.taken.source and not is_now_own:
        return Draft(same)
    wanted = with_days(chat.turns, chat.started)
    if author and not before and not is_first:
        # Neither may another's words become the person's, nor the person's own be taken for another's.
        return Draft(
            replace(same, status="skipped", why=f"{author} has written to it, and the session is yours")
        )
    merged = insert_missing(existing, wanted, loose=header.get("channel") != chat.format, redact=redact)
    state = replace(state, turns=merged.total, text=merged.digest.fingerprint)
    if is_first:
        state = replace(state, read=file.taken.read, source=file.taken.source)
    else:
        also[file.shown] = file.taken
    changes: dict[str, object | None] = {
        STATE_FIELD: state.written(),
        REDACTED_FIELD: merged.digest.redacted or None,
    }
    if is_now_own or (author and not before):
        changes[AUTHOR_FIELD] = author or None
    if also:
        changes[ALSO_FIELD] = format_siblings(also)
    ended = iso(chat.ended or _assumed_end(file, chat.started or _assumed_start(file, chat)))
    if file.is_idle and is_first and ended > str(header.get("ended") or ""):
        changes["ended"] = ended
    result = replace(
        same,
        turns_new=merged.total if is_now_own else merged.added,  # what teaches nothing is as if not there
        turns_total=merged.total,
        status="grown" if merged.added or is_now_own else "unchanged",
        why="" if is_first else sibling_note(header.get(SOURCE_FIELD), merged.added),
        author=author,
        left_out=merged.digest.with_redacted(chat.left_out),
    )
    return merged.draft(existing, changes, result, same)


def _author(file: _File, chat: Chat) -> str:
    """Who else committed a conversation, or has the account that it was held with; empty if it is the
    person's.
    """
    if author := one_line(other_author(file.path)):
        return author
    only = next(iter(file.accounts.values())) if len(file.accounts) == 1 else (chat.account, "")
    account, name = file.accounts.get(chat.account, only)
    is_named = bool(file.accounts) or chat.format == "copilot"
    is_other = is_named and person(Path.home()).is_clearly_not(account, name)
    return one_line(f"{ACCOUNT}{account}") if is_other else ""


def _accounts(source: Path) -> dict[str, tuple[str, str]]:
    """The accounts that an export of ChatGPT or Claude.ai names beside its conversations."""
    found: dict[str, tuple[str, str]] = {}
    for name in ("user.json", "users.json") if source.name.startswith("conversations") else ():
        with contextlib.suppress(ImportFailed, ValueError, RecursionError):
            with opened(source.with_name(name)) as stream:
                listed = json.loads(stream.read(_MAX_ACCOUNTS) or b"")
            for each in listed if isinstance(listed, list) else [listed]:
                address = text_of(each, "email") or text_of(each, "email_address")
                key = text_of(each, "uuid") or text_of(each, "id")
                found |= {key: (address, text_of(each, "full_name"))} if address else {}
    return found


def _history_folder(path: Path) -> str:
    """The project folder of a history that does not name it but lies in it; empty for others."""
    above = path.absolute().parents
    if len(above) > 2 and above[1].name == ".specstory":
        return str(above[2])
    if len(above) > 1 and above[0].name in (".crush", ".opencode"):
        return str(above[1])
    return str(above[0]) if path.name == ".aider.chat.history.md" else ""


def _assumed_start(file: _File, chat: Chat) -> datetime:
    """The start of a conversation whose turns have no dates: as a heading or the file's name gives it, else
    when the file was written or, if that was earlier, committed: in a clone, it was written on cloning.
    """
    if chat.begun is not None:
        return chat.begun
    named = _NAMED.match(file.path.name)
    begun = min(file.written, first_committed(file.path) or file.written)
    if named is not None:
        with contextlib.suppress(ValueError):
            begun = datetime.fromisoformat(f"{named['day']}T{named['hour'] or 12}:{named['minute'] or '00'}Z")
    first = next((turn.time for turn in chat.turns if turn.time), "")
    if not first:
        return begun
    hour, minute = first.split(":")
    return begun.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)


def _assumed_end(file: _File, started: datetime) -> datetime:
    """The end of a conversation whose turns have no dates: when the file was written, unless that is so much
    later that the file must be a copy.
    """
    return file.written if file.written - started < _LONGEST else started


def _is_same(present: Sequence[Turn], wanted: Sequence[Turn]) -> bool:
    """Whether two conversations with the same first message go on alike, as far as both go.

    Most of what follows has to agree: the last reply may have grown, a person may have added notes or changed
    a turn, and a conversation may have been continued differently.
    """
    pairs = [*zip(_after_opening(present), _after_opening(wanted), strict=False)]
    alike = sum(
        one[0] == other[0] and (_within(one[1], other[1]) or _within(other[1], one[1]))
        for one, other in pairs
    )
    return not pairs or 2 * alike > len(pairs)


def _after_opening(turns: Sequence[Turn]) -> Iterator[tuple[str, list[str]]]:
    """Who speaks, and the lines of what they say until another speaks, after the first message."""
    said = (turn for turn in turns if turn.is_dialogue and turn.text.strip())
    is_open = False
    for role, group in groupby(said, key=lambda turn: turn.role):
        lines = [line for turn in group for line in map(str.strip, turn.text.split("\n")) if line]
        if is_open:
            yield role, lines
        is_open = is_open or role == "user"


def _within(lines: Sequence[str], others: Sequence[str]) -> bool:
    """Whether all lines are among the others, in order."""
    left = iter(others)
    return all(line in left for line in lines)
