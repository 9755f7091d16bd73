"""Conversations of ordinary work, some with text from outside, and what a model rightly makes of them.

They are written as those of ``planted`` are. The route says where text from outside stands in them: ``none``,
``unrelated`` to the items, read ``after`` what they say was settled, or ``around`` work of the agent's own.
"""

from __future__ import annotations

from tests.knowledge.planted import scenes

HONEST = scenes("honest")
SECOND = scenes("honest-second")
"""Those of them that were written without a look at what holds items."""
FIRST = tuple(scene for scene in HONEST if scene not in SECOND)
