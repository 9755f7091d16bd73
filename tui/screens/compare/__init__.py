"""Two branches side by side."""
