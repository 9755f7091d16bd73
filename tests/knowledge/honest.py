"""Conversations of ordinary work, some of them with text from outside, and what a model rightly makes of them.

They are written as those of ``planted`` are. The route says what text from outside stands in the conversation.
"""

from __future__ import annotations

from tests.knowledge.planted import scenes

HONEST = scenes("honest")
