"""Settings of schedules and webhooks (spec 4.4)."""

from __future__ import annotations

from engine.settings.base import Settings, acting
from engine.startup.records import dataclass


@dataclass(frozen=True)
class EventSettings(Settings):
    """What happens when a topic's schedule comes due or a webhook arrives."""

    github_secret: str = acting("", "accepts webhooks signed with the secret in an environment variable")
    """The environment variable with the secret of GitHub's webhooks; empty:
    ``AUTOPOIESIS_WEBHOOK_SECRET_GITHUB``."""
