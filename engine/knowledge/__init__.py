"""Knowledge that stays: category files, notes of files, digest, ledger, harvest, entries."""
