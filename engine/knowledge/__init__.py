"""Long-term knowledge: category files, file notes, digest, ledger, harvest, entries."""
