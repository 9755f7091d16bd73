"""What users install: the package's files, its commands and the library, all from a wheel."""

from __future__ import annotations

import ast
import email
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from fnmatch import fnmatch
from pathlib import Path

import pytest

from engine import __version__

ROOT = Path(__file__).parents[1]
PACKAGES = ("engine", "tui", "themes")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist and a wheel built from it, from a copy of the sources."""
    folder = tmp_path_factory.mktemp("built")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / "from" / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "from")
    for name in ("tests", "snapshots", "tests/training"):
        (folder / "from" / name).mkdir()
        (folder / "from" / name / "__init__.py").touch()
        (folder / "from" / name / "test_house.py").touch()
    command = [
        sys.executable,
        "-m",
        "build",
        "-x",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(folder / "from"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "installed")
    return folder


def test_the_wheel_contains_exactly_the_files_of_the_package(built: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *PACKAGES],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    wanted = {name.removeprefix("engine/library/") for name in tracked if (ROOT / name).is_file()}
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == wanted
    for each in (
        "*/py.typed",
        "tui/*.tcss",
        "engine/*/prompts/*.md",
        "engine/meaning/data/*",
        "themes/*.yaml",
    ):
        assert any(fnmatch(name, each) for name in found), each
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert wanted - {name.removeprefix("engine/library/") for name in names} == set()
    assert {"README.md", "LICENSE", "pyproject.toml"} <= names
    assert not {name for name in names if name.startswith(("tests", "snapshots"))}


def test_the_wheel_has_metadata_and_commands(built: Path) -> None:
    (about,) = (built / "installed").glob("*.dist-info")
    metadata = email.message_from_bytes((about / "METADATA").read_bytes())
    assert (metadata["Name"], metadata["Version"]) == ("autopoiesis", __version__)
    readme = metadata.get_payload(decode=True)
    assert isinstance(readme, bytes) and readme.decode() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert (about / "licenses/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    commands = ConfigParser()
    commands.read(about / "entry_points.txt")
    assert dict(commands["console_scripts"]) == {
        "apo": "tui.cli:main",
        "autopoiesis": "tui.cli:main",
        "autopoiesis-hook": "engine.agents.client:main",
    }
    for place in commands["console_scripts"].values():
        module = built / "installed" / place.split(":")[0].replace(".", "/")
        assert module.with_suffix(".py").is_file() or (module / "__init__.py").is_file(), place


def test_the_documented_library_loop_runs_from_the_wheel(built: Path, sample: Path) -> None:
    source = (built / "installed/autopoiesis/__init__.py").read_text(encoding="utf-8")
    example = (
        (ast.get_docstring(ast.parse(source)) or "")
        .split("::\n\n", 1)[1]
        .split("\n\nEverything is loaded", 1)[0]
    )
    loop = "\n".join(line.removeprefix("    ") for line in example.splitlines())
    assert len(loop.splitlines()) <= 20
    assert f"```python\n{loop}\n```" in (ROOT / "README.md").read_text(encoding="utf-8")
    heavy = "import autopoiesis, sys; print([n for n in sys.modules if n.startswith(('engine', 'numpy'))])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{heavy}\n{loop}\nimport engine; print(engine.__file__)"],
        cwd=built, input="Can you review the PR that just came in?\n\n", capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(built / "installed"), "AUTOPOIESIS_HOME": str(sample)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    imported, said, ended, place = done.stdout.splitlines()
    assert (imported, place) == ("[]", str(built / "installed/engine/__init__.py"))
    assert said.startswith("> I have read ") and " committed as " in ended
    transcript = (sample / ended.removeprefix("> ").split(" committed")[0]).read_text()
    assert "Can you review the PR" in transcript and said.removeprefix("> ") in transcript
