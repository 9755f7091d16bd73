"""Compiling a prompt on the sample, compared with counting the same text once with the bare tokenizer."""

from __future__ import annotations

from collections.abc import Iterator

from engine.engine import Engine
from tests.benchmarks.inputs import messages_of
from tests.benchmarks.peers import token_counter
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate


def run(setting: Setting) -> Iterator[Row]:
    """Time trace and prompt together, as for a message being typed, and with a refresh of the index."""
    messages = messages_of(setting.sample)
    count = token_counter()
    with Engine.open(setting.sample) as engine:
        engine.refresh_index()
        texts = [""]

        def attempt(number: int) -> None:
            _, compiled = engine.try_message(messages[number % len(messages)])
            texts[0] = compiled.text

        def whole(number: int) -> None:
            engine.compile(messages[number % len(messages)])

        tried, compiled, counted = alternate(
            [attempt, whole, lambda _: count(texts[0])], rounds=setting.size(100, 2), warm_up=3
        )
        last = engine.try_message(messages[0])[1]
        agree(last.tokens == count(last.text), "the prompt's tokens are not those of the tokenizer")
        note = f"{last.tokens:,} tokens of {last.budget:,}"
        yield Row("trace and compile", tried, "one count of its text", counted, note)
        yield Row("the same, files looked at for changes", compiled, "one count of its text", counted)
