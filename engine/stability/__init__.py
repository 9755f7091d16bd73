"""Whether the stable prefix stays the same: the log of prefixes that were sent, and what broke them."""
