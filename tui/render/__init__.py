"""Pure functions that draw engine values as lines of text, without widgets."""
