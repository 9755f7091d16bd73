"""The lifecycle of memory: extraction, condensing, pruning, archiving, reconstruction (spec 8)."""
