"""What the signs of the cache screen's panels mean, for the help."""

from __future__ import annotations

from tui.commands.command import PanelName

CACHE_SIGNS: dict[PanelName, list[tuple[str, str]]] = {
    "providers": [
        ("▸", "whom chats ask"),
        ("hit", "the share of the tokens sent that was read from a cache"),
        ("ttl", "until the last of its caches goes; n/a: only the provider knows, –: there is none"),
        ("+?", "calls whose price is not known are not in the sum; ~: tokens of some were counted here"),
    ],
    "discussions": [
        ("●", "cached, as far as the provider's answers tell"),
        ("○", "not cached: it expired, or was given up"),
        ("◌", "caching is switched off for this discussion"),
    ],
    "misses": [
        ("L6", "the layer of the prompt that changed, 1 to 7"),
        ("×", "how often; then the tokens that were sent anew because of it, and what they cost"),
    ],
    "settings": [
        ("[x]", "on; they hold for the whole workspace and stand in memory-config.yaml"),
        ("◂▸", "the next value comes with space or enter"),
    ],
}
"""Sign and meaning, by panel."""
