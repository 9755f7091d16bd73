"""Sessions are read for knowledge, which goes into the files of knowledge (spec 8.3)."""
