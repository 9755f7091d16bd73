"""Sends the requests of a reconstruction in batches, at half the price, and pays for each once (spec 12.6).

A batch is recorded in the bench before it is submitted, and its id as soon as it is known. So an interrupted
run resumes with the same batches, and asks the service for one whose id was not recorded. The service keeps
the replies for weeks; each is matched by its prompt.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused, ConfigError, ExtractionRefused
from engine.knowledge.harvest.inquiry import Asker
from engine.lifecycle.reconstruction.bench import Batch
from engine.providers.asking import Answer
from engine.providers.batches import CANCELED, EXPIRED, MOST_BYTES, MOST_REQUESTS, batches_of
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.store.faults import reach

if TYPE_CHECKING:
    from engine.costs.costs import Account
    from engine.lifecycle.extraction.run import Runner
    from engine.lifecycle.reconstruction.bench import Bench, State
    from engine.providers.batches import Batches, Outcome

Waited = Callable[[tuple[str, ...], int, int], None]
"""Called with the ids of the batches, the number of requests done, and the total."""

FIRST_PAUSE_S, MAX_PAUSE_S = 2.0, 60.0
"""Polling interval; it grows."""

_TRIAL = "Reply with the word yes."
_BYTES_PER_TOKEN = 4
_CLOCK_SKEW = timedelta(minutes=10)


class BatchedAsker(Asker):
    """Answers from the results of batches, and sends other requests as usual."""

    def __init__(self, asker: Asker, replies: Mapping[str, ChatReply]) -> None:
        super().__init__(asker.completer, asker.limits, asker.system, asker.setting, asker.spending)
        self._replies = replies

    def answer(self, prompt: str, session: str, limit: int = 0) -> Answer:
        """As ``Asker.answer``."""
        found = self._replies.get(_key(prompt))
        return super().answer(prompt, session, limit) if found is None else Answer(found)


def refuse_without(asker: Asker | None) -> None:
    """Checks that there is a model with a batch service.

    Raises:
        ConfigError: There is none.
    """
    if asker is None or batches_of(asker.completer) is None:
        raise ConfigError(
            "no model is set" if asker is None else f"{asker.completer.name} has no batches",
            where="extraction.provider",
            hint="use anthropic or openai, or omit --batch",
        )


@dataclass(eq=False)
class Batching:
    """The batches of one run."""

    bench: Bench
    runner: Runner
    asker: Asker
    account: Account
    clock: Callable[[], datetime]
    pause: Callable[[float], object]
    waited: Waited
    on_problem: Callable[[str], None]
    _outcomes: dict[str, Outcome] = field(default_factory=dict, init=False)
    _fetched: set[str] = field(default_factory=set, init=False)
    _watched: set[str] = field(default_factory=set, init=False)
    """Ids of batches that were in progress during this run."""

    def answered(self, state: State, *, submit: bool) -> Asker:
        """Waits for all batches and returns an asker with their replies.

        Args:
            submit: Send requests that were neither answered nor refused in a new batch.

        Raises:
            AutopoiesisError: The budget is spent, the service failed or refused, or some requests were not
                processed. The next run resumes.
        """
        batches = batches_of(self.asker.completer)
        assert batches is not None
        try:
            state = self._recover_ids(batches, state)
            self._await(batches, state)
            if submit:
                self._await(batches, self._submit_rest(batches, state))
        finally:
            batches.close()
        outcomes = self._outcomes
        refused = [each for each in outcomes.values() if isinstance(each, str) and each not in _UNDONE]
        if refused:
            reason, _ = Counter(refused).most_common(1)[0]
            self.on_problem(f"{len(refused)} of {len(outcomes)} requests failed in the batch: {reason};"
                            " they are sent one by one")  # fmt: skip
        replies = {key: each for key, each in outcomes.items() if isinstance(each, ChatReply)}
        return BatchedAsker(self.asker, replies)

    def _recover_ids(self, batches: Batches, state: State) -> State:
        """The state with the ids of batches that were submitted but not recorded."""
        for each in [each for each in state.batches if not each.id]:
            known = [other.id for other in state.batches if other.id]
            since = datetime.fromisoformat(each.at) - _CLOCK_SKEW
            label, size = _label(each), len(each.keys)
            found = batches.run(batches.service.find(label, since, size, known))
            state = self._record(state, each, replace(each, id=found) if found else None)
        return state

    def _submit_rest(self, batches: Batches, state: State) -> State:
        """Submits batches of the requests that were not sent, or not processed."""
        asked = {key for key, outcome in self._outcomes.items() if outcome not in _UNDONE}
        wanted: dict[str, str] = {}
        size, is_first = 0, True
        for prompt in chain(self.runner.questions(), [""]):
            if wanted and (not prompt or size > MOST_BYTES or len(wanted) == MOST_REQUESTS):
                if is_first:
                    self._try_out()
                state = self._submit(batches, state, wanted)
                wanted, size, is_first = {}, 0, False
            if prompt and (key := _key(prompt)) not in asked:
                wanted[key] = prompt
                size += len(prompt.encode("utf-8", "replace"))
                asked.add(key)
        return state

    def _try_out(self) -> None:
        """Sends a short request first: a batch reports only at its end that a key, model or parameter is
        refused, and the reply shows which parameters are accepted.
        """
        answer = self.asker.answer(_TRIAL, "")
        if answer.completed is None:
            raise ExtractionRefused(answer.error)

    def _submit(self, batches: Batches, state: State, wanted: Mapping[str, str]) -> State:
        limit, system = self.asker.limits.max_tokens, self.asker.system
        sizes = (len((system + prompt).encode("utf-8", "replace")) for prompt in wanted.values())
        self.account.allow_batch(
            [Usage(input_tokens=size // _BYTES_PER_TOKEN, output_tokens=limit) for size in sizes]
        )
        batch = Batch("", tuple(wanted), self.clock().astimezone(UTC).isoformat())
        state = self._record(state, None, batch)
        requests = {
            key: ChatRequest((system,), prompt, limit, at_once=True) for key, prompt in wanted.items()
        }
        reach("batch:submit")
        name = batches.run(batches.service.submit(requests, _label(batch)))
        self._watched.add(name)
        reach("batch:note")
        return self._record(state, batch, replace(batch, id=name))

    def _await(self, batches: Batches, state: State) -> None:
        """Waits for the batches and fetches their results."""
        pause_s, total = FIRST_PAUSE_S, sum(len(each.keys) for each in state.batches)
        waiting = [each for each in state.batches if each.id not in self._fetched]
        done = total - sum(len(each.keys) for each in waiting)
        while waiting:
            reach("batch:poll")
            looks = [(each, batches.run(batches.service.progress(each.id))) for each in waiting]
            for each, look in looks:
                if look.refused:
                    self._record(state, each, None)
                    what = f"the batch was refused: {look.refused}"
                    raise ChangeRefused(what, hint="fix that and run the same command again")
            waiting = [each for each, look in looks if not look.ended]
            self._watched |= {each.id for each in waiting}
            worked = sum(len(each.keys) if look.ended else look.done for each, look in looks)
            self.waited(tuple(each.id for each in state.batches), done + worked, total)
            done += sum(len(each.keys) for each, look in looks if look.ended)
            if waiting:
                self.pause(pause_s)
                pause_s = min(1.5 * pause_s, MAX_PAUSE_S)
        for each in state.batches:
            if each.id not in self._fetched:
                self._fetch(batches, each)
        undone = {
            key for each in state.batches if each.id in self._watched
            for key in each.keys if self._outcomes[key] in _UNDONE
        }  # fmt: skip
        if undone:
            raise ChangeRefused(
                f"{len(undone)} of {total} requests were not processed in the batch, and cost nothing",
                hint="run the same command again to send them in a new batch; without --batch, one by one",
            )

    def _fetch(self, batches: Batches, batch: Batch) -> None:
        reach("batch:results")
        found = batches.run(batches.service.outcomes(batch.id))
        ours = {key: found.get(key, EXPIRED) for key in batch.keys}
        self.account.billed(batch.id, [each for each in ours.values() if isinstance(each, ChatReply)])
        answered = {key for key, each in self._outcomes.items() if isinstance(each, ChatReply)}
        self._outcomes |= {key: each for key, each in ours.items() if key not in answered}
        self._fetched.add(batch.id)

    def _record(self, state: State, old: Batch | None, new: Batch | None) -> State:
        """Replaces a batch in the state, and saves it."""
        others = tuple(each for each in state.batches if each is not old)
        state = replace(state, batches=(*others, *([new] if new else [])))
        self.bench.keep(state)
        return state


_UNDONE = (EXPIRED, CANCELED)


def _key(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:48]


def _label(batch: Batch) -> str:
    return hashlib.sha256("\n".join(batch.keys).encode()).hexdigest()[:48]
