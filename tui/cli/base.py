"""Shared by all commands: finding the workspace, late loading, plain output, questions, one-line errors."""

from __future__ import annotations

import errno
import functools
import importlib
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import AutopoiesisError, WorkspaceError
from engine.gateways.plain import plain as plain
from tui.render import safe

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.events import EngineEvent, GateAsked
    from engine.store.repository import Commit


PROGRAM, HOME_VARIABLE = "autopoiesis", "AUTOPOIESIS_HOME"
_FINISHES = "autopoiesis.finishes"
"""The key in the context of a command that does all its work, whether or not anybody reads its output."""
_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Raised when standard output is full or broken."""
Function = Callable[..., Any]


@dataclass
class Invocation:
    """The ``-C`` option of the running command."""

    directory: Path | None = None

    @property
    def workspace(self) -> Path:
        """``-C``, else ``$AUTOPOIESIS_HOME``, else ``~/.autopoiesis``."""
        if self.directory is not None:
            return self.directory
        return Path(os.environ.get(HOME_VARIABLE) or "~/.autopoiesis").expanduser()

    def open(self, *, read_only: bool = False) -> Engine:
        """Opens the workspace.

        Raises:
            WorkspaceError: The folder is not a workspace. If none was named, the hint says where to start, or
                how to name the workspace in which the command was run.
        """
        from engine.engine import Engine  # noqa: PLC0415 — `--help` must not load the engine
        from engine.store.paths import CONFIG_NAME  # noqa: PLC0415 — as above

        try:
            return Engine.open(self.workspace, read_only=read_only)
        except WorkspaceError as error:
            if self.directory is None and not self.workspace.exists():
                here = Path.cwd()
                around = next(
                    (each for each in (here, *here.parents) if (each / CONFIG_NAME).is_file()), None
                )
                error.hint = (
                    "to make one: autopoiesis init, then autopoiesis import; to try it: autopoiesis demo"
                )
                if around is not None:
                    error.hint = f"to use the workspace you are in: autopoiesis -C {shlex.quote(str(around))}"
            raise

    def engine(self) -> Engine:
        """Opens the workspace for a command; raises as ``open``."""
        engine = self.open()
        emit_problems(engine.settings.ignored)
        engine.subscribe(_error_printer())
        engine.recover()
        return engine


def _error_printer() -> Callable[[EngineEvent], None]:
    """Prints errors that do not stop the command, each once."""
    from engine.events import ErrorReported  # noqa: PLC0415 — loaded with the engine

    printed: set[str] = set()

    def handle(event: EngineEvent) -> None:
        # Events also arrive on threads without a click context, where emit_problems cannot tell repeats.
        if isinstance(event, ErrorReported) and event.text not in printed:
            printed.add(event.text)
            emit_problems([f"autopoiesis: {event.text}"])

    return handle


def invocation() -> Invocation:
    found = click.get_current_context().find_root().obj
    if not isinstance(found, Invocation):
        raise WorkspaceError("no command is running")
    return found


def _set_directory(context: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    root = context.find_root()
    if not isinstance(root.obj, Invocation):
        root.obj = Invocation()
    if value is not None:
        root.obj.directory = value


directory_option = click.option(
    "-C",
    "workspace_folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    expose_value=False,
    is_eager=True,
    callback=_set_directory,
    help=f"The workspace; else ${HOME_VARIABLE}, else ~/.autopoiesis.",
)
"""``-C DIR``, accepted before and after the command's name."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def _examples(command: str, lines: Sequence[str]) -> str:
    """The examples of a command, each of which completes it, unless it says how the program is called."""
    whole = (line if f"{PROGRAM} " in line else f"{PROGRAM} {command} {line}" for line in lines or [""])
    return "\b\nExample:\n" + "\n".join(f"  {line}".rstrip() for line in whole)


_SENTENCE = 400
"""Characters of a sentence in a list of commands."""


