"""``session flush``: notes of turns before they leave the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import TranscriptError
from tui.cli.base import emit, emit_json, emit_problems, kept, verb

if TYPE_CHECKING:
    from engine.context.flush_record import FlushRecord
    from engine.conversations.conversations import Conversation
    from engine.engine import Engine
    from engine.flush.due import FlushPlan


@verb(
    "autopoiesis session flush ses_1a2b3c4d --dry-run",
    "autopoiesis session flush ses_1a2b3c4d --all",
    "autopoiesis session flush conversations/2026-06-11-rollup-comparison.jsonl",
    name="flush",
)
@click.argument("session_id", metavar="ID")
@click.option("--all", "everything", is_flag=True, help="Every turn, also those that are in no danger.")
@click.option("--dry-run", is_flag=True, help="Say what would be flushed; ask nobody, write nothing.")
def session_flush(engine: Engine, session_id: str, everything: bool, dry_run: bool, as_json: bool) -> int:
    """Take notes of the turns of session ID that have left the window or are about to.

    The provider that flush.provider names is shown the turns, without what looks like a secret in them; what
    it notes is added to the journal, to MEMORY.md or to a project, and committed. What looks planted is held
    back. Without a provider the turns are recorded as unflushed. ID may also be the path of a conversation.
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
        raise TranscriptError("there is nothing in it", where=conversation.path)
    return conversation


def _emit_plan(engine: Engine, plan: FlushPlan, dry_run: bool) -> None:
    emit(
        f"{plan.tokens:,} tokens of turns, room for {plan.room:,}; {plan.leaving} have left the window or are"
        f" about to, {plan.unrecorded} of them in no record"
    )
    if not plan.parts:
        emit("nothing is due")
    elif dry_run:
        provider = engine.config.flush.provider
        asked = "no provider is set: they would be recorded as unflushed" if provider == "none" else provider
        for part in plan.parts:
            emit(f"{_turns(part.first, part.last)} would be flushed ({asked})")


def _emit_record(record: FlushRecord) -> None:
    price = "" if record.cost_usd is None else f", ${record.cost_usd:.4f}"
    asked = f" ({record.model}, {record.input_tokens:,} tokens{price})" if record.input_tokens else ""
    why = f": {record.error}" if record.error else ""
    emit(f"{_turns(record.first, record.last)}: {record.status}{asked}{why}")
    for note in record.items:
        emit(f"  {note.path}:{note.line}  {note.text}")
    for held in record.held:
        emit(f"  held: {held.text} ({held.to}; {held.reason})")
    if record.held:
        waits = "1 note waits" if len(record.held) == 1 else f"{len(record.held)} notes wait"
        emit(f"  {waits} for you: autopoiesis review list")
    if record.redacted:
        places = "1 place" if record.redacted == 1 else f"{record.redacted} places"
        emit(f"  what looks like a secret was taken out in {places} before the turns were sent")
    if record.items:
        emit(f"  {kept(record.commit, record.uncommitted)}")
    if record.in_part:
        emit(f"  too long to be shown whole: {', '.join(map(str, record.in_part))}")


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
