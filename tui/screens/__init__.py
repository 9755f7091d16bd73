"""The screens: the workbench and the pages it opens over itself."""
