"""Structure rules that keep the code navigable: short files, no stray modules, no import cycles."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.cases import each_case

ROOT = Path(__file__).parent.parent
MAX_LINES = 700
TOP_LEVEL = {
    "engine": {"engine.py", "parts.py", "events.py", "errors.py", "__init__.py"},
    "tui": {"app.py", "__init__.py"},
}
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in TOP_LEVEL
    for path in (ROOT / package).rglob("*.py")
}


def test_no_file_is_long() -> None:
    long = {
        name: count for name, path in FILES.items() if (count := path.read_text().count("\n")) > MAX_LINES
    }
    assert long == {}


@each_case("package", TOP_LEVEL)
def test_no_stray_top_level_modules(package: str) -> None:
    assert {path.name for path in (ROOT / package).glob("*.py")} == TOP_LEVEL[package]


def test_there_are_no_import_cycles_not_even_for_types() -> None:
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
"""Import statements as formatted by ruff; parsing nine hundred files would take seconds."""


def _imported(name: str, path: Path) -> set[str]:
    """Our modules that a file imports, at any level."""
    found: set[str] = set()
    for module, names, modules in _IMPORTS.findall(path.read_text()):
        if modules:
            found.update(re.findall(r"[\w.]+", modules))
        else:
            inside = {f"{module}.{each}" for each in re.findall(r"\w+", names)}
            found |= inside & FILES.keys() or {module}
    return (found & FILES.keys()) - {name}
