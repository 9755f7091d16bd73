"""Conversations of ordinary work, some with outside text, and correct replies of a model.

The format is that of ``planted``. The route says where outside text occurs: ``none``, ``unrelated`` to the
items, read ``after`` the items were settled, or ``around`` the agent's own work.
"""

from __future__ import annotations

from tests.knowledge.planted import scenes

HONEST = scenes("honest")
SECOND = scenes("honest-second")
"""Scenes written without looking at the rules for holding items."""
FIRST = tuple(scene for scene in HONEST if scene not in SECOND)
