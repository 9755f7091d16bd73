"""Tests of the workbench. Textual reads its environment at import, so it is set here, before any import."""

import os

for _name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_FILTERS", "TEXTUAL_DEBUG"):
    os.environ.pop(_name, None)
os.environ["TEXTUAL_ANIMATIONS"] = "none"
