"""Settings of schedules and webhooks (spec 4.4)."""

from __future__ import annotations

from typing import Annotated

from engine.settings.base import Limits, Settings, acting
from engine.startup.records import dataclass


@dataclass(frozen=True)
class EventSettings(Settings):
    """What happens when a topic's schedule comes due or a webhook arrives."""

    command: tuple[str, ...] = acting((), "runs a command for each schedule and webhook that has a playbook")
    """A command and its arguments, run once for each event that activates a topic while the workbench,
    ``watch`` or ``serve`` is running: without a shell, in your home folder, with the prompt on standard
    input. Empty: none; agents fetch events with ``autopoiesis events next``."""
    command_deadline_s: Annotated[float, Limits(gt=0, le=86_400)] = 600.0
    """Seconds that a run may take; then it is stopped and counts as failed."""
    github_secret: str = acting("", "accepts webhooks signed with the secret in an environment variable")
    """The environment variable with the secret of GitHub's webhooks; empty:
    ``AUTOPOIESIS_WEBHOOK_SECRET_GITHUB``."""
