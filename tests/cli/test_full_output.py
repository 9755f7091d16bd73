"""Output that cannot be written is a one-line error instead of a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="there is no /dev/full")


@pytest.mark.parametrize(
    "words",
    [("config", "list", "--json"), ("compile", "hello"), ("--help",)],
    ids=lambda words: words[0],
)
def test_a_full_output_device_is_a_one_line_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "memory-config.yaml").touch()
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics/release.md").write_text(
        "---\ntype: topic\ndescription: A release.\nactivation: auto\ntriggers:\n"
        "  - type: keywords\n    words: [release]\n---\n\n# Release\n"
    )
    with Path("/dev/full").open("wb") as device:
        done = subprocess.run(
            [sys.executable, "-m", "tui.cli", "-C", str(tmp_path), *words],
            cwd=ROOT,
            stdout=device,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "autopoiesis: cannot write the output (No space left on device)\n"
