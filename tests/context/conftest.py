"""Workspaces to compile from: one on disk, one in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from engine.context.compiled import Compiled
from engine.context.compiler import CompileRequest, ContextCompiler, WorkspaceSource
from engine.settings.model import CompilerSettings
from engine.store.files import Files
from engine.store.paths import Workspace

TODAY = date(2026, 2, 17)


def settings(**values: Any) -> CompilerSettings:
    """Returns the default settings with some values changed."""
    return CompilerSettings(**values)


@dataclass
class Space:
    """A workspace in a temporary folder."""

    root: Path

    def write(self, path: str, text: str | bytes) -> Path:
        """Writes a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def compiler(self, **values: object) -> ContextCompiler:
        """Returns a compiler over the files on disk."""
        source = WorkspaceSource(Files(Workspace.open(self.root)))
        return ContextCompiler(source, settings(**values))

    def compile(self, message: str = "Hello", **values: object) -> Compiled:
        """Compiles with default settings; ``values`` are fields of the request."""
        request: dict[str, object] = {"message": message, "today": TODAY} | values
        return self.compiler().compile(CompileRequest(**request))  # type: ignore[arg-type]


@dataclass
class Memory:
    """A source that is not a folder, like a git revision."""

    files: dict[str, bytes] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        """Returns the bytes of a file."""
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def list(self, folder: str) -> Sequence[str]:
        """Returns the paths below a folder."""
        return sorted(path for path in self.files if path.startswith(f"{folder}/"))


@pytest.fixture
def space(tmp_path: Path) -> Space:
    """An empty workspace."""
    (tmp_path / "memory-config.yaml").write_text("")
    return Space(tmp_path)
