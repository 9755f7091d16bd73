"""Prices of model calls (spec 12): a dated table, which a person's own file can override."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import Problem
from engine.providers.chat import Usage

if TYPE_CHECKING:
    from engine.store import yamltext

PRICES_FILE = "prices.yaml"
"""File with a person's own prices, in their settings folder."""

DEFAULT_MODELS = {
    "anthropic": "claude-haiku-5-5",
    "openai": "gpt-6-luna",
    "gemini": "gemini-3.5-flash-lite",
}
"""The cheapest current model of each provider that answers gate questions well."""

CHAT_MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6-sol",
    "gemini": "gemini-3.5-flash",
    "claude-code": "sonnet",
}
"""The default model of each provider for conversations."""

ALIASES = {
    "haiku": "claude-haiku-5-5",
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "flash-lite": "gemini-3.5-flash-lite",
}
"""Short names of models, as in the specification's ``gate_model: haiku``."""

LEAST_CACHEABLE = {"anthropic": 1024, "openai": 1024, "gemini": 1024}
"""Minimum tokens of a cached prefix, for models that are not in the table."""

_SHIPPED = Path(__file__).parent / "data" / PRICES_FILE
_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_LIMIT = 256 * 1024
_WHOLE = frozenset({"least_cacheable", "ttl", "long_from"})
_MILLION = 1_000_000
_ENTRY = "MODEL: {input: 1.00, output: 5.00}, in US dollars per million tokens"


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model in US dollars per million tokens; the fields of ``data/prices.yaml``."""

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    provider: str = ""
    storage: float = 0.0
    least_cacheable: int = 0
    ttl: int = 0
    long_from: int = 0
    long_input: float = 1.0
    long_output: float = 1.0
    source: str = ""  # ``prices of 2026-11``, or the person's own file
    own: bool = False  # from the person's own file

    def cost(self, usage: Usage) -> float:
        """The cost of a call in US dollars."""
        written_1h = min(usage.cache_write_1h_tokens, usage.cache_write_tokens)
        full = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
        sent = (
            full * self.input
            + usage.cached_tokens * self.cache_read
            + (usage.cache_write_tokens - written_1h) * self.cache_write_5m
            + written_1h * self.cache_write_1h
        )
        written = usage.output_tokens * self.output
        if 0 < self.long_from <= usage.input_tokens:
            sent, written = sent * self.long_input, written * self.long_output
        return (sent + written) / _MILLION

    def saved(self, usage: Usage) -> float:
        """Savings by caches in a call, in US dollars; negative if writes cost more than reads saved."""
        without = Usage(
            input_tokens=max(usage.input_tokens, usage.cached_tokens + usage.cache_write_tokens),
            output_tokens=usage.output_tokens,
        )
        return self.cost(without) - self.cost(usage)


_FIELDS = frozenset(field.name for field in fields(Price)) - {"source", "own"}


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model.

    Use ``PriceTable.load``, or ``current`` to include the person's own file.
    """

    as_of: str  # year and month of the providers' price pages
    prices: Mapping[str, Price]
    problems: tuple[Problem, ...] = ()  # in the person's own file

    @classmethod
    def load(cls, override: Path | None = None) -> PriceTable:
        """The shipped prices, overridden by a file in the same format, which need not exist."""
        as_of, shipped = _shipped()
        if override is None:
            return cls(as_of, shipped)
        prices = dict(shipped)
        problems: list[Problem] = []
        for name, values in _own(override, problems):
            price = _merged(prices.get(name), name, values, override, problems)
            if price is not None:
                prices[name] = price
        return cls(as_of, prices, tuple(problems))

    def price(self, model: str, *, elsewhere: bool = False) -> Price | None:
        """The price of a model or short name; ``None`` if unknown. A dated snapshot costs the same.

        ``elsewhere``: the model is on another server than its provider's, so only the person's own price
        counts.
        """
        name = ALIASES.get(model, model).removeprefix("models/")
        price = self.prices.get(name) or self.prices.get(_SNAPSHOT.sub("", name))
        return None if price is None or (elsewhere and not price.own) else price

    def cost(self, model: str, usage: Usage, *, elsewhere: bool = False) -> float | None:
        """The cost of a call in US dollars; ``None`` if the price is unknown."""
        price = self.price(model, elsewhere=elsewhere)
        return None if price is None else price.cost(usage)

    def storage(self, model: str, tokens: int, seconds: float) -> float | None:
        """The storage cost of a named cache in US dollars; ``None`` if the price is unknown."""
        price = self.price(model)
        return None if price is None else tokens * price.storage * seconds / 3600 / _MILLION

    def least_cacheable(self, model: str, provider: str) -> int:
        """Minimum tokens of a cached prefix; 0 for a provider without caches."""
        price = self.price(model)
        if price is not None and price.least_cacheable:
            return price.least_cacheable
        return LEAST_CACHEABLE.get(provider, 0)


