"""What settings are made of: groups, limits, and the mark of what acts."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from engine.startup.records import dataclass
from engine.store import cron

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class Limits:
    """The numbers a setting may have; used in its annotation.

    Args:
        bounds: ``ge``, ``gt``, ``le``, ``lt`` and ``multiple_of``, as pydantic names them.
    """

    def __init__(self, **bounds: float) -> None:
        self.bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        bounded: CoreSchema = {**schema, **self.bounds}
        return bounded


class Cron:
    """A setting that is a cron expression of five fields, or ``off``; used in its annotation."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core.core_schema import no_info_after_validator_function  # noqa: PLC0415 — slow, as pydantic

        return no_info_after_validator_function(_expression, handler(source))


def _expression(text: str) -> str:
    from pydantic_core import PydanticCustomError  # noqa: PLC0415 — likewise

    words = " ".join(text.split())
    if words.lower() == cron.OFF:
        return cron.OFF
    if found := cron.problem(words):
        raise PydanticCustomError("cron", "{what}; {hint}, or off", {"what": found, "hint": cron.CURE})
    return words


def acting(default: Any, does: str, *, harmless: tuple[object, ...] = ()) -> Any:
    """A setting by which something is sent, taken in or run: it counts only where the person trusts the
    workspace (``engine.settings.trust``).

    Args:
        default: Its default, which does nothing of the kind.
        does: What it does, as a clause about the workspace: ``sends …``. Empty for one that only says how:
            with a change of it the person is asked again.
        harmless: Other values that do nothing of the kind.
    """
    mark = {ACTING: Acting(does, (default, *harmless))}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=mark)
    return field(default=default, metadata=mark)


@dataclass(frozen=True)
class Acting:
    """What is marked by ``acting``."""

    does: str
    harmless: tuple[object, ...]

    def is_harmless(self, value: object) -> bool:
        """Whether a value does nothing of the kind; of a list, where all of it stands in the default."""
        default = self.harmless[0]
        within = isinstance(value, tuple) and isinstance(default, tuple) and set(value) <= set(default)
        return within or value in self.harmless


ACTING = "acting"
"""The key of the mark among a field's metadata."""


@dataclass(frozen=True)
class Settings:
    """A group of settings."""
