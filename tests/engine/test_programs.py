"""Programs are looked up only in absolute folders, and are started with only those on their paths."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.store import programs


def plant(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("before", [".", "", "bin", "./bin", "..", "../here/bin"])
def test_relative_folders_on_the_path_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    here = tmp_path / "here"
    for folder in (here, here / "bin", tmp_path):
        plant(folder, "mytool")
    real = plant(tmp_path / "real", "mytool")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", before)
    assert programs.find("mytool") is None
    monkeypatch.setenv("PATH", f"{before}{os.pathsep}{real.parent}")
    assert programs.find("mytool") == str(real)
    assert programs.surroundings()["PATH"] == str(real.parent)


@pytest.mark.parametrize("name", ["./mytool", "bin/mytool", "../here/mytool"])
def test_a_relative_program_path_is_not_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    plant(tmp_path, "mytool")
    plant(tmp_path / "bin", "mytool")
    plant(tmp_path / "here", "mytool")
    assert programs.find(name) is None
    assert programs.find(str(tmp_path / "bin" / "mytool")) == str(tmp_path / "bin" / "mytool")


@pytest.mark.parametrize("path", ["", ".", ":.:"])
def test_an_emptied_path_falls_back_to_the_default_and_not_to_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("PATH", path)
    assert programs.surroundings()["PATH"] == os.defpath


def test_our_interpreter_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = tmp_path / "PWNED"
    for name in ("json", "tui", "engine", "sitecustomize", "usercustomize", "startup"):
        (tmp_path / f"{name}.py").write_text(f"open({str(proof)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("", ".", "../" + tmp_path.name)))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "startup.py"))
    code = "import json, engine.errors, tui; print(json.dumps(sys.argv[1:]))"
    done = subprocess.run(
        programs.python(code, "a b", "$(touch x)"),
        env=programs.surroundings({"MORE": "1"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '["a b", "$(touch x)"]\n', "")
    assert not proof.exists()


def test_absolute_folders_on_pythonpath_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f".{os.pathsep}{tmp_path}")
    assert programs.surroundings()["PYTHONPATH"] == str(tmp_path)


def test_an_unknown_interpreter_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(AutopoiesisError, match="is unknown"):
        programs.python("pass")
