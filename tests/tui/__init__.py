"""Tests of the workbench. What textual reads from the environment at import is settled here, before it is."""

import os

for _name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_FILTERS", "TEXTUAL_DEBUG"):
    os.environ.pop(_name, None)
os.environ["TEXTUAL_ANIMATIONS"] = "none"
