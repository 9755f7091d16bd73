"""The first screen: feed, activation, digest, ledger, budget and the input line."""
