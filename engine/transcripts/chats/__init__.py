"""Conversations in files that hold them whole: exports, histories and chats of other programs.

Session logs that grow line by line are read by ``engine.transcripts.importers``.
"""