class Group(click.Group):
    """A group that lists commands in declaration order, then the late ones.

    Args:
        late: Command name to ``module:attribute``, imported when called or listed.
    """

    def __init__(self, *args: Any, late: dict[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.late = late or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in declaration order."""
        return [*self.commands, *self.late]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command, imported if it is a late one."""
        if cmd_name not in self.late:
            return super().get_command(ctx, cmd_name)
        module, attribute = self.late[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands with the whole first sentence of each, where click cuts it."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(limit=_SENTENCE)) for name, command in found if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def verb(self, name: str, *examples: str, **settings: Any) -> Callable[[Function], click.Command]:
        """Declares a command of this group; see ``verb``."""

        def declare(function: Function) -> click.Command:
            command = verb(*examples, name=name, of=f"{self.name} ", **settings)(function)
            self.add_command(command)
            return command

        return declare


def group(
    *examples: str, late: dict[str, str] | None = None, cls: type[Group] | None = None, **settings: Any
) -> Callable[[Function], Group]:
    """Declares a group of commands, with ``-C`` and examples."""

    def declare(function: Function) -> Group:
        epilog = _examples(settings.get("name") or function.__name__, examples)
        decorate = click.group(cls=cls or Group, late=late, epilog=epilog, **settings)
        declared = decorate(directory_option(function))
        assert isinstance(declared, Group)
        return declared

    return declare


def verb(
    *examples: str, name: str | None = None, of: str = "", **settings: Any
) -> Callable[[Function], click.Command]:
    """Declares a command, with ``-C`` and examples.

    A function that takes ``engine`` gets the workspace, opened and closed around the call; one that takes
    ``as_json`` gets ``--json``. Examples are what follows the command's name. ``settings`` are passed to
    ``click.command``.
    """

    def declare(function: Function) -> click.Command:
        parameters = function.__annotations__

        @functools.wraps(function)
        def with_engine(*args: Any, **kwargs: Any) -> Any:
            with invocation().engine() as engine:
                return function(engine, *args, **kwargs)

        body = directory_option(with_engine if "engine" in parameters else function)
        epilog = _examples(f"{of}{name or function.__name__}", examples)
        command = click.command(name, cls=click.Command, epilog=epilog, **settings)(body)
        return json_option(command) if "as_json" in parameters else command

    return declare


def read_text(text: str) -> str:
    """The argument itself, or standard input for ``-``."""
    return sys.stdin.read() if text == "-" else text


def is_terminal() -> bool:
    """Whether a person can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def report(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield report


def finish_quietly() -> None:
    """Has the command do all its work even if the reader of its output closes the pipe (`| head`)."""
    click.get_current_context().find_root().meta[_FINISHES] = True


def _print(text: str) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:
        context = click.get_current_context(silent=True)
        if context is None or _FINISHES not in context.find_root().meta:
            raise
        _silence(sys.stdout.fileno())


def emit_json(value: object) -> None:
    _print(safe.json_text(plain(value), indent=2))


def emitted_json(as_json: bool, value: object) -> bool:
    """Prints a value as JSON if that is what is wanted, and returns whether it was."""
    if as_json:
        emit_json(value)
    return as_json


def visible(text: str) -> str:
    """Text with control characters made visible, so that it is safe on a terminal."""
    return "\n".join(map(safe.visible, text.split("\n")))


def emit(text: str = "") -> None:
    """Prints text, made safe for a terminal."""
    _print(visible(text))


def emit_prompt(text: str) -> None:
    """Prints text for a model as hooks pass it on: a pipe may end in a terminal (`| head`)."""
    from engine.context.delimiters import visible  # noqa: PLC0415 — `--help` must not load the engine

    emit_raw(visible(text))


def emit_raw(text: str) -> None:
    """Prints text byte for byte into a pipe, made safe on a terminal."""
    if sys.stdout.isatty():
        emit(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> None:
    """Prints rows as aligned columns."""
    lines: list[Sequence[str]] = [list(heads), *rows] if heads else list(rows)
    if not lines:
        return
    widths = [max(len(visible(line[i])) for line in lines) for i in range(len(lines[0]))]
    for index, line in enumerate(lines):
        cells = [visible(cell).ljust(width) for cell, width in zip(line, widths, strict=True)]
        text = "  ".join(cells).rstrip()
        _print(click.style(text, dim=True) if heads and index == 0 else text)


def emit_problems(problems: Iterable[object]) -> None:
    """Prints problems on standard error, one line each, each only once per command."""
    context = click.get_current_context(silent=True)  # None on the engine's threads
    printed: set[str] = (
        context.find_root().meta.setdefault("autopoiesis.printed", set()) if context else set()
    )
    for line in dict.fromkeys(visible(str(problem)) for problem in problems):
        if line not in printed:
            printed.add(line)
            click.echo(line, err=True)


def minute(at: str) -> str:
    """Formats an ISO time to the minute: ``2026-06-12 08:30``."""
    return at[:16].replace("T", " ")


def commit_text(commit: str, reason: str) -> str:
    """Says which commit contains a change, or why none does."""
    return f"committed as {commit[:8]}" if commit else f"not committed: {reason}"


def run(group: click.Group) -> int:
    """Runs the command line and returns its exit code.

    Returns:
        0 done, 1 refused or failed (one line on standard error), 2 wrong usage, 130 aborted.
    """
    try:
        result = group.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code if isinstance(error, click.UsageError) else 1
    except click.exceptions.Abort:
        return 130
    except AutopoiesisError as error:
        click.echo(f"autopoiesis: {visible(str(error))}", err=True)
        return 1
    except BrokenPipeError:
        # The reader closed the pipe (`| head`), which is not an error.
        _silence(sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _WRITE_ERRORS:
            raise
        _silence(sys.stdout.fileno())
        click.echo(f"autopoiesis: cannot write the output ({error.strerror})", err=True)
        return 1
    return result if isinstance(result, int) else 0


def _silence(descriptor: int) -> None:
    """Discards buffered output, so that the interpreter's flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


as_of_option = click.option(
    "--as-of",
    metavar="REV|DATE",
    help="Use the state at a commit, tag, branch or date: 2026-10-01, '2026-10-01 14:00' (UTC), '3 days ago',"
    " 'last week'; `now` is the working tree.",
)


@contextmanager
def checkout_progress() -> Iterator[Callable[[int, int], None]]:
    """A progress bar that appears with the first step; none for a state that is already checked out."""
    with ExitStack() as shown:
        bars: list[Callable[[int, int], None]] = []

        def report(done: int, total: int) -> None:
            if not bars:
                bars.append(shown.enter_context(progress("checking out the past")))
            bars[0](done, total)

        yield report


def print_commit(commit: Commit) -> None:
    """Prints on standard error which commit a date or name resolved to."""
    from engine.store.revisions import described  # noqa: PLC0415 — only for a past state

    click.echo(visible(f"as of {described(commit)}"), err=True)


@contextmanager
def prompt_for_gate(engine: Engine) -> Iterator[None]:
    """Asks gate questions on the terminal; without a terminal they go unanswered."""
    if engine.config.gate.provider != "ask" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        yield
        return
    from engine.events import GateAsked  # noqa: PLC0415 — only on a terminal

    one_at_a_time = threading.Lock()

    def ask(question: GateAsked) -> None:
        with one_at_a_time:
            click.echo(visible(f"{question.topic}: {question.description}"), err=True)
            answer = click.confirm("Does it apply?", err=True, default=False)
        engine.answer(question.question_id, answer)

    def handle(event: EngineEvent) -> None:
        # Events arrive on the thread that watches the deadline, so waiting for a key must not block it.
        if isinstance(event, GateAsked):
            threading.Thread(target=ask, args=(event,), daemon=True).start()

    unsubscribe = engine.subscribe(handle)
    try:
        yield
    finally:
        unsubscribe()
