"""The ledger screen: what happened to every conversation."""
