"""Handles an agent's hook events: injects memory into its context and captures its session.

The standing context is injected once at the start of a session, and whatever is relevant, if anything, with
each prompt. The session is captured when the agent has answered or is about to compact, and committed when it
ends. The agent never waits for a capture and never sees an error: errors go to the log and the workbench.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.activation.trace import Message
from engine.agents.call import HookCall, is_compressed_since, parent_session, read_call, typed_prompt
from engine.agents.contracts import WAITED_FOR, Moment
from engine.agents.forgetting import Forgotten, forget, may_ask
from engine.agents.log import CONTINUATIONS, DUPLICATE, HookLog, HookRun, KnownContext
from engine.agents.switches import Switches
from engine.agents.wire import SECONDS
from engine.context.compiled import SEARCH_FAILED
from engine.context.delimiters import INJECTED, visible
from engine.conversations.turns import Before
from engine.errors import AutopoiesisError, TranscriptError
from engine.events import AgentTold
from engine.redaction.detect import redacted
from engine.startup.lazy import expression
from engine.store.user_folder import cache_folder, write_own

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.engine import Engine
    from engine.search.results import SearchResult
    from engine.transcripts.importers.drafts import ImportResult

_MAX_NEW_TURNS = 200
_TOO_LATE = "too late: the agent has stopped waiting"
_FIT_ATTEMPTS = 3
_SESSIONS_AT_START = 10
"""New sessions up to which rules are learned at once; more of them wait for the hourly job."""
_INDEX_PART = 0.4
"""The part of the time left after which indexing is cut short."""
_WAIT_S = 0.2
"""Seconds that a hook waits for another writer of an index that can be searched."""
_SEARCH_PART = 0.9
"""The part of the time left after which a search is given up; what follows it is quick."""
_BUSY_PART = 0.1
"""The same while another program writes the index: each new state of it is read anew."""

_LOG_WAIT_S = 1.0
_LOG_POLL_S = 0.02
_TAIL_BYTES = 256 * 1024
_USER = expression(rb'"role":\s*"user"')

_HEADS: dict[Moment, str] = {
    "session_start": "From the user's own memory in {}, for this session. It is theirs: follow it. More of"
    " it may come beside a message: follow its rules and corrections too; the rest is background.",
    "prompt": "From memory in {}:",
}
"""Said once at length: what is repeated with every message costs more than it tells. Paths are relative to
the folder named, which the agent rarely works in."""
_SHORT_HEAD = "From memory:"
"""When the folder's name is in the agent's context already."""
_MAX_NAMED = 4


class _OutOfTimeError(Exception):
    """Indexing takes longer than the agent can wait."""


Later = Callable[[Callable[[], None]], None]


class Hooks:
    """Answers hook events. Safe to use from several threads.

    Args:
        later: Runs work the agent does not wait for; by default it runs immediately.
    """

    def __init__(self, engine: Engine, later: Later = lambda job: job()) -> None:
        self._engine = engine
        self._later = later
        self.log = HookLog(engine.files, engine.clock)
        self.switches = Switches()
        self._guard = threading.Lock()
        self._import_guard = threading.Lock()
        self._recent: dict[tuple[str, ...], float] = {}

    def answer(self, agent: str, payload: bytes, until: float | None = None) -> str:
        """The output of the hook; may be empty. Never raises an ``AutopoiesisError``.

        Args:
            until: When the agent stops waiting, by the monotonic clock; by default ``SECONDS`` from now.
        """
        started = time.monotonic()
        until = started + SECONDS if until is None else until
        try:
            call = read_call(agent, payload)
        except AutopoiesisError as error:
            self._log_run(HookRun(self._now(), agent[:40], "", said=str(error), failed=True))
            return ""
        if call is None:
            return ""
        answer = call.contract.silence
        run = self._new_run(call)
        try:
            if not self._engine.is_live:
                self._engine.look_again()
            off = self.switches.why_off(call)
            if off:
                run = replace(run, said=off)
            elif call.event.moment in WAITED_FOR and self._is_duplicate(call):
                run = replace(run, said=DUPLICATE)
            elif call.event.moment in WAITED_FOR and time.monotonic() > until:
                run = replace(run, said=_TOO_LATE, failed=True)
            elif call.event.moment in WAITED_FOR:
                run, text = self._inject(call, run, until)
                answer = call.contract.answer(call.event.name, text)
            else:
                self._forget_recent(call)
                self._later(partial(self._capture, call, run, started))
                return answer
        except (AutopoiesisError, OSError) as error:
            run = replace(run, said=str(error), failed=True)
        self._log_run(replace(run, ms=round((time.monotonic() - started) * 1000)))
        return answer

    def _is_duplicate(self, call: HookCall) -> bool:
        """Whether the same event just arrived: hooks in both user and project settings run twice."""
        now = time.monotonic()
        key = (call.event.name, call.session_id, call.prompt, call.source, call.turn)
        with self._guard:
            self._recent = {each: at for each, at in self._recent.items() if now - at < SECONDS}
            is_duplicate = bool(call.session_id) and key in self._recent
            self._recent.setdefault(key, now)
        return is_duplicate

    def _forget_recent(self, call: HookCall) -> None:
        """Forgets the session's recent events: a session that is resumed at once may repeat them."""
        with self._guard:
            recent = self._recent.items()
            self._recent = {key: at for key, at in recent if key[1] != call.session_id}

    def _catch_up(self, until: float) -> tuple[str, str]:
        """Updates the index as far as time permits.

        Returns:
            Why a search lacks the latest changes, and why the index cannot be searched at all, each in one
            clause; ``""`` if it does not, or can.
        """
        engine = self._engine
        if engine.files.read_only:
            return "", ""
        now = time.monotonic()
        cut = now + _INDEX_PART * (until - now)

        def progress(_done: int, _of: int) -> None:
            if time.monotonic() > cut:
                raise _OutOfTimeError

        wait_s = 0.0 if engine.index.why_not_ready() else _WAIT_S
        try:
            busy = engine.catch_up_index(progress, wait_s=wait_s)
        except _OutOfTimeError:
            # Progress is kept; the next run resumes from there.
            self._later(self._catch_up_later)
            busy = "there is more than can be indexed in time"
        if not busy:
            return "", ""
        return f"the latest changes were not searched: {busy}", engine.index.why_not_ready()

    def _catch_up_later(self) -> None:
        self._engine.catch_up_index()

    # Injection.

    def _inject(self, call: HookCall, run: HookRun, until: float) -> tuple[HookRun, str]:
        if call.event.moment == "session_start":
            return self._inject_standing(call, run)
        return self._inject_relevant(call, run, until)

    def _inject_standing(self, call: HookCall, run: HookRun) -> tuple[HookRun, str]:
        """The standing context of a session; a resumed session already has it."""
        if call.source in CONTINUATIONS and not call.contract.inject_each_start:
            known = self.log.known(run.parent or call.session_id)
            if known.since and not self._may_have_compacted(call, known):
                return replace(run, said="resumed session: it already has the standing context"), ""
        budget = self._engine.config.hooks.session_tokens
        if not budget:
            return replace(run, said="hooks.session_tokens is 0"), ""
        self._learn_rules()
        self._engine.recaps.catch_up(call.session_id)
        before = Before(session_id=call.session_id)

        def compiled(tokens: int) -> Compiled:
            prompts, project = self._engine.prompts, self._engine.projects.names(call.cwd)
            agent = call.contract.agent
            return prompts.compile(
                "", None, before, budget=tokens, part="standing", project=project, agent=agent
            )

        made, text = self._fit("session_start", call.contract.max_bytes, budget, compiled)
        if not text:
            return replace(run, said="no standing context yet"), ""
        shown = self._engine.injections.rules_in(made)
        files = dict.fromkeys((section.source, section.lines) for section in made.sections if section.source)
        run = _with_sections(run, made)
        return replace(run, rules=shown.held if shown else (), told=tuple(files)), text

    def _may_have_compacted(self, call: HookCall, known: KnownContext) -> bool:
        """Whether an announced compaction may have taken place, which no event has told, or will tell."""
        if known.announced is None or not call.contract.compacts_silently:
            return known.announced is not None and known.has_ended
        return is_compressed_since(call, known.announced.at)

    def _inject_relevant(self, call: HookCall, run: HookRun, until: float) -> tuple[HookRun, str]:
        """Whatever is relevant to a prompt."""
        engine, budget = self._engine, self._engine.config.hooks.prompt_tokens
        call = replace(call, prompt=typed_prompt(call))
        if not budget or not call.prompt.strip():
            why = "not a person's prompt" if budget else "hooks.prompt_tokens is 0"
            return replace(run, said=why), ""
        known, standing_again = self.log.known(call.session_id), ""
        if call.contract.compacts_silently and self._may_have_compacted(call, known) and known.announced:
            run = replace(run, line=known.announced.line or 1)
            known = KnownContext(since=run.at, line=run.line)
        silent = known.line and not known.sections and call.contract.compacts_silently
        if silent or (call.session_id and not known.since):
            run, standing_again = self._inject_standing(call, run)  # no session start will inject it again
            known = replace(known, rules=run.rules, sections=frozenset(run.told))
        forgotten = self._forget(call, known)
        if forgotten is not None:
            return replace(run, said=forgotten.said), standing_again + forgotten.text
        message, before = self._message(call)
        # No one can answer in the workbench while an agent waits; a model's gate is worth the time.
        trace = engine.pipeline.process(message, record=False, ask=engine.config.gate.provider != "ask")
        if not engine.is_patient:
            self._later(self._refit)
        behind, unsearched = self._catch_up(until)
        now = time.monotonic()
        search_until = now + (_BUSY_PART if behind else _SEARCH_PART) * (until - now)
        known_sections = known.sections | engine.injections.seen(call.session_id, known.since)
        searches: dict[str, list[SearchResult]] = {}

        def compiled(tokens: int) -> Compiled:
            return engine.prompts.compile(
                call.prompt,
                trace,
                before,
                budget=tokens,
                part="message",
                project=engine.projects.names(call.cwd),
                agent=call.contract.agent,
                injected=known_sections,
                held_from=known.line or None,
                unsearched=unsearched,
                until=search_until,
                searches=searches,
            )

        room = call.contract.max_bytes - len(standing_again.encode())
        made, text = self._fit("prompt", room, budget, compiled, names_folder=not known_sections)
        left_out = next((each for each in made.problems if each.startswith(SEARCH_FAILED)), behind)
        run = replace(run, said=left_out)
        if not text and standing_again:
            return run, standing_again
        if not text:
            return replace(run, said=f"nothing relevant{left_out and f'; {left_out}'}"), ""
        if time.monotonic() > until:
            return replace(run, said=_TOO_LATE, failed=True), ""
        noted = engine.injections.record(
            made,
            call.prompt,
            session_id=call.session_id,
            turn=f"{before.path}#{before.ordinal}" if before.path else "",
            by=call.contract.agent,
            standing=known.rules,
        )
        return replace(_with_sections(run, made), injection=noted), standing_again + text

    def _refit(self) -> None:
        with contextlib.suppress(AutopoiesisError, OSError):
            self._engine.pipeline.relearn()

    def _forget(self, call: HookCall, known: KnownContext) -> Forgotten | None:
        """The outcome if the prompt asks to forget a rule."""
        if not may_ask(call.prompt) or self._engine.files.read_only:
            return None
        return forget(self._engine.rules, call.prompt, known.rules)

    def _learn_rules(self) -> None:
        """Learns rules from the sessions that have ended, if they are few; the agent waits for it."""
        rules, config = self._engine.rules, self._engine.config.rules
        if config.learn and not self._engine.files.read_only:
            with contextlib.suppress(AutopoiesisError, OSError):
                if 0 < rules.unread() <= _SESSIONS_AT_START:
                    rules.learn()

    def _message(self, call: HookCall) -> tuple[Message, Before]:
        at = self._engine.clock()
        if call.session_id:
            try:
                return self._engine.turns.next_message(call.prompt, call.session_id, at)
            except TranscriptError:
                pass  # the first message: nothing is captured yet
        return Message(call.prompt, session_id=call.session_id, at=at), Before(session_id=call.session_id)

    def _fit(
        self,
        moment: Moment,
        max_bytes: int,
        budget: int,
        compiled: Callable[[int], Compiled],
        *,
        names_folder: bool = True,
    ) -> tuple[Compiled, str]:
        """The injected text within ``max_bytes``; a token of a non-Latin script has many bytes."""
        folder = str(self._engine.workspace.root) if names_folder else ""
        for _ in range(_FIT_ATTEMPTS):
            made = compiled(budget)
            text = _injected_text(made, moment, folder)
            size = len(text.encode("utf-8"))
            if size <= max_bytes:
                break
            budget = max(1, budget * max_bytes * 9 // (size * 10))
        return made, text if size <= max_bytes else ""

    # Capture.

    def _capture(self, call: HookCall, run: HookRun, arrived: float) -> None:
        """Captures the session as far as its log goes; commits it when the session ends."""
        started = time.monotonic()
        try:
            run = self._capture_session(call, run, arrived)
        except (AutopoiesisError, OSError) as error:
            run = replace(run, said=str(error), failed=True)
        self._log_run(replace(run, ms=round((time.monotonic() - started) * 1000)))

    def _capture_session(self, call: HookCall, run: HookRun, arrived: float) -> HookRun:
        """The run with what was done and, of a compaction, what stays in the agent's context."""
        from engine.conversations.imports import Source, import_sessions  # noqa: PLC0415 — not for a prompt

        engine = self._engine
        if not engine.config.hooks.capture:
            return replace(run, said="hooks.capture is off")
        before = self._end_of(call.session_id)
        with self._log_of(call) as log:
            if log is not None and not _is_written(log, call.answer, arrived):
                return replace(run, said="nothing in the session log yet")
            if log is None and call.event.moment == "session_end":  # earlier captures are all there is
                said = self._commit(())
                self._learn_rules()
                engine.recaps.write_wanted(filter(None, [before[0]]))
                return replace(run, said=said)
            if log is None:
                return replace(run, said=f"{call.contract.title} did not name a session log")
            done = import_sessions(engine, [Source(log)], commit=False)
        result = next(iter(done.results), None)
        if result is None or result.status == "skipped":
            return replace(run, said=result.why if result else "nothing in the session log yet")
        if result.target:
            self._learn(result.target, before)
        said = f"{result.status}: {result.target}"
        if call.event.moment == "pre_compact":
            run = self._flush(result.target, run)
        if call.event.moment == "stop" and call.contract.compacts_silently:
            run = replace(run, line=self._last_summary(result.target, before))
        if call.event.moment == "session_end":
            said += f"; {self._commit(done.results)}"
            self._learn_rules()
            engine.recaps.write_wanted([result.target])
        return replace(run, said=said)

    def _commit(self, results: Iterable[ImportResult]) -> str:
        from engine.conversations.imports import commit_imported  # noqa: PLC0415 — as above
        from engine.redaction.commits import HINT  # noqa: PLC0415 — as above

        results = tuple(results)
        change, committed, held = commit_imported(self._engine, results)
        said = f"committed as {change.revision[:8]}" if committed else change.why
        own = {result.target for result in results}  # others were named when their own session ended
        for each in held:
            if each.path in own:
                place = f"{each.path}:{each.lines[0]}" if each.lines else each.path
                said += f"; {place} left out: {each.why}{f'; {HINT}' if each.lines else ''}"
        return said

    @contextlib.contextmanager
    def _log_of(self, call: HookCall) -> Iterator[Path | None]:
        """The agent's session log; for an agent without one, a temporary file with what it sent."""
        if call.transcript or call.session is None or not call.session_id:
            yield Path(call.transcript) if call.transcript else None
            return
        path = cache_folder() / call.contract.agent / f"{call.session_id}.json"
        with self._import_guard:
            write_own(path, json.dumps({**call.session, "session_id": call.session_id}).encode())
            try:
                yield path
            finally:
                path.unlink(missing_ok=True)

    def _end_of(self, session_id: str) -> tuple[str, int]:
        try:
            conversation = self._engine.conversations.of_session(session_id)
        except TranscriptError:
            return "", 0
        return conversation.path, conversation.end

    def _learn(self, path: str, before: tuple[str, int]) -> None:
        """Traces new turns, so that decisions are logged, and records which injections they used.

        A live workbench does this itself for arriving turns.
        """
        engine = self._engine
        conversation = engine.conversations.read(path)
        if conversation is None or engine.is_live:
            return
        known = before[1] if before[0] == path else 0
        # The last known turn may have grown.
        first = max(known - 1, conversation.first, conversation.end - _MAX_NEW_TURNS, 0)
        for ordinal in range(max(first, known), conversation.end):
            engine.trace_turn(f"{path}#{ordinal}", record=True, ask=False)
        engine.injections.learn_from_use(path, first)
        engine.labels.learn_from_use(path, first)

    def _flush(self, path: str, run: HookRun) -> HookRun:
        """Flushes what the agent is about to forget; returns the run with what it keeps.

        It keeps a prompt that it has not begun to answer, and what was injected with that prompt.
        """
        conversation = self._engine.conversations.read(path)
        if conversation is None or not conversation.turns:
            return run
        if self._engine.flush.has_provider:
            plan = self._engine.flush.plan(conversation, 0, everything=True)
            for record in self._engine.flush.run(conversation, plan.parts):
                if record.error:
                    self._engine.report_error(f"{path} was not flushed: {record.error}")
        last = conversation.turns[-1]
        is_kept = last.role == "user" and last.is_dialogue
        return replace(run, line=last.line + (not is_kept), keeps_prompt=is_kept)

    def _last_summary(self, path: str, before: tuple[str, int]) -> int:
        """The line of the last summary among new turns, which replaced the agent's context; 0 if none."""
        conversation = self._engine.conversations.read(path)
        if conversation is None:
            return 0
        known = before[1] - conversation.first if before[0] == path else 0
        new = conversation.turns[max(0, known) :]
        return max((turn.line for turn in new if (turn.role, turn.kind) == ("system", "summary")), default=0)

    # Log.

    def _new_run(self, call: HookCall) -> HookRun:
        return HookRun(
            self._now(),
            call.contract.agent,
            call.event.moment,
            call.session_id,
            next(iter(self._engine.projects.names(call.cwd)), ""),
            source=call.source if call.event.moment == "session_start" else "",
            parent=parent_session(call),
        )

    def _now(self) -> str:
        return self._engine.clock().isoformat()

    def _log_run(self, run: HookRun) -> None:
        engine = self._engine
        if run.failed:
            engine.report_error(f"{f'{run.agent} {run.moment}'.rstrip()}: {run.said}")
        else:
            details = run.tokens, run.labels, run.said
            at = datetime.fromisoformat(run.at)
            engine.publish(AgentTold(at, run.agent, run.moment, run.session_id, *details))
        try:
            self.log.append(run)
        except AutopoiesisError as error:
            engine.report_error(f"a hook of {run.agent} was not logged: {error}")


def _with_sections(run: HookRun, made: Compiled) -> HookRun:
    labels = dict.fromkeys((*run.labels, *(section.label for section in made.sections)))
    return replace(run, tokens=run.tokens + made.tokens, labels=tuple(labels))


def _is_written(log: Path, answer: str, since: float) -> bool:
    """Whether the log exists. Waits for it to exist and contain the agent's last answer, until a second after
    the hook: if many captures are queued, the log may have gone on, and the answer is no longer the last.

    Claude Code writes its log after its hooks have run.

    Args:
        answer: Empty if unknown.
        since: When the hook was called, by the monotonic clock.

    Raises:
        ImportFailed: It is not a regular file, or cannot be read.
    """
    lines = answer.strip().splitlines()
    last = json.dumps(lines[-1], ensure_ascii=False)[1:-1].encode("utf-8", "replace") if lines else b""
    until = since + _LOG_WAIT_S
    while not _contains(log, last) and time.monotonic() < until:
        time.sleep(_LOG_POLL_S)
    return log.exists()


def _contains(log: Path, answer: bytes) -> bool:
    """Whether the answer follows the last user turn: an agent often gives the same answer twice."""
    if not log.exists():
        return False
    from engine.transcripts.importers.lines import opened  # noqa: PLC0415 — not for a prompt

    with opened(log) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return answer in _USER.split(stream.read(_TAIL_BYTES))[-1]


def _injected_text(compiled: Compiled, moment: Moment, folder: str) -> str:
    """The text to inject; empty if nothing is relevant. It goes to a service, so secrets are redacted.

    ``folder`` is the workspace's; empty if the agent was told its name before.
    """
    if not compiled.sections:
        return ""
    text = visible(redacted(f"{compiled.text.rstrip()}{_cut_note(compiled)}"))
    head = _HEADS[moment].format(visible(folder)) if folder else _SHORT_HEAD
    return f"{INJECTED[0]}{head}\n\n{text}{INJECTED[1]}"


def _cut_note(compiled: Compiled) -> str:
    """A note that names what was selected but did not fit."""
    chosen = [each for each in compiled.left_out if each.limit and each.slot != "knowledge"]
    if not chosen:
        return ""
    names = ", ".join(dict.fromkeys(each.source or each.label for each in chosen[:_MAX_NAMED]))
    more = f" and {len(chosen) - _MAX_NAMED} more" if len(chosen) > _MAX_NAMED else ""
    return f"\n\n[cut for length: {names}{more}]"
