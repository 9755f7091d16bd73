"""``session flush``: takes notes of turns before they leave the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import TranscriptError
from tui.cli.base import commit_text, emit, emit_json, emit_problems, verb
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.context.flush_record import FlushRecord
    from engine.conversations.conversations import Conversation
    from engine.engine import Engine
    from engine.flush.log import FlushPlan


@verb(
    "autopoiesis session flush ses_1a2b3c4d --dry-run",
    "autopoiesis session flush ses_1a2b3c4d --all",
    "autopoiesis session flush conversations/2026-06-11-rollup-comparison.jsonl",
    name="flush",
)
@click.argument("session_id", metavar="ID")
@click.option(
    "--all", "everything", is_flag=True, help="All turns, not only those about to leave the window."
)
@click.option("--dry-run", is_flag=True, help="Show what would be flushed; ask no model and write nothing.")
def session_flush(engine: Engine, session_id: str, everything: bool, dry_run: bool, as_json: bool) -> int:
    """Take notes of the turns of session ID that have left the window or are about to.

    Sends the turns, with possible secrets removed, to flush.provider; its notes are added to the journal, to
    MEMORY.md or to a project, and committed. Notes that look planted are held for review. Without a provider,
    the turns are recorded as unflushed. ID may also be the path of a conversation.
    """
    conversation = _conversation(engine, session_id)
    last = engine.compile_of(f"{conversation.path}#{conversation.end - 1}")
    compiled = last or engine.compile("", session_id=conversation.session_id, ask=False)
    if not dry_run:
        engine.flush.recover()
    plan = engine.flush.plan(
        conversation, compiled.history_room, dropped=compiled.dropped_turns, everything=everything, again=True
    )
    if not as_json:
        _emit_plan(engine, plan, dry_run)
    records: list[FlushRecord] = []
    for record in () if dry_run else engine.flush.run(conversation, plan.parts):
        records.append(record)
        if not as_json:
            _emit_record(record)
    if as_json:
        emit_json(_document(engine, conversation, plan, records))
    failed = [record for record in records if record.status == "failed"]
    emit_problems(f"autopoiesis: {_turns(each.first, each.last)}: {each.error}" for each in failed)
    return 1 if failed else 0


def _conversation(engine: Engine, name: str) -> Conversation:
    conversation = engine.conversations.read(name) or engine.conversations.of_session(name)
    if not conversation.turns:
        raise TranscriptError("the conversation is empty", where=conversation.path)
    return conversation


def _emit_plan(engine: Engine, plan: FlushPlan, dry_run: bool) -> None:
    emit(
        f"{plan.tokens:,} tokens of turns, room for {plan.room:,}; {plan.leaving} have left the window or are"
        f" about to, {plan.unrecorded} of them not recorded"
    )
    if not plan.parts:
        emit("nothing is due")
    elif dry_run:
        provider = engine.config.flush.provider
        how = "no provider set: they would be recorded as unflushed" if provider == "none" else provider
        for part in plan.parts:
            emit(f"{_turns(part.first, part.last)} would be flushed ({how})")


def _emit_record(record: FlushRecord) -> None:
    price = "" if record.cost_usd is None else f", ${record.cost_usd:.4f}"
    call = f" ({record.model}, {record.input_tokens:,} tokens{price})" if record.input_tokens else ""
    error = f": {record.error}" if record.error else ""
    emit(f"{_turns(record.first, record.last)}: {record.status}{call}{error}")
    for note in record.items:
        emit(f"  {note.path}:{note.line}  {note.text}")
    for held in record.held:
        emit(f"  held: {held.text} ({held.to}; {held.reason})")
    if record.held:
        emit(f"  {plural(len(record.held), 'note')} for review: autopoiesis review list")
    if record.redacted:
        emit(f"  {plural(record.redacted, 'possible secret')} removed before the turns were sent")
    if record.items:
        emit(f"  {commit_text(record.commit, record.uncommitted)}")
    if record.in_part:
        emit(f"  too long to send in full: {', '.join(map(str, record.in_part))}")


def _document(
    engine: Engine, conversation: Conversation, plan: FlushPlan, records: list[FlushRecord]
) -> dict[str, object]:
    return {
        "session": conversation.session_id,
        "path": conversation.path,
        "provider": engine.config.flush.provider,
        "room": plan.room,
        "tokens": plan.tokens,
        "at": plan.at,
        "leaving": plan.leaving,
        "unrecorded": plan.unrecorded,
        "parts": [
            {"first": part.first, "last": part.last, "turns": [number for number, _ in part.turns]}
            for part in plan.parts
        ],
        "records": records,
    }


def _turns(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first}–{last}"
