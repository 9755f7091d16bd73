"""The first screen: feed, activation, digest, ledger, budget, and the line to type in."""
