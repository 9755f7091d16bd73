"""Building blocks of settings: groups, limits, and the marker for settings that need trust."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from engine.startup.records import dataclass
from engine.store import cron

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class Limits:
    """Limits of a number, for annotations: ``ge``, ``gt``, ``le``, ``lt`` and ``multiple_of``, as in
    pydantic."""

    def __init__(self, **bounds: float) -> None:
        self.bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        bounded: CoreSchema = {**schema, **self.bounds}
        return bounded


class Cron:
    """Marks a cron expression of five fields, or ``off``, in annotations."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core.core_schema import no_info_after_validator_function  # noqa: PLC0415 — slow to import

        return no_info_after_validator_function(_expression, handler(source))


class ServerUrl:
    """Marks the address of a PostgreSQL without a password, or an empty text, in annotations."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core.core_schema import no_info_after_validator_function  # noqa: PLC0415 — slow to import

        return no_info_after_validator_function(_address, handler(source))


def _address(text: str) -> str:
    from urllib.parse import parse_qsl, urlsplit  # noqa: PLC0415 — only for a file that was not seen before

    from pydantic_core import PydanticCustomError  # noqa: PLC0415 — slow to import

    try:
        parts = urlsplit(text.strip())
    except ValueError:
        parts = urlsplit("")
    if text.strip() and parts.scheme not in ("postgresql", "postgres"):
        raise PydanticCustomError("address", "is no address such as postgresql://host/database")
    if ("@" in parts.netloc and ":" in parts.netloc.rpartition("@")[0]) or any(
        name in ("password", "sslpassword") for name, _ in parse_qsl(parts.query)
    ):
        # The message of an error shows the value, unless its kind says that it is secret.
        raise PydanticCustomError(SECRET, "contains a password, and settings are in git")
    return text.strip()


SECRET = "secret"
"""The type of a validation error whose value must not be shown."""


def _expression(text: str) -> str:
    from pydantic_core import PydanticCustomError  # noqa: PLC0415 — slow to import

    words = " ".join(text.split())
    if words.lower() == cron.OFF:
        return cron.OFF
    if found := cron.problem(words):
        raise PydanticCustomError("cron", "{what}; {hint}, or off", {"what": found, "hint": cron.HINT})
    return words


def acting(default: Any, does: str, *, harmless: tuple[object, ...] = ()) -> Any:
    """A setting that makes the workspace send, receive or run something: it applies only in a trusted
    workspace (``engine.settings.trust``).

    Args:
        default: The default, which has no such effect.
        does: The effect, as a clause about the workspace: ``sends …``. Empty for a setting that only modifies
            one: a change of it is also asked about.
        harmless: Other values without such an effect.
    """
    mark = {ACTING: Acting(does, (default, *harmless))}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=mark)
    return field(default=default, metadata=mark)


@dataclass(frozen=True)
class Acting:
    """The metadata set by ``acting``."""

    does: str
    harmless: tuple[object, ...]

    def is_harmless(self, value: object) -> bool:
        """True for a value without effect; for a list, if the default has all of its items."""
        default = self.harmless[0]
        within = isinstance(value, tuple) and isinstance(default, tuple) and set(value) <= set(default)
        return within or value in self.harmless


ACTING = "acting"
"""The key in a field's metadata."""


@dataclass(frozen=True)
class Settings:
    """A group of settings."""
