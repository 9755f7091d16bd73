"""The token comes from the environment or a private file."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from engine.errors import GatewayFailed
from engine.gateways.token import NAME, VARIABLE, hook_token


def test_the_token_is_created_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "settings"
    token, where = hook_token(folder)
    assert hook_token(folder) == (token, where) == ((folder / NAME).read_text().strip(), str(folder / NAME))
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600
    assert len(token) >= 40


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "from-the-environment")
    assert hook_token(tmp_path) == ("from-the-environment", f"${VARIABLE}")
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("token", ["short", "with spaces in between", "tökens-are-plain-ascii", "x" * 15])
def test_invalid_tokens_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv(VARIABLE, token)
    with pytest.raises(GatewayFailed, match="at least 16 ASCII characters") as caught:
        hook_token(tmp_path)
    assert token not in str(caught.value)


def test_a_file_readable_by_others_is_refused(tmp_path: Path) -> None:
    hook_token(tmp_path)
    (tmp_path / NAME).chmod(0o644)
    with pytest.raises(GatewayFailed, match="other users can read the token") as caught:
        hook_token(tmp_path)
    assert "chmod 600" in caught.value.hint


def test_a_symlink_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("somebody-elses-token\n")
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GatewayFailed, match="cannot read or create the token"):
        hook_token(tmp_path)
