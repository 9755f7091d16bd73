"""The shipped model of what is worth telling can be fitted anew from workspaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.recall.model import of_json, shipped
from tests.recall.conftest import DAY, SUBJECTS, Say, asked, did, found, put_text
from tests.training import recall


def test_a_model_is_fitted_to_workspaces(
    tmp_path: Path, say: Say, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        words = SUBJECTS[number % 20 % len(SUBJECTS)]
        say(DAY.format(1 + number // 2), asked(words), did(words) + found(words), "And then?", found(words))
    put_text(workspace, "knowledge/facts.md", "# Facts\n")
    out = tmp_path / "worth.json"
    monkeypatch.setattr("sys.argv", ["recall", str(workspace), "--out", str(out), "--floor", "0.5"])
    recall.main()
    model = of_json(out.read_text())
    assert model is not None and model.floor == 0.5 and not model.is_own and model != shipped()