def current() -> PriceTable:
    """The current table, including the person's own prices; checking their file takes microseconds."""
    path = own_file()
    return _loaded(path, _stamp(path))


def own_file() -> Path:
    """The file with the person's own prices; it need not exist."""
    from engine.store.user_folder import settings_folder  # noqa: PLC0415 — only if a price is needed

    return settings_folder() / PRICES_FILE


@functools.lru_cache(maxsize=1)
def _shipped() -> tuple[str, Mapping[str, Price]]:
    tree = _parsed(_SHIPPED.read_bytes())
    as_of, models = tree["as_of"], tree["models"]
    assert isinstance(as_of, str) and isinstance(models, Mapping)
    prices = {}
    for name, values in models.items():
        problems: list[Problem] = []
        price = _merged(None, name, values, None, problems)
        assert price is not None, problems
        prices[name] = replace(price, source=f"prices of {as_of}")
    return as_of, prices


@functools.lru_cache(maxsize=4)
def _loaded(path: Path, _stamp: object) -> PriceTable:
    return PriceTable.load(path)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _parsed(data: bytes) -> yamltext.Mapping:
    from engine.store import yamltext  # noqa: PLC0415 — the parser; only if a price is needed

    return yamltext.parse(data.decode("utf-8-sig"), max_bytes=_LIMIT)


def _own(path: Path, problems: list[Problem]) -> list[tuple[str, object]]:
    """The entries in a person's own file, by model; problems are appended to ``problems``."""
    from engine.store.yamltext import YamlError  # noqa: PLC0415 — as above

    try:
        with path.open("rb") as file:
            models = _parsed(file.read(_LIMIT + 1)).get("models")
    except FileNotFoundError:
        return []
    except YamlError as error:
        problems.append(Problem(str(path), error.line, error.what, error.hint))
        return []
    except (UnicodeDecodeError, OSError) as error:
        hint = "make it a text in UTF-8 that you can read, or remove it"
        problems.append(Problem(str(path), 0, f"cannot be read: {error}", hint))
        return []
    if not isinstance(models, Mapping):
        problems.append(Problem(str(path), 1, "lists no prices", f"list them below models: {_ENTRY}"))
        return []
    return list(models.items())


def _merged(
    known: Price | None, name: str, values: Any, path: Path | None, problems: list[Problem]
) -> Price | None:
    """The known price of a model, if any, updated by an entry; ``None`` if the entry is invalid."""
    given: dict[str, Any] = {}
    wrong, line = "", 0
    for field, text in values.items() if isinstance(values, Mapping) else ():
        given[field] = text if field == "provider" else _number(text, whole=field in _WHOLE)
        if field not in _FIELDS or given[field] is None:
            wrong = f"{field} is {str(text)[:40]!r}" if field in _FIELDS else f"unknown field {field}"
            line = values.line_of(field, values.line)
    if (known is None and not given.keys() >= {"input", "output"}) or not given:
        wrong, line = wrong or "has no input and output", line or getattr(values, "line", 0)
    if wrong:
        problems.append(Problem(str(path or _SHIPPED), line, f"{name}: {wrong}", f"write it as {_ENTRY}"))
        return None
    if path is not None:
        given |= {"source": str(path), "own": True}
    if known is not None:
        return replace(known, **given)
    given.setdefault("cache_read", given["input"])
    given.setdefault("cache_write_5m", given["input"])
    given.setdefault("cache_write_1h", given["cache_write_5m"])
    return Price(**given)


def _number(text: object, *, whole: bool) -> float | int | None:
    try:
        number = float(str(text))
    except ValueError:
        return None
    if not math.isfinite(number) or number < 0 or (whole and number != int(number)):
        return None
    return int(number) if whole else number
