"""Generates the data files of tier 2: ``python -m tests.training --help``.

Nothing here runs in the product. It needs the ``minilm`` extra, and licensed data that is not included.
"""
