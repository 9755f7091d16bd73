"""Hostile text anywhere in the workbench is shown only as text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.activation.trace import Correction, TriggerHit
from engine.context.compiled import LeftOut
from engine.context.views import DigestView, LedgerRow, LedgerView
from engine.errors import Problem
from engine.events import ErrorReported, GateAsked
from engine.live.feed import FeedEntry, FeedKind
from tests.tui.conftest import Driven, Run
from tests.tui.fake_engine import NOW, FakeEngine, review_trace, status_view
from tui.kit.messages import ALL_PARTS

HOSTILE = [
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[H\x9b31m\x90q\x9c\u202egnp.exe\u2066",  # terminal sequences
    "[/][/etc/passwd]",  # no valid markup
    "[@click=app.quit]x[/][todo] buy[red]$accent[/red]",  # valid markup
    "a\rb\tc\nd\udc9b\ud800",  # line breaks, and what is no text
]
"""One string of each kind that an interface could take for something other than text."""
COMBINED = "\x1b[2J\x9b31m\u202e[/][@click=app.quit]x[/]a\rb\udc9b"
"""All kinds in one string that fits where each is shown, for the many keys of a screen."""
SGR = re.compile(r"\x1b\[[0-9;]*m")


def rendered_lines(driven: Driven) -> Iterator[str]:
    """The terminal output by line, without style escape codes."""
    for strip in driven.app.screen._compositor.render_strips():
        assert not any(segment.style and segment.style.link for segment in strip)
        assert not any(segment.style and segment.style.meta.get("@click") for segment in strip)
        yield SGR.sub("", strip.render(driven.app.console))


def assert_harmless(driven: Driven) -> None:
    """Asserts that no control character is on the screen."""
    for line in rendered_lines(driven):
        for character in set(line):
            assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp"), repr(line)
            assert unicodedata.bidirectional(character) not in ("RLO", "LRO", "LRI", "RLI", "FSI"), repr(line)
        line.encode("utf-8")


async def assert_each_harmless(driven: Driven, poison: Callable[[str], None]) -> None:
    """Feeds the hostile strings to the open screen one by one and checks that each is harmless."""
    for text in HOSTILE:
        poison(text)
        driven.app.clear_notifications()
        await driven.press("ctrl+r")
        assert_harmless(driven)
        assert driven.app.is_running, repr(text)


def poison(engine: FakeEngine, text: str) -> None:
    """Puts a text in every field that the workbench displays."""
    kinds: tuple[FeedKind, ...] = ("error", "file", "commit", "tool", "user")
    engine.entries = [
        FeedEntry(NOW, kind, text, text, f"{text}#{number}" if kind == "user" else "")
        for number, kind in enumerate(kinds)
    ]
    engine.digest_view = DigestView(
        True, 10, 4096, f"# {text}\n\n## {text}\n- {text} [from: x, 2026-06-12]\n{text}\n"
    )
    row = LedgerRow("0" * 64, "harvest-failed", text, text, 1, {text: 1}, False, text)
    engine.ledger_view = LedgerView((row, replace(row, sha256="1" * 64, status=text)))
    problem = Problem(text, 3, text, text)
    engine.status_value = status_view(
        branch=text, gate=text, model=text, watch_mode="polling", watch_why=text, problems=(problem,)
    )
    left = LeftOut(text, 3, "knowledge", text, text, 10, None, text)
    section = replace(engine.compiled.sections[0], label=text, source=text, why=text)
    engine.compiled = replace(engine.compiled, left_out=(left,), sections=(section,), problems=(text,))
    base = review_trace(text)
    first = base.rows[0]
    hits = (TriggerHit(0, text, text, 0, len(text)),)
    bad = replace(first, topic=text, rule=text, why=text, flip=text, priority=text, hits=hits)
    asked = base.rows[1]
    assert asked.gate is not None
    asked = replace(asked, gate=replace(asked.gate, provider=text, model=text, reason=text))
    trace = replace(base, rows=(bad, asked), corrections=(Correction(text, text, text),))
    engine.traces = {entry.key: trace for entry in engine.entries if entry.key}
    engine.output = text


async def test_hostile_text_is_shown_and_has_no_effect(run: Run, engine: FakeEngine) -> None:
    poison(engine, HOSTILE[0])
    async with run((80, 24)) as driven:
        for size in ((80, 24), (120, 40)):
            await driven.resize(*size)
            for text in HOSTILE:
                poison(engine, text)
                driven.app.clear_notifications()
                driven.bench.conductor.read(ALL_PARTS)
                await driven.settle()
                await driven.press("1", "G")
                assert driven.bench.activation.selected is not None, repr(text)
                driven.engine.publish(GateAsked(NOW, text, text, text, text, 30.0), ErrorReported(NOW, text))
                await driven.settle()
                assert_harmless(driven)
                assert driven.app.is_running, repr(text)
                await driven.press("n")
        poison(engine, COMBINED)
        driven.bench.conductor.read(ALL_PARTS)
        await driven.settle()
        await open_pages_and_lines(driven, COMBINED)
        await driven.resize(200, 60)
        for text in ("[todo] buy", "[/]", "[red]no[/red]"):  # markup-like text is shown in full
            poison(engine, text)
            driven.app.clear_notifications()
            driven.bench.conductor.read(ALL_PARTS)
            await driven.settle()
            screen = "\n".join(rendered_lines(driven))
            assert screen.count(text) >= 12
            driven.bench.say(text)
            await driven.settle()
            assert "\n".join(rendered_lines(driven)).count(text) > screen.count(text)


async def open_pages_and_lines(driven: Driven, text: str) -> None:
    """Opens every page and input line of the workbench and checks that each is harmless."""
    await driven.press("1", "G")
    for keys in (["2", "enter"], ["4", "enter"], ["5", "enter"], ["exclamation_mark"], ["question_mark"]):
        await driven.press(*keys)
        assert len(driven.app.screen_stack) == 2
        assert_harmless(driven)
        await driven.press("escape")
    driven.bench.prompt.enter_mode("command", value=text, about=text)
    driven.bench.run_command(f"echo {text}")
    await driven.settle()
    assert_harmless(driven)
    await driven.press("escape", "ctrl+p")
    assert_harmless(driven)
    await driven.press("escape")


async def test_the_control_filter_is_part_of_the_application(run: Run) -> None:
    async with run() as driven:
        driven.bench.feed.border_title = "x\x1b]52;c;x\x07"
        driven.bench.refresh()
        await driven.settle()
        assert_harmless(driven)
