"""Reads typed values from a header, in which every scalar is a string, and reports problems."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from collections.abc import Mapping as AbcMapping
from typing import Literal

from engine.errors import Problem
from engine.store.yamltext import Mapping, Sequence


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for tables that are more readable that way."""
    return frozenset(text.split())


def aliases(synonyms: AbcMapping[str, str]) -> dict[str, str]:
    """Words by their synonyms, from the synonyms of each word: ``{"pattern": "regex re"}``."""
    return {other: word for word, others in synonyms.items() for other in others.split()}


def near(word: str, known: Iterable[str]) -> str:
    """The known word closest to a misspelled one; empty if none is close."""
    import difflib  # noqa: PLC0415 — 3 ms, for wrong values only

    plain = word.strip().lower().replace("-", "_").replace(" ", "_")
    by_plain = {name.lower(): name for name in known}
    if plain in by_plain:
        return by_plain[plain]
    found = difflib.get_close_matches(plain, by_plain, n=1, cutoff=0.6)
    return by_plain[found[0]] if found else ""


def shown(value: object) -> str:
    """A value as quoted in a problem."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence):
        return "a list"
    text = str(value)
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


class Fields:
    """Reads one mapping of a file's header field by field, and adds to ``problems``."""

    def __init__(self, mapping: Mapping, path: str, problems: list[Problem]) -> None:
        self.mapping = mapping
        self.path = path
        self._problems = problems

    def line(self, key: str) -> int:
        """The 1-based line of a key, or of the mapping if the key is absent."""
        return self.mapping.line_of(key, self.mapping.line)

    def report(
        self, line: int, what: str, hint: str = "", severity: Literal["error", "warning"] = "error"
    ) -> None:
        self._problems.append(Problem(self.path, line, what, hint, severity))

    def text(self, key: str) -> str:
        """A stripped string; empty if absent or not a string."""
        value = self.mapping.get(key, "")
        if isinstance(value, str):
            return value.strip()
        self.report(self.line(key), f"{key} must be a string, not {shown(value)}", f"write {key}: 'text'")
        return ""

    def texts(self, *keys: str) -> list[tuple[str, int]]:
        """The strings of one or several lists, each with its line; a single string is a list of one."""
        found: list[tuple[str, int]] = []
        for key in keys:
            value = self.mapping.get(key, "")
            if isinstance(value, str):
                found += [(value.strip(), self.line(key))] if value.strip() else []
            elif isinstance(value, Sequence):
                found += self._items(key, value)
            else:
                self.report(
                    self.line(key),
                    f"{key} must be a list of strings, not a mapping",
                    f"write {key}: [one, two]",
                )
        return found

    def _items(self, key: str, items: Sequence) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for index, item in enumerate(items):
            line = items.line_of_item(index)
            if isinstance(item, str) and item.strip():
                found.append((item.strip(), line))
            elif isinstance(item, str):
                self.report(line, f"{key} has an empty item", "remove it", "warning")
            else:
                is_mapping = isinstance(item, Mapping)
                hint = "put it in quotes if it contains ': '" if is_mapping else "flatten the list"
                self.report(line, f"an item of {key} is {shown(item)}, not a string", hint)
        return found

    def number(self, key: str, minimum: float, maximum: float, example: str) -> float | None:
        """A number within limits; ``None`` if absent or invalid."""
        value = self.mapping.get(key, "")
        if value == "":
            return None
        number = math.nan
        if isinstance(value, str):
            try:
                number = float(value.strip())
            except ValueError:
                number = math.nan
        if math.isfinite(number) and minimum <= number <= maximum:
            return number
        hint = f"write {key}: {example}"
        if isinstance(value, str) and re.fullmatch(r"\s*\d+,\d+\s*", value):
            hint = f"write {key}: {value.strip().replace(',', '.')}"
        limits = f"from {minimum:g} to {maximum:g}" if math.isfinite(maximum) else f"of at least {minimum:g}"
        self.report(self.line(key), f"{key} must be a number {limits}, not {shown(value)}", hint)
        return None

    def choice(self, key: str, allowed: Iterable[str], default: str, synonyms: AbcMapping[str, str]) -> str:
        """An allowed word, possibly given by a synonym; the default if absent or invalid."""
        value = self.mapping.get(key, "")
        if value == "":
            return default
        names = list(allowed)
        if isinstance(value, str):
            word = value.strip().lower()
            if word in names:
                return word
            guess = synonyms.get(word) or near(word, names)
        else:
            guess = ""
        hint = f"did you mean {guess}?" if guess else f"write one of {', '.join(names)}"
        self.report(
            self.line(key), f"{key} {shown(value)} is unknown, using {default} until it is fixed", hint
        )
        return default

    def unknown(
        self, known: Iterable[str], synonyms: AbcMapping[str, str], *, only_near: bool = False
    ) -> None:
        """Warns about unknown keys.

        Args:
            synonyms: Other words for known keys.
            only_near: Ignores keys that resemble no known one, since they may be the user's own.
        """
        names = list(known)
        for key in self.mapping:
            if key in names:
                continue
            guess = synonyms.get(key.lower()) or near(key, names)
            if guess or not only_near:
                hint = f"did you mean {guess}?" if guess else f"remove it, or use one of {', '.join(names)}"
                self.report(self.line(key), f"unknown key {key}", hint, "warning")
