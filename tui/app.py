"""The workbench application: themes, error handling, signals and the entry point."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.color import ColorSystem
from rich.console import RenderableType
from textual import events, on
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.notifications import SeverityLevel
from textual.screen import Screen

from engine.agents.listener import listening
from engine.errors import AutopoiesisError, ChangeRefused
from engine.store.user_folder import settings_folder
from themes.loader import BUNDLED, ThemeFile, load_theme, load_themes
from tui.kit.cells import Cells
from tui.kit.commands import Commanded, Commands, Palette
from tui.kit.conductor import RunLine
from tui.kit.lanes import Writes
from tui.kit.messages import NextTheme, Redraw
from tui.kit.overlays import ConfirmScreen
from tui.kit.preferences import Preferences
from tui.kit.questions import Clock
from tui.kit.terminal import ControlFilter, TerminalDriver
from tui.render.figures import use_zone, value_text
from tui.render.safe import visible
from tui.screens.workbench import commandline
from tui.screens.workbench.screen import Workbench

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.settings.trust import TrustStatus

DEFAULT_THEME = "dark"
FIRST_THEMES = ("dark", "light")
"""The themes the theme key cycles through first; the others follow by name."""
PLAIN_THEME = "ansi-dark"
"""Textual's theme with the terminal's default colours, used when NO_COLOR is set."""
FEW_COLOURS_THEME = "sixteen"
"""The theme in a terminal of 16 colours, whichever is remembered for others."""
_TERMINAL_CHECK_S = 1.0
_WRITES_S = 10.0
"""How long closing waits for what is still to be written."""
HEADLESS_HINT = "autopoiesis trace TEXT works without a screen"


class WorkbenchApp(App[int]):
    """The application around the workbench.

    Args:
        engine: An open engine.
        preferences: The user's ``tui.yaml`` by default.
        theme: Overrides the remembered theme.
        run_line: Runs a command line; in its own process by default.
    """

    TITLE = "autopoiesis"
    CSS_PATH = "workbench.tcss"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Commands}
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "quit", show=False, priority=True)]

    def __init__(
        self,
        engine: Engine,
        *,
        preferences: Preferences | None = None,
        clock: Clock | None = None,
        theme: str = "",
        run_line: RunLine | None = None,
    ) -> None:
        plain = bool(os.environ.get("NO_COLOR"))
        if not plain:
            os.environ.pop("NO_COLOR", None)  # Textual counts an empty one as set, unlike no-color.org
        super().__init__(TerminalDriver, ansi_color=True if plain else None)
        self.animation_level = "none"
        self.leaving = False
        self.writes = Writes()
        self.cells = Cells()
        self._filters.append(ControlFilter())
        self.engine = engine
        use_zone(lambda: engine.config.days.time_zone)
        self.preferences = preferences or Preferences()
        self.clock = clock or Clock()
        self.run_line = run_line or partial(commandline.run_line, engine.workspace.root)
        self.theme_files, self.theme_errors = load_themes((BUNDLED, settings_folder() / "themes"))
        for file in self.theme_files.values():
            self.register_theme(file.to_textual())
        wanted = theme or (FEW_COLOURS_THEME if self.few_colours else self.preferences.theme)
        if plain:
            self.theme = PLAIN_THEME
        else:
            self.theme = wanted if wanted in self.theme_files else DEFAULT_THEME

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The role colours for third-party themes that define none."""
        return dict(_defaults().colours)

    @property
    def few_colours(self) -> bool:
        """Whether the terminal has 16 colours or fewer, in which most colours of other themes are equal."""
        return self.console._color_system is ColorSystem.STANDARD

    def get_default_screen(self) -> Workbench:
        bench = Workbench(self.engine, self.clock, self.run_line)
        self.writes = bench.conductor.writes
        return bench

    @property
    def bench(self) -> Workbench:
        """The workbench, even when other screens cover it."""
        return next(screen for screen in self.screen_stack if isinstance(screen, Workbench))

    def on_mount(self) -> None:
        """Handles signals, reports unusable preferences and themes, and asks for trust."""
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self.exit, 128 + number)
            # Not through the loop: it would also see a SIGQUIT meant for an editor that has the terminal.
            signal.signal(
                signal.SIGQUIT, lambda *_: loop.call_soon_threadsafe(self.exit, 128 + signal.SIGQUIT)
            )
            self.set_interval(_TERMINAL_CHECK_S, self._exit_if_terminal_lost)
        self.app_resume_signal.subscribe(self, lambda _app: self.redraw())
        problems = [str(error) for error in self.theme_errors]
        if self.preferences.problem:
            problems.append(self.preferences.problem)
        for problem in problems:
            self.notify(visible(problem), severity="warning", markup=False)
        self._ask_for_trust()

    def _ask_for_trust(self) -> None:
        """Asks once whether settings that send data, accept data or run programs may take effect."""
        trust = self.engine.settings.trust
        if trust.state not in ("new", "changed"):
            return
        acts = [visible(f"{act.name}: {value_text(act.value)} — {act.does}") for act in trust.acts]
        changed = "have changed since you trusted them and " if trust.state == "changed" else ""
        question = f"This workspace's settings {changed}request the following:"
        consequence = "Until you trust the workspace, these settings are ignored. Everything else works."
        self.push_screen(
            ConfirmScreen(
                "trust this workspace?", "\n".join([question, "", *acts, "", consequence]), "Trust"
            ),
            lambda trusted: self._decided(trust, trusted=bool(trusted)),
        )

    def _decided(self, asked: TrustStatus, *, trusted: bool) -> None:
        try:
            self.engine.decide_trust(trusted=trusted, shown=asked.acts)
        except ChangeRefused as error:
            self.bench.say(str(error), error=True)
            self._ask_for_trust()
        except (AutopoiesisError, OSError) as error:
            self.bench.say(visible(str(error)), error=True)
        else:
            self.bench.refetch()
            self.bench.say("trusted" if trusted else "not trusted; change this with: autopoiesis trust")

    @on(Redraw)
    def redraw(self) -> None:
        """Sends the whole screen: the terminal may show something else."""
        self.cells.forget()
        self.refresh(layout=True)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and not (self.is_headless or self._batch_count):
            renderable = self.cells.differences(renderable, self.console)  # type: ignore[assignment]
        super()._display(screen, renderable)

    def exit(self, *arguments: Any, **named: Any) -> None:
        """Exits and ignores all further input."""
        self.leaving = True
        super().exit(*arguments, **named)

    async def on_event(self, event: events.Event) -> None:
        """Holds input until the screen it is for is complete; drops it while the screens are torn down."""
        if isinstance(event, events.Resize):
            self.cells.forget()  # terminals wrap and cut what they show
        if isinstance(event, events.InputEvent | events.Paste):
            if self.leaving:
                return
            await self.screen._mounted_event.wait()
        await super().on_event(event)

    def _exit_if_terminal_lost(self) -> None:
        """Exits when the terminal is gone.

        SIGHUP goes only to the session leader: below ``make`` or a waiting shell it never arrives, and reads
        from a closed terminal never block.
        """
        if not os.isatty(sys.__stdin__.fileno() if sys.__stdin__ else 0):
            self.exit(128 + signal.SIGHUP)

    def on_app_focus(self, _event: events.AppFocus) -> None:
        """Rescans: files may have changed while another window had the focus."""
        self.bench.conductor.rescan(quietly=True)

    @on(NextTheme)
    def next_theme(self) -> None:
        """Switches to the next theme and remembers it."""
        if self.no_color:
            self.bench.say("NO_COLOR is set")
            return
        names = [*FIRST_THEMES, *(name for name in self.theme_files if name not in FIRST_THEMES)]
        name = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else DEFAULT_THEME
        self.theme = name
        try:
            self.preferences.choose_theme(name)
        except OSError as error:
            self.bench.say(f"cannot save the theme: {error.strerror}", error=True)
        else:
            self.bench.say(f"theme: {self.theme_files[name].title}")

    def notify(self, message: str, *, severity: SeverityLevel = "information", **rest: Any) -> None:
        """Shows a notification, unless the same one is in view. Besides errors, two are kept."""
        if any(each.message == message for each in self._notifications):
            return
        for each in [each for each in self._notifications if each.severity == "information"][:-1]:
            del self._notifications[each]
        super().notify(message, severity=severity, **rest)

    def action_command_palette(self) -> None:
        """Opens the palette of all commands."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def action_help_quit(self) -> None:
        """Clears an input line on ctrl+c, and does not quit: it is too easy to press by accident."""
        screen = self.screen
        if isinstance(screen, Commanded) and screen.in_line and screen.prompt.input.value:
            screen.prompt.input.put("")
        else:
            self.notify("q quits, esc backs out", markup=False)


@lru_cache(maxsize=1)
def _defaults() -> ThemeFile:
    return load_theme(BUNDLED / f"{DEFAULT_THEME}.yaml")


def unusable(environment: Mapping[str, str], *, terminal: bool) -> str:
    """The reason the workbench cannot be shown, or an empty string."""
    if not terminal:
        return f"the workbench needs a terminal; {HEADLESS_HINT}"
    if environment.get("TERM", "") in ("", "dumb"):
        kind = environment.get("TERM") or "unknown"
        return f"the workbench cannot draw on a terminal of type {kind}; {HEADLESS_HINT}"
    return ""


def run_workbench(engine: Engine, *, preferences: Path | None = None) -> int:
    """Shows the workbench until the user quits.

    Args:
        engine: An open engine; started and stopped here.
        preferences: Path of a ``tui.yaml`` to use instead of the default.

    Returns:
        The exit code: 0, 1 without a usable terminal (reported on standard error), or 128 plus the signal
        number after SIGTERM, SIGHUP or SIGQUIT.
    """
    reason = unusable(os.environ, terminal=sys.stdin.isatty() and sys.stdout.isatty())
    if reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    app = WorkbenchApp(engine, preferences=Preferences(preferences))

    def report(failure: threading.ExceptHookArgs) -> None:
        """Shows a background thread's failure as a notification; a traceback would garble the screen."""
        message = f"{failure.exc_type.__name__}: {failure.exc_value}"
        app.call_later(app.notify, visible(message), severity="error", markup=False)

    before = threading.excepthook
    threading.excepthook = report
    try:
        with listening(engine):
            code = app.run()
            for problem in app.writes.finish(_WRITES_S):
                sys.stderr.write(f"not saved: {visible(problem)}\n")
    finally:
        threading.excepthook = before
    return code or app.return_code or 0
