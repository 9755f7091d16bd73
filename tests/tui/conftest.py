"""A stopped clock, a fixed time zone and no animations; and snapshots of screens as SVG files."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex
from textual import events
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.drivers.headless_driver import HeadlessDriver
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.turn import Role
from tests.conftest import GIT_IDENTITY, made_or_copied
from tests.tui.fake_engine import NOW, FakeEngine
from tests.waiting import DEADLINE_S
from tui.app import WorkbenchApp
from tui.kit.full_screen import FullScreen
from tui.kit.preferences import Preferences
from tui.kit.questions import Clock
from tui.screens.workbench.screen import Workbench

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.001, 0.01
"""The pause between two checks while waiting; it grows because each check takes processor time."""


UNDRAWN: WeakSet[Screen[Any]] = WeakSet()
"""Screens with changes that are not drawn yet."""
WATCHED: WeakSet[App[Any]] = WeakSet()
"""Applications that are drawn whenever they become idle, as on a terminal."""
_draw = Screen._compositor_refresh


def _draw_later(screen: Screen[Any]) -> None:
    """Draws successive changes once: when a pilot pauses, or for ``Driven.lines`` and ``Driven.watch``."""
    if screen is screen.app.screen:
        UNDRAWN.add(screen)
        screen._dirty_widgets.clear()
    else:
        _draw(screen)


async def run_until_idle(app: App[Any], *, draw: bool = False) -> None:
    """Runs everything that is ready until nothing is left, then optionally draws the changes.

    For threads and timers, see ``Driven.settle`` and ``Driven.until``.
    """
    loop: Any = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # a timer that is due becomes ready only in the next round
        if loop._ready:
            continue
        for screen in app.screen_stack[-1:]:
            screen._on_timer_update()
            if (draw or app in WATCHED) and not loop._ready and screen in UNDRAWN:
                UNDRAWN.discard(screen)
                _draw(screen)
        if not loop._ready:
            return


PARSED: dict[tuple[object, ...], list[RuleSet]] = {}
"""Parsed style sheet rules, by text, source and colours."""
_parse = Stylesheet._parse_rules


def _parse_once(sheet: Stylesheet, *args: Any, **kwargs: Any) -> list[RuleSet]:
    """Caches parsed style sheets across applications with the same theme."""
    key = (*args, *kwargs.items(), frozenset(sheet._variables.items()))
    if key not in PARSED:
        PARSED[key] = _parse(sheet, *args, **kwargs)
    return PARSED[key]


FASTER = 10
"""How much faster than for a person the screens' timers of 0.2 s or more run."""


def _faster(real: Callable[..., Any]) -> Callable[..., Any]:
    def faster(screen: FullScreen, seconds: float, *args: Any, **kwargs: Any) -> Any:
        return real(screen, seconds / FASTER if seconds >= 0.2 else seconds, *args, **kwargs)

    return faster


@pytest.fixture(autouse=True, scope="session")
def quick_pilot() -> Iterator[None]:
    """Makes Textual's pilot wait for pending work instead of an idle processor.

    Waiting for an idle processor takes at least 20 ms per key and depends on the machine's load.
    Style sheets are also parsed only once, and timers run faster.
    """

    async def pause(pilot: Pilot[Any], delay: None = None) -> None:
        assert delay is None, "wait for a condition"
        await run_until_idle(pilot.app, draw=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "pause", pause)
        patch.setattr(Screen, "_compositor_refresh", _draw_later)
        patch.setattr(Stylesheet, "_parse_rules", _parse_once)
        # However slow the machine, a notification stays until a test has read it.
        patch.setattr(App, "NOTIFICATION_TIMEOUT", 3600.0)
        # Textual's hash is equivalent, but written in Python and called for every rule and widget.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        for module in ("workbench.layout", "search.screen"):
            patch.setattr(f"tui.screens.{module}.TYPING_S", 36_000.0)  # see ``Driven.run``
        for name in ("set_timer", "set_interval"):
            patch.setattr(FullScreen, name, _faster(getattr(FullScreen, name)))
        yield


SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


@pytest.fixture(autouse=True)
def fixed_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """UTC and a terminal of 256 colours, without settings from the environment."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    return folder


Prepare = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture
def prepare(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Prepare:
    """Changes a copy of the sample in the home folder: ``prepare("cached", make)``. ``make`` runs once."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Robin Example\n\temail = robin@example.org\n")

    def prepared(name: str, make: Callable[[Path], object]) -> Path:
        def made(_root: Path) -> None:
            with monkeypatch.context() as patch:
                for variable, value in GIT_IDENTITY.items():
                    patch.setenv(variable, value)
                make(request.getfixturevalue("sample"))

        made_or_copied(tmp_path_factory, name, tmp_path / "memory", made)
        return tmp_path / "memory"

    return prepared


