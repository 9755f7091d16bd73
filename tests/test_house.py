"""What keeps the code easy to find one's way in: short files, no loose modules, no circles of files."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_LINES = 400
LOOSE = {
    "engine": {"engine.py", "parts.py", "events.py", "errors.py", "lazy.py", "records.py", "__init__.py"},
    "tui": {"app.py", "__init__.py"},
}
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in LOOSE
    for path in (ROOT / package).rglob("*.py")
}


def test_no_file_is_long() -> None:
    long = {
        name: count for name, path in FILES.items() if (count := path.read_text().count("\n")) > MOST_LINES
    }
    assert long == {}


@pytest.mark.parametrize("package", LOOSE)
def test_nothing_lies_loose(package: str) -> None:
    assert {path.name for path in (ROOT / package).glob("*.py")} == LOOSE[package]


def test_no_file_is_in_a_circle_not_even_for_types() -> None:
    imports = {name: _imported(name, path) for name, path in FILES.items()}
    assert sum(map(len, imports.values())) > len(imports)
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


_IMPORTS = re.compile(
    r"^[ \t]*(?:from[ ]((?:engine|tui)[\w.]*)[ ]import[ ](\([^)]*\)|[^\n#]*)|import[ ]([^\n#]*))",
    re.MULTILINE,
)
"""The statements as ruff formats them: parsing nine hundred files takes seconds."""


def _imported(name: str, path: Path) -> set[str]:
    """The modules of ours that a file imports, wherever in it."""
    found: set[str] = set()
    for module, names, modules in _IMPORTS.findall(path.read_text()):
        if modules:
            found.update(re.findall(r"[\w.]+", modules))
        else:
            inside = {f"{module}.{each}" for each in re.findall(r"\w+", names)}
            found |= inside & FILES.keys() or {module}
    return (found & FILES.keys()) - {name}
