"""How the data files of tier 2 were made: ``python -m tests.training --help``.

Nothing here runs in the product. It needs the ``minilm`` extra, and licensed data that is not part of it.
"""
