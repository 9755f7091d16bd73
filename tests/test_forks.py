"""Tests that run in forks are reported as in one process, and a fork that ends is a failure by name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.forks import Forks

def pytest_configure(config):
    config.pluginmanager.register(Forks(config, 2))
"""
TESTS = """
import os, warnings, pytest

def test_passes(tmp_path): warnings.warn("careful")
def test_prints_and_fails(): print("a trace of it"); assert [1, 2] == [1, 3]
@pytest.mark.skip
def test_is_skipped(): pass
@pytest.fixture
def broken(): yield; raise OSError("at the end")
def test_with_a_fixture(broken): pass
def test_ends_the_process(): os._exit(0)
"""


def test_everything_is_reported(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_more.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(50))\ndef test_n(n): pass"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-rA"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "2 failed, 52 passed, 1 skipped, 1 warning, 1 error" in done.stdout
    for said in ("assert [1, 2] == [1, 3]", "a trace of it", "UserWarning: careful", "OSError: at the end"):
        assert said in done.stdout
    assert set(re.findall(r"^FAILED test_some.py::(\w+)", done.stdout, re.MULTILINE)) == {
        "test_prints_and_fails",
        "test_ends_the_process",
    }
