"""Every picture in ``snapshots/`` belongs to a test; a missing picture fails the test that draws it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.tui.conftest import SIZES, SNAPSHOTS
from tests.tui.test_screen_pictures import PICTURES

VALUES = {
    "size": "|".join([*SIZES, "60x16"]),
    "theme": "light|high-contrast|colour-blind|sixteen",
    "group": "decisions|skills|notes|digest",
    "name": f"{'|'.join(SIZES)}|gate-said-no|steering",
}
"""The possible values of the expressions in f-string names."""


def patterns_in(path: Path) -> list[re.Pattern[str]]:
    """Patterns for the names of the pictures that a test file draws."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "picture":
            name = node.args[1]
            if isinstance(name, ast.Name):  # each of a table
                found += [re.compile(re.escape(each)) for each in PICTURES]
                continue
            parts = name.values if isinstance(name, ast.JoinedStr) else [name]
            found.append(re.compile("".join(map(pattern, parts))))
    return found


def pattern(part: ast.expr) -> str:
    """A pattern for the possible values of a part of a name."""
    if isinstance(part, ast.Constant):
        return re.escape(str(part.value))
    assert isinstance(part, ast.FormattedValue)
    return f"({VALUES[ast.unparse(part.value)]})"


def test_every_picture_is_drawn_by_a_test() -> None:
    patterns = [each for path in Path(__file__).parent.glob("test_*.py") for each in patterns_in(path)]
    pictures = [str(path.relative_to(SNAPSHOTS).with_suffix("")) for path in SNAPSHOTS.rglob("*.svg")]
    assert pictures
    assert not [name for name in pictures if not any(each.fullmatch(name) for each in patterns)]
    assert all(any(each.fullmatch(name) for name in pictures) for each in patterns)
