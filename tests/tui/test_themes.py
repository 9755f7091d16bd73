"""Theme files: completeness, contrast, and errors with line and hint."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich._palettes import STANDARD_PALETTE
from textual.color import Color

from tests.cases import each_case
from tests.tui.conftest import Run
from themes.loader import BUNDLED, GROUPS, ThemeError, load_theme, load_themes, parse_theme
from tui.kit.preferences import Preferences

THEMES, ERRORS = load_themes()
DARK = (BUNDLED / "dark.yaml").read_text(encoding="utf-8")
INKS = [*GROUPS["text"], *GROUPS["roles"], *GROUPS["slots"]]


def luminance(colour: str) -> float:
    """Relative luminance according to WCAG 2."""
    channels = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (Color.parse(colour).r / 255, Color.parse(colour).g / 255, Color.parse(colour).b / 255)
    ]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio according to WCAG 2, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_bundled_themes_are_complete() -> None:
    assert not ERRORS
    assert {"dark", "light", "high-contrast", "colour-blind", "sixteen"} <= set(THEMES)
    for theme in THEMES.values():
        assert set(theme.colours) == {name for names in GROUPS.values() for name in names}


@each_case("name", THEMES)
def test_text_has_enough_contrast(name: str) -> None:
    colours = THEMES[name].colours
    quiet = {"faint", "dropped"}
    strict = name == "high-contrast"
    for ground in ("background", "bar", "raised", "selection"):
        for ink in INKS:
            minimum = 7.0 if strict and ground != "selection" else 2.5 if ink in quiet else 4.5
            if ground == "selection" and ink not in quiet:
                minimum = 4.0
            assert contrast(colours[ink], colours[ground]) >= minimum, f"{ink} on {ground}"


@each_case("name", THEMES)
def test_the_stylesheet_finds_its_variables(name: str) -> None:
    variables = THEMES[name].to_textual().variables
    sheet = (BUNDLED.parent / "tui" / "workbench.tcss").read_text(encoding="utf-8")
    wanted = set(re.findall(r"\$([a-z0-9-]+)", sheet))
    assert wanted <= set(variables)


@each_case(
    ("old", "new", "words"),
    [
        ('tier1: "#5cc8bd"', 'tier1: "teal"', "roles.tier1: invalid colour 'teal'"),
        ('tier1: "#5cc8bd"', "tier1: #5cc8bd", "roles.tier1 has no value"),
        ('active: "#8fd383"', 'actve: "#8fd383"', "did you mean active?"),
        ('tier1: "#5cc8bd"', 'accent: "#5cc8bd"', "duplicate key accent"),
        ("mode: dark", "mode: dim", "use dark or light"),
        ("name: dark", "name: My Theme", "use a-z"),
        ("text:", "words:", "unknown key 'words' in the theme"),
    ],
)
def test_errors_name_line_and_hint(old: str, new: str, words: str) -> None:
    line = DARK[: DARK.index(old)].count("\n") + 1
    with pytest.raises(ThemeError) as caught:
        parse_theme(DARK.replace(old, new, 1).encode(), "mine.yaml")
    assert str(caught.value).startswith(f"mine.yaml:{line}: ")
    assert words in str(caught.value)


def test_missing_keys_are_named(tmp_path: Path) -> None:
    with pytest.raises(ThemeError, match="roles is missing tier1, tier2; copy"):
        parse_theme(re.sub(r"  tier[12]:.*\n", "", DARK).encode(), "mine.yaml")
    with pytest.raises(ThemeError, match="invalid YAML"):
        parse_theme(DARK.replace("roles:", "roles: [").encode(), "mine.yaml")


@each_case("data", [b"", b"\xff\xfe", b"- a\n", b"[" * 10_000, b"name: *x\n"])
def test_no_file_breaks_the_loader(data: bytes) -> None:
    with pytest.raises(ThemeError):
        parse_theme(data, "mine.yaml")


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ThemeError, match=r"missing\.yaml: cannot be read"):
        load_theme(tmp_path / "missing.yaml")
    (tmp_path / "big.yaml").write_bytes(b"#" * 70_000)
    with pytest.raises(ThemeError, match="larger than 64 KB"):
        load_theme(tmp_path / "big.yaml")


def test_later_folders_win_and_bad_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("nonsense", encoding="utf-8")
    (tmp_path / "b.yaml").write_text(DARK.replace("title: Dark", "title: Mine"), encoding="utf-8")
    themes, errors = load_themes((BUNDLED, tmp_path, tmp_path / "missing"))
    assert themes["dark"].title == "Mine"
    assert [error.where for error in errors] == ["a.yaml:1"]


async def test_custom_theme_is_offered_and_a_bad_one_reported(run: Run, home: Path) -> None:
    folder = home / ".config" / "autopoiesis" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(DARK.replace("name: dark", "name: mine"), encoding="utf-8")
    (folder / "bad.yaml").write_text("name: bad\n", encoding="utf-8")
    async with run(theme="mine") as driven:
        assert driven.app.theme == "mine"
        assert "bad.yaml:1" in driven.text


def test_the_theme_for_sixteen_colours_uses_exactly_these() -> None:
    standard = {Color(*STANDARD_PALETTE[number]) for number in range(16)}
    assert {Color.parse(colour) for colour in THEMES["sixteen"].colours.values()} <= standard


@pytest.mark.parametrize(("term", "theme"), [("linux", "sixteen"), ("xterm-256color", "light")])
async def test_a_terminal_of_sixteen_colours_gets_its_theme_whichever_is_remembered(
    run: Run, home: Path, term: str, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    Preferences(home / "tui.yaml").choose_theme("light")
    async with run() as driven:
        assert driven.app.theme == theme


def test_themes_need_neither_textual_nor_the_engine() -> None:
    code = "import sys, themes.loader; themes.loader.load_themes(); print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"textual", "engine", "tui"} & set(loaded)
