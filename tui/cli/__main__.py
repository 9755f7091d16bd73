"""``python -m tui.cli``: the command line without its installed script."""

from tui.cli import main

main()
