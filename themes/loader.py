"""Reads and validates theme files; errors name file, line and hint."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import yaml

if TYPE_CHECKING:
    from textual.theme import Theme

BUNDLED = Path(__file__).parent
"""The folder of the bundled themes."""

GROUPS: dict[str, tuple[str, ...]] = {
    "surfaces": ("background", "bar", "raised", "line", "selection"),
    "text": ("normal", "strong", "muted", "faint"),
    "roles": ("accent", "tier1", "tier2", "gate", "active", "dropped", "error"),
    "slots": ("p0", "p1", "p2", "p3", "p4"),
}
"""The colours of a theme by group; each name is also a variable in the stylesheet."""

MAX_BYTES = 64 * 1024
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SIMPLE = ("name", "title", "mode")


class ThemeError(Exception):
    """A theme file is invalid; ``where`` is ``file:line``."""

    def __init__(self, what: str, *, where: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"; {self.hint}" if self.hint else "")


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """One theme.

    Attributes:
        name: Its name in preferences, in lower case with hyphens.
        title: Its display name.
        colours: ``#rrggbb`` by variable name, for every name in ``GROUPS``.
    """

    name: str
    title: str
    mode: Literal["dark", "light"]
    colours: dict[str, str]

    def to_textual(self) -> Theme:
        """Converts it to a Textual theme, with the role colours as extra variables."""
        from textual.theme import Theme  # noqa: PLC0415 — theme files can be validated without textual

        colour = self.colours
        return Theme(
            name=self.name,
            dark=self.mode == "dark",
            primary=colour["accent"],
            secondary=colour["tier2"],
            accent=colour["accent"],
            warning=colour["gate"],
            error=colour["error"],
            success=colour["active"],
            foreground=colour["normal"],
            background=colour["background"],
            surface=colour["raised"],
            panel=colour["bar"],
            variables={
                **colour,
                "text": colour["normal"],
                "text-muted": colour["muted"],
                "border": colour["accent"],
                "border-blurred": colour["line"],
                "block-cursor-background": colour["selection"],
                "block-cursor-foreground": colour["strong"],
                "block-cursor-text-style": "bold",
                "input-cursor-background": colour["accent"],
                "input-cursor-foreground": colour["background"],
                "input-selection-background": colour["line"],
            },
        )


def load_themes(folders: Iterable[Path] = (BUNDLED,)) -> tuple[dict[str, ThemeFile], tuple[ThemeError, ...]]:
    """Reads every ``*.yaml`` in the folders.

    Args:
        folders: Later folders override themes of the same name; missing folders are ignored.

    Returns:
        The themes by name, in reading order, and the errors of invalid files.
    """
    themes: dict[str, ThemeFile] = {}
    errors: list[ThemeError] = []
    for folder in folders:
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob("*.yaml")):
            try:
                theme = load_theme(path)
            except ThemeError as error:
                errors.append(error)
            else:
                themes[theme.name] = theme
    return themes, tuple(errors)


def load_theme(path: Path) -> ThemeFile:
    """Reads and validates a theme file.

    Raises:
        ThemeError: The first error found.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ThemeError(f"cannot be read: {error.strerror}", where=path.name) from error
    if len(data) > MAX_BYTES:
        raise ThemeError(f"larger than {MAX_BYTES // 1024} KB", where=path.name, hint="is it a theme file?")
    return parse_theme(data, path.name)


def parse_theme(data: bytes, where: str) -> ThemeFile:
    """As ``load_theme``, from bytes; ``where`` is the file's name for messages.

    Raises:
        ThemeError: The first error found.
    """
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=_LOADER)
    except UnicodeDecodeError as error:
        raise ThemeError("not UTF-8", where=where, hint="save it as UTF-8") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ThemeError(f"invalid YAML: {error.problem}", where=f"{where}:{line}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ThemeError(f"invalid YAML: {error}", where=f"{where}:1") from error
    fields = _mapping(node, where, (*_SIMPLE, *GROUPS), "the theme")
    name = _word(fields["name"], where, "name")
    if not _NAME.fullmatch(name):
        raise ThemeError(
            f"invalid name {name!r}", where=_at(fields["name"], where), hint="use a-z, 0-9 and hyphens"
        )
    mode = _word(fields["mode"], where, "mode")
    if mode not in ("dark", "light"):
        raise ThemeError(f"invalid mode {mode!r}", where=_at(fields["mode"], where), hint="use dark or light")
    colours: dict[str, str] = {}
    for group, names in GROUPS.items():
        for key, value in _mapping(fields[group], where, names, group).items():
            colour = _word(value, where, f"{group}.{key}")
            if not _COLOUR.fullmatch(colour):
                raise ThemeError(
                    f"{group}.{key}: invalid colour {colour!r}",
                    where=_at(value, where),
                    hint='use "#rrggbb", including the quotes',
                )
            colours[key] = colour.lower()
    return ThemeFile(
        name=name,
        title=_word(fields["title"], where, "title"),
        mode="dark" if mode == "dark" else "light",
        colours=colours,
    )


def _mapping(node: yaml.Node | None, where: str, names: tuple[str, ...], what: str) -> dict[str, yaml.Node]:
    """The entries of a mapping with exactly the keys ``names``, in that order."""
    if not isinstance(node, yaml.MappingNode):
        raise ThemeError(
            f"{what} is not a mapping", where=_at(node, where), hint="expected keys: " + ", ".join(names)
        )
    entries: dict[str, yaml.Node] = {}
    for key_node, value in node.value:
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {near[0]}?" if near else "remove it; valid keys are " + ", ".join(names)
            raise ThemeError(f"unknown key {key!r} in {what}", where=_at(key_node, where), hint=hint)
        if key in entries:
            raise ThemeError(f"duplicate key {key}", where=_at(key_node, where), hint="remove one")
        entries[key] = value
    missing = [name for name in names if name not in entries]
    if missing:
        raise ThemeError(
            f"{what} is missing {', '.join(missing)}", where=_at(node, where), hint="copy from dark.yaml"
        )
    return {name: entries[name] for name in names}


def _word(node: yaml.Node, where: str, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not str(node.value).strip():
        hint = ' (an unquoted "#" starts a comment)' if isinstance(node, yaml.ScalarNode) else ""
        raise ThemeError(f"{what} has no value{hint}", where=_at(node, where), hint="add one, in quotes")
    return str(node.value).strip()


def _at(node: yaml.Node | None, where: str) -> str:
    return f"{where}:{node.start_mark.line + 1 if node is not None else 1}"
