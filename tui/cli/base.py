"""What every command shares: finding the workspace, late loading, plain output, errors as one line."""

from __future__ import annotations

import errno
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import AutopoiesisError, WorkspaceError
from engine.gateways.plain import plain as plain
from tui.render import safe

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.events import EngineEvent

HOME_VARIABLE = "AUTOPOIESIS_HOME"
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What writing to a full or broken output answers."""
Function = Callable[..., Any]


@dataclass
class Invocation:
    """What the words before and after the command's name have settled so far."""

    directory: Path | None = None

    @property
    def workspace(self) -> Path:
        """``-C``, else ``$AUTOPOIESIS_HOME``, else ``~/.autopoiesis``."""
        if self.directory is not None:
            return self.directory
        return Path(os.environ.get(HOME_VARIABLE) or "~/.autopoiesis").expanduser()

    def engine(self) -> Engine:
        """Opens the workspace.

        Raises:
            WorkspaceError: The folder is not a workspace.
        """
        from engine.engine import Engine  # noqa: PLC0415 — `--help` must not load the engine

        opened = Engine.open(self.workspace)
        emit_problems(opened.counting.ignored)
        opened.subscribe(_TroubleTold())
        opened.recover()
        return opened


class _TroubleTold:
    """Says on standard error what failed without stopping the work, each thing once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, event: EngineEvent) -> None:
        from engine.events import ErrorReported  # noqa: PLC0415 — loaded with the engine

        if isinstance(event, ErrorReported) and event.text not in self._told:
            self._told.add(event.text)
            emit_problems([f"autopoiesis: {event.text}"])


def invocation() -> Invocation:
    """The invocation of the running command."""
    found = click.get_current_context().find_root().obj
    if not isinstance(found, Invocation):
        raise WorkspaceError("no command is running")
    return found


def _settle_directory(context: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
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
    callback=_settle_directory,
    help=f"The workspace; else ${HOME_VARIABLE}, else ~/.autopoiesis.",
)
"""``-C DIR``, accepted before and after the command's name."""
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def example(*lines: str) -> str:
    """The help text's closing lines: what a person would type."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


class Group(click.Group):
    """A group that lists its commands as declared, those of other modules last.

    Args:
        late: Command name to ``module:attribute``, imported when it is called or listed.
    """

    def __init__(self, *args: Any, late: dict[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.late = late or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they were declared."""
        return [*self.commands, *self.late]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command where it is another module's."""
        if cmd_name not in self.late:
            return super().get_command(ctx, cmd_name)
        module, attribute = self.late[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def verb(self, name: str, *examples: str, **settings: Any) -> Callable[[Function], click.Command]:
        """Declares a command of this group; see ``verb``."""

        def declare(function: Function) -> click.Command:
            command = verb(*examples, name=name, **settings)(function)
            self.add_command(command)
            return command

        return declare


def group(
    *examples: str, late: dict[str, str] | None = None, cls: type[Group] | None = None, **settings: Any
) -> Callable[[Function], Group]:
    """Declares a group of commands, with ``-C`` and examples of what a person would type."""

    def declare(function: Function) -> Group:
        made = click.group(cls=cls or Group, late=late, epilog=example(*examples), **settings)(
            directory_option(function)
        )
        assert isinstance(made, Group)
        return made

    return declare


def verb(*examples: str, name: str | None = None, **settings: Any) -> Callable[[Function], click.Command]:
    """Declares a command, with ``-C`` and examples of what a person would type.

    A function that takes ``engine`` gets the workspace, opened and closed around it; one that takes
    ``as_json`` has ``--json``. ``settings`` are those of ``click.command``.
    """

    def declare(function: Function) -> click.Command:
        taken = function.__annotations__

        @functools.wraps(function)
        def opened(*args: Any, **kwargs: Any) -> Any:
            with invocation().engine() as engine:
                return function(engine, *args, **kwargs)

        called = directory_option(opened if "engine" in taken else function)
        command = click.command(name, cls=click.Command, epilog=example(*examples), **settings)(called)
        return _json_option(command) if "as_json" in taken else command

    return declare


def read_text(text: str) -> str:
    """The argument itself, or standard input for ``-``."""
    return sys.stdin.read() if text == "-" else text


def emit_json(value: object) -> None:
    """Prints one JSON document."""
    click.echo(safe.json_text(plain(value), indent=2))


def visible(text: str) -> str:
    """Text from outside made safe for a terminal, line by line, as the workbench shows it."""
    return "\n".join(map(safe.visible, text.split("\n")))


def emit(text: str = "") -> None:
    """Prints text of the engine's or of files."""
    click.echo(visible(text))


def emit_raw(text: str) -> None:
    """Prints text meant for another program byte for byte when piped, made safe on a terminal."""
    if sys.stdout.isatty():
        emit(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> None:
    """Prints columns, each as wide as its longest cell; the last one is not padded."""
    lines: list[Sequence[str]] = [list(heads), *rows] if heads else list(rows)
    if not lines:
        return
    widths = [max(len(visible(line[i])) for line in lines) for i in range(len(lines[0]))]
    for index, line in enumerate(lines):
        cells = [visible(cell).ljust(width) for cell, width in zip(line, widths, strict=True)]
        text = "  ".join(cells).rstrip()
        click.echo(click.style(text, dim=True) if heads and index == 0 else text)


def emit_problems(problems: Iterable[object]) -> None:
    """Prints problems on standard error, one line each, and none twice in a command."""
    context = click.get_current_context(silent=True)  # none in a thread of the engine's
    told: set[str] = context.find_root().meta.setdefault("autopoiesis.told", set()) if context else set()
    for line in dict.fromkeys(visible(str(problem)) for problem in problems):
        if line not in told:
            told.add(line)
            click.echo(line, err=True)


def minute(at: str) -> str:
    """An ISO time to the minute: ``2026-06-12 08:30``."""
    return at[:16].replace("T", " ")


def kept(commit: str, why: str) -> str:
    """What became of a change in the history: the commit, or why there is none."""
    return f"committed as {commit[:8]}" if commit else f"not committed: {why}"


def run(group: click.Group) -> int:
    """Runs the command line and turns whatever it raises into an exit code.

    Returns:
        0 done, 1 refused or failed (one line on standard error), 2 wrong usage.
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
        # The reader went away (`| head`): nothing is wrong, and nothing more can be said on this pipe.
        _silence(sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _NOT_WRITTEN:
            raise
        _silence(sys.stdout.fileno())
        click.echo(f"autopoiesis: the output cannot be written ({error.strerror})", err=True)
        return 1
    return result if isinstance(result, int) else 0


def _silence(descriptor: int) -> None:
    """Sends what is still to be written there nowhere, so that the interpreter can end in peace."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
