"""What settings are made of: groups, limits, and the mark of what acts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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


def acting(default: Any, does: str, *, harmless: tuple[object, ...] = ()) -> Any:
    """A setting by which something is sent, taken in or run: it counts only where the person trusts the
    workspace (``engine.settings.trust``).

    Args:
        default: Its default, which does nothing of the kind.
        does: What it does, as a clause about the workspace: ``sends …``. Empty for one that only says how:
            with a change of it the person is asked again.
        harmless: Other values that do nothing of the kind.
    """
    return field(default=default, metadata={ACTING: Acting(does, (default, *harmless))})


@dataclass(frozen=True)
class Acting:
    """What is marked by ``acting``."""

    does: str
    harmless: tuple[object, ...]


ACTING = "acting"
"""The key of the mark among a field's metadata."""


@dataclass(frozen=True)
class Settings:
    """A group of settings."""