EVENING = "ses_5a7c91e0"
TURNS: tuple[tuple[Role, str], ...] = (
    ("user", "Back from lunch. What is still open from this morning?"),
    ("agent", "Two things: the changelog paragraph in German, and the broker log for KVA-02."),
    ("user", "Write me a script that counts the readings per gauge."),
    ("agent", 'Here it is:\n\n```python\nfor gauge in gauges:\n    print "%s" % gauge\n```'),
    ("user", "Can you review the PR that just came in?"),
)


@pytest.fixture
def evening(prepare: Prepare) -> Path:
    """The sample with a short conversation from this evening."""

    def make(root: Path) -> None:
        started = datetime(2026, 6, 12, 18, 40, tzinfo=UTC)
        before = (started - timedelta(days=3)).timestamp()
        for path in (root / "conversations").iterdir():
            os.utime(path, (before, before))
        capture = ConversationCapture(Files(Workspace.open(root)))
        capture.start(EVENING, title="Evening round", started=started)
        for minute, (role, text) in enumerate(TURNS, start=41):
            capture.message(EVENING, role, text, at=started.replace(minute=minute))

    return prepare("evening", make)


@pytest.fixture
def engine(home: Path) -> FakeEngine:
    """A fake engine over a workspace with a few real files."""
    root = home / "memory"
    for name in ("topics/github-pr-review.md", "knowledge/digest.md", "knowledge/ledger.json"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n", encoding="utf-8")
    return FakeEngine(root)


class Recorder(HeadlessDriver):
    """Keeps what is sent to the terminal."""

    is_headless = False
    texts: list[str]

    def write(self, data: str) -> None:
        self.texts.append(data)


@dataclass
class Driven:
    """Drives a running workbench."""

    app: WorkbenchApp
    pilot: Pilot[int]
    engine: FakeEngine

    @property
    def bench(self) -> Workbench:
        """The first screen."""
        return self.app.bench

    def watch(self) -> None:
        """From now on, draws changes as they happen, like a terminal."""
        WATCHED.add(self.app)

    async def record_output(self) -> list[str]:
        """Records the output to the terminal, which shows what is drawn now."""
        driver = self.app._driver
        assert driver is not None
        driver.__class__ = Recorder
        assert isinstance(driver, Recorder)
        driver.texts = []
        self.watch()
        self.app.redraw()
        await self.pilot.pause()
        driver.texts.clear()
        return driver.texts

    def panel(self) -> str:
        """The focused panel."""
        return self.bench.panel_in_use

    def zoomed(self) -> str | None:
        """The zoomed panel."""
        return self.bench.zoomed

    def source(self) -> str:
        """The source of the message shown."""
        return self.bench.activation.shown.source

    def following(self) -> bool:
        """Whether the feed is being followed."""
        return self.bench.feed.following

    def visible(self) -> list[Widget]:
        """The visible panels."""
        return [panel for panel in self.bench.query("Panel") if panel.display and panel.region.area]

    def pending(self) -> bool:
        """Whether a thread or timer is pending that will change the screen."""
        return (
            self.bench.conductor.busy
            or self.bench.waiting
            or self.app._resize_event is not None
            or any(worker.is_running for worker in self.app.workers)
        )

    async def run(self) -> None:
        """Runs everything that is ready; a pause in typing ends once all keys have been handled."""
        await run_until_idle(self.app)
        for screen in self.app.screen_stack:
            typing: Timer | None = getattr(screen, "_typing", None)
            if typing is not None and typing._callback is not None:
                typing.stop()
                screen.call_later(typing._callback)
                await run_until_idle(self.app)

    async def settle(self) -> None:
        """Waits until all engine calls have returned and everything is drawn."""
        loop: Any = asyncio.get_running_loop()
        deadline = time.monotonic() + DEADLINE_S
        pause_s = FIRST_PAUSE_S
        await self.run()
        while self.pending() or loop._ready:  # a thread is done only once its answer can be fetched
            assert time.monotonic() < deadline, "still busy after the timeout"
            await asyncio.sleep(pause_s if self.pending() else 0)
            pause_s = min(pause_s * 1.25, LONGEST_PAUSE_S)
            await self.run()

    async def until(self, met: Callable[[], object]) -> None:
        """Waits for a condition that a thread or timer brings about."""
        deadline = time.monotonic() + DEADLINE_S
        pause_s = FIRST_PAUSE_S
        await self.run()
        while not met():
            assert time.monotonic() < deadline, "timed out waiting for the condition"
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.25, LONGEST_PAUSE_S)
            await self.run()

    async def resize(self, width: int, height: int) -> None:
        """Resizes the terminal."""
        await self.pilot.resize_terminal(width, height)
        await self.settle()

    async def press(self, *keys: str) -> None:
        """Presses keys, settling after each."""
        for key in keys:
            await self.send(key)
            await self.settle()

    async def send(self, *keys: str) -> None:
        """Presses keys as fast as possible, without waiting in between."""
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            event = events.Key(_character_to_key(key), key) if len(key) == 1 else events.Key(key, None)
            event.set_sender(self.app)
            driver.send_message(event)
        await asyncio.sleep(0)

    async def type(self, text: str) -> None:
        """Types text at once."""
        await self.send(*text)
        await self.settle()

    @property
    def lines(self) -> list[str]:
        """The screen's text by line."""
        update = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in update]

    @property
    def text(self) -> str:
        """The screen's text."""
        return "\n".join(self.lines)

    def svg(self) -> str:
        """The screen as SVG, without ids that depend on its content."""
        picture = self.app.export_screenshot(title="autopoiesis")
        return re.sub(r"terminal-\d+-", "terminal-", picture)


