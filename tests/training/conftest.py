"""The past of sessions that ``tests.recall`` makes."""

from __future__ import annotations

from tests.recall.conftest import say, workspace

__all__ = ["say", "workspace"]
