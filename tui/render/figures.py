"""Formatting of numbers, times and paths."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from engine.store.zone import local_time

_zone: Callable[[], str] = str
"""Returns the name of the time zone; empty, as by default, means the machine's."""


def score(value: float) -> str:
    """A score from 0 to 1: ``.81``, ``1.0``."""
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1.0"


def count(value: int) -> str:
    """``6,912``."""
    return f"{value:,}"


def value_text(value: object) -> str:
    """A value as in a settings file; ``–`` if absent or empty."""
    if value is None or value in ("", (), {}):
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {each}' for name, each in value.items())}}}"
    return str(value)


def plural(value: int, one: str, many: str = "") -> str:
    """``1 topic``, ``2 topics``."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def milliseconds(value: float) -> str:
    """``0.4 ms``, ``210 ms``, ``2.1 s``."""
    if value >= 1000:
        return f"{value / 1000:.1f} s"
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"


def dollars(value: float) -> str:
    """``$0``, ``$0.0002``, ``$1.25``."""
    if value <= 0:
        return "$0"
    return f"${value:.2f}" if value >= 0.1 else f"${value:.4f}" if value >= 0.0001 else "<$0.0001"


def left(seconds: float) -> str:
    """Remaining time: ``4:32``, ``1:04:00``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def kilobytes(size: int) -> str:
    """Bytes in KB without unit: ``3.1``."""
    return f"{size / 1024:.1f}"


def sizes(size: int) -> str:
    """``812 B``, ``14.2 KB``, ``2.3 MB``."""
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.1f} KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MB"


def use_zone(zone: Callable[[], str]) -> None:
    """Sets the time zone for display; ``zone`` returns its name, or empty for the machine's."""
    global _zone
    _zone = zone


def local(at: datetime) -> datetime:
    """A time in the user's time zone."""
    return local_time(at, _zone())


def clock(at: datetime) -> str:
    """``18:47`` in the user's time zone."""
    return local(at).strftime("%H:%M")


def day(at: datetime) -> str:
    """``06-12`` in the user's time zone."""
    return local(at).strftime("%m-%d")


def day_of(text: str) -> str:
    """As ``day``, from an ISO 8601 time; five spaces if it is not one."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return "     "
    return day(at) if at.tzinfo else at.strftime("%m-%d")


def home(path: Path) -> str:
    """A path with the home folder as ``~``."""
    try:
        below = path.relative_to(Path.home())
    except (ValueError, RuntimeError):
        return str(path)
    return f"~/{below}" if below.parts else "~"