Run = Callable[..., AbstractAsyncContextManager[Driven]]


@pytest.fixture
def run(engine: FakeEngine, home: Path) -> Run:
    """Opens the workbench: ``async with run((80, 24), theme="light") as driven``."""

    @asynccontextmanager
    async def opened(
        size: tuple[int, int] = (120, 40),
        *,
        theme: str = "",
        settle: bool = True,
        grace_s: float = 0.0,
        **changes: Any,
    ) -> AsyncIterator[Driven]:
        for name, value in changes.items():
            setattr(engine, name, value)
        app = WorkbenchApp(
            engine,
            preferences=Preferences(home / "tui.yaml"),
            clock=Clock(now=lambda: NOW, monotonic=lambda: 1000.0, grace_s=grace_s),
            theme=theme,
            run_line=engine.run_command,
        )
        async with app.run_test(size=size, notifications=True) as pilot:
            driven = Driven(app, pilot, engine)
            if settle:
                await driven.settle()
            yield driven

    return opened


class Calls(list[tuple[Any, ...]]):
    """The calls of a method of the engine, which wait while ``held`` and then raise ``error``, if any."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self._go_on = threading.Event()
        self._go_on.set()

    @contextmanager
    def held(self) -> Iterator[Callable[[], None]]:
        """Lets calls wait until the end of the context, or until its value is called."""
        self._go_on.clear()
        try:
            yield self._go_on.set
        finally:
            self._go_on.set()

    def made(self, *arguments: Any) -> None:
        """Records a call."""
        self.append(arguments)
        assert self._go_on.wait(DEADLINE_S)
        if self.error is not None:
            raise self.error


Watch = Callable[[type, str], Calls]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Records the calls of a method of the real engine: ``watch(Tuning, "apply")``."""

    def watched(of: type, name: str) -> Calls:
        calls, real = Calls(), getattr(of, name)

        def call(this: Any, *args: Any, **kwargs: Any) -> Any:
            calls.made(*args, *kwargs.values())
            return real(this, *args, **kwargs)

        monkeypatch.setattr(of, name, call)
        return calls

    return watched


class ScreenSnapshots(SingleFileSnapshotExtension):
    """SVG files in ``snapshots/<screen>/``, named ``<screen>/<name>``."""

    _write_mode = WriteMode.TEXT
    file_extension = "svg"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of all snapshots; subfolders are part of the names."""
        return str(SNAPSHOTS)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """The given name."""
        return str(index)

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        """``snapshots/<screen>/<name>.svg``."""
        return str(SNAPSHOTS / f"{index}.{cls.file_extension}")

    def owns_snapshot_collection(self, *, filepath: str, test_location: PyTestLocation) -> bool:
        """Never counts a picture as unused: running some tests must not delete the pictures of others."""
        return False


@pytest.fixture
def picture(snapshot: SnapshotAssertion) -> Callable[[Driven, str], None]:
    """Compares the screen with its picture: ``picture(driven, "workbench/80x24-dark")``."""
    pictures = snapshot.use_extension(ScreenSnapshots)

    def compare(driven: Driven, name: str) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(?s).*Can not relate snapshot")
            assert driven.svg() == pictures(name=name)

    return compare
