"""Asks the questions of a reconstruction in batches, for half the price, and paid once (spec 12.6).

What was asked for is noted in the bench before it is, and the batch's id as soon as it is known: a run that
was left or killed takes up the same batches, and looks at the service for one whose id it has not heard. The
replies lie there for weeks and are fetched as often as they are needed; each is found by its question.
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
from engine.providers.asking import Asked
from engine.providers.batches import CANCELED, EXPIRED, MOST_BYTES, MOST_REQUESTS, batches_of
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.store.faults import reach

if TYPE_CHECKING:
    from engine.costs.costs import Account
    from engine.lifecycle.extraction.run import Runner
    from engine.lifecycle.reconstruction.bench import Bench, State
    from engine.providers.batches import Batches, Outcome

Waited = Callable[[tuple[str, ...], int, int], None]
"""Called with the ids of the batches, and how many requests are done of all."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 60.0
"""Between two looks at what is under way; the pauses grow."""

_TRIAL = "Reply with the word yes."
_BYTES_PER_TOKEN = 4
_CLOCKS_DIFFER = timedelta(minutes=10)


class BatchedAsker(Asker):
    """Answers with what came of batches, and asks whatever else there is to ask."""

    def __init__(self, asker: Asker, replies: Mapping[str, ChatReply]) -> None:
        super().__init__(asker.completer, asker.limits, asker.system, asker.setting, asker.spending)
        self._replies = replies

    def answer(self, prompt: str, session: str, limit: int = 0) -> Asked:
        """As ``Asker.answer``."""
        found = self._replies.get(_key(prompt))
        return super().answer(prompt, session, limit) if found is None else Asked(found)


def refuse_without(asker: Asker | None) -> None:
    """Does nothing where there is a model whose service has batches.

    Raises:
        ConfigError: There is none.
    """
    if asker is None or batches_of(asker.completer) is None:
        raise ConfigError(
            "no model is asked" if asker is None else f"{asker.completer.name} has no batches",
            where="extraction.provider",
            hint="use anthropic or openai, or no --batch",
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
    """Ids of batches that were under way while this ran."""

    def answered(self, state: State, *, submit: bool) -> Asker:
        """What asks the questions of the run, after all batches have ended.

        Args:
            submit: Put what was not answered, and not refused, into a new batch.

        Raises:
            AutopoiesisError: The budget is spent; the service does not answer, or took nothing; or a part was
                not worked on while this waited. The next run goes on.
        """
        batches = batches_of(self.asker.completer)
        assert batches is not None
        try:
            state = self._found(batches, state)
            self._await(batches, state)
            if submit:
                self._await(batches, self._submitted(batches, state))
        finally:
            batches.close()
        outcomes = self._outcomes
        refused = [each for each in outcomes.values() if isinstance(each, str) and each not in _UNDONE]
        if refused:
            why, _ = Counter(refused).most_common(1)[0]
            self.on_problem(f"{len(refused)} of {len(outcomes)} questions got no reply in the batch: {why};"
                            " they are asked one by one")  # fmt: skip
        replies = {key: each for key, each in outcomes.items() if isinstance(each, ChatReply)}
        return BatchedAsker(self.asker, replies)

    def _found(self, batches: Batches, state: State) -> State:
        """The state with the ids of batches that a kill has kept from being noted."""
        for each in [each for each in state.batches if not each.id]:
            known = [other.id for other in state.batches if other.id]
            since = datetime.fromisoformat(each.at) - _CLOCKS_DIFFER
            label, size = _label(each), len(each.keys)
            found = batches.run(batches.service.find(label, since, size, known))
            state = self._kept(state, each, replace(each, id=found) if found else None)
        return state

    def _submitted(self, batches: Batches, state: State) -> State:
        """Asks for batches of what was not asked, or not worked on."""
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
        """Asks something short first: a batch says only when it has ended that a key, a model or a parameter
        is refused, and the answer shows which parameters are not.
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
        state = self._kept(state, None, batch)
        requests = {
            key: ChatRequest((system,), prompt, limit, at_once=True) for key, prompt in wanted.items()
        }
        reach("batch:submit")
        name = batches.run(batches.service.submit(requests, _label(batch)))
        self._watched.add(name)
        reach("batch:note")
        return self._kept(state, batch, replace(batch, id=name))

    def _await(self, batches: Batches, state: State) -> None:
        """Waits for the batches, and takes in what came of their questions."""
        pause_s, total = FIRST_PAUSE_S, sum(len(each.keys) for each in state.batches)
        waiting = [each for each in state.batches if each.id not in self._fetched]
        done = total - sum(len(each.keys) for each in waiting)
        while waiting:
            reach("batch:poll")
            looks = [(each, batches.run(batches.service.standing(each.id))) for each in waiting]
            for each, look in looks:
                if look.refused:
                    self._kept(state, each, None)
                    what = f"the batch was refused: {look.refused}"
                    raise ChangeRefused(what, hint="see to that, and run the same command again")
            waiting = [each for each, look in looks if not look.ended]
            self._watched |= {each.id for each in waiting}
            worked = sum(len(each.keys) if look.ended else look.done for each, look in looks)
            self.waited(tuple(each.id for each in state.batches), done + worked, total)
            done += sum(len(each.keys) for each, look in looks if look.ended)
            if waiting:
                self.pause(pause_s)
                pause_s = min(1.5 * pause_s, LONGEST_PAUSE_S)
        for each in state.batches:
            if each.id not in self._fetched:
                self._fetch(batches, each)
        undone = {
            key for each in state.batches if each.id in self._watched
            for key in each.keys if self._outcomes[key] in _UNDONE
        }  # fmt: skip
        if undone:
            raise ChangeRefused(
                f"{len(undone)} of {total} questions were not worked on in the batch, and cost nothing",
                hint="run the same command again to ask them in another one; without --batch, one by one",
            )

    def _fetch(self, batches: Batches, batch: Batch) -> None:
        reach("batch:results")
        found = batches.run(batches.service.outcomes(batch.id))
        ours = {key: found.get(key, EXPIRED) for key in batch.keys}
        self.account.billed(batch.id, [each for each in ours.values() if isinstance(each, ChatReply)])
        answered = {key for key, each in self._outcomes.items() if isinstance(each, ChatReply)}
        self._outcomes |= {key: each for key, each in ours.items() if key not in answered}
        self._fetched.add(batch.id)

    def _kept(self, state: State, old: Batch | None, new: Batch | None) -> State:
        """The state with another batch in the place of one, noted."""
        others = tuple(each for each in state.batches if each is not old)
        state = replace(state, batches=(*others, *([new] if new else [])))
        self.bench.keep(state)
        return state


_UNDONE = (EXPIRED, CANCELED)


def _key(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:48]


def _label(batch: Batch) -> str:
    return hashlib.sha256("\n".join(batch.keys).encode()).hexdigest()[:48]
